"""The linters that people compare with: installed into an environment of their own, run on the same files.

They have their own because one of them pins libcst. A peer that can't be installed or fails is not
measured, and the reason stands in its place.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from timing import Run, up_to_three

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"


@dataclass(frozen=True, slots=True)
class Peer:
    """How a linter is run. `dialect` is the framework that it knows: it does no work on files of another.

    Up to `most` an exit code says what it found.
    """

    name: str
    package: str
    arguments: tuple[str, ...]
    dialect: str = "tensorflow"
    most: int = 1


PEERS = (
    Peer("ruff", "ruff", ("ruff", "check", "--isolated", "--no-cache", "--quiet")),
    Peer("Fixit", "fixit", ("fixit", "--quiet", "lint")),
    Peer("TorchFix", "torchfix", ("torchfix",), dialect="torch"),
    Peer("flake8 with TorchFix", "flake8", ("flake8", "--isolated", "--select=TOR"), dialect="torch"),
    # Its exit code adds up the kinds of what it found.
    Peer("pylint", "pylint", ("pylint", "--jobs=0", "--recursive=y", "--score=n"), most=31),
)


@dataclass(frozen=True, slots=True)
class NotMeasured:
    reason: str


def install(venv: Path) -> str:
    """Make the environment; return why something in it is missing, or nothing.

    A peer that does not install leaves the others alone.
    """
    stamp = venv / ".installed"
    if stamp.exists() and stamp.stat().st_mtime > PYPROJECT.stat().st_mtime:
        return ""
    pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    wanted = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["dependency-groups"]["bench"]
    problem = _problem([sys.executable, "-m", "venv", str(venv)])
    if problem:
        return problem
    if not _problem([*pip, *wanted]):
        stamp.touch()
        return ""
    return "; ".join(filter(None, (_problem([*pip, requirement]) for requirement in wanted)))


def _problem(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    return (done.stderr.strip() or f"`{' '.join(command)}` failed").splitlines()[-1]


def measure(peer: Peer, venv: Path, folder: Path, problem: str) -> Run | NotMeasured:
    """Time a peer on a folder."""
    program = venv / "bin" / peer.arguments[0]
    if not program.exists():
        return NotMeasured(problem or f"{peer.package} is not in {venv}")
    command: list[str | Path] = [program, *peer.arguments[1:], folder]
    done = up_to_three(command)
    if not 0 <= done.status <= peer.most:
        return NotMeasured(f"exit {done.status}: {done.last_words}")
    return done


def copy_sample(files: list[Path], root: Path, into: Path) -> dict[str, Path]:
    """Copies of the files, one for each dialect, in folders as they were below `root`."""
    folders = {dialect: into / dialect for dialect in sorted({peer.dialect for peer in PEERS})}
    for file in files:
        data = file.read_bytes()
        for dialect, folder in folders.items():
            target = folder / file.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data.replace(b"tensorflow", dialect.encode()))
    return folders
