"""What the README shows is what the tool does."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.commandline import SLOW, CommandLine
from tests.documented import PAGES
from tflint_perf.catalogue.registry import all_rules
from tflint_perf.config.keys import FORMATS
from tflint_perf.config.settings import Settings
from tflint_perf.lint.fix import fix_source
from tflint_perf.text.source import Source
from tflint_perf.version import __version__

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
# What the example leaves to the reader's mind.
AROUND = """\
import gc

import tensorflow as tf

for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, True)

losses = []


"""


def test_the_example_is_fixed_as_the_readme_says() -> None:
    before, after = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[:2]
    source = Source.from_bytes((AROUND + before).encode(), "train.py")
    rules = frozenset(all_rules())
    settings = Settings(root=ROOT, rules=rules, fixable=rules)
    fixed = fix_source(source, replace(settings, fix="apply", unsafe_fixes=True))
    assert fixed.source.text == AROUND.removeprefix("import gc\n\n") + after


def test_the_picture_shows_what_is_printed() -> None:
    tool = str(Path(sys.executable).with_name("tflint-perf"))
    command = [tool, "--isolated", "--no-cache", "docs/example/train.py"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    picture = (ROOT / "docs" / "terminal.svg").read_text(encoding="utf-8")
    drawn = "".join(re.findall(r"<text [^>]*>([^<]*)</text>", picture))
    shown = re.sub(r"\s", "", html.unescape(drawn).replace("\xa0", ""))
    assert ran.returncode == 1
    assert re.sub(r"\s", "", ran.stdout) in shown


def test_the_first_screen_has_a_picture_what_a_whole_program_gained_and_an_install_line() -> None:
    screen, rest = README.split("\n## ", 1)
    assert len(screen.splitlines()) < 25
    assert "](docs/terminal.svg)" in screen
    assert re.findall(r"(?m)^\$ (pip install \S+)", screen) == ["pip install ."]
    said = " ".join(screen.split())
    (before, after, effect) = re.findall(
        r"(?m)^a step, 2 to 200, mean +(\S+ ms) +(\S+ ms)  (\S+ \(.*?\))$", rest
    )[0]
    assert f"a step took {before}, and with one of the fixes {after}, {effect} as fast" in said


def test_every_format_is_named() -> None:
    named = re.search(r"--output-format\s+([a-z|-]+)`", README)
    assert named is not None
    assert tuple(named[1].split("|")) == FORMATS


def test_every_configuration_is_one(tflint_perf: CommandLine) -> None:
    blocks = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    assert blocks
    tflint_perf.write("train.py", AROUND)
    for block in blocks:
        tflint_perf.write("pyproject.toml", block)
        ran = tflint_perf("--show-settings", "-v")
        assert (ran.code, ran.err) == (0, "")
        assert "pyproject.toml" in ran.out


def test_the_commands_for_old_code_work(tflint_perf: CommandLine, repository: Callable[..., str]) -> None:
    block = re.search(r"(?s)findings already\n\n```console\n(.*?)```", README)
    assert block is not None
    commands = re.findall(r"(?m)^\$ tflint-perf (.*?) +#", block[1])
    assert len(commands) == 5
    repository("update-ref", "refs/remotes/origin/main", "main")
    tflint_perf.write("new.py", SLOW)
    found = {command: tflint_perf(*command.split()) for command in commands}
    codes = {command.split()[0]: ran.code for command, ran in found.items() if command != commands[3]}
    assert codes == {"--write-baseline": 0, "--baseline": 0, "--diff-base": 1, "--add-noqa": 0}
    assert found[commands[3]].out == found[commands[2]].out


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("one clean file that is analysed", r"Of the (\S+) s of a clean file"),
        ("all 4,300 files, first run", r"All 4,300 files take (\S+) s"),
        (
            "all 4,300 files, second run, nothing changed",
            r"All 4,300 files take \S+ s on two cores at first, and (\S+) s",
        ),
    ],
)
def test_what_stands_on_the_page_about_speed_too_is_the_same_there(row: str, sentence: str) -> None:
    page = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    (told,) = re.findall(sentence, page)
    assert f"\n| {row} | {told} | |\n" in README


def test_what_is_generated_in_the_pages_is_what_the_tool_and_the_evidence_say() -> None:
    # In a process of its own: here, tests see no evidence.
    command = [sys.executable, str(ROOT / "docs" / "generated.py"), "--check"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, ""), f"run `python docs/generated.py`\n{ran.stderr}"


@pytest.mark.parametrize(
    ("page", "part"),
    [
        (
            "README.md",
            "| [TFP101](rules/eager/tfp101_eager_train_step.py) | a gradient step that runs in eager mode",
        ),
        ("symptoms.md", "| [TFP101](../rules/eager/tfp101_eager_train_step.py)<br>eager-train-step | "),
        ("run.md", "| [TFP404](../rules/memory/tfp404_missing_memory_growth.py) missing-memory-growth | "),
        ("configuration.md", "### fail-on\n"),
        ("comparison.md", "| Ruff "),
        ("index.md", "\n@tf.function\n"),
        ("commands.md", "`--write-baseline FILE`\n"),
    ],
)
def test_what_a_page_is_about_stands_in_the_file(page: str, part: str) -> None:
    assert part in PAGES[page].read_text(encoding="utf-8")


def links(page: str) -> list[str]:
    """What a page leads to in the repository."""
    text = re.sub(r"(?ms)^( *)```.*?^\1```$", "", PAGES[page].read_text(encoding="utf-8"))
    return re.findall(r"\]\(([^()\s#:]+)(?:#[^()\s]*)?\)", text)


@pytest.mark.parametrize("page", PAGES)
def test_a_link_leads_to_a_file(page: str) -> None:
    assert [target for target in links(page) if not (PAGES[page].parent / target).exists()] == []


def test_every_page_is_linked_from_the_readme_or_from_one_that_is() -> None:
    linked, waiting = {"README.md", "index.md"}, ["README.md"]
    while waiting:
        found = {Path(target).name for target in links(waiting.pop())} & PAGES.keys()
        waiting += sorted(found - linked)
        linked |= found
    assert PAGES.keys() - linked == set()
    assert {"docs/start.md", "docs/configuration.md", "docs/suppressing.md"} <= set(links("README.md"))


def test_the_change_log_begins_with_this_version() -> None:
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"(?m)^## (.+)$", log)[0] == __version__
