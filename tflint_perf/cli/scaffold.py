"""For developers: write what a new rule begins with. `python -m tflint_perf.cli.scaffold CODE NAME`.

It is part of the package, and no command of it: whoever writes rules needs it, in this project or in a package of
their own, and nobody else. What it writes is well-formed, does nothing useful yet, and its tests fail until it does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from string import Template

import click

from tflint_perf.catalogue.rules import PREFIX, catalogue

_EVIDENCE = Path("tflint_perf/observed/evidence.toml")
_CODE = re.compile(r"[A-Z]{2,}[0-9]{3}")
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

_RULE = Template('''\
"""$code $name."""

from __future__ import annotations

from collections.abc import Iterator

from tflint_perf.analysis.model import Model
from tflint_perf.rule import Claim, Report, Rule


class $klass(Rule):
    """TODO: in a few words, what is slow.

    ## What it does

    TODO: what is reported, and where.

    ## Why is this bad?

    TODO: what it costs, and what causes that.

    ## Example

    ```python
    TODO = "slow"
    ```

    Use instead:

    ```python
    TODO = "fast"
    ```

    ## What is left alone

    TODO: what looks alike and is well.

    ## Sources

    - TODO: where this is said, with an address.
    """

    code = "$code"
    name = "$name"
    # TODO: a word without which a file has no finding; see `needs`, `fixes` and the others in `tflint_perf.rule`.
    triggers = ("todo(",)
    # TODO: what to measure, and the least effect that proves the rule; None for a rule about correctness.
    claim = Claim("step time", least=2.0)

    def check(self, model: Model) -> Iterator[Report]:
        for call in model.calls_named("todo"):
            yield Report(call, "TODO: what is the matter; the remedy")
''')

_SCRIPT = Template('''\
"""TODO: the experiment in one sentence, the same in both scripts."""

import tensorflow as tf

BATCH_SIZE = 32
SAMPLES = 1024
FEATURES = 16


def make_dataset():
    inputs = tf.random.normal((SAMPLES, FEATURES))
    targets = tf.tanh(tf.linalg.matmul(inputs, tf.random.normal((FEATURES, 1))))
    dataset = tf.data.Dataset.from_tensor_slices((inputs, targets))
    return dataset.shuffle(SAMPLES).repeat().batch(BATCH_SIZE).prefetch(tf.data.AUTOTUNE)


def train(steps):
    tf.keras.utils.set_random_seed(1)
    dataset = make_dataset()
    model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(1)])
    model.compile(optimizer=tf.keras.optimizers.Adam(0.003), loss="mse")

    for inputs, targets in dataset.take(steps):
        loss = model.train_on_batch(inputs, targets)  # TODO: $what
        yield loss
''')

_TEST = Template('''\
"""$code $name."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tflint_perf.testing import findings, fixed

CODE = "$code"

# First what must stay silent: every form that tempts.
SILENT = {
    "TODO: a form that is well": """
        import tensorflow as tf
        todo()
        """,
}
# The rows that are flagged end in an arrow.
FLAGGED = {
    "TODO: the plainest form": """
        import tensorflow as tf
        slow()  # <-
        """,
}
# TODO: what the fix makes of it; without a fix, leave out this table and its test.
FIXED = {
    "TODO: the plainest form": (
        """
        import tensorflow as tf
        slow()
        """,
        """
        import tensorflow as tf
        fast()
        """,
    ),
}


@pytest.mark.parametrize("source", SILENT.values(), ids=list(SILENT))
def test_it_leaves_alone(source: str) -> None:
    assert [finding.start.row for finding in findings(CODE, source)] == []


@pytest.mark.parametrize("source", FLAGGED.values(), ids=list(FLAGGED))
def test_it_flags(source: str) -> None:
    rows = [row for row, line in enumerate(source.splitlines(), 1) if line.endswith("# <-")]
    assert [finding.start.row for finding in findings(CODE, source)] == rows


