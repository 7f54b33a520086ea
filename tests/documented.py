"""The blocks of code in the documentation, and places to try them in."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.forked import linters
from tests.test_wheel import bare_environment

ROOT = Path(__file__).parent.parent
PAGES = {path.name: path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))}
_FENCE = re.compile(
    r"(?ms)^(?P<indent> *)```(?P<language>[^\s`]*)(?P<about>[^\n]*)\n(?P<text>.*?)^(?P=indent)```$"
)
_COMMAND = re.compile(r"(?m)^\$ (.*)\n((?:(?!\$ ).*\n)*)")
# What begins with these takes more than the linter.
_LINTS = re.compile(r"tflint-perf(?! (?:prove|run|server|verify)\b)[^|<>&;$*?~`\n]*")
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a page. `title` is the file that it stands for, if it says so."""

    page: str
    number: int
    language: str
    title: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}, block {self.number} ({self.language})"

    def commands(self) -> list[tuple[str, str]]:
        """The commands, each with what is shown below it."""
        return _COMMAND.findall(self.text)


def blocks(page: str) -> Iterator[Block]:
    """All blocks of a page, in their order."""
    for number, found in enumerate(_FENCE.finditer(PAGES[page].read_text(encoding="utf-8")), start=1):
        title = re.search(r'title="([^"]+)"', found["about"])
        yield Block(
            page,
            number,
            found["language"],
            title[1] if title else "",
            re.sub(rf"(?m)^{found['indent']}", "", found["text"]),
        )


def in_language(*languages: str) -> list[Block]:
    """The blocks of all pages in these languages."""
    return [block for page in PAGES for block in blocks(page) if block.language in languages]


def inline_code(page: str) -> list[str]:
    """What stands between backticks outside of blocks."""
    return _INLINE.findall(_FENCE.sub("", PAGES[page].read_text(encoding="utf-8")))


def bare(command: str) -> str:
    """A command without its comment."""
    return re.sub(r"\s+#.*", "", command).strip()


def write(folder: Path, block: Block) -> None:
    """Put a titled block where its title says: into a file, or on one line of it."""
    name, _, line = block.title.partition(", line ")
    path, text = folder / name, block.text
    if line:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        lines[int(line) - 1] = text
        text = "".join(lines)
    path.write_text(text, encoding="utf-8")


def shell(command: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command as somebody types it who has this project installed.

    Where it asks nothing of the shell, and of this project no more than to lint, it is run by a fork: a page has dozens of them.
    """
    person = {
        f"GIT_{role}_{what}": "nobody" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    own = {name: text for name, text in bare_environment().items() if not name.startswith("TFLINT_PERF_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    given: Mapping[str, str] = {
        "PATH": path,
        "NO_COLOR": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        **person,
        **variables,
    }
    if "PATH" not in variables and _LINTS.fullmatch(bare(command)):
        words = shlex.split(command, comments=True)[1:]
        return linters().run("-m", "tflint_perf", *words, folder=folder, variables=own | given)
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=own | given,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def run(command: str, folder: Path) -> None:
    """Run what has to succeed."""
    done = shell(command, folder)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


_PYPROJECT = """\
[project]
name = "digits"
version = "1.0"
requires-python = ">=3.10"
dependencies = ["tensorflow>=2.16"]
"""


def make_project(folder: Path) -> None:
    """A project with git: a script with findings, a branch `main` at `origin` too, two scripts to be compared."""
    (folder / "pyproject.toml").write_text(_PYPROJECT)
    (folder / "third_party").mkdir()
    (folder / "third_party" / "metrics.py").write_text("import tensorflow as tf\n")
    shutil.copy(ROOT / "docs" / "example" / "train.py", folder / "train.py")
    for name, script in (("before.py", "slow.py"), ("after.py", "fast.py")):
        shutil.copy(ROOT / "fixtures" / "TFP101" / script, folder / name)
    (folder / ".gitignore").write_text(".tflint-perf-cache\n")
    run("git init -q -b main && git add . && git commit -q -m begin", folder)
    run("git update-ref refs/remotes/origin/main main", folder)
    with (folder / "train.py").open("a") as file:
        file.write("\nprint('more')\n")


def make_home(folder: Path) -> None:
    """A home with somebody's project in it."""
    project = folder / "src" / "some-tensorflow-project"
    project.mkdir(parents=True)
    shutil.copy(ROOT / "docs" / "example" / "train.py", project / "train.py")


def make_checkout(folder: Path) -> None:
    """A copy of this repository, installed in an environment of its own as `make` would have done it.

    What is installed beside this project is there too, so that nothing but the copy has to be installed.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    environment = folder / ".venv"
    run(f"{sys.executable} -m venv --without-pip {environment}", folder)
    (packages,) = environment.glob("lib/python*/site-packages")
    around = sysconfig.get_path("purelib")
    # Behind the copy's own: of two installations the first one counts.
    (packages / "zz_around.pth").write_text(f"import site; site.addsitedir({around!r})\n")
    pip = environment / "bin" / "pip"
    pip.write_text(f'#!/bin/sh\nexec {environment}/bin/python -m pip "$@"\n')
    pip.chmod(0o755)
    run(f"{pip} install --quiet --no-deps --ignore-installed --editable .", folder)
    version = "{}.{}".format(*sys.version_info[:2])
    for stamp in (f".made-with-python-{version}", ".installed"):
        (environment / stamp).touch()
