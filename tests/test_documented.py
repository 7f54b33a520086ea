"""Nothing is documented that does not work as written: the blocks of the README and of the pages, tried as a reader would.

Each block is run, loaded or compiled, whatever page it stands on. One that cannot be is listed here with the reason; a
new one that is neither fails.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import dedent
from types import MappingProxyType
from typing import Any

import click
import jsonschema
import nbformat
import pytest
import yaml

from tests.commandline import CommandLine
from tests.documented import (
    PAGES,
    ROOT,
    Block,
    bare,
    blocks,
    in_language,
    inline_code,
    make_checkout,
    make_home,
    make_project,
    shell,
    write,
)
from tests.forked import Forks
from tflint_perf.catalogue.rules import catalogue
from tflint_perf.commands import COMMANDS, tflint_perf, with_command
from tflint_perf.config.reading import toml_of
from tflint_perf.config.schema import config_schema
from tflint_perf.verify import device, process
from tflint_perf.verify.nursery import Nursery

REGISTRY = "installs from the registry"
IN_THE_WHEEL_S_TEST = "tests/test_wheel.py follows the page in a new environment"
# Commands that are not run here, and why. What stands behind `#` does not count.
NOT_RUN = MappingProxyType(
    {
        (
            "README.md",
            "pip install .",
        ): "installs a checkout; tests/test_wheel.py builds and installs this one",
        ("README.md", "pip install 'tflint-perf[verify]'"): f"{REGISTRY}, and TensorFlow too",
        ("start.md", "python3 -m venv .venv"): IN_THE_WHEEL_S_TEST,
        ("start.md", ". .venv/bin/activate"): IN_THE_WHEEL_S_TEST,
        ("start.md", "pip install ~/tflint-perf"): IN_THE_WHEEL_S_TEST,
        ("start.md", "pip install pre-commit"): f"{REGISTRY}; {IN_THE_WHEEL_S_TEST}",
        ("ci.md", "pip install flake8 tflint-perf"): f"{REGISTRY}; both are installed here",
        ("clusters.md", "pip install 'tflint-perf[watch]'"): f"{REGISTRY}; watchfiles is installed here",
        ("clusters.md", "tflint-perf --watch"): "does not end by itself; tests/test_watch.py ends it",
        ("clusters.md", "pip install 'tflint-perf[dask]'"): f"{REGISTRY}; distributed is installed here",
        (
            "clusters.md",
            "tflint-perf --engine dask --scheduler tcp://10.0.0.5:8786 src/",
        ): "needs a cluster at that address; tests/test_cluster.py has one elsewhere",
        ("editors.md", "pip install 'tflint-perf[lsp]'"): f"{REGISTRY}; pygls is installed here",
        (
            "adding-a-rule.md",
            ".venv/bin/python -m pip install --editable '.[verify]'",
        ): f"{REGISTRY}, and TensorFlow too",
        ("adding-a-rule.md", ".venv/bin/tflint-perf verify TFP612"): "takes minutes; with --quick it is run",
        (
            "adding-a-rule.md",
            ".venv/bin/tflint-perf verify --record TFP612",
        ): "takes minutes, and writes evidence",
        (
            "run.md",
            "tflint-perf run train.py",
        ): "takes a minute, and no two runs are alike; tests/observed try it",
        ("custom-rules.md", "tflint-perf verify ACM101"): "tests/test_plugins.py runs it with --quick",
        ("adding-a-rule.md", "make test"): "these tests are a part of it",
    }
)
# Blocks in languages that nothing here can try.
OTHER_LANGUAGES = MappingProxyType(
    {
        "lua": "tests/test_editors_page.py starts Neovim with it, where that is installed",
        "elisp": "tests/test_editors_page.py starts Emacs with it, where that is installed",
        "text": "shows the files of a folder, or commands that take an hour or need the network",
    }
)
# Python that is a part of something: where it is tried instead.
PARTS = MappingProxyType(
    {
        ("README.md", "for epoch in range(10):"): "tests/test_readme.py fixes it",
        ("README.md", "@tf.function"): "tests/test_readme.py makes it by a fix",
        ("index.md", "for epoch in range(10):"): "a section of the README, generated into the page",
        ("index.md", "@tf.function"): "a section of the README, generated into the page",
        ("README.md", "def check(self, model: Model)"): "a method, as in rules/memory/tfp406_gc_in_loop.py",
        ("start.md", "import tensorflow as tf  # noqa"): "a line of train.py, which is run",
        ("why.md", "import gc"): "a file that another one calls; what the linter says of it is compared",
        ("why.md", "import tensorflow as tf"): "what the linter says of it is compared",
        ("clusters.md", "from collections.abc"): "tests/test_clusters_page.py runs it on a table",
        (
            "clusters.md",
            "from pyspark.sql",
        ): "needs Spark; tests/test_clusters_page.py has it where Spark is",
        ("run.md", "import numpy as np"): "tests/observed/test_run_page.py watches it for some steps",
        ("fixing.md", "import gc"): "a function without a caller; what the linter says of it is compared",
        (
            "fixing.md",
            "import numpy as np",
        ): "half of it is in a file that is not shown; what the linter says of it is compared",
    }
)
# Pages about this repository itself. Those that write files begin in an empty folder, all others in a project with git.
CHECKOUT = ("adding-a-rule.md", "custom-rules.md")
# Options of other tools in the text.
FOREIGN_OPTIONS = {"--disable-noqa"}


def quick(command: str) -> str:
    """An experiment only shows that it runs."""
    return re.sub(r"\bverify\b(?!.*--quick)", "verify --quick", command)


def prepare(page: str, folder: Path) -> None:
    """Make the place that a page speaks of."""
    if page in CHECKOUT:
        make_checkout(folder)
    elif not any(block.title for block in blocks(page)):
        make_project(folder)


def verified(words: Sequence[str], folder: Path, forks: Forks) -> subprocess.CompletedProcess[str]:
    """What `tflint-perf verify` gives in this process, its scripts forked of what has TensorFlow imported already.

    With a Python and an import of its own it is a command of docs/adding-a-rule.md.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(device, "new_nursery", lambda *_: forks.nursery)
        patch.setattr(Nursery, "close", lambda _: None)  # others go on with it
        patch.setattr(process, "_started", forks.script)  # somebody's own scripts
        ran = CommandLine(folder, patch)(*words)
    return subprocess.CompletedProcess(words, ran.code, ran.out, ran.err)


