"""The model of a script, by the name that plugins import it by; what it is made of is in `tflint_perf.analysis`."""

from tflint_perf.analysis.model import Class, Function, Loop, Model

__all__ = ["Class", "Function", "Loop", "Model"]
