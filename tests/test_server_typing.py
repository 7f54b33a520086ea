"""The language server while one types: early findings, those that stay, settings, and an editor that asks for findings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
from lsprotocol import types
from pygls.workspace import PositionCodec

from tests.commandline import CLEAN, RENAMED, SLOW
from tests.editor import CAPABILITIES, Editor, applied, editor
from tests.test_server import CELLS, CONFIG, FIX_ALL, LOOP, STEP, at_row, only, replaced
from tflint_perf.problems import ConfigError
from tflint_perf.server.documents import Part, Snapshot
from tflint_perf.server.linting import Linted, Linter
from tflint_perf.server.preferences import Preferences, preferences
from tflint_perf.server.staying import Splice, Staying, splice_of
from tflint_perf.server.texts import Text

pytestmark = pytest.mark.slow

TWICE = SLOW.replace("        gc.collect()\n", "        gc.collect()\n        gc.collect()\n")
ASKING = attrs.evolve(
    CAPABILITIES,
    text_document=attrs.evolve(
        CAPABILITIES.text_document,  # type: ignore[arg-type]
        diagnostic=types.DiagnosticClientCapabilities(),
        code_action=types.CodeActionClientCapabilities(
            disabled_support=True, resolve_support=types.ClientCodeActionResolveOptions(["edit"])
        ),
    ),
    workspace=attrs.evolve(
        CAPABILITIES.workspace,  # type: ignore[arg-type]
        configuration=True,
        diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=True),
    ),
)


def in_editor(
    folder: Path,
    session: Callable[[Editor], Awaitable[None]],
    *,
    capabilities: types.ClientCapabilities = CAPABILITIES,
    options: Any = None,
    settings: dict[str, Any] | None = None,
    arguments: Sequence[str] = (),
) -> None:
    """Do something in an editor with a server that has settings."""

    async def run() -> None:
        async with editor(
            folder, capabilities=capabilities, options=options, settings=settings, arguments=arguments
        ) as client:
            await session(client)

    asyncio.run(run())


def snapshot_of(path: Path, text: str) -> Snapshot:
    part = Part(path.as_uri(), 1, "python", Text(text, PositionCodec()))
    return Snapshot(path.as_uri(), path, False, (part,), False)


def codes(shown: Sequence[types.Diagnostic]) -> list[str]:
    return [str(each.code) for each in shown]


# Early


def test_findings_are_told_before_their_fixes_are_known(tmp_path: Path) -> None:
    told: list[Linted] = []
    linted = Linter().lint(snapshot_of(tmp_path / "train.py", SLOW), [tmp_path], told.append)
    (early,) = told
    assert [finding.code for finding in early.findings] == ["TFP101", "TFP406"]
    assert [finding.fix for finding in early.findings] == [None, None]
    assert all(finding.fix is not None for finding in linted.findings)
    same = [(each.message, each.start, each.end, each.noqa_row) for each in linted.findings]
    assert [(each.message, each.start, each.end, each.noqa_row) for each in early.findings] == same


def test_the_findings_are_the_same_where_some_are_expected(tmp_path: Path) -> None:
    linter, snapshot = Linter(), snapshot_of(tmp_path / "train.py", TWICE)
    early: list[Linted] = []
    first, second = (linter.lint(snapshot, [tmp_path], early.append) for _ in range(2))
    assert len(first.findings) == 3
    assert first.findings == second.findings
    assert early[0].findings == early[1].findings
    clean = snapshot_of(tmp_path / "train.py", CLEAN)
    assert [linter.lint(clean, [tmp_path], early.append).findings for _ in range(2)] == [(), ()]
    assert [linted.findings for linted in early[2:]] == [(), ()]


def test_the_findings_after_each_key_are_those_of_a_fresh_run(tmp_path: Path) -> None:
    linter = Linter()
    typed = "        scale = (1.0)\n"
    for text in (TWICE, f"{TWICE}\n\n{TWICE}"):
        at = text.rindex("        gc.collect()")
        for end in range(len(typed) + 1):
            snapshot = snapshot_of(tmp_path / "train.py", text[:at] + typed[:end] + text[at:])
            told: list[Linted] = []
            fresh = Linter().lint(snapshot, [tmp_path], told.append)
            early: list[Linted] = []
            linted = linter.lint(snapshot, [tmp_path], early.append)
            assert (linted.findings, linted.problems) == (fresh.findings, fresh.problems)
            assert [each.findings for each in early] == [each.findings for each in told]


def test_suppressions_and_the_configuration_count_early_too(tmp_path: Path) -> None:
    (tmp_path / "tflint-perf.toml").write_text('ignore = ["TFP101"]')
    text = TWICE.replace("gc.collect()\n", "gc.collect()  # noqa: TFP406\n", 1)
    told: list[Linted] = []
    linted = Linter().lint(snapshot_of(tmp_path / "train.py", text), [tmp_path], told.append)
    assert [finding.code for finding in told[0].findings] == ["TFP406"]
    assert [finding.start for finding in told[0].findings] == [finding.start for finding in linted.findings]


@pytest.mark.parametrize("asked", [1, 20, 40])
def test_linting_that_nobody_waits_for_is_given_up_on_the_way(tmp_path: Path, asked: int) -> None:
    left = iter([False] * asked)
    told: list[Linted] = []

    def is_gone() -> bool:
        return next(left, True)

    linter, snapshot = Linter(), snapshot_of(tmp_path / "train.py", SLOW)
    assert linter.lint(snapshot, [tmp_path], told.append, is_gone).settings is None
    assert next(left, True)
    again = linter.lint(snapshot, [tmp_path])
    assert [finding.code for finding in again.findings] == ["TFP101", "TFP406"]


def test_what_other_files_decide_is_not_shown_before_it_is_known(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        client.write("pyproject.toml", "")
        client.write("loop.py", LOOP)
        step = client.write_and_open("step.py", STEP)
        assert await client.codes(step) == ["TFP406"]
        for row in range(3):
            client.change(step, replaced(row, 0, 0, "# above\n"))
            assert await client.codes(step) == ["TFP406"]
        assert [codes(shown.diagnostics) for shown in client.shown[step]] == [["TFP406"]] * 4

    in_editor(tmp_path, session)


# What stays


def test_findings_stay_and_move_while_the_text_does_not_parse(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        uri = client.write_and_open("train.py", SLOW)
        first, second = await client.diagnostics(uri)
        client.change(uri, replaced(0, 0, 0, "x = (\n"))
        *stay, fault = await client.diagnostics(uri)
        assert codes([*stay, fault]) == ["TFP101", "TFP406", "invalid-syntax"]
        assert [each.range.start.line for each in stay] == [
            first.range.start.line + 1,
            second.range.start.line + 1,
        ]
        row = second.range.start.line + 1
        client.change(uri, replaced(row, 0, 0, "\n"), replaced(row + 1, 8, 8, "if x: "))
        _, moved, _ = await client.diagnostics(uri)
        assert moved.range == types.Range(types.Position(row + 1, 14), types.Position(row + 1, 26))
        client.change(uri, replaced(row + 1, 8, 26, "pass"))
        assert await client.codes(uri) == ["TFP101", "invalid-syntax"]
        client.change(uri, CLEAN)
        assert await client.codes(uri) == []

    in_editor(tmp_path, session)


def test_no_fix_is_offered_for_what_stays(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        uri = client.write_and_open("train.py", TWICE)
        assert await client.actions(uri) != []
        client.change(uri, replaced(0, 0, 0, "x = (\n"))
        assert len(await client.codes(uri)) == 4
        assert await client.actions(uri) == []

    in_editor(tmp_path, session)


def test_the_findings_of_a_cell_that_does_not_parse_stay_too(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        _, _, training, last = client.open_notebook("n.ipynb", CELLS)
        assert await client.codes(training) == ["TFP101", "TFP406"]
        content = types.NotebookDocumentCellContentChanges(
            types.VersionedTextDocumentIdentifier(2, training), [replaced(0, 0, 0, "x = (\n")]
        )
        client.change_notebook("n.ipynb", types.NotebookDocumentCellChanges(text_content=[content]))
        assert await client.codes(training, 2) == ["TFP101", "TFP406", "invalid-syntax"]
        assert await client.codes(last) == []

    in_editor(tmp_path, session)


@pytest.mark.parametrize(
    ("splice", "place"),
    [
        (Splice(0, 0, 5), (15, 25)),  # in front
        (Splice(10, 10, 5), (15, 25)),  # directly in front
        (Splice(20, 20, 5), (10, 20)),  # directly behind
        (Splice(25, 30, 0), (10, 20)),  # behind
        (Splice(12, 14, 5), (10, 23)),  # inside
        (Splice(5, 12, 2), (7, 15)),  # over its beginning
        (Splice(15, 25, 2), (10, 17)),  # over its end
        (Splice(5, 25, 30), None),
        (Splice(10, 20, 0), None),
    ],
)
def test_a_finding_moves_with_a_change_of_the_text(splice: Splice, place: tuple[int, int] | None) -> None:
    text = Text("x" * 100, PositionCodec())
    staying = Staying()
    staying.keep("a", text, [types.Diagnostic(text.range(10, 20), "m")])
    staying.move("a", splice)
    moved = [(each.range.start.character, each.range.end.character) for each in staying.shown("a", text)]
    assert moved == ([] if place is None else [place])


@pytest.mark.parametrize(
    ("old", "new", "splice"),
    [
        ("abcd", "abXcd", Splice(2, 2, 1)),
        ("abcd", "ad", Splice(1, 3, 0)),
        ("aa", "aaa", Splice(2, 2, 1)),
        ("", "ab", Splice(0, 0, 2)),
        ("same", "same", Splice(4, 4, 0)),
    ],
)
def test_a_whole_new_text_is_a_change_of_what_differs(old: str, new: str, splice: Splice) -> None:
    change = types.TextDocumentContentChangeWholeDocument(new)
    assert splice_of(Text(old, PositionCodec()), change) == splice


# Actions


def test_all_fixes_of_a_rule_are_one_action(tmp_path: Path) -> None:
    (tmp_path / "tflint-perf.toml").write_text(CONFIG)
    text = TWICE + RENAMED.splitlines()[-1] + "\n"

    async def session(client: Editor) -> None:
        uri = client.write_and_open("train.py", text)
        (fix,) = filter(only("quickfix.tflint-perf.rule"), await client.actions(uri, at_row(14)))
        assert fix.title == "Apply all safe fixes of TFP406 (2)"
        made = applied(text, (await client.edits(fix))[uri])
        assert made == text.replace("        gc.collect()\n", "")
        assert not list(filter(only("quickfix.tflint-perf.rule"), await client.actions(uri, at_row(5))))

    in_editor(tmp_path, session)


def test_all_fixes_with_the_unsafe_ones_are_one_action_that_is_never_made_on_saving(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        uri = client.write_and_open("train.py", TWICE)
        actions = await client.actions(uri, at_row(13))
        (fix,) = filter(only("quickfix.tflint-perf.unsafe"), actions)
        made = applied(TWICE, (await client.edits(fix))[uri])
        assert "@tf.function\n" in made
        assert "gc.collect" not in made
        (rule,) = filter(only("quickfix.tflint-perf.rule", "TFP406, unsafe ones too (2)"), actions)
        only_rule = applied(TWICE, (await client.edits(rule))[uri])
        assert only_rule == TWICE.replace("        gc.collect()\n", "")
        assert await client.actions(uri, only=["source", FIX_ALL]) == []

    in_editor(tmp_path, session)


def test_a_refused_fix_is_an_action_that_says_why_it_can_not_be_had(tmp_path: Path) -> None:
    commented = SLOW.replace("gc.collect()", "gc.collect(  # now\n        )")

    async def session(client: Editor) -> None:
        uri = client.write_and_open("train.py", commented)
        (refused,) = [each for each in await client.actions(uri, at_row(13)) if each.disabled]
        assert refused.title == "Fix TFP406"
        assert refused.disabled == types.CodeActionDisabled("it would lose a comment (line 14)")
        assert [each.code for each in refused.diagnostics or ()] == ["TFP406"]
        client.touch(client.write("tflint-perf.toml", 'unfixable = ["TFP101"]'))
        client.change(uri, SLOW)
        (refused,) = [each for each in await client.actions(uri) if each.disabled]
        assert refused.disabled is not None
        assert (refused.title, refused.disabled.reason[:20]) == ("Fix TFP101", "the configuration tu")

    in_editor(tmp_path, session, capabilities=ASKING)


def test_an_editor_that_knows_no_disabled_actions_gets_none(tmp_path: Path) -> None:
    commented = SLOW.replace("gc.collect()", "gc.collect(  # now\n        )")

    async def session(client: Editor) -> None:
        uri = client.write_and_open("train.py", commented)
        assert [each.title for each in await client.actions(uri, at_row(13)) if "TFP406" in each.title] == [
            "Suppress TFP406 on this line (# noqa: TFP406)"
        ]

    in_editor(tmp_path, session)


# An editor that asks


def test_an_editor_that_asks_for_findings_is_answered_and_sent_none(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        assert client.offered.diagnostic_provider is not None
        uri = client.write_and_open("train.py", SLOW)
        first = await client.pulled(uri)
        assert isinstance(first, types.RelatedFullDocumentDiagnosticReport)
        assert codes(first.items) == ["TFP101", "TFP406"]
        again = await client.pulled(uri, first.result_id)
        assert isinstance(again, types.RelatedUnchangedDocumentDiagnosticReport)
        client.change(uri, replaced(13, 8, 20, "pass"))
        now = await client.pulled(uri, first.result_id)
        assert isinstance(now, types.RelatedFullDocumentDiagnosticReport)
        assert codes(now.items) == ["TFP101"]
        assert client.shown == {}

    in_editor(tmp_path, session, capabilities=ASKING)


def test_an_editor_that_asks_is_told_to_ask_again_when_other_files_decide(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        client.write("pyproject.toml", "")
        client.write("loop.py", LOOP)
        step = client.write_and_open("step.py", STEP)
        found = await client.pulled(step)
        assert isinstance(found, types.RelatedFullDocumentDiagnosticReport)
        assert codes(found.items) == ["TFP406"]
        before = client.refreshes
        client.touch(client.write("tflint-perf.toml", 'ignore = ["TFP406"]'))
        await client.until(lambda: client.refreshes > before)
        found = await client.pulled(step, found.result_id)
        assert isinstance(found, types.RelatedFullDocumentDiagnosticReport)
        assert found.items == ()

    in_editor(tmp_path, session, capabilities=ASKING)


def test_whoever_asks_is_answered_though_linting_begins_anew(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        uri = client.write_and_open("train.py", SLOW)
        asked = asyncio.ensure_future(client.pulled(uri))
        await asyncio.sleep(0)
        for _ in range(5):
            client.configure({"configuration": {"ignore": ["TFP101"]}})
        found = await asked
        assert isinstance(found, types.RelatedFullDocumentDiagnosticReport)
        assert codes(found.items)[-1:] == ["TFP406"]

    in_editor(tmp_path, session, capabilities=ASKING)


def test_each_cell_of_a_notebook_can_be_asked_for(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        *others, training, last = client.open_notebook("n.ipynb", CELLS)
        answers = [await client.pulled(uri) for uri in (*others, training, last)]
        shown = [
            codes(answer.items)
            for answer in answers
            if not isinstance(answer, types.RelatedUnchangedDocumentDiagnosticReport)
        ]
        assert shown == [[], [], ["TFP101", "TFP406"], []]

    in_editor(tmp_path, session, capabilities=ASKING)


# Settings


def test_settings_come_with_the_start(tmp_path: Path) -> None:
    options = {"settings": {"syntaxErrors": False, "configuration": {"ignore": ["TFP101"]}}}

    async def session(client: Editor) -> None:
        uri = client.write_and_open("train.py", SLOW)
        assert await client.codes(uri) == ["TFP406"]
        client.change(uri, replaced(0, 0, 0, "x = (\n"))
        assert await client.codes(uri) == ["TFP406"]

    in_editor(tmp_path, session, options=options)


def test_an_editor_is_asked_for_its_settings_and_again_when_they_change(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        uri = client.write_and_open("train.py", SLOW)
        await client.until(lambda: client.refreshes > 0)
        found = await client.pulled(uri)
        assert isinstance(found, types.RelatedFullDocumentDiagnosticReport)
        assert codes(found.items) == ["TFP406"]
        before = client.refreshes
        client.configure({"configuration": {"select": ["TFP101"]}})
        await client.until(lambda: client.refreshes > before)
        found = await client.pulled(uri)
        assert isinstance(found, types.RelatedFullDocumentDiagnosticReport)
        assert codes(found.items) == ["TFP101"]

    in_editor(tmp_path, session, capabilities=ASKING, settings={"configuration": {"ignore": ["TFP101"]}})


def test_changed_settings_are_taken_from_an_editor_that_can_not_be_asked(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        uri = client.write_and_open("train.py", SLOW)
        assert await client.codes(uri) == ["TFP101", "TFP406"]
        assert await client.actions(uri, only=[FIX_ALL]) == []
        client.configure({"unsafeFixes": True, "configuration": {"ignore": ["TFP101"]}})
        await client.until(lambda: len(client.shown[uri][-1].diagnostics) == 1)
        assert len(await client.actions(uri, only=[FIX_ALL])) == 1

    in_editor(tmp_path, session)


def test_a_wrong_setting_is_told_and_those_of_before_go_on(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        uri = client.write_and_open("train.py", SLOW)
        assert await client.codes(uri) == ["TFP406"]
        client.configure({"configuration": {"ignroe": ["TFP406"]}})
        await client.until(lambda: len(client.messages) == 1)
        assert "the editor's settings" in client.messages[0]
        assert "unknown key `ignroe` (did you mean `ignore`?)" in client.messages[0]
        client.change(uri, SLOW + "\n")
        assert await client.codes(uri) == ["TFP406"]

    in_editor(tmp_path, session, options={"configuration": {"ignore": ["TFP101"]}})


def test_on_save_nothing_is_linted_while_one_types(tmp_path: Path) -> None:
    async def session(client: Editor) -> None:
        uri = client.write_and_open("train.py", SLOW)
        assert await client.codes(uri) == ["TFP101", "TFP406"]
        client.change(uri, CLEAN)
        assert await client.actions(uri) == []  # by the text as it is now
        assert len(client.shown[uri]) == 1
        client.save(uri)
        assert await client.codes(uri) == []

    in_editor(tmp_path, session, options={"run": "onSave"})


def test_the_command_line_of_the_server_goes_before_files(tmp_path: Path) -> None:
    (tmp_path / "tflint-perf.toml").write_text('select = ["TFP101"]')

    async def session(client: Editor) -> None:
        uri = client.write_and_open("train.py", SLOW)
        assert await client.codes(uri) == ["TFP406"]

    in_editor(tmp_path, session, arguments=["--isolated", "--config", 'ignore = ["TFP101"]'])


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (None, Preferences()),
        ({}, Preferences()),
        ({"run": None, "unsafeFixes": None, "path": "x", "arguments": ["y"]}, Preferences()),
        ({"run": "onSave"}, Preferences(on_save=True)),
        ({"tflint-perf": {"syntaxErrors": False}}, Preferences(syntax_errors=False)),
        ({"settings": {"unsafeFixes": True}}, Preferences(configuration={"unsafe-fixes": True})),
        (
            {"measured": "run.json", "configuration": {"select": ["ALL"]}},
            Preferences(configuration={"select": ["ALL"], "measured": "run.json"}),
        ),
    ],
)
def test_settings_are_read(given: object, read: Preferences) -> None:
    assert preferences(given) == read


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "`settings` must be a table of keys"),
        ({"rnu": "onSave"}, "unknown key `rnu` (did you mean `run`?)"),
        ({"run": "never"}, "`run` must be one of onType, onSave"),
        ({"syntaxErrors": 1}, "`syntaxErrors` must be true or false"),
        ({"unsafeFixes": "yes"}, "`unsafe-fixes` must be "),
        ({"configuration": ["ALL"]}, "`configuration` must be a table of keys"),
        ({"configuration": {"extend": "x.toml"}}, "`extend` only has a meaning in a file"),
    ],
)
def test_wrong_settings_are_named(given: object, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        preferences(given)
    assert message in str(raised.value)