def try_command(block: Block, command: str, shown: str, folder: Path, forks: Forks) -> None:
    """Run a command, and compare what it prints with what the page shows."""
    variables = {"HOME": str(folder.parent / "home")}
    if block.page in CHECKOUT:
        variables["PATH"] = f"{folder}/.venv/bin:/usr/bin:/bin"
    experiment = re.match(r"tflint-perf (verify\b.*)", quick(bare(command)))
    if experiment:
        done = verified(shlex.split(experiment[1]), folder, forks)
    else:
        done = shell(quick(command), folder, **variables)
    both = done.stdout + done.stderr
    finds = re.match(r"(?:\S*/)?(?:tflint-perf|flake8)\b", command) is not None
    assert done.returncode in ((0, 1) if finds else (0,)), f"{block}\n$ {command}\n{both}"
    assert "Traceback" not in both, f"{block}\n$ {command}\n{both}"
    if shown:
        assert both == shown, f"{block}\n$ {command}"


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_work_one_after_the_other(page: str, tmp_path: Path, forks: Forks) -> None:
    commands = [
        (block, *pair) for block in blocks(page) for pair in block.commands() if block.language == "console"
    ]
    if not commands and not any(block.title for block in blocks(page)):
        return
    make_home(tmp_path / "home")
    folder = tmp_path / "here"
    folder.mkdir()
    prepare(page, folder)
    for block in blocks(page):
        if block.title:
            write(folder, block)
        elif block.language == "console":
            for command, shown in block.commands():
                if (page, bare(command)) not in NOT_RUN:
                    try_command(block, command, shown, folder, forks)
        elif block.language in ("python", "toml") and page in BY_HAND:
            BY_HAND[page](block, folder)
    AFTERWARDS.get(page, lambda *_: None)(folder, forks)


RULE = Path("rules/precision/tfp612_summary_per_step.py")
TEST = Path("tests/rules/test_tfp612.py")
PAIR = Path("fixtures/TFP612")
CALLERS = Path("tests/test_callers.py")
SEEN = Path("tflint_perf/observed/evidence.toml")


def change(path: Path, pattern: str, text: str) -> None:
    """Put a text in the place of the one part of a file that fits the pattern."""
    old = path.read_text(encoding="utf-8")
    new, count = re.subn(pattern, lambda _: text, old, count=1, flags=re.DOTALL | re.MULTILINE)
    assert count == 1, f"{path}: {pattern}"
    path.write_text(new, encoding="utf-8")


def fill_in(block: Block, folder: Path) -> None:
    """Do with a block of docs/adding-a-rule.md what the sentence above it says."""
    if block.text.startswith("PREAMBLE"):
        change(folder / TEST, r"^# First what must stay silent.*?(?=^\n*@pytest)", f"{block.text}\n\n")
    elif block.text.startswith("from __future__"):
        change(folder / RULE, r"^from __future__.*", block.text)
    elif block.text.startswith("def test_"):
        change(folder / CALLERS, r"\Z", f"\n\n{block.text}")
    elif block.language == "toml":
        change(folder / SEEN, r"^\[rules\.TFP612\]\nunseen = \"TODO.*?\n", block.text)
    else:
        script = folder / PAIR / ("slow.py" if "summary()" in block.text else "fast.py")
        change(script, r"^    for inputs, targets in dataset\.take.*", block.text)
        change(script, r'(?<=\A""").*?(?=""")', "A small network that fits a curve in made-up measurements.")


