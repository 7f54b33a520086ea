"""What the rows of `analysis/apis` may look like, and that facts about libraries stand nowhere else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import tflint_perf.rules

from tflint_perf import analysis
from tflint_perf.analysis import apis
from tflint_perf.analysis.apis import facts
from tflint_perf.analysis.apis.facts import WrongRowError, fact, has, library, methods, named

ANALYSIS = Path(analysis.__path__[0])
RULES = Path(tflint_perf.rules.__path__[0])
FACTS = ANALYSIS / "apis" / "facts"
BENCHMARK = Path(__file__).parent.parent / "benchmarks" / "api_facts.py"
SOURCES = [
    path
    for folder in (ANALYSIS, RULES)
    for path in sorted(folder.rglob("*.py"))
    if path.parent != ANALYSIS / "apis"
]


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in place of the rows' own."""
    monkeypatch.setattr(facts, "_FOLDER", tmp_path)
    monkeypatch.setattr(facts, "FILES", ("tensorflow",))
    caches = (
        facts._read,
        facts._own,
        facts._facts,
        facts._patterns,
        facts.named,
        facts.methods,
        facts.last_names,
    )
    for cache in caches:
        cache.cache_clear()
    yield tmp_path / "tensorflow.txt"
    for cache in caches:
        cache.cache_clear()


def test_a_name_has_what_is_said_of_its_name_space(read: Path) -> None:
    read.write_text("tf.math.<function> pure gives=tensor\ntf.math.top_k gives=tensors\n")
    assert has("tf.math.exp", "pure")
    assert fact("tf.math.exp", "gives") == "tensor"
    assert fact("tf.math.top_k", "gives") == "tensors"
    assert has("tf.math.top_k", "pure")


def test_functions_and_classes_are_told_by_their_first_letter_and_deeper_names_by_a_star(read: Path) -> None:
    read.write_text("tf.math.<function> pure\nkeras.layers*<Class> gives=layer\ntf.train.*Optimizer sets\n")
    assert not has("tf.math.special.exp", "pure")
    assert not has("tf.math.Exp", "pure")
    assert fact("keras.layers.experimental.Dense", "gives") == "layer"
    assert fact("keras.layers.add", "gives") == ""
    assert has("tf.train.AdamOptimizer", "sets")
    assert not has("tf.train.Saver", "sets")


def test_what_stands_nearer_takes_back_what_stands_farther(read: Path) -> None:
    read.write_text("tf.random.* draws\ntf.random.stateless_* -draws\ntf.random.stateless_odd draws\n")
    assert has("tf.random.normal", "draws")
    assert not has("tf.random.stateless_normal", "draws")
    assert has("tf.random.stateless_odd", "draws")


def test_names_and_methods_are_listed_by_what_their_own_rows_say(read: Path) -> None:
    read.write_text("tf.* ops\ntf.add ops\nlist.append grows\nset.add grows\n")
    assert named("ops") == {"tf.add"}
    assert methods("list set", "grows") == {"append", "add"}
    assert methods("list", "grows") == {"append"}


@pytest.mark.parametrize(
    ("text", "told"),
    [("tf.abs pure\n\ntf.abs draws\n", "tensorflow.txt:3: tf.abs stands here twice"),
     ("tf.abs pure\ntf.exp  # nothing\n", "tensorflow.txt:2: tf.exp says nothing")],
)  # fmt: skip
def test_a_row_that_says_nothing_or_that_stands_twice_is_refused_with_its_place(
    read: Path, text: str, told: str
) -> None:
    read.write_text(text)
    with pytest.raises(WrongRowError, match=re.escape(told)):
        has("tf.abs", "pure")


def _rows(text: str) -> dict[str, set[str]]:
    """The words of each row of a file, without values."""
    lines = (line.partition("#")[0].split() for line in text.splitlines())
    return {
        line[0]: {fact.partition("=")[0].removeprefix("-") for fact in line[1:]} for line in lines if line
    }


@pytest.mark.parametrize("file", facts.FILES)
def test_the_top_of_a_file_says_which_words_there_are(file: str) -> None:
    text = (FACTS / f"{file}.txt").read_text()
    told = re.search(r"# words: (.*(?:\n#   .*)*)", text)
    assert told is not None
    assert told[1].replace("#", "").split() == sorted(set().union(*_rows(text).values()))


