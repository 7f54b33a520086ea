"""Find, explain and fix what makes TensorFlow training scripts slow."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("tflint-perf")
except PackageNotFoundError:  # run from a checkout that was never installed
    __version__ = "0+unknown"
