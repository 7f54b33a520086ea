"""The lists of places in public programs, and the script that scores linters with them, on tiny programs of our own."""

from __future__ import annotations

import csv
import importlib.util
import json
import re
import subprocess
import sys
from functools import cache
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.commandline import SLOW
from tflint_perf.catalogue.rules import catalogue

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "places.py"
LISTS = sorted(SCRIPT.with_name("places").glob("*.tsv"))
FIELDS = ["repository", "commit", "checkout", "style", "file", "cell", "line", "code", "verdict", "why"]
ROW = 1 + next(index for index, line in enumerate(SLOW.splitlines()) if "gc.collect()" in line)

# A finding that depends on who calls the function.
CALLED = "import gc\nimport tensorflow as tf\ndef tidy():\n    gc.collect()\n"
CALLER = SLOW.replace("import gc\n", "import gc\nfrom layers import tidy\n").replace("gc.collect()", "tidy()")

# Findings that rest on what the session is called.
BY_NAME = """\
import gc
import tensorflow as tf

def run(sess, train_op, images):
    for image in images:
        sess.run(train_op, {"x": image})
        gc.collect()
"""

each_list = pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)


PATTERNS = {
    name: re.compile(pattern)
    for name, pattern in {
        "repository": r"[\w.-]+/[\w.-]+",
        "commit": r"[0-9a-f]{40}",
        "checkout": r"[\w.-]+",
        "style": r"\S.*",
        "file": r"[^/\\].*\.(py|ipynb)",
        "cell": r"|[1-9]\d*",
        "line": r"[1-9]\d*",
        "code": "|".join(catalogue()),
        "verdict": "report|silent",
        "why": r"\S.*",
    }.items()
}


@cache
def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def wrong_in(row: dict[str, str]) -> list[str]:
    """The names of the fields of a row that are not as they should be."""
    wrong = [name for name, pattern in PATTERNS.items() if not pattern.fullmatch(row[name])]
    return wrong + (["cell"] if (row["cell"] != "") != row["file"].endswith(".ipynb") else [])


@each_list
def test_the_rows_of_a_list_are_well_formed(path: Path) -> None:
    assert path.read_text(encoding="utf-8").partition("\n")[0].split("\t") == FIELDS
    assert {row["repository"]: wrong for row in rows_of(path) if (wrong := wrong_in(row))} == {}


@each_list
def test_a_list_is_sorted_and_holds_a_place_once(path: Path) -> None:
    places = [
        (row["repository"], row["file"], int(row["cell"] or 0), int(row["line"]), row["code"])
        for row in rows_of(path)
    ]
    assert places == sorted(set(places))


def test_a_repository_has_one_commit_and_one_checkout_and_is_in_one_list() -> None:
    heads = {
        (path.stem, row["style"], row["repository"], row["commit"], row["checkout"])
        for path in LISTS
        for row in rows_of(path)
    }
    for at in (2, 4):
        names = sorted(head[at] for head in heads)
        assert [name for name, same in groupby(names) if len(list(same)) > 1] == []


def test_the_page_tells_how_many_there_are() -> None:
    page = (SCRIPT.parent.parent / "docs" / "places.md").read_text(encoding="utf-8")
    rows = [row for path in LISTS for row in rows_of(path)]
    reported = sum(row["verdict"] == "report" for row in rows)
    assert f"{len(rows):,} places in {len({row['repository'] for row in rows})} public programs" in page
    assert f": {reported:,} that a linter must report" in page
    assert f"and {len(rows) - reported:,} tempting ones" in page


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The module, with an empty folder for its lists."""
    spec = importlib.util.spec_from_file_location("places", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "places", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "LISTS", tmp_path / "lists")
    (tmp_path / "lists").mkdir()
    return module


@pytest.fixture
def checkouts(tmp_path: Path) -> Path:
    """Two checkouts of the same program, one with a file that does not parse."""
    for name in ("one", "two"):
        (tmp_path / "checkouts" / name).mkdir(parents=True)
        (tmp_path / "checkouts" / name / "train.py").write_text(SLOW)
    (tmp_path / "checkouts" / "two" / "torn.py").write_text("import tensorflow as tf\ntf.constant(\n")
    return tmp_path / "checkouts"


def write_list(folder: Path, *rows: tuple[str, int, str, str], commit: str = "0" * 40) -> None:
    """A list of checkouts' lines in `train.py`, with codes and verdicts."""
    lines = ["\t".join(FIELDS)]
    for checkout, line, code, verdict in rows:
        lines.append(
            f"some/{checkout}\t{commit}\t{checkout}\tGAN\ttrain.py\t\t{line}\t{code}\t{verdict}\tBecause."
        )
    (folder / "lists" / "gans.tsv").write_text("\n".join([*lines, ""]))


