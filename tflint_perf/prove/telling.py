"""A proof in words: as text for a terminal, and in Markdown for a pull request. Both are made of the document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tflint_perf.catalogue.figures import change, number, seconds, size
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


def text(document: Document, style: Style) -> Iterator[str]:
    """The proof for a terminal."""
    yield f"{style.strong(_program(document))}: {headline(document)}"
    whole = document["whole"]
    if whole is not None and (whole["times"] or whole["learned"]):
        yield ""
        yield from _aligned([HEADER, *figures(whole)], right=range(1, 3))
    for title, header, rows in _tables(document):
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
    fixes = {_key(fix) for fix in [*document["fixes"], *document["together"]]}
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
    tried = {_key(fix) for fix in [*document["fixes"], *document["together"]]} - for_gpu
    said = [f"none of {_fixes(len(tried))} is shown to pay"] if tried else []
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


def _tables(document: Document) -> Iterator[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """The fixes that pay, or were not confirmed, and those that were left out: a title, a header and rows."""
    alone = {_version(fix): fix for fix in document["fixes"]}
    together = {_key(fix) for fix in document["together"]}
    if document["result"] == "stopped":
        fixes = document["fixes"] or document["together"]
        so_far_of = [_row(fix, so_far(fix) if "why" in fix else fix["fix"]) for fix in fixes]
        if so_far_of:
            yield "So far", _SO_FAR, so_far_of
        return
    inside = [
        _row(known := alone.get(_version(fix), fix), _what_it_does(known)) for fix in document["together"]
    ]
    left = [fix for fix in document["fixes"] if _key(fix) not in together]
    at = Counter(map(_key, left))
    # Of two ways to fix one thing, each says which it is.
    outside = [
        _row(fix, f"{_done_by(fix)}: {fix['why']}" if at[_key(fix)] > 1 else fix["why"]) for fix in left
    ]
    if inside:
        confirmed = document["result"] == "proved"
        yield ("Changed" if document["applied"] else "Pays" if confirmed else "Not confirmed"), _FIXES, inside
    if outside:
        yield "Left out", _LEFT_OUT, outside


def _what_it_does(fix: Mapping[str, Any]) -> str:
    """What a fix does, and why it pays where that is not its time: `Call `predict_on_batch`; 12 traces instead of 60`."""
    why = str(fix.get("why", ""))
    pays = fix.get("status") == "pays" and why and not why.startswith("faster")
    return f"{fix['fix']}; {why}" if pays else str(fix["fix"])


def _done_by(fix: Mapping[str, Any]) -> str:
    """What a fix does, without what it may change: that has been tried."""
    return str(fix["fix"]).partition("; may change ")[0]


def so_far(fix: Mapping[str, Any]) -> str:
    """What was known of a fix when it was stopped: `after 2 runs: faster`."""
    return f"after {counted(fix['pairs'], 'run')}: {fix['why']}" if fix["pairs"] else str(fix["why"])


def _key(fix: Mapping[str, Any]) -> tuple[Any, ...]:
    return fix["code"], fix["file"], fix["cell"], fix["row"]


def _version(fix: Mapping[str, Any]) -> tuple[Any, ...]:
    return *_key(fix), fix["bold"]


def _row(fix: Mapping[str, Any], last: str) -> tuple[str, ...]:
    times = fix.get("times")  # tried with others alone, it has none of its own
    return (
        f"{fix['code']} {fix['name']}",
        place_of(fix),
        effect_of(times["stretch"]) if times is not None else "",
        last,
    )


def place_of(fix: Mapping[str, Any]) -> str:
    """`train.py:14`, `n.ipynb:cell 2:3`."""
    cell = f"cell {fix['cell']}:" if fix["cell"] is not None else ""
    return f"{fix['file']}:{cell}{fix['row']}"


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
    if document["only_with_unsafe_fixes"]:
        yield f"{_fixes(document['only_with_unsafe_fixes'], 'more ')} could be tried with the --unsafe-fixes option."
    if document["applied"]:
        yield f"Written: {', '.join(document['applied'])}."
    elif document["result"] == "proved":
        yield "Nothing was written; the --apply option makes exactly these changes."
    elif document["result"] != "nothing to fix":
        yield "Nothing was written."


def _runs(document: Document) -> Iterator[str]:
    """How many runs all this rests on: of each fix, and of those that pay together where these are others."""
    of_fixes = [fix["pairs"] for fix in document["fixes"] if fix["pairs"]]
    of_whole = document["whole"]["pairs"] if document["whole"] is not None else 0
    if of_fixes or of_whole:
        fewer = ", fewer of those that were given up" if of_fixes and min(of_fixes) < max(of_fixes) else ""
        runs = counted(max(of_fixes, default=of_whole), "run")
        yield f"{runs} of each version in turn with the original{fewer}"
    if of_fixes and of_whole and of_whole != max(of_fixes):
        yield f"{counted(of_whole, 'run')} of those that pay together"


def _few_runs(document: Document) -> tuple[int, float] | None:
    """How many runs the least sure interval rests on, and how sure it is, where that is less than a verdict asks for.

    Of the versions that are judged by their time: others run no more once it is clear that they are not to be kept.
    """
    if document["result"] == "stopped":  # each says after how many runs
        return None
    versions = [*document["fixes"], *filter(None, [document["whole"]])]
    judged = [fix for fix in versions if fix["times"] and fix["status"] not in ("different", "breaks")]
    effects = [(fix["pairs"], Effect(**fix["times"]["stretch"]["effect"])) for fix in judged]
    return min(((runs, one.confidence or 0.0) for runs, one in effects if is_of_few(one)), default=None)


def _outputs(document: Document) -> Iterator[str]:
    """What versions wrote that broke."""
    for fix in document["fixes"]:
        if fix.get("output"):
            yield ""
            yield f"{fix['code']} {place_of(fix)} wrote:"
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
