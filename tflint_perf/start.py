"""Where the command begins."""

from __future__ import annotations

import gc
import sys

from tflint_perf.version import __version__

# A run makes many objects that stay, and is over soon: to look through them again and again is a tenth of its time.
OBJECTS_BETWEEN_COLLECTIONS = 100_000


def main() -> None:
    """Run `tflint-perf`."""
    if sys.argv[1:] == ["--version"]:
        print(f"tflint-perf {__version__}")  # which is not worth the import of click
        return
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    from tflint_perf.records import make_nodes_quickly

    make_nodes_quickly()
    from tflint_perf.commands import main as run

    run()