def is_in_the_table(folder: Path, _: Forks) -> None:
    """The new rule has its row; that it is held to its pair like all others is a command of the page."""
    assert (
        "| [TFP612](rules/precision/tfp612_summary_per_step.py) | a model's summary printed on each training step | unsafe |"
        in (folder / "README.md").read_text()
    )


def trains(folder: Path, forks: Forks) -> None:
    """The script as it is in the end and as it was, for one epoch."""
    (before,) = [block for block in blocks("start.md") if block.title == "train.py"]
    (folder / "before.py").write_text(before.text)
    for name in ("before.py", "train.py"):
        script = folder / name
        script.write_text(script.read_text().replace("range(10)", "range(1)"))
        done = forks.run(name, folder=folder)
        assert done.returncode == 0, done.stderr
        assert re.fullmatch(r"epoch 0: \d\.\d{4}\n", done.stdout)


# Blocks that a sentence above them says what to do with, and what must hold when a page has been gone through.
BY_HAND: dict[str, Callable[[Block, Path], None]] = {"adding-a-rule.md": fill_in}
AFTERWARDS: dict[str, Callable[[Path, Forks], None]] = {
    "adding-a-rule.md": is_in_the_table,
    "start.md": trains,
}


@pytest.mark.parametrize(("page", "command"), NOT_RUN, ids=str)
def test_what_is_listed_as_not_run_is_there(page: str, command: str) -> None:
    assert command in [
        bare(found) for block in blocks(page) if block.language == "console" for found, _ in block.commands()
    ]


@pytest.mark.parametrize(("page", "start"), PARTS, ids=str)
def test_what_is_listed_as_a_part_is_there(page: str, start: str) -> None:
    assert [block for block in blocks(page) if block.language == "python" and block.text.startswith(start)]


@pytest.mark.parametrize("block", [block for page in PAGES for block in blocks(page)], ids=str)
def test_every_block_is_in_a_language_that_is_tried(block: Block) -> None:
    tried = {"console", "toml", "yaml", "python", "json"}
    assert block.language in tried | set(OTHER_LANGUAGES)
    if block.language == "console":
        lines = block.text.splitlines()
        assert lines[0].startswith("$ "), "a command begins with `$ `"


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a baseline, below a folder with a configuration of its own."""
    folder = tmp_path_factory.mktemp("configured") / "project"
    folder.mkdir()
    make_project(folder)
    (folder.parent / "tflint-perf.toml").write_text("show-fixes = true\n")
    done = shell("tflint-perf --isolated --write-baseline tflint-perf-baseline.json", folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("block", in_language("toml"), ids=str)
def test_a_configuration_is_one(block: Block, scratch: Path) -> None:
    document = toml_of(block.text)
    table = document.get("tool", {}).get("tflint-perf")
    if table is None:
        CONFIGURATIONS_OF_OTHERS[block.page](document)
        return
    jsonschema.validate(table, config_schema(catalogue()))
    (scratch / "pyproject.toml").write_text(block.text)
    done = shell("tflint-perf --show-settings", scratch)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"# {scratch / 'pyproject.toml'}; ")


def is_a_package_of_rules(document: dict[str, Any]) -> None:
    """As the example, which is installed when its page is played."""
    example = toml_of((ROOT / "docs" / "example-plugin" / "pyproject.toml").read_text())
    assert document["project"].items() <= example["project"].items()
    assert document["tool"]["setuptools"].items() <= example["tool"]["setuptools"].items()


def starts_the_server(document: dict[str, Any]) -> None:
    (server,) = document["language-server"].values()
    assert (server["command"], server["args"]) == ("tflint-perf", ["server"])


def says_what_a_run_sees(document: dict[str, Any]) -> None:
    """It is filled in when its page is played."""
    assert document["rules"]["TFP612"].keys() == {"unseen"}


CONFIGURATIONS_OF_OTHERS = {
    "adding-a-rule.md": says_what_a_run_sees,
    "custom-rules.md": is_a_package_of_rules,
    "editors.md": starts_the_server,
}


def schema_and_document(loaded: Any) -> tuple[str, Any]:
    """Whose configuration it is, and the whole of it where only a part is shown."""
    match loaded:
        case {"repos": _}:
            return "pre-commit", loaded
        case {True: _, "jobs": _}:  # YAML takes the word `on` for a truth
            return "vendor.github-workflows", {
                ("on" if key is True else key): value for key, value in loaded.items()
            }
        case list():
            job = {"runs-on": "ubuntu-latest", "steps": loaded}
            return "vendor.github-workflows", {"on": "push", "jobs": {"job": job}}
        case dict() if all("script" in job for job in loaded.values()):
            return "vendor.gitlab-ci", loaded
    pytest.fail(f"whose configuration is this? {loaded}")


@pytest.mark.slow
@pytest.mark.parametrize("block", in_language("yaml"), ids=str)
def test_a_configuration_of_ci_is_as_its_reader_asks(block: Block, tmp_path: Path) -> None:
    schema, document = schema_and_document(yaml.safe_load(re.sub(r"<[^>]+>", "some", block.text)))
    file = tmp_path / ".pre-commit-config.yaml"
    file.write_text(json.dumps(document))
    check = (
        ["pre_commit", "validate-config"]
        if schema == "pre-commit"
        else ["check_jsonschema", "--builtin-schema", schema]
    )
    done = subprocess.run([sys.executable, "-m", *check, file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("block", in_language("json"), ids=str)
def test_json_is_a_notebook_or_tells_an_editor_of_this_tool(block: Block) -> None:
    document = json.loads(block.text)
    if block.title.endswith(".ipynb"):
        nbformat.validate(document)
    else:
        assert "tflint-perf" in json.dumps(document)


# Around the parts of docs/suppressing.md, so that there is something to suppress.
AROUND = """\
import gc

