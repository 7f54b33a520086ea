"""Where the command begins."""

from __future__ import annotations

import gc

from tflint_perf import process

# A run makes many objects that stay, and is over soon: to look through them again and again is a tenth of its time.
_OBJECTS_BETWEEN_COLLECTIONS = 100_000


def main() -> None:
    """Run `tflint-perf`."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    process.is_ours = True
    from tflint_perf.cli import main as run

    run()