def test_each_word_is_explained_once_and_asked_somewhere() -> None:
    words = {word for file in facts.FILES for words in _rows((FACTS / f"{file}.txt").read_text()).values() for word in words}  # fmt: skip
    explained = re.findall(r"`([a-z][\w-]*)=?`(?=[:,])", apis.__doc__ or "")
    assert sorted(words) == sorted(explained)
    texts = "".join(path.read_text() for path in (*SOURCES, *(ANALYSIS / "apis").glob("*.py"), BENCHMARK))
    assert [word for word in sorted(words) if f'"{word}"' not in texts] == []


def test_a_library_is_told_of_its_names_and_not_of_others() -> None:
    assert library("tf.data.Dataset") == "tensorflow"
    assert library("tfoo.bar") == ""


def test_a_bar_shows_nothing_of_a_dataset_but_its_elements_whosever_it_is() -> None:
    assert named("progress-bar")
    assert named("progress-bar") <= named("takes-elements")


# What still stands in code, and how often: move it to the rows, and take it from here.
LEFT = {
    "analysis/execution/iterations.py": 2,
    "analysis/execution/sizes.py": 12,
    "analysis/execution/tapes.py": 1,
    # How names are spelled, and what modules are imported.
    "analysis/python/names.py": 7,
    "analysis/training/graphs.py": 2,
    "analysis/values/versions.py": 5,
    # What values go by.
    "analysis/values/integers.py": 4,
    "analysis/values/methods.py": 2,
    "analysis/values/named_calls.py": 4,
    "analysis/values/new_containers.py": 1,
    "rules/eager/tensor_rows.py": 1,
    "rules/precision/precision.py": 1,
    "rules/precision/tfp601_debug_left_on.py": 3,
    # What messages and edits say.
    "rules/eager/mini_batches.py": 1,
    "rules/pipelines/plain_numpy.py": 4,
    "rules/precision/tfp604_full_precision.py": 1,
    "analysis/rewriting/ops_for_numpy.py": 1,
}
_LIBRARIES = (
    "tf|keras|np|numpy|tensorflow|tensorflow_\\w+|gym|gymnasium|torch|cv2|PIL|skimage|imageio|scipy|sklearn|pandas|matplotlib|"
    "tqdm|wandb|time|datetime|random|math|os|functools|itertools|collections|json|pickle|glob|logging|threading|"
    "multiprocessing|gc|absl"
)
_NAME = re.compile(rf"({_LIBRARIES})\.[\w.]*")
_EXPRESSION = re.compile(r"\b(tf|keras|np)\\\.")


def _names_in(path: Path) -> list[str]:
    """The text constants of a file that are names of libraries, whole or begun, or regular expressions for such.

    Not those of docstrings, nor what a rule says the text of a file must hold to be looked at at all.
    """
    tree = ast.parse(path.read_text())
    skipped = {
        id(below)
        for node in ast.walk(tree)
        if (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        or (isinstance(node, ast.Assign) and {"needs", "triggers"} & {ast.unparse(t) for t in node.targets})
        for below in ast.walk(node)
    }
    texts = (
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped
    )
    return [text for text in texts if _NAME.fullmatch(text) or _EXPRESSION.search(text)]


def test_no_name_of_a_library_stands_in_code() -> None:
    found: dict[str, list[str]] = {}
    for path in SOURCES:
        folder, base = ("analysis", ANALYSIS) if path.is_relative_to(ANALYSIS) else ("rules", RULES)
        if names := _names_in(path):
            found[f"{folder}/{path.relative_to(base)}"] = names
    more = {path: names for path, names in found.items() if len(names) > LEFT.get(path, 0)}
    assert not more, (
        f"names of libraries in code: {more}; say what they are by a word in a row of analysis/apis/facts, "
        'and ask `model.calls_that("word")`, or `has` and `named` of analysis/apis/facts.py'
    )
    assert {path: len(names) for path, names in found.items()} == LEFT, (
        "there are fewer: take them out of LEFT"
    )
