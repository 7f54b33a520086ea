"""Find, explain and fix what makes TensorFlow training scripts slow."""

# Written here, since asking `importlib.metadata` takes a quarter of the time that `--version` may take.
__version__ = "0.1.0"
