"""Draw the README's picture of two slowdowns from the evidence on record: `python docs/slowdown.py docs/slowdown.png`.

Needs matplotlib, which the extra `verify` brings.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tflint_perf.catalogue.evidence import evidence_folder
from tflint_perf.verify.plots import write_plots

SHOWN = ("TFP202", "TFP203")


def main(target: str) -> None:
    """Write the picture."""
    document = json.loads((evidence_folder() / "cpu.json").read_text(encoding="utf-8"))
    results = {code: document["results"][code] for code in SHOWN}
    write_plots({**document, "results": results}, Path(target))


if __name__ == "__main__":
    main(*sys.argv[1:])
