"""The version, for those that only want to say it."""

# Written here, since asking `importlib.metadata` takes a quarter of the time that `--version` may take.
__version__ = "0.1.0"
