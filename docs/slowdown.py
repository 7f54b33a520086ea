"""Draw the README's picture of two slowdowns from the evidence on record: `python docs/slowdown.py docs/slowdown.png`.

Needs matplotlib, which the extra `verify` brings.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tflint_perf.catalogue.evidence import evidence_folder
from tflint_perf.verify.plots import write_plots

SHOWN = ("TFP202", "TFP203")


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path, help="the picture to write")
    target: Path = parser.parse_args().target
    document = json.loads((evidence_folder() / "cpu.json").read_text(encoding="utf-8"))
    results = {code: document["results"][code] for code in SHOWN}
    write_plots({**document, "results": results}, target)


if __name__ == "__main__":
    main()
