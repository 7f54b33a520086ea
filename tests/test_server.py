"""The language server, used as an editor uses it: a process of its own, over standard input and output."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.workspace import PositionCodec

from tests.commandline import BROKEN, CLEAN, FIXED, RENAMED, RENAMED_FIXED, SLOW, CommandLine
from tests.editor import CAPABILITIES, Editor, applied, editor
from tests.test_growth import calls
from tflint_perf.server.documents import Part, Snapshot
from tflint_perf.server.linting import Linted, Linter
from tflint_perf.server.texts import Text

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
FIX_ALL = "source.fixAll.tflint-perf"
# What takes the example's fixes for safe, which they are not by themselves.
CONFIG = "extend-safe-fixes = ['TFP406', 'TFP408']\n"
SUPPRESSED = SLOW.replace("gc.collect()", "gc.collect()  # noqa: TFP406")
# The training is in another file: only there does it show that this function runs once a step.
STEP = "import gc\n\nimport tensorflow as tf\n\n\ndef tidy():\n    gc.collect()\n    return tf.constant(1)\n"
LOOP = """\
import tensorflow as tf

from step import tidy


def train(model, dataset, optimizer):
    for images, labels in dataset:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(images) - labels))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        tidy()
"""


def row_of(text: str, what: str) -> int:
    return text[: text.index(what)].count("\n")


def at_row(row: int) -> types.Range:
    return types.Range(types.Position(row, 0), types.Position(row, 0))


def replaced(row: int, start: int, end: int, text: str) -> types.TextDocumentContentChangePartial:
    place = types.Range(types.Position(row, start), types.Position(row, end))
    return types.TextDocumentContentChangePartial(place, text)


def in_editor(
    folder: Path,
    session: Callable[[Editor], Awaitable[None]],
    *folders: Path,
    capabilities: types.ClientCapabilities = CAPABILITIES,
    forked: bool = True,
) -> None:
    """Do something in an editor with a server."""

    async def run() -> None:
        async with editor(folder, *folders, capabilities=capabilities, forked=forked) as client:
            await session(client)

    asyncio.run(run())


def only(kind: str, *titled: str) -> Callable[[types.CodeAction], bool]:
    return lambda action: action.kind == kind and all(word in action.title for word in titled)


def test_findings_are_shown_while_one_types(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        uri = client.write_and_open("train.py", CLEAN)
        assert await client.codes(uri) == []
        client.change(uri, SLOW)
        first, second = await client.diagnostics(uri)
        assert [first.code, second.code] == ["TFP101", "TFP406"]
        assert second.range == types.Range(types.Position(13, 8), types.Position(13, 20))
        assert second.severity == types.DiagnosticSeverity.Warning
        assert second.source == "tflint-perf"
        assert "`gc.collect()`" in second.message
        client.change(uri, replaced(13, 8, 20, "pass"))
        assert await client.codes(uri) == ["TFP101"]
        client.close(uri)
        await client.until(
            lambda: client.shown[uri][-1].diagnostics == () and client.shown[uri][-1].version is None
        )

    in_editor(tmp_path, session, forked=False)


def test_the_text_in_the_editor_counts_and_not_the_one_on_disk(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        uri = client.write("train.py", CLEAN)
        client.open(uri, SLOW)
        assert await client.codes(uri) == ["TFP101", "TFP406"]
        assert (tmp_path / "train.py").read_text() == CLEAN

    in_editor(tmp_path, session)


def test_what_is_out_of_date_before_its_turn_is_not_linted(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        uri = client.write_and_open("train.py", SLOW)
        await client.codes(uri)
        for _ in range(20):
            client.change(uri, replaced(0, 0, 0, "#"))
        await client.codes(uri)
        versions = [shown.version for shown in client.shown[uri]]
        assert versions == sorted(versions, key=lambda version: version or 0)
        assert len(versions) < 6
        assert versions[-1] == 21

    in_editor(tmp_path, session)


def test_other_files_on_disk_have_their_say_and_are_read_again_on_save(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        client.write("pyproject.toml", "")
        loop = client.write_and_open("loop.py", LOOP)
        step = client.write_and_open("step.py", STEP)
        assert await client.codes(step) == ["TFP406"]
        client.write("loop.py", CLEAN)
        client.change(loop, CLEAN)
        client.save(loop)
        await client.until(lambda: client.shown[step][-1].diagnostics == ())

    in_editor(tmp_path, session)


def test_a_safe_fix_is_the_preferred_quick_fix(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        uri = client.write_and_open("train.py", RENAMED)
        (fix, *_) = await client.actions(uri, at_row(2))
        assert (fix.kind, fix.is_preferred) == ("quickfix", True)
        assert fix.title.endswith(" (TFP602)")
        assert [shown.code for shown in fix.diagnostics or ()] == ["TFP602"]
        assert applied(RENAMED, (await client.edits(fix))[uri]) == RENAMED_FIXED

    in_editor(tmp_path, session)


def test_an_unsafe_fix_says_so_and_does_what_the_command_line_does(tflint_perf: CommandLine) -> None:
    path = tflint_perf.write("train.py", SLOW)
    made = []

    async def session(client: Editor) -> None:
        uri = client.open(path.as_uri(), SLOW)
        (fix,) = filter(only("quickfix", "TFP101, unsafe"), await client.actions(uri))
        assert fix.title.endswith("(TFP101, unsafe fix)")
        assert not fix.is_preferred
        made.append(applied(SLOW, (await client.edits(fix))[uri]))

    in_editor(tflint_perf.folder, session)
    assert tflint_perf("--fix", "--unsafe-fixes", "--isolated", "--select=TFP101", "train.py").err == ""
    assert made == [path.read_text()]


def test_fix_all_makes_the_safe_fixes_and_no_others(tmp_path: Path) -> None:
    twice = SLOW + RENAMED.splitlines()[-1] + "\n" + RENAMED.splitlines()[-1] + "\n"

    async def session(client: Editor) -> None:
        assert FIX_ALL in (client.offered.code_action_provider.code_action_kinds or ())  # type: ignore[union-attr]
        uri = client.write_and_open("train.py", twice)
        for wanted in ("source", "source.fixAll", FIX_ALL):
            (fix,) = await client.actions(uri, at_row(0), [wanted])
            assert fix.kind == FIX_ALL
        made = applied(twice, (await client.edits(fix))[uri])
        assert made == twice.replace("experimental.set_policy", "set_global_policy")
        client.change(uri, made)
        assert await client.actions(uri, only=[FIX_ALL]) == []

    in_editor(tmp_path, session)


def test_the_fix_of_a_text_that_has_changed_since_is_not_made(tmp_path: Path) -> None:
    (tmp_path / "tflint-perf.toml").write_text(CONFIG)

    async def session(client: Editor) -> None:
        uri = client.write_and_open("train.py", SLOW)
        (fix,) = await client.actions(uri, only=[FIX_ALL])
        client.change(uri, "# above\n" + SLOW)
        assert (await client.code_action_resolve_async(fix)).edit is None

    in_editor(tmp_path, session)


def test_a_line_can_be_suppressed_once_and_again(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        uri = client.write_and_open("train.py", SLOW)
        (action,) = filter(only("quickfix", "Suppress", "TFP406"), await client.actions(uri, at_row(13)))
        text = applied(SLOW, (await client.edits(action))[uri])
        assert text == SUPPRESSED
        client.change(uri, text)
        assert await client.codes(uri) == ["TFP101"]
        other = SLOW.replace("gc.collect()", "gc.collect()  # done  # noqa: E501, X1 why")
        client.change(uri, other)
        (action,) = filter(only("quickfix", "Suppress", "TFP406"), await client.actions(uri, at_row(13)))
        text = applied(other, (await client.edits(action))[uri])
        assert "gc.collect()  # done  # noqa: E501, X1, TFP406 why\n" in text
        client.change(uri, text)
        assert await client.codes(uri) == ["TFP101"]

    in_editor(tmp_path, session)


def test_a_suppression_without_effect_is_shown_as_superfluous(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        uri = client.write_and_open("train.py", CLEAN.replace("\n\n", "  # noqa: TFP406\n\n"))
        (shown,) = await client.diagnostics(uri)
        assert (shown.code, shown.tags) == ("TFP001", (types.DiagnosticTag.Unnecessary,))
        (fix, *_) = await client.actions(uri, shown.range)
        assert applied(CLEAN.replace("\n\n", "  # noqa: TFP406\n\n"), (await client.edits(fix))[uri]) == CLEAN

    in_editor(tmp_path, session)


def test_hover_gives_the_rules_page_and_what_was_measured(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        uri = client.write_and_open("train.py", SLOW)
        page = await client.hover(uri, 13, 10)
        assert page is not None
        assert page.startswith("**TFP406** `gc.collect()`")
        assert "Cost in the rule's own script, CPU: " in page
        assert "# gc-in-loop (TFP406)" in page
        assert "## Evidence" in page
        assert await client.hover(uri, 1, 0) is None

    in_editor(tmp_path, session)


def test_an_editor_that_can_do_little_gets_plain_text_and_edits_at_once(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        uri = client.write_and_open("train.py", SLOW)
        page = await client.hover(uri, 13, 10)
        assert page is not None
        assert page.startswith("TFP406 `gc.collect()`")
        (fix, *_) = await client.actions(uri, at_row(13))
        assert fix.edit is not None
        assert fix.edit.changes is not None
        assert applied(SLOW, fix.edit.changes[uri]) == FIXED
        assert client.watched == []

    in_editor(tmp_path, session, capabilities=types.ClientCapabilities())


@pytest.mark.parametrize(
    ("encoding", "column"),
    [(None, 10), ("utf-8", 12), ("utf-16", 10), ("utf-32", 9)],
)
def test_positions_are_in_the_units_that_were_agreed_on(
    tmp_path: Path, encoding: str | None, column: int
) -> None:
    text = SLOW.replace("        gc.collect()", "        '😀'; gc.collect()")
    general = types.GeneralClientCapabilities(position_encodings=[encoding]) if encoding else None

    async def session(client: Editor) -> None:
        assert client.offered.position_encoding == (encoding or "utf-16")
        uri = client.write_and_open("train.py", text)
        (found,) = [shown for shown in await client.diagnostics(uri) if shown.code == "TFP406"]
        start = column + 4  # a quote, a semicolon and a space, and where it begins
        assert found.range == types.Range(types.Position(13, start), types.Position(13, start + 12))
        client.change(uri, replaced(13, start, start + 12, "pass"))
        assert await client.codes(uri) == ["TFP101"]

    in_editor(tmp_path, session, capabilities=replace_general(general))


def replace_general(general: types.GeneralClientCapabilities | None) -> types.ClientCapabilities:
    return types.ClientCapabilities(general=general)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_form_feeds_and_all_line_ends_leave_positions_right(tmp_path: Path, end: str) -> None:
    text = SLOW.replace("def train", "\f\ndef train").replace("\n", end)

    async def session(client: Editor) -> None:
        uri = client.write_and_open("train.py", text)
        (found,) = [shown for shown in await client.diagnostics(uri) if shown.code == "TFP406"]
        assert found.range == types.Range(types.Position(14, 8), types.Position(14, 20))
        (fix, *_) = await client.actions(uri, found.range)
        (edit,) = (await client.edits(fix))[uri]
        assert (edit.range, edit.new_text) == (types.Range(types.Position(14, 0), types.Position(15, 0)), "")
        client.change(uri, replaced(14, 8, 20, "pass"))
        assert await client.codes(uri) == ["TFP101"]

    in_editor(tmp_path, session)


def test_a_file_that_does_not_parse_gives_its_syntax_error(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        uri = client.write_and_open("train.py", BROKEN)
        (found,) = await client.diagnostics(uri)
        assert (found.code, found.severity) == ("invalid-syntax", types.DiagnosticSeverity.Error)
        assert found.range.start.line == 2
        assert await client.actions(uri, found.range) == []
        assert await client.hover(uri, 2, found.range.start.character) is None
        client.change(uri, SLOW)
        assert await client.codes(uri) == ["TFP101", "TFP406"]

    in_editor(tmp_path, session)


def test_what_cannot_be_linted_is_a_line_in_the_log(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        uri = client.write_and_open("train.py", "import tensorflow\0\n")
        assert await client.codes(uri) == []
        await client.until(lambda: any("NUL" in line for line in client.logged))
        client.change(uri, SLOW)
        assert await client.codes(uri) == ["TFP101", "TFP406"]

    in_editor(tmp_path, session)


def test_configuration_counts_anew_when_it_changes(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        await client.until(lambda: len(client.watched) == 3)
        assert set(client.watched) == {"**/pyproject.toml", "**/tflint-perf.toml", "**/run.json"}
        uri = client.write_and_open("train.py", SLOW)
        assert await client.codes(uri) == ["TFP101", "TFP406"]
        client.touch(client.write("tflint-perf.toml", 'ignore = ["TFP101"]'))
        await client.until(lambda: len(client.shown[uri][-1].diagnostics) == 1)
        client.touch(client.write("tflint-perf.toml", 'unfixable = ["TFP406"]\nignore = ["TFP101"]'))
        await client.until(lambda: len(client.shown[uri]) == 3)
        assert [action.title.split()[0] for action in await client.actions(uri)] == ["Suppress"]

    in_editor(tmp_path, session)


def test_a_broken_configuration_is_told_once_and_the_last_good_one_goes_on(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        config = client.write("tflint-perf.toml", 'ignore = ["TFP101"]')
        uri = client.write_and_open("train.py", SLOW)
        assert await client.codes(uri) == ["TFP406"]
        client.touch(client.write("tflint-perf.toml", 'ignroe = ["TFP101"]'))
        client.touch(config)
        await client.until(lambda: len(client.messages) == 1 and len(client.shown[uri]) >= 2)
        assert "unknown key `ignroe` (did you mean `ignore`?)" in client.messages[0]
        client.change(uri, SLOW + "\n")
        assert await client.codes(uri) == ["TFP406"]
        assert len(client.messages) == 1

    in_editor(tmp_path, session)


def test_a_code_leads_to_the_rules_page_where_the_site_is_known(tmp_path: Path) -> None:
    (tmp_path / "published").mkdir()

    async def session(client: Editor) -> None:
        client.write("published/tflint-perf.toml", "docs-url = 'https://docs.example.org'\n")
        here = client.write_and_open("train.py", SLOW)
        there = client.write_and_open("published/train.py", SLOW)
        assert [found.code_description for found in await client.diagnostics(here)] == [None, None]
        pages = [found.code_description for found in await client.diagnostics(there)]
        assert [page.href.rpartition("/rules/") for page in pages if page] == [
            ("https://docs.example.org", "/rules/", f"{code}.html") for code in ("TFP101", "TFP406")
        ]

    in_editor(tmp_path, session)


def test_severities_and_the_baseline_count_as_on_the_command_line(tflint_perf: CommandLine) -> None:
    path = tflint_perf.write("train.py", SLOW)
    assert tflint_perf("--select=TFP101", "--write-baseline", "old.json").code == 0
    tflint_perf.write("tflint-perf.toml", 'baseline = "old.json"\nseverity = { TFP406 = "info" }')

    async def session(client: Editor) -> None:
        uri = client.open(path.as_uri(), SLOW)
        (found,) = await client.diagnostics(uri)
        assert (found.code, found.severity) == ("TFP406", types.DiagnosticSeverity.Information)
        (tflint_perf.folder / "old.json").unlink()
        client.save(uri)
        await client.until(lambda: any("old.json" in message for message in client.messages))

    in_editor(tflint_perf.folder, session)


def test_each_folder_has_its_own_configuration(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()

    async def session(client: Editor) -> None:
        client.write("tflint-perf.toml", 'select = ["TFP101"]')
        client.write("../two/tflint-perf.toml", 'select = ["TFP406"]')
        client.write("../two/inner/pyproject.toml", '[tool.tflint-perf]\nselect = ["TFP404"]')
        first = client.write_and_open("train.py", SLOW)
        path = two / "train.py"
        path.write_text(SLOW)
        second = client.open(path.as_uri(), SLOW)
        third = client.open((two / "inner" / "train.py").as_uri(), SLOW)
        assert await client.codes(first) == ["TFP101"]
        assert await client.codes(second) == ["TFP406"]
        assert await client.codes(third) == []
        assert (one / ".tflint-perf-cache").is_dir() or not (two / ".tflint-perf-cache").is_file()

    in_editor(one, session, two)


def test_excluded_files_and_other_languages_are_left_alone(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        library = client.write_and_open(".venv/lib/slow.py", SLOW)
        assert await client.codes(library) == []
        notes = client.open(client.uri("notes.md"), SLOW, "markdown")
        script = client.open("untitled:Untitled-1", SLOW)
        assert await client.codes(script) == ["TFP101", "TFP406"]
        assert notes not in client.shown
        assert await client.actions(notes) == []

    in_editor(tmp_path, session)


def test_nothing_is_written_beside_a_file_that_belongs_to_no_open_folder(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    project.mkdir()
    elsewhere.mkdir()

    async def session(client: Editor) -> None:
        (elsewhere / "step.py").write_text(STEP)
        uri = client.open((elsewhere / "step.py").as_uri(), STEP)
        await client.codes(uri)
        assert {path.name for path in elsewhere.iterdir()} == {"step.py"}

    in_editor(project, session)


def test_a_file_in_another_encoding_is_fixed_in_the_editors_text(tmp_path: Path) -> None:
    (tmp_path / "tflint-perf.toml").write_text(CONFIG)
    text = "# coding: latin-1\n# café\n" + SLOW

    async def session(client: Editor) -> None:
        uri = client.write_and_open("train.py", text)
        (fix,) = await client.actions(uri, only=[FIX_ALL])
        assert applied(text, (await client.edits(fix))[uri]) == "# coding: latin-1\n# café\n" + FIXED
        client.change(uri, text.replace("café", "日本"))  # which Latin-1 has no bytes for
        assert await client.codes(uri) == ["TFP101", "TFP406"]
        (fix,) = await client.actions(uri, only=[FIX_ALL])
        assert (await client.code_action_resolve_async(fix)).edit is None

    in_editor(tmp_path, session)


CELLS = [
    ("markdown", "# Training"),
    ("python", "%matplotlib inline\nimport gc\nimport tensorflow as tf\ngc.set_threshold(50_000)"),
    (
        "python",
        SLOW.partition("50_000)\n\n\n")[2].replace("        gc.collect()\n", "        gc.collect()\n\n"),
    ),
    ("python", "!ls\nprint('😀')"),
]


def test_the_cells_of_a_notebook_are_one_program(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        text, imports, training, last = client.open_notebook("n.ipynb", CELLS)
        first, second = await client.diagnostics(training)
        assert [first.code, second.code] == ["TFP101", "TFP406"]
        assert second.range == types.Range(types.Position(6, 8), types.Position(6, 20))
        assert [await client.codes(uri) for uri in (text, imports, last)] == [[], [], []]
        assert "gc-in-loop" in (await client.hover(training, 6, 10) or "")

    in_editor(tmp_path, session)


def test_the_loop_in_another_file_is_shown_beside_a_finding(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "loop.py").write_text(LOOP)

    async def session(client: Editor) -> None:
        uri = client.write_and_open("step.py", STEP)
        (found,) = await client.diagnostics(uri)
        related = found.related_information or ()
        assert [(one.location.uri, one.message) for one in related] == [
            ((tmp_path / "loop.py").as_uri(), "the step loop"),
            ((tmp_path / "loop.py").as_uri(), "`tidy` is called here"),
        ]
        assert [one.location.range.start.line for one in related] == [
            row_of(LOOP, "for images"),
            row_of(LOOP, "tidy()"),
        ]

    in_editor(tmp_path, session)


def test_the_loop_in_another_cell_is_shown_beside_a_finding(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        tidy = "import gc\nimport tensorflow as tf\ndef tidy():\n    gc.collect()"
        loop = "for x, y in dataset:\n    model.train_on_batch(x, y)\n    tidy()"
        first, second = client.open_notebook("n.ipynb", [("python", tidy), ("python", loop)])
        (found,) = [shown for shown in await client.diagnostics(first) if shown.code == "TFP406"]
        assert [
            (one.location.uri, one.location.range.start.line) for one in found.related_information or ()
        ] == [
            (second, 0),
            (second, 2),
        ]

    in_editor(tmp_path, session)


def test_fixes_and_suppressions_change_the_cell_that_they_are_about(tmp_path: Path) -> None:
    (tmp_path / "tflint-perf.toml").write_text(CONFIG)

    async def session(client: Editor) -> None:
        _, _, training, _ = client.open_notebook("n.ipynb", CELLS)
        source = CELLS[2][1]
        actions = await client.actions(training)
        (fix,) = filter(only("quickfix", "Remove the collection"), actions)
        edits = await client.edits(fix)
        assert list(edits) == [training]
        assert applied(source, edits[training]) == source.replace("        gc.collect()\n", "")
        (action,) = filter(only("quickfix", "Suppress", "TFP406"), actions)
        assert "gc.collect()  # noqa: TFP406\n" in applied(source, (await client.edits(action))[training])
        (fix,) = await client.actions(training, only=["notebook.source.fixAll"])
        assert fix.kind == f"notebook.{FIX_ALL}"
        assert list(await client.edits(fix)) == [training]

    in_editor(tmp_path, session)


def test_cells_that_change_come_and_go_are_followed(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        _, imports, training, last = client.open_notebook("n.ipynb", CELLS)
        assert await client.codes(training) == ["TFP101", "TFP406"]
        content = types.NotebookDocumentCellContentChanges(
            types.VersionedTextDocumentIdentifier(2, training), [replaced(6, 8, 20, "pass")]
        )
        client.change_notebook("n.ipynb", types.NotebookDocumentCellChanges(text_content=[content]))
        assert await client.codes(training, 2) == ["TFP101"]
        array = types.NotebookCellArrayChange(1, 1, [])
        removed = [types.TextDocumentIdentifier(imports)]
        structure = types.NotebookDocumentCellChangeStructure(array, did_close=removed)
        client.change_notebook("n.ipynb", types.NotebookDocumentCellChanges(structure=structure))
        await client.until(lambda: client.shown[training][-1].diagnostics == ())
        item = types.TextDocumentItem(imports, "python", 1, CELLS[1][1])
        cell = types.NotebookCell(types.NotebookCellKind.Code, imports)
        array = types.NotebookCellArrayChange(1, 0, [cell])
        structure = types.NotebookDocumentCellChangeStructure(array, did_open=[item])
        client.change_notebook("n.ipynb", types.NotebookDocumentCellChanges(structure=structure))
        await client.until(lambda: len(client.shown[training][-1].diagnostics) == 1)
        assert last in client.shown

    in_editor(tmp_path, session)


def test_a_cell_that_does_not_parse_yet_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / "tflint-perf.toml").write_text(CONFIG)

    async def session(client: Editor) -> None:
        _, _, training, last = client.open_notebook(
            "n.ipynb", [*CELLS[:3], ("python", "%%time\nfor x in y:\n")]
        )
        assert await client.codes(training) == ["TFP101", "TFP406"]
        (fault,) = await client.diagnostics(last)
        assert (fault.code, fault.range.start.line) == ("invalid-syntax", 1)
        (fix,) = await client.actions(training, only=[FIX_ALL])
        assert list(await client.edits(fix)) == [training]

    in_editor(tmp_path, session)


def test_a_cell_that_a_fix_empties_is_emptied(tmp_path: Path) -> None:
    (tmp_path / "tflint-perf.toml").write_text(CONFIG)
    cells = [
        ("python", "import tensorflow as tf"),
        ("python", "tf.compat.v1.reset_default_graph()"),
        ("python", "@tf.function\ndef f(x):\n    return x"),
    ]

    async def session(client: Editor) -> None:
        _, reset, _ = client.open_notebook("n.ipynb", cells)
        assert await client.codes(reset) == ["TFP408"]
        (fix,) = await client.actions(reset, only=[FIX_ALL])
        edits = await client.edits(fix)
        assert {uri: applied(cells[1][1], made) for uri, made in edits.items()} == {reset: ""}

    in_editor(tmp_path, session)


OF_NOTEBOOKS = [
    ("markdown", "# Training\n```python\ngc.collect(\n```"),
    ("python", '#@title Set-up { run: "auto" }\nbatch_size = 32 #@param {type:"integer"}\n' + CELLS[1][1]),
    ("python", "!pip install -q x\n%tensorflow_version 2.x\n%cd data\ncd ..\nfiles = !ls *.py\nn, = !nproc"),
    ("python", "%%bash\nls -l | grep x\nfor f in *; do echo $f; done"),
    ("python", "%%writefile model.py\nfor x in y: gc.collect("),
    ("python", "tf.data.Dataset?\n?model.fit\nmodel??"),
    ("python", "# only a comment\n# and another"),
    ("python", ""),
    ("python", "   \n\n"),
    ("python", "%%time\n" + CELLS[2][1]),
    ("python", "model = # your code here"),
]


def test_what_notebooks_hold_beside_python_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "tflint-perf.toml").write_text(CONFIG)

    async def session(client: Editor) -> None:
        uris = client.open_notebook("n.ipynb", OF_NOTEBOOKS)
        *quiet, training, gap = uris
        assert [await client.codes(uri) for uri in quiet] == [[]] * len(quiet)
        assert await client.codes(training) == ["TFP101", "TFP406"]
        assert await client.codes(gap) == ["invalid-syntax"]
        (fix,) = filter(only("quickfix", "unsafe"), await client.actions(training))
        edits = await client.edits(fix)
        made = applied(OF_NOTEBOOKS[-2][1], edits[training])
        assert list(edits) == [training]
        assert made.startswith("%%time\n")
        assert "@tf.function\n" in made
        (fix,) = await client.actions(training, only=[FIX_ALL])
        assert list(await client.edits(fix)) == [training]
        assert client.logged == client.messages == []

    in_editor(tmp_path, session)


def test_the_first_findings_of_five_hundred_lines_take_less_than_a_million_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some tenths of a second; calls of functions are counted because they are the same on a busy machine."""
    helpers = "".join(
        f"\n\ndef scaled_{n}(x):\n    y = tf.square(x) * {n}\n    return y\n" for n in range(98)
    )
    text = SLOW + helpers
    assert text.count("\n") > 500

    monkeypatch.setattr("tflint_perf.stack.on_deep_stack", lambda work: work())
    path = tmp_path / "train.py"
    snapshot = Snapshot(
        path.as_uri(), path, False, (Part(path.as_uri(), 1, "python", Text(text, PositionCodec())),), False
    )
    linted: list[Linted] = []
    Linter().lint(snapshot, [tmp_path])  # imports
    counted = calls(lambda: linted.append(Linter().lint(snapshot, [tmp_path])))
    assert [finding.code for finding in linted[0].findings] == ["TFP101", "TFP406"]
    assert counted < 1_000_000


def test_leaving_ends_the_server_with_success(tmp_path: Path) -> None:
    async def run() -> int:
        async with editor(tmp_path) as client:
            client.write_and_open("train.py", SLOW)
            return await client.leave()

    assert asyncio.run(run()) == 0


def test_an_editor_that_vanishes_takes_the_server_with_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tflint_perf", "server", "--stdio"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=600,
    )
    assert (done.returncode, done.stdout) == (1, b"")


def test_without_pygls_the_command_says_what_is_missing(
    tflint_perf: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pygls", None)
    ran = tflint_perf("server")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "tflint-perf: the language server needs pygls; `pip install 'tflint-perf[lsp]'` brings it\n"
    )


def test_the_help_imports_nothing_of_the_server() -> None:
    program = (
        "import sys; from tflint_perf.commands import run; run(['--help']); print('pygls' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "  server " in done.stdout
    assert done.stdout.splitlines()[-1] == "False"