def place(module: ModuleType, line: int, **fields: Any) -> Any:
    usual = dict.fromkeys(FIELDS, "") | {"file": "train.py", "cell": None, "code": "TFP406"}
    return module.Place(**{"kind": "gans", **usual, "line": line, "verdict": "report", **fields})


@pytest.mark.parametrize(
    ("lines", "found", "reported"),
    [
        ([10], [], []),
        ([10], [13], []),
        ([10], [7], []),
        ([10], [10], [10]),
        ([10], [8], [10]),
        ([10], [12], [10]),
        ([10, 11], [11], [11]),
        ([10, 11], [11, 12], [10, 11]),
        ([10, 12], [11, 12], [10, 12]),
        ([10, 20], [9, 10, 11], [10]),
    ],
)
def test_a_finding_speaks_of_the_nearest_place(
    places: ModuleType, lines: list[int], found: list[int], reported: list[int]
) -> None:
    scored = places.score(
        [place(places, line) for line in lines], {("train.py", None, row, "TFP406") for row in found}
    )
    assert [place.line for place, is_reported in scored if is_reported] == reported


@pytest.mark.parametrize("other", [{"code": "TFP404"}, {"file": "other.py"}, {"cell": 1}])
def test_a_finding_says_nothing_of_another_code_or_file_or_cell(
    places: ModuleType, other: dict[str, Any]
) -> None:
    found = {("train.py", None, 10, "TFP406")}
    assert [reported for _, reported in places.score([place(places, 10, **other)], found)] == [False]


