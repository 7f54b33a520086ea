"""Real code to measure on: six packages from the package index, unpacked outside the project.

Run as a script, it downloads what is not there yet and prints the folder. Nothing of what it unpacks is
ever imported or run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGES = {
    "keras-cv": "0.9.0",
    "tensor2tensor": "1.15.7",
    "tensorflow-addons": "0.23.0",
    "tensorflow-datasets": "4.9.10",
    "tf-agents": "0.19.0",
    "tf-models-official": "2.20.0",
}
# One platform for everybody, so that everybody measures the same files: one of the wheels holds compiled
# code, and its last release knows no Python after 3.11.
PLATFORM = (
    "--only-binary=:all:",
    "--platform=manylinux2014_x86_64",
    "--python-version=3.11",
    "--implementation=cp",
    "--abi=cp311",
)


class CorpusError(Exception):
    """A package could not be downloaded."""


def default_folder() -> Path:
    """Where the corpus is kept: `TFLINT_PERF_CORPUS`, or a folder in the user's cache."""
    if chosen := os.environ.get("TFLINT_PERF_CORPUS"):
        return Path(chosen)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "tflint-perf-corpus"


def ensure(folder: Path) -> list[Path]:
    """Download and unpack the packages that `folder` lacks; return one folder for each package.

    Raises:
        CorpusError: pip could not download a package.
    """
    folder.mkdir(parents=True, exist_ok=True)
    unpacked = []
    for name, version in PACKAGES.items():
        target = folder / f"{name}-{version}"
        if not target.is_dir():
            print(f"downloading {name} {version} …", file=sys.stderr)
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                source = unpack(download(name, version, Path(scratch)), Path(scratch) / "source")
                source.rename(target)  # last, so that an interrupted run leaves no half package
        unpacked.append(target)
    return unpacked


def download(name: str, version: str, folder: Path) -> Path:
    """The wheel of one package, fetched with pip."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *PLATFORM]
    run = subprocess.run(
        [*command, f"--dest={folder}", f"{name}=={version}"], capture_output=True, text=True, check=False
    )
    wheels = list(folder.glob("*.whl"))
    if run.returncode or not wheels:
        reason = (run.stderr.strip() or "pip gave no reason").splitlines()[-1]
        raise CorpusError(f"{name} {version} was not downloaded: {reason}")
    return wheels[0]


def unpack(wheel: Path, folder: Path) -> Path:
    """The Python files and notebooks of a wheel, and nothing else of it."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith((".py", ".ipynb"))]
        archive.extractall(folder, names)
    return folder


def python_files(folders: list[Path]) -> list[Path]:
    """Every `.py` file, sorted."""
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=default_folder(), metavar="DIR")
    into: Path = parser.parse_args().into
    try:
        ensure(into)
    except CorpusError as error:
        print(error, file=sys.stderr)
        return 1
    print(into)
    return 0


if __name__ == "__main__":
    sys.exit(main())
