"""The hunt for a damaged cache that changes a finding: one bit of it turned, a part cut off or written twice."""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from pathlib import Path

from tests.test_cache import CODES, IDLE, LOOP, SLOW, STEP, found, write
from tflint_perf.config.settings import Settings
from tflint_perf.project.cache import NAME
from tflint_perf.project.linting import lint_files

PLACE = Path(NAME)


def damaged(chance: random.Random, data: bytes) -> bytes:
    """What a disk, or somebody, may make of a file."""
    at = chance.randrange(len(data))
    match chance.randrange(4):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + data[at:] * 2
        case 2:
            return (
                data[:at] + bytes(chance.randrange(256) for _ in range(chance.randrange(1, 40))) + data[at:]
            )
    return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]


def main(arguments: list[str]) -> int:
    """Damage a cache as often as the command line says; 1 where that changed a finding or ended in an error."""
    parser = argparse.ArgumentParser(prog="tests.hunt caches", description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    home, wrong = Path.cwd(), 0
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="caches") as name:
        os.chdir(name)
        os.environ["XDG_STATE_HOME"] = str(Path(name, "state"))
        try:
            paths = write(loop=LOOP, step=STEP, idle=IDLE, one=SLOW)
            settings = Settings(root=Path(name), rules=CODES, fixable=CODES)
            expected = found(lint_files(paths, settings, 1, None))
            assert any(codes for _, codes in expected)
            for number in range(options.count):
                lint_files(paths, settings, 1, PLACE)  # what is damaged is made anew
                path = chance.choice(
                    [path for path in sorted(PLACE.rglob("*")) if path.is_file() and path.stat().st_size]
                )
                path.write_bytes(damaged(chance, path.read_bytes()))
                try:
                    now = found(lint_files(paths, settings, 1, PLACE))
                except Exception as error:
                    now = [(f"{type(error).__name__}: {error}", [])]
                if now != expected:
                    wrong += 1
                    print(f"damage {number}, {path.name}: {now}", flush=True)
        finally:
            os.chdir(home)
    print(f"{options.count} times damaged, {wrong} times other findings")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