@pytest.mark.parametrize(("source", "expected"), FIXED.values(), ids=list(FIXED))
def test_its_fix_gives(source: str, expected: str) -> None:
    assert fixed(CODE, source) == dedent(expected)
''')


_SEEN = Template("""\
[rules.$code]
unseen = "TODO: why a run sees nothing of it; or else `says`, `by` and the others, which the head of this file explains"
""")
# The tables of a file that says what a run sees of each rule.
_TABLE = re.compile(r"(?m)^\[(?:rules\.(\w+)|.*)\]$")


def skeleton(code: str, name: str, rules: Path, fixtures: Path, tests: Path) -> Mapping[Path, str]:
    """The files of a new rule, by their paths."""
    words = {"code": code, "name": name, "klass": "".join(map(str.capitalize, name.split("-")))}
    return {
        _family(rules, code) / f"{code.lower()}_{name.replace('-', '_')}.py": _RULE.substitute(words),
        fixtures / code / "slow.py": _SCRIPT.substitute(what="the slow form"),
        fixtures / code / "fast.py": _SCRIPT.substitute(what="the fast form"),
        tests / f"test_{code.lower()}.py": _TEST.substitute(words),
    }


def with_evidence(text: str, code: str) -> str:
    """A file of evidence with an entry for a new rule, in the order of the codes."""
    tables = list(_TABLE.finditer(text))
    of_rules = [table for table in tables if table[1]]
    behind = next((table for table in of_rules if table[1] > code), None)
    if behind is None:
        behind = next((table for table in tables if of_rules and table.start() > of_rules[-1].start()), None)
    entry = _SEEN.substitute(code=code)
    if behind is None:
        return f"{text}\n{entry}"
    return f"{text[: behind.start()]}{entry}\n{text[behind.start() :]}"


def _family(rules: Path, code: str) -> Path:
    """The folder in which the rules of the same hundred stand; the folder of all where there are none yet."""
    files = rules.glob(f"*/{code[:-2].lower()}[0-9][0-9]_*.py")
    return next((file.parent for file in sorted(files)), rules)


def _refuse(code: str, name: str) -> None:
    if _CODE.fullmatch(code) is None:
        raise click.UsageError(f"a code is capital letters and three digits, not {code!r}")
    if _NAME.fullmatch(name) is None:
        raise click.UsageError(f"a name is small words with hyphens between them, not {name!r}")
    for rule in catalogue().values():
        if code == rule.code or name == rule.name:
            raise click.UsageError(f"there is a rule {rule.code} {rule.name} already")


@click.command()
@click.argument("code")
@click.argument("name")
@click.option("--rules", type=click.Path(path_type=Path), default="rules", show_default=True)
@click.option("--fixtures", type=click.Path(path_type=Path), default="fixtures", show_default=True)
@click.option("--tests", type=click.Path(path_type=Path), default="tests/rules", show_default=True)
@click.option(
    "--evidence", type=click.Path(path_type=Path), default=_EVIDENCE, show_default=True,
    help="For this tool's own rules: where it is said what a run sees of each.",
)  # fmt: skip
def scaffold(code: str, name: str, rules: Path, fixtures: Path, tests: Path, evidence: Path) -> None:
    """Write the skeleton of a rule, of its pair of scripts and of its test; for an own rule also what a run sees of it."""
    _refuse(code, name)
    files = skeleton(code, name, rules, fixtures, tests)
    for folder in (rules, fixtures, tests):
        if not folder.is_dir():
            raise click.UsageError(f"no such folder: {folder}")
    is_own = code.startswith(PREFIX)
    if is_own and not evidence.is_file():
        raise click.UsageError(f"no such file: {evidence}")
    if there := [str(path) for path in files if path.exists()]:
        raise click.UsageError(f"there already: {', '.join(there)}")
    for path, text in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        click.echo(path)
    if is_own:
        evidence.write_text(with_evidence(evidence.read_text(encoding="utf-8"), code), encoding="utf-8")
        click.echo(evidence)


if __name__ == "__main__":
    scaffold()