def test_what_is_found_missed_and_false_is_told_by_kind_and_code(
    places: ModuleType, checkouts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_list(
        checkouts.parent,
        ("one", ROW - 2, "TFP406", "report"),
        ("one", ROW + 9, "TFP404", "report"),
        ("one", 90, "TFP302", "silent"),
        ("two", ROW, "TFP406", "silent"),
        ("gone", 1, "TFP406", "report"),
    )
    assert places.main(["score", str(checkouts)]) == 1
    said = capsys.readouterr()
    assert said.err == "1 of 3 repositories are not there and left out\n"
    lines = [
        line for line in said.out.splitlines() if not line.startswith(("missed", "false alarm:", "recall"))
    ]
    assert [line.split() for line in lines] == [
        [],
        ["kind", "found", "false", "alarms"],
        ["gans", "1/2", "1/2"],
        [],
        ["code", "found", "false", "alarms"],
        ["TFP302", "0/1"],
        ["TFP404", "0/1"],
        ["TFP406", "1/1", "1/1"],
        [],
        ["total", "1/2", "1/2"],
    ]
    assert said.out.endswith("\nrecall 0.500, false alarms 50.0% of the tempting places\n")
    assert f"missed: one/train.py:{ROW + 9} TFP404: Because." in said.out
    assert f"false alarm: two/train.py:{ROW} TFP406: Because." in said.out


THEIRS = {
    "lines": f"one/train.py:{ROW}:TFP406\n",
    "lines of a linter": f"./one/train.py:{ROW}:9: W9 [*] slow\nFound 1 finding.\n",
    "lines of pylint": f"one/train.py:{ROW}:9: W9: slow (some-slowness)\n",
    "JSON": json.dumps([{"filename": "one/train.py", "location": {"row": ROW}, "cell": None, "code": "W9"}]),
    "JSON a line": json.dumps({"path": "one/train.py", "line": ROW, "code": "TFP406"}) + "\n",
}


@pytest.mark.parametrize("text", THEIRS.values(), ids=THEIRS.keys())
def test_another_linter_is_scored_by_what_it_wrote(
    places: ModuleType, checkouts: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    write_list(checkouts.parent, ("one", ROW, "TFP406", "report"), ("two", ROW, "TFP406", "silent"))
    theirs = checkouts.parent / "theirs"
    theirs.write_text(text)
    assert places.main(["score", str(checkouts), f"--findings={theirs}", "--code=W9=TFP406"]) == 0
    assert capsys.readouterr().out.endswith("recall 1.000, false alarms 0.0% of the tempting places\n")


def test_a_cell_is_read_from_a_line(places: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("one/my train.ipynb:cell 3:4:5: TFP406 slow\n")
    found = places.read_findings(tmp_path / "theirs", tmp_path, {})
    assert found == {"one": {("my train.ipynb", 3, 4, "TFP406")}}


@pytest.mark.parametrize("text", ["nothing here\n", "[1]", '{"a": 1}', "[{]"])
def test_what_holds_no_findings_is_not_taken_for_silence(
    places: ModuleType, checkouts: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    write_list(checkouts.parent, ("one", ROW, "TFP406", "report"))
    (checkouts / "theirs").write_text(text)
    assert places.main(["score", str(checkouts), f"--findings={checkouts / 'theirs'}"]) == 2
    assert re.fullmatch(r"\S+theirs can't be read as findings: .*\n", capsys.readouterr().err)


def test_a_snapshot_is_compared_line_by_line(
    places: ModuleType, checkouts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_list(checkouts.parent, ("one", ROW, "TFP406", "report"), ("two", ROW, "TFP406", "report"))
    kept = checkouts.parent / "kept.txt"
    assert places.main(["snapshot", str(checkouts), f"--write={kept}"]) == 0
    lines = kept.read_text().splitlines()
    assert lines == sorted(lines)
    assert [line for line in lines if line.startswith(f"one/train.py:{ROW}: TFP406 `gc.collect()` ")]
    assert [line for line in lines if line.startswith("two/torn.py:")]
    capsys.readouterr()

    assert places.main(["snapshot", str(checkouts), f"--against={kept}"]) == 0
    assert capsys.readouterr().out == ""

    (checkouts / "one" / "train.py").write_text(f"\n{SLOW}")
    assert places.main(["snapshot", str(checkouts), f"--against={kept}"]) == 1
    differs = capsys.readouterr().out.splitlines()
    assert [line[: line.index(" `gc")] for line in differs if "TFP406" in line] == [
        f"- one/train.py:{ROW}: TFP406",
        f"+ one/train.py:{ROW + 1}: TFP406",
    ]
    assert not [line for line in differs if "two/" in line]


def test_a_snapshot_is_the_same_from_another_folder(
    places: ModuleType, checkouts: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_list(checkouts.parent, ("one", ROW, "TFP406", "report"))
    (checkouts / "one" / "layers.py").write_text(CALLED)
    (checkouts / "one" / "train.py").write_text(CALLER)
    kept = checkouts.parent / "kept.txt"
    assert places.main(["snapshot", str(checkouts), f"--write={kept}"]) == 0
    assert "one/layers.py:4: TFP406 " in kept.read_text()
    capsys.readouterr()
    monkeypatch.chdir(checkouts)
    assert places.main(["snapshot", ".", f"--against={kept}"]) == 0
    assert capsys.readouterr().out == ""


def test_a_snapshot_leaves_out_what_is_not_there(
    places: ModuleType, checkouts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_list(checkouts.parent, ("one", ROW, "TFP406", "report"), ("gone", ROW, "TFP406", "report"))
    kept = checkouts.parent / "kept.txt"
    assert places.main(["snapshot", str(checkouts), f"--write={kept}"]) == 0
    kept.write_text(f"gone/train.py:{ROW}: TFP406 slow\n{kept.read_text()}")
    assert places.main(["snapshot", str(checkouts), f"--against={kept}"]) == 0
    assert places.main(["snapshot", str(checkouts / "one"), f"--against={kept}"]) == 2
    assert capsys.readouterr().err.endswith("has none of the checkouts: get them with `fetch`\n")


@pytest.mark.parametrize(
    ("verdicts", "earned"),
    [
        (("report", "report"), ["1", "2", "2", "0", "2"]),
        (("report", "silent"), ["1", "2", "1", "1", "0"]),
        (("silent", "silent"), ["1", "2", "0", "2", "-2"]),
    ],
)
def test_a_word_earns_the_places_that_it_finds_less_its_false_alarms(
    places: ModuleType,
    checkouts: Path,
    capsys: pytest.CaptureFixture[str],
    verdicts: tuple[str, str],
    earned: list[str],
) -> None:
    (checkouts / "one" / "train.py").write_text(BY_NAME)
    write_list(checkouts.parent, ("one", 6, "TFP305", verdicts[0]), ("one", 7, "TFP406", verdicts[1]))
    assert places.main(["ablation", str(checkouts), "--notion=a session"]) == 0
    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading.split() == ["notion", "word", "files", "changed", "found", "false", "net"]
    assert rows[0].split() == ["a", "session", "sess$", *earned]
    assert rows[1:] == [
        "",
        "These change nothing; in brackets, in how many files they alone decide about a name.",
        "a session: session$ (0)",
    ]


def test_only_files_are_linted_again_in_which_the_word_alone_decides_about_a_name(
    places: ModuleType, checkouts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (checkouts / "one" / "train.py").write_text(BY_NAME)
    write_list(checkouts.parent, ("one", 7, "TFP406", "report"), ("two", ROW, "TFP406", "report"))
    chosen = [notion for notion in places.notions() if notion.name == "a session"]
    listed = list(places.lint_listed(checkouts, places.read_places(), chosen))
    linted = []
    monkeypatch.setattr(places, "found_in", lambda checkout, files: linted.append(checkout.name) or set())
    earned = places.earnings(chosen, listed)
    assert [(one.word, one.files) for one in earned] == [("sess$", 1), ("session$", 0)]
    assert linted == ["one"]


def test_words_are_left_out_together_until_something_changes(places: ModuleType) -> None:
    tried = []

    class File:
        found = frozenset({"a", "b"})

        def found_without(self, words: list[str]) -> set[str]:
            tried.append("".join(words))
            return {"a"} if "f" in words else {"a", "b"}

    assert list(places.changing(File(), list("abcdefgh"))) == [("f", {"a"})]
    assert tried == ["abcdefgh", "abcd", "efgh", "ef", "e", "f", "gh"]


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *identity, "-C", folder, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_repository_is_checked_out_at_its_commit_and_one_that_is_gone_is_named(
    places: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "some" / "one"
    source.mkdir(parents=True)
    git(source, "init", "--quiet")
    for text in (SLOW, "later = 1\n"):
        (source / "train.py").write_text(text)
        git(source, "add", ".")
        git(source, "commit", "--quiet", "--message=Some")
    commit = git(source, "rev-parse", "HEAD~1")
    write_list(tmp_path, ("one", ROW, "TFP406", "report"), ("gone", 1, "TFP406", "report"), commit=commit)
    monkeypatch.setattr(places, "HOST", tmp_path.as_uri())
    for _ in range(2):
        assert places.main(["fetch", str(tmp_path / "checkouts")]) == 0
        said = capsys.readouterr()
        assert [line.partition(": left out: ")[0] for line in said.err.splitlines()[:-1]] == ["some/gone"]
        assert said.out == f"1 of 2 repositories are in {tmp_path / 'checkouts'}\n"
    assert [path.name for path in (tmp_path / "checkouts").iterdir()] == ["one"]
    assert (tmp_path / "checkouts" / "one" / "train.py").read_text() == SLOW


def test_without_the_network_one_line_says_so(
    places: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_list(tmp_path, ("one", ROW, "TFP406", "report"), ("two", ROW, "TFP406", "report"))
    monkeypatch.setattr(places, "HOST", "https://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert places.main(["fetch", str(tmp_path / "checkouts")]) == 2
    assert re.fullmatch(
        r"https://127.0.0.1:1 can't be reached: unable to access .*\n", capsys.readouterr().err
    )
