"""The record of a run, by the name that this room calls it; it lies in `measured`, since `check` and editors read it too."""

from tflint_perf.measured.record import *  # noqa: F403