import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(loss="mse")
dataset = tf.data.Dataset.from_tensor_slices((tf.ones((8, 2)), tf.ones((8, 1)))).batch(2)


def step(x, y):
    model.train_on_batch(x, y)


"""
LOOP = "for x, y in dataset:\n    step(x, y)\n"


@pytest.mark.slow
def test_every_comment_that_is_shown_suppresses_what_it_names(tmp_path: Path) -> None:
    parts = [block for block in blocks("suppressing.md") if block.language == "python"]
    assert parts
    for part in parts:
        named = set(re.findall(r"TFP404|gc-in-loop|TFP4\b", part.text))
        first = part.text if part.text.startswith("import") else "import tensorflow as tf\n"
        text = AROUND.replace("import tensorflow as tf\n", first)
        text += LOOP if first == part.text else part.text
        (tmp_path / "train.py").write_text(text)
        options = f"--isolated --no-cache --output-format concise --select {','.join(named)},TFP001"
        shown, hidden = (
            shell(f"tflint-perf {options} {more} train.py", tmp_path) for more in ("--ignore-noqa", "")
        )
        assert (shown.returncode, hidden.returncode) == (1, 0), f"{part}\n{shown.stdout}\n{hidden.stdout}"


@pytest.mark.parametrize("block", in_language("python"), ids=str)
def test_python_is_python_and_what_is_not_run_is_listed(block: Block) -> None:
    ast.parse(dedent(block.text))
    listed = any(page == block.page and block.text.startswith(start) for page, start in PARTS)
    played = (
        block.page in BY_HAND
        or block.page == "suppressing.md"
        or (block.page, block.title) == ("start.md", "train.py")
    )
    assert listed != played, "run it, or list it with the reason"


def written_commands() -> list[tuple[str, str]]:
    """The commands in the text of all pages, as far as they are written out."""
    return [
        (page, code)
        for page in PAGES
        for code in inline_code(page)
        if code.startswith("tflint-perf ") and "…" not in code
    ]


@pytest.mark.parametrize(("page", "command"), written_commands(), ids=str)
def test_a_command_in_the_text_is_taken(page: str, command: str) -> None:
    first, *arguments = with_command(shlex.split(command)[1:])
    known = tflint_perf.get_command(click.Context(tflint_perf), first)
    if known is None:
        assert first in ("--help", "--version")
    else:
        # Help is printed at once, and nothing else is looked at.
        known.make_context(first, [argument for argument in arguments if argument != "--help"])


def test_every_option_in_the_text_is_one() -> None:
    commands = [tflint_perf.get_command(click.Context(tflint_perf), name) for name in COMMANDS]
    # click adds this one to each command.
    options = {"--help"} | {
        option
        for command in commands
        if command is not None
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    written = {
        (page, option)
        for page in PAGES
        for code in inline_code(page)
        for option in re.findall(r"^--[a-z][\w-]+", code)
    }
    assert written
    assert {(page, option) for page, option in written if option not in options | FOREIGN_OPTIONS} == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", sorted({code for page in PAGES for code in inline_code(page) if code.startswith("make ")})
)
def test_what_make_is_told_to_do_it_knows(command: str) -> None:
    done = shell(command.replace("make ", "make --dry-run ", 1), ROOT)
    assert done.returncode == 0, done.stderr
