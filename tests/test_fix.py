"""Rounds of fixes: what is made together, what waits, and what is never made."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from tflint_perf.catalogue.registry import all_rules
from tflint_perf.config.settings import Settings
from tflint_perf.finding import Edit, Finding, Fix
from tflint_perf.lint import check
from tflint_perf.lint.fix import Fixed, fix_source
from tflint_perf.text.source import Source

CODES = frozenset({"TFP001", "TFP101", "TFP105", "TFP301"})
SETTINGS = Settings(root=Path(), rules=CODES, fixable=CODES)
Change = tuple[str, str]
Rule = Callable[[Source], Iterable[Finding]]


def finding(
    of: Source, *changes: Change, code: str = "TFP101", safe: bool = True, at: int = 0
) -> list[Finding]:
    """A finding whose fix makes the changes, if the text has all that they replace from `at` on."""
    edits = []
    for old, new in changes:
        start = of.text.find(old, at)
        if start < 0:
            return []
        edits.append(Edit(of.place(start), of.place(start + len(old)), new))
    place = edits[0].start
    row = of.row(place.offset)
    fix = Fix("Change it", tuple(edits), safe)
    return [Finding(code, "a-rule", "message", place, edits[0].end, of.lines(row, row), place.row, fix)]


def insertion(of: Source, before: str, new: str) -> Edit:
    place = of.place(of.text.index(before))
    return Edit(place, place, new)


@pytest.fixture
def fix(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Fixed]:
    """Fix a text by rules that are functions; a finding for what they yield."""

    def fix_with(text: str | Source, *rules: Rule, settings: Settings = SETTINGS) -> Fixed:
        def check_source(source: Source, *_: object) -> check.Checked:
            found = [finding for rule in rules for finding in rule(source)]
            return check.Checked(tuple(sorted(found, key=lambda finding: finding.start.offset)), 0)

        monkeypatch.setattr(check, "check_source", check_source)
        of = text if isinstance(text, Source) else Source.from_bytes(text.encode(), "train.py")
        return fix_source(of, settings)

    return fix_with


def changing(*changes: Change, **how: object) -> Rule:
    return lambda of: finding(of, *changes, **how)  # type: ignore[arg-type]


def test_without_fixes_the_source_is_the_same_object(fix: Callable[..., Fixed]) -> None:
    source = Source.from_bytes(b"a = 1\n", "train.py")
    done = fix(source, changing(("zzz", "b")))
    assert done.source is source
    assert done == Fixed(source, (), (), (), 0)


def test_fixes_apart_are_made_together(fix: Callable[..., Fixed]) -> None:
    done = fix("a = 1\nb = 2\n", changing(("a", "x")), changing(("b", "y")))
    assert done.source.text == "x = 1\ny = 2\n"
    assert [one.start.row for one in done.applied] == [1, 2]
    assert (done.remaining, done.problems) == ((), ())


def test_what_a_fix_brings_about_is_fixed_in_the_next_round(fix: Callable[..., Fixed]) -> None:
    done = fix("a\n", changing(("a", "b")), changing(("b", "c")), changing(("c", "d")))
    assert done.source.text == "d\n"
    assert len(done.applied) == 3


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (("a + b", "A + b"), ("b + c", "B + c"), "A + B + c\n"),
        (("a + b + c", "A + b + c"), ("b", "B"), "A + B + c\n"),
    ],
)
def test_overlapping_fixes_wait(
    fix: Callable[..., Fixed], first: Change, second: Change, expected: str
) -> None:
    done = fix("a + b + c\n", changing(first), changing(second, code="TFP105"))
    assert done.source.text == expected
    assert [one.code for one in done.applied] == ["TFP101", "TFP105"]
    assert done.problems == ()


def test_a_rule_that_yields_waits_for_the_other_even_when_its_finding_comes_first(
    fix: Callable[..., Fixed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_rules()["TFP101"], "yields_to", ("TFP105",))
    done = fix("a + b\n", changing(("a + b", "a + B")), changing(("b", "c"), code="TFP105"))
    assert done.source.text == "a + c\n"
    assert [one.code for one in done.applied] == ["TFP105"]


def test_a_rule_that_yields_goes_ahead_where_the_other_has_no_fix(
    fix: Callable[..., Fixed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_rules()["TFP101"], "yields_to", ("TFP105",))
    unsafe = changing(("b", "c"), code="TFP105", safe=False)
    done = fix("a + b\n", changing(("a + b", "a + B")), unsafe)
    assert done.source.text == "a + B\n"


def test_a_fix_is_made_whole_or_not_at_all(fix: Callable[..., Fixed]) -> None:
    once = changing(("b", "B"), ("c", "C"), code="TFP105")
    done = fix("a, b, c\n", changing(("a, b", "a")), once)
    assert done.source.text == "a, c\n"
    assert [one.code for one in done.applied] == ["TFP101"]


def test_an_edit_that_two_fixes_share_is_made_once(fix: Callable[..., Fixed]) -> None:
    def rule(of: Source) -> Iterable[Finding]:
        for old, new in (("a()", "tf.a()"), ("b()", "tf.b()")):
            if "tf." + old not in of.text:
                (one,) = finding(of, (old, new))
                assert one.fix
                edits = one.fix.edits
                if "import" not in of.text:
                    edits = (insertion(of, "x =", "import tf\n"), *edits)
                yield replace(one, fix=replace(one.fix, edits=edits))

    done = fix("x = 1\na()\nb()\n", rule)
    assert done.source.text == "import tf\nx = 1\ntf.a()\ntf.b()\n"
    assert len(done.applied) == 2


def test_code_that_two_fixes_take_out_is_moved_by_one_of_them(fix: Callable[..., Fixed]) -> None:
    def moving(before: str, code: str) -> Rule:
        def rule(of: Source) -> Iterable[Finding]:
            for one in finding(of, ("m\n", ""), code=code) if of.text.startswith("m") else []:
                assert one.fix
                edits = (*one.fix.edits, insertion(of, before, "m\n"))
                yield replace(one, fix=replace(one.fix, edits=edits))

        return rule

    done = fix("m\na\nb\n", moving("a", "TFP101"), moving("b", "TFP105"))
    assert done.source.text.count("m") == 1


def test_different_insertions_at_one_place_wait_for_each_other(fix: Callable[..., Fixed]) -> None:
    def rule(of: Source) -> Iterable[Finding]:
        for name in ("a", "b"):
            if f"import {name}" not in of.text:
                (one,) = finding(of, ("x", "x"))
                yield replace(one, fix=Fix("m", (insertion(of, "x", f"import {name}\n"),), True))

    done = fix("x\n", rule)
    assert done.source.text == "import a\nimport b\nx\n"
    assert done.problems == ()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (SETTINGS, "x, b, c\n"),
        (replace(SETTINGS, unsafe_fixes=True), "x, y, c\n"),
        (replace(SETTINGS, safe_by_request=frozenset({"TFP105"})), "x, y, c\n"),
        (replace(SETTINGS, unsafe_by_request=frozenset({"TFP101"})), "a, b, c\n"),
        (replace(SETTINGS, fixable=frozenset({"TFP105"}), unsafe_fixes=True), "a, y, c\n"),
    ],
)
def test_only_fixes_that_the_settings_allow_are_made(
    fix: Callable[..., Fixed], settings: Settings, expected: str
) -> None:
    rules = (changing(("a,", "x,")), changing(("b,", "y,"), code="TFP105", safe=False))
    done = fix("a, b, c\n", *rules, settings=settings)
    assert done.source.text == expected
    assert len(done.applied) + len(done.remaining) == 2


DAMAGE: list[tuple[str, Change, str]] = [
    ("a = 1\nb = 2\n", ("a = 1", "a = ("), "would leave a file that does not parse"),
    ("def f():\n    return 1\n", ("def f():\n    return 1", "return 1"), "does not parse"),
    ("for a in b:\n    break\n", ("for a in b:\n    break", "if a:\n    break"), "does not parse"),
    ("a = 1  # why\nb = 2\n", ("a = 1  # why", "a = 2"), "would lose a comment"),
    ("# a\n# a\nb\n", ("# a\n# a\n", "# a\n"), "would lose a comment"),
    ("# @a\n# @a\ndef b(): 0\n", ("# @a\n# @a\n", "@a\n"), "would lose a comment"),
]


@pytest.mark.parametrize(("text", "change", "why"), DAMAGE)
def test_a_fix_that_does_damage_is_not_made_but_told(
    fix: Callable[..., Fixed], text: str, change: Change, why: str
) -> None:
    good = changing(("zz", "yy"), code="TFP301")
    done = fix(text + "zz\n", changing(change), good)
    assert done.source.text == text + "yy\n"
    assert [one.code for one in done.applied] == ["TFP301"]
    (problem,) = done.problems
    assert problem.startswith("train.py: the fix of TFP101 at 1:1 would")
    assert why in problem
    (left,) = done.remaining
    assert (left.code, left.fix) == ("TFP101", None)
    assert left.note is not None
    assert why in left.note


def test_a_comment_that_becomes_code_is_not_lost(fix: Callable[..., Fixed]) -> None:
    change = changing(("    #@a(1)\n", "    @a(1)\n"))
    source = "class C:\n    #@a(1)\n    def b(self): pass\n"
    assert fix(source, change).source.text == source.replace("#", "")


def test_a_comment_in_a_string_can_go(fix: Callable[..., Fixed]) -> None:
    assert fix("a = '# x'\n", changing(("'# x'", "''"))).source.text == "a = ''\n"


def test_removing_a_comment_is_what_its_own_fix_is_for(fix: Callable[..., Fixed]) -> None:
    done = fix(
        "a  # noqa: TFP101\nb\n", changing(("  # noqa: TFP101", ""), code="TFP001"), changing(("b", "c"))
    )
    assert done.source.text == "a\nc\n"
    assert done.problems == ()


def test_a_comment_is_not_lost_in_the_shadow_of_one_that_may_go(fix: Callable[..., Fixed]) -> None:
    rules = (changing(("  # noqa: TFP101", ""), code="TFP001"), changing(("b  # why", "c")))
    done = fix("a  # noqa: TFP101\nb  # why\n", *rules)
    assert done.source.text == "a\nb  # why\n"
    assert len(done.problems) == 1


def test_fixes_that_fail_only_together_are_not_blamed(fix: Callable[..., Fixed]) -> None:
    def rule(of: Source) -> Iterable[Finding]:
        """Take a statement out, and put `pass` where it is the last one in its block."""
        for name in ("a", "b"):
            last = of.text.count("    ") == 1
            yield from finding(of, (f"    {name}\n", "    pass\n" if last else ""))

    done = fix("if x:\n    a\n    b\n", rule)
    assert done.source.text == "if x:\n    pass\n"
    assert len(done.applied) == 2
    assert done.problems == ()


def test_a_file_that_this_python_cannot_compile_is_held_to_parse_only(fix: Callable[..., Fixed]) -> None:
    assert fix("return a\n", changing(("a", "b"))).source.text == "return b\n"


def test_a_fix_whose_own_edits_overlap_is_not_made_but_told(fix: Callable[..., Fixed]) -> None:
    done = fix("a + b\n", changing(("a +", "c +"), ("+ b", "+ d")))
    assert done.source.text == "a + b\n"
    assert "would make edits that overlap" in done.problems[0]


def test_rounds_end_at_ten(fix: Callable[..., Fixed]) -> None:
    done = fix(
        "a = b\n", lambda of: finding(of, ("a", "b")) if of.text[0] == "a" else finding(of, ("b", "a"))
    )
    assert len(done.applied) == 10
    assert done.problems == ("train.py: fixes did not settle in 10 rounds; please report it",)


def test_a_fix_that_would_touch_a_magic_is_left_out_quietly(fix: Callable[..., Fixed]) -> None:
    data = json.dumps({"cells": [{"cell_type": "code", "source": "a\n%m\nb"}]}).encode()
    source = Source.from_bytes(data, "n.ipynb")
    done = fix(source, changing((source.text, "c")), changing(("b", "B"), code="TFP105"))
    assert done.source.cells() == ((1, "a\n%m\nB"),)
    assert done.problems == ()
    assert done.remaining == ()  # the text that it looked for has changed


def test_an_encoding_that_cannot_say_it_stays_quiet(fix: Callable[..., Fixed]) -> None:
    source = Source.from_bytes(b"# coding: ascii\na\n", "train.py")
    done = fix(source, changing(("a\n", "'é'\n")))
    assert done.source is source
    assert done.problems == ()
    assert done.remaining[0].note == "no fix: `ascii` cannot write the fix"


def test_an_import_that_two_fixes_add_at_different_places_is_added_once(fix: Callable[..., Fixed]) -> None:
    imported = "import tensorflow as tf\n"

    def rule(of: Source) -> Iterable[Finding]:
        for old in ("a()", "b()"):
            if "tf." + old not in of.text:
                (found,) = finding(of, (old, f"tf.{old}"))
                assert found.fix is not None
                added = (
                    () if imported in of.text else (insertion(of, {"a()": "x", "b()": "y"}[old], imported),)
                )
                yield replace(found, fix=replace(found.fix, edits=(*added, *found.fix.edits)))

    done = fix("x = [0]\na()\ny = [0]\nb()\n", rule)
    assert done.source.text == "import tensorflow as tf\nx = [0]\ntf.a()\ny = [0]\ntf.b()\n"
    assert len(done.applied) == 2
