"""A proof in words: as text for a terminal, and in Markdown for a pull request. Both are made of the document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from tflint_perf.catalogue.figures import change, number, seconds, size
from tflint_perf.prove.fixes import what_it_does
from tflint_perf.report.style import Style
from tflint_perf.report.summary import counted
from tflint_perf.verify.records import Effect
from tflint_perf.verify.statistics import NO_DOUBT, is_of_few

Document = Mapping[str, Any]
_WAYS = {
    "step": "a step, median",
    "stretch": "a step, 2 to {steps}, mean",
    "total": "from the start to step {steps}",
    "first": "from the start to step 1",
}
HEADER = ("", "before", "after", "times as fast")
_FIXES = ("fix", "at", "times as fast", "what it does")
_SO_FAR = ("fix", "at", "times as fast", "what is known")
_LEFT_OUT = ("fix", "at", "times as fast", "why it was left out")
# A column of a terminal or a page is too narrow for all places of a group.
PLACES: Final = 5
# So many that a run does not get to have a row each.
_FEW: Final = 3


def text(document: Document, style: Style) -> Iterator[str]:
    """The proof for a terminal."""
    yield f"{style.strong(_program(document))}: {headline(document)}"
    whole = document["whole"]
    if whole is not None and (whole["times"] or whole["learned"]):
        yield ""
        yield from _aligned([HEADER, *figures(whole)], right=range(1, 3))
    for title, header, rows in _tables(document, PLACES):
        yield ""
        yield style.strong(title)
        yield from (
            f"  {line}" for line in _aligned([*([] if style.color else [header]), *rows], range(2, 3))
        )
    yield from _outputs(document)
    yield ""
    yield from notes(document)


def markdown(document: Document) -> Iterator[str]:
    """The proof for a pull request: what became of the program, what was changed, what was left out and why."""
    yield f"**`{_program(document)}`: {headline(document)}**"
    whole = document["whole"]
    if whole is not None and (whole["times"] or whole["learned"]):
        yield ""
        yield from _table(HEADER, figures(whole))
    for title, header, rows in _tables(document):
        yield ""
        yield f"{title}:"
        yield ""
        yield from _table(header, rows)
    yield ""
    yield from notes(document)


def headline(document: Document) -> str:
    """What came of it, in a sentence."""
    whole = document["whole"]
    kept, several = len(document["together"]), len(document["together"]) > 1
    fixes = {_key(fix) for fix in [*_reached(document), *document["together"]]}
    match document["result"]:
        case "nothing to fix":
            return "nothing to fix"
        case "stopped":
            return f"stopped before anything was proved of {_fixes(len(fixes))}"
        case "nothing pays":
            return _nothing_pays(document)
        case "not confirmed":
            return (
                f"{_fixes(kept)} {'are' if several else 'is'} not confirmed"
                f"{' together' if several else ''}: {whole['why']}"
            )
    said = f"{kept} of {_fixes(len(fixes))} {'pay' if several else 'pays'}"
    times = whole["times"]
    effect = effect_of(times["stretch"]) if times is not None else ""
    if not effect or not whole["why"].startswith("faster"):
        return f"{said}: {whole['why']}"
    more = whole["why"].removeprefix("faster")
    return f"{said}: {effect} as fast over steps 2 to {times['steps']}{more}"


def _nothing_pays(document: Document) -> str:
    """`none of 3 fixes is shown to pay; 1 fix not tried here: needs a GPU`."""
    for_gpu = {_key(fix) for fix in document["fixes"] if fix["status"] == "needs a GPU"}
    tried = {_key(fix) for fix in [*_reached(document), *document["together"]]} - for_gpu
    said = [f"none of {_fixes(len(tried))} is shown to pay"] if tried else []
    if not tried and len(_reached(document)) < len(document["fixes"]):
        said = [f"the run gets to none of {_fixes(len(document['fixes']))}"]
    if for_gpu:
        needs = "needs" if len(for_gpu) == 1 else "need"
        said.append(f"{_fixes(len(for_gpu))} not tried here: {needs} a GPU")
    return "; ".join(said)


def figures(judged: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """What became of the program, a row a figure."""
    times, memory, traces = judged["times"], judged["memory_a_step"], judged["traces"]
    if times is not None:
        for name, said in _WAYS.items():
            timed = times[name]
            way = said.format(steps=times["steps"])
            yield way, seconds(timed["before"]), seconds(timed["after"]), effect_of(timed)
        if hidden := _hidden(judged):
            later = times["later"]
            way = f"a step, {hidden['since']} to {times['steps']}, mean"
            yield way, seconds(later["before"]), seconds(later["after"]), effect_of(later)
    if memory is not None and (memory["grew"] or memory["grows"]):
        yield "memory a step", _growth(memory, "before", "grew"), _growth(memory, "after", "grows"), ""
    if traces is not None and (traces["before"] or traces["after"]):
        yield "traces", f"{traces['before']:,.0f}", f"{traces['after']:,.0f}", ""
    learned, printed = judged["learned"], judged["printed"]
    if learned is not None:
        yield "learned", "", _verdict(learned["verdict"]), learned["why"]
    if printed is not None:
        lines = counted(printed["lines"], "line") if printed["lines"] else ""
        yield "printed", "", _verdict(printed["verdict"]), printed["why"] or lines


def _growth(memory: Mapping[str, Any], side: str, grows: str) -> str:
    return change(size(memory[side])) if memory[grows] else "even"


def _verdict(verdict: str) -> str:
    return {"same": "the same", "different": "different", "unknown": "unknown"}[verdict]


def effect_of(timed: Mapping[str, Any]) -> str:
    """A ratio with its interval: `3.1× (2.9 to 3.3)`."""
    low, value, high = (number(timed["effect"][name], 3) for name in ("low", "value", "high"))
    return f"{value}× ({low} to {high})"


def told(document: Document) -> list[dict[str, Any]]:
    """What is told in a row of its own: a fix, or a group that was tried together, with the figures of all of it.

    Each is as a fix of the document; `places` are the fixes that it stands for.
    """
    rows, fixes = [], document["fixes"]
    for at, fix in enumerate(fixes):
        group = _group_of(document, fix)
        if group is None or group["one_by_one"]:
            rows.append({**fix, "places": [fix]})
        elif at == group["fixes"][0]:
            places = [fixes[place] for place in group["fixes"]]
            alike = len({place["fix"] for place in places}) == 1
            rows.append(
                {**fix, **group, "places": places, "fix": fix["fix"] if alike else what_it_does(fix["fix"])}
            )
    return rows


def _group_of(document: Document, fix: Mapping[str, Any]) -> Mapping[str, Any] | None:
    number = fix.get("group")
    return document["groups"][number] if number is not None else None


def _tables(
    document: Document, most: int | None = None
) -> Iterator[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """The fixes that pay, or were not confirmed, and those that were left out: a title, a header and rows.

    Of a group, so many places are named at `most`.
    """
    rows = told(document)
    if document["result"] == "stopped":
        fixes = rows or document["together"]
        so_far_of = [_row(fix, so_far(fix) if "why" in fix else fix["fix"], most) for fix in fixes]
        if so_far_of:
            yield "So far", _SO_FAR, so_far_of
        return
    together = {_key(fix) for fix in document["together"]}
    kept = list(_kept(rows, document))
    inside = [_row(fix, _what_it_does(fix), most) for fix in kept]
    # Where another fix for the same thing is kept, only what more steps would gain is worth a word.
    left = [
        row
        for row in rows
        if row not in kept and (_hidden(row) or not all(_key(place) in together for place in row["places"]))
    ]
    at = Counter(_key(place) for row in [*kept, *left] for place in row.get("places", [row]))

    def why(row: Mapping[str, Any]) -> str:
        # Of two ways to fix one thing, each says which it is.
        is_one_of_two = any(at[_key(place)] > 1 for place in row["places"])
        return f"{what_it_does(row['fix'])}: {row['why']}" if is_one_of_two else row["why"]

    if inside:
        confirmed = document["result"] == "proved"
        yield ("Changed" if document["applied"] else "Pays" if confirmed else "Not confirmed"), _FIXES, inside
    if left:
        unreached = [row for row in left if row["status"] == "not reached"]
        if len(unreached) > _FEW:
            left = [row for row in left if row not in unreached]
            places = [place for row in unreached for place in row["places"]]
        rows_left = [_row(row, why(row), most) for row in left]
        if len(unreached) > _FEW:
            rows_left.append((_fixes(len(places)), _files_of(places), "", unreached[0]["why"]))
        yield "Left out", _LEFT_OUT, rows_left


def _files_of(places: Sequence[Mapping[str, Any]]) -> str:
    """The files of fixes, cut short."""
    files = list(dict.fromkeys(place["file"] for place in places))
    return ", ".join(files[:PLACES]) + (", …" if len(files) > PLACES else "")


def _kept(rows: Sequence[dict[str, Any]], document: Document) -> Iterator[Mapping[str, Any]]:
    """The rows of what was proved together; a fix that was tried in no other way is one."""
    row_of = {_version(place): row for row in rows for place in row["places"]}
    begun: list[Mapping[str, Any]] = []
    for fix in document["together"]:
        row = row_of.get(_version(fix), fix)
        if not any(row is other for other in begun):
            begun.append(row)
            yield row


def _what_it_does(fix: Mapping[str, Any]) -> str:
    """What a fix does, and why it pays where that is not its time: `Call `predict_on_batch`; 12 traces instead of 60`."""
    why = str(fix.get("why", ""))
    pays = fix.get("status") == "pays" and why and not why.startswith("faster")
    return f"{fix['fix']}; {why}" if pays else str(fix["fix"])


def so_far(fix: Mapping[str, Any]) -> str:
    """What was known of a fix when it was stopped: `after 2 runs: faster`."""
    return f"after {counted(fix['pairs'], 'run')}: {fix['why']}" if fix["pairs"] else str(fix["why"])


def _key(fix: Mapping[str, Any]) -> tuple[Any, ...]:
    return fix["code"], fix["file"], fix["cell"], fix["row"]


def _version(fix: Mapping[str, Any]) -> tuple[Any, ...]:
    return *_key(fix), fix["bold"]


def _row(fix: Mapping[str, Any], last: str, most: int | None = None) -> tuple[str, ...]:
    times = fix.get("times")  # tried with others alone, it has none of its own
    return (
        f"{fix['code']} {name_of(fix)}",
        places_of(fix, most),
        effect_of(times["stretch"]) if times is not None else "",
        last,
    )


def name_of(fix: Mapping[str, Any]) -> str:
    """The name of its rule, of a group with how many it is: `slow-call ×5`."""
    count = len(fix.get("places", ()))
    return f"{fix['name']} ×{count}" if count > 1 else str(fix["name"])


def places_of(fix: Mapping[str, Any], most: int | None = None) -> str:
    """`train.py:14`, `n.ipynb:cell 2:3`, of a group `train.py:14, 20; test.py:8`, cut short after `most` of them."""
    places = fix.get("places", [fix])
    by_file = groupby(places[:most], key=lambda place: (place["file"], place["cell"]))
    said = [
        ", ".join([_place_of(first), *(str(place["row"]) for place in rest)]) for _, (first, *rest) in by_file
    ]
    return "; ".join(said) + (", …" if len(places) > len(places[:most]) else "")


def _place_of(fix: Mapping[str, Any]) -> str:
    cell = f"cell {fix['cell']}:" if fix["cell"] is not None else ""
    return f"{fix['file']}:{cell}{fix['row']}"


def _reached(document: Document) -> list[Mapping[str, Any]]:
    """The fixes of what the run gets to."""
    return [fix for fix in document["fixes"] if fix["status"] != "not reached"]


def notes(document: Document) -> Iterator[str]:
    """How it was found out, and what is to be done now."""
    versions = document["versions"]
    used = ", ".join(
        f"{name} {versions[key]}"
        for name, key in (("TensorFlow", "tensorflow"), ("Keras", "keras"), ("Python", "python"))
        if key in versions
    )
    to_the_end = " to its end" if document["to_the_end"] else ""
    ran = "".join(f", {said}" for said in _runs(document))
    if document["steps"] is not None:
        yield f"{counted(document['steps'], 'step')}{to_the_end}{ran}. {document['device']}, {used}."
    few = _few_runs(document)
    if few:
        runs, confidence = few
        yield (
            f"{counted(runs, 'run')} give intervals of {100 * confidence:g}%, so only what is surely "
            f"{NO_DOUBT:g}× as fast counts as faster."
        )
    yield from _one_by_one(document)
    yield from _longer_runs(document)
    if document["result"] == "proved" and any(fix["status"] == "no difference" for fix in document["fixes"]):
        yield "What makes no difference beside a slow step may pay beside a quick one: once these are applied, prove again."
    if document["only_with_unsafe_fixes"]:
        yield f"{_fixes(document['only_with_unsafe_fixes'], 'more ')} could be tried with the --unsafe-fixes option."
    if document.get("only_with_bold_fixes"):
        yield f"{_fixes(document['only_with_bold_fixes'], 'more ')} could be tried with the --bold-fixes option."
    if document["applied"]:
        yield f"Written: {', '.join(document['applied'])}."
    elif document["result"] == "proved":
        yield "Nothing was written; the --apply option makes exactly these changes."
    elif document["result"] != "nothing to fix":
        yield "Nothing was written."


def _runs(document: Document) -> Iterator[str]:
    """How many runs all this rests on: of each fix, and of those that pay together where these are others."""
    of_fixes = [fix["pairs"] for fix in told(document) if fix["pairs"]]
    of_whole = document["whole"]["pairs"] if document["whole"] is not None else 0
    most = max(of_fixes, default=of_whole)
    # Of a group that was left open there are more than were asked for.
    asked = min(most, document.get("pairs") or most)
    if of_fixes or of_whole:
        fewer = ", fewer of those that were given up" if of_fixes and min(of_fixes) < asked else ""
        yield f"{counted(asked if of_fixes else of_whole, 'run')} of each version in turn with the original{fewer}"
    if of_fixes and most > asked:
        yield f"{counted(most, 'run')} where all of these were faster, though not beyond doubt"
    if of_fixes and of_whole and of_whole not in (asked, most):
        yield f"{counted(of_whole, 'run')} of those that pay together"


def _one_by_one(document: Document) -> Iterator[str]:
    """Why the fixes of a group were tried one by one."""
    for group in document.get("groups", ()):
        if group["one_by_one"]:
            fix = document["fixes"][group["fixes"][0]]
            yield f"{fix['code']} was tried in {len(group['fixes'])} places together, and then one by one: {group['why']}."


def _longer_runs(document: Document) -> Iterator[str]:
    """How many steps show what the start of a run hides, unless there are no more."""
    judged = [*told(document), *filter(None, [document["whole"]])]
    hidden = list(filter(None, map(_hidden, judged)))
    if hidden and not document["to_the_end"]:
        steps, time = (max(one[of] for one in hidden) for of in ("steps", "seconds"))
        yield f"Longer runs show whether a slower start pays: --steps {steps} --seconds {time}."


def _hidden(judged: Mapping[str, Any]) -> Mapping[str, Any] | None:
    found: Mapping[str, Any] | None = (judged["times"] or {}).get("hidden")
    return found


def _few_runs(document: Document) -> tuple[int, float] | None:
    """How many runs the least sure interval rests on, and how sure it is, where that is less than a verdict asks for.

    Of the versions that are judged by their time: others run no more once it is clear that they are not to be kept.
    """
    if document["result"] == "stopped":  # each says after how many runs
        return None
    versions = [*told(document), *filter(None, [document["whole"]])]
    judged = [fix for fix in versions if fix["times"] and fix["status"] not in ("different", "breaks")]
    effects = [(fix["pairs"], Effect(**fix["times"]["stretch"]["effect"])) for fix in judged]
    return min(((runs, one.confidence or 0.0) for runs, one in effects if is_of_few(one)), default=None)


def _outputs(document: Document) -> Iterator[str]:
    """What versions wrote that broke."""
    for fix in told(document):
        if fix.get("output"):
            yield ""
            yield f"{fix['code']} {places_of(fix, PLACES)} wrote:"
            yield from (f"    {line}" for line in fix["output"].splitlines())


def _fixes(count: int, more: str = "") -> str:
    return f"{count} {more}fix{'' if count == 1 else 'es'}"


def _program(document: Document) -> str:
    return " ".join(document["program"])


def _aligned(rows: Sequence[Sequence[str]], right: range) -> Iterator[str]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def _table(
    header: Sequence[str], rows: Iterator[tuple[str, ...]] | Sequence[tuple[str, ...]]
) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
