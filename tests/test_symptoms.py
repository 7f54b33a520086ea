"""What people see, and the rules that it leads to."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, get_args

import pytest

from tests.commandline import CommandLine
from tflint_perf.catalogue.cost import figures_of
from tflint_perf.catalogue.evidence import Evidence, read_evidence
from tflint_perf.catalogue.measured import Run, Side, runs_of
from tflint_perf.catalogue.rules import RuleInfo, catalogue
from tflint_perf.catalogue.symptoms import (
    ELSEWHERE,
    SYMPTOMS,
    UNREACHED,
    Symptom,
    causes_of,
    claims_it,
    codes_of,
    symptoms_like,
    symptoms_of,
)
from tflint_perf.cli.rules_list import ranked_causes
from tflint_perf.config.selection import default_rules
from tflint_perf.rule import Claim, Metric

ROOT = Path(__file__).parent.parent
RULES = {code: rule for code, rule in catalogue().items() if rule.plugin is None}
EVIDENCE = read_evidence(ROOT / "fixtures" / "evidence")
BY_NAME = {symptom.name: symptom for symptom in SYMPTOMS}

each_symptom = pytest.mark.parametrize("symptom", SYMPTOMS, ids=lambda symptom: symptom.name)


# The data


def test_every_rule_is_reached_by_a_symptom_or_says_why_not() -> None:
    unreached = {code for code in RULES if not symptoms_of(code, RULES)}
    assert unreached == set(UNREACHED)


@each_symptom
def test_every_code_is_a_rule_s_and_stands_under_one_cause(symptom: Symptom) -> None:
    named = [code for cause in symptom.causes for code in cause.codes]
    assert [code for code in named if code not in RULES] == []
    assert len(named) == len(set(named))
    assert set(symptom.beside) <= BY_NAME.keys() - {symptom.name}


def test_every_claim_leads_to_a_symptom() -> None:
    claims = {claim for symptom in SYMPTOMS for claim in symptom.claims}
    every = {f"{metric} {kind}" for metric in get_args(Metric) for kind in ("ratio", "growth")}
    # What grows in the first step, or in a sample, is not a thing that anybody sees.
    unseen = {"first step growth", "time per sample growth"}
    assert claims == (every - unseen) | {"correctness"}


def test_a_rule_that_is_named_nowhere_comes_under_what_it_claims() -> None:
    info = RuleInfo("ACM101", "acme", "A summary", "", "none", Claim("host memory", 2.0, kind="growth"))
    rules = {**RULES, "ACM101": info}
    assert [symptom.name for symptom in symptoms_of("ACM101", rules)] == ["memory-grows"]
    assert causes_of(BY_NAME["memory-grows"], rules)[-1].codes == ("ACM101",)


# What was measured

Measure = Callable[[Run], float | None]


def typical(evidence: Evidence, side: Side, measure: Measure) -> float:
    """The median over the runs of one script; what was not counted shows nothing."""
    values = [value for run in runs_of(evidence.record, side) if (value := measure(run)) is not None]
    return median(values) if values else 0.0


def got(name: str) -> Measure:
    return lambda run: run.get(name)


def resident(run: Run) -> float:
    """How much the process grew by at most, from before its first step."""
    (_, before), *later = run["memory"]
    return float(max(held for _, held in later) - before)


def shows_slower_steps(evidence: Evidence, enough: float) -> bool:
    return typical(evidence, "slow", got("growth_low")) > enough


def shows_growing_memory(evidence: Evidence, enough: float) -> bool:
    """Bytes a step that the fast script does not take, or tensors that stay."""
    slow, fast = (typical(evidence, side, got("host_bytes_per_step")) for side in ("slow", "fast"))
    tensors = typical(evidence, "slow", got("live_tensors_per_step"))
    return (slow > enough and slow > 5 * fast) or tensors > 0.5


def shows_slow_first_step(evidence: Evidence, enough: float) -> bool:
    slow, fast = (typical(evidence, side, got("first_step")) for side in ("slow", "fast"))
    return slow > enough * fast


def shows_traces(evidence: Evidence, enough: float) -> bool:
    slow, fast = (typical(evidence, side, got("traces")) for side in ("slow", "fast"))
    return slow > enough * max(fast, 1)


def shows_much_memory(evidence: Evidence, enough: float) -> bool:
    slow, fast = (typical(evidence, side, resident) for side in ("slow", "fast"))
    return slow > enough * fast


# What a run shows of a symptom; how much of it the slow script of a rule under it shows at least, and how much no other
# rule's does.
SEEN: Mapping[str, tuple[Callable[[Evidence, float], bool], float, float]] = {
    "steps-get-slower": (shows_slower_steps, 1.0, 1.2),
    "memory-grows": (shows_growing_memory, 20_000, 50_000),
    "slow-first-step": (shows_slow_first_step, 1.3, 3.0),
    "slow-start": (shows_slow_first_step, 1.3, 3.0),
    "retracing": (shows_traces, 5, 10),
    "out-of-memory": (shows_much_memory, 1.2, 1.7),
}
# Pairs whose record does not show the symptom of their rule, and why it stands there all the same.
NOT_SHOWN = {
    ("slow-start", "TFP506"): "it is slow between epochs, not at first",
    ("slow-start", "TFP507"): "it is slow at each batch; with a large shuffle buffer that is a pause",
    ("out-of-memory", "TFP401"): "its tensors are scalars: what counts is that they stay",
    ("out-of-memory", "TFP403"): "the memory is the GPU's, which its claim is about",
}
# Pairs whose record shows a symptom of which they are not the cause.
OTHERWISE = {
    (
        "memory-grows",
        "TFP406",
    ): "memory comes to rest after the first steps, which the few steps of its runs are",
    ("memory-grows", "TFP509"): "a buffer fills, and then stays as it is",
}


@pytest.mark.parametrize("name", SEEN)
def test_what_a_symptom_leads_to_shows_it_when_measured(name: str) -> None:
    shows, enough, _ = SEEN[name]
    wrong = [
        code
        for code in codes_of(BY_NAME[name], RULES)
        for evidence in EVIDENCE.get(code, ())
        if evidence.record.get("effect") and (name, code) not in NOT_SHOWN and not shows(evidence, enough)
    ]
    assert wrong == []


@pytest.mark.parametrize("name", SEEN)
def test_what_shows_a_symptom_clearly_is_under_it(name: str) -> None:
    shows, _, much = SEEN[name]
    missing = [
        code
        for code, records in EVIDENCE.items()
        for evidence in records
        if evidence.record.get("effect") and shows(evidence, much)
        if code not in codes_of(BY_NAME[name], RULES) and (name, code) not in OTHERWISE
    ]
    assert missing == []


@pytest.mark.parametrize(("name", "code"), [*NOT_SHOWN, *OTHERWISE])
def test_what_is_listed_as_an_exception_is_one(name: str, code: str) -> None:
    shows, enough, much = SEEN[name]
    records = [evidence for evidence in EVIDENCE[code] if evidence.record.get("effect")]
    is_under = code in codes_of(BY_NAME[name], RULES)
    assert is_under is ((name, code) in NOT_SHOWN)
    assert any(shows(evidence, enough if is_under else much) is not is_under for evidence in records)


def test_what_leaves_the_gpu_idle_takes_time_and_no_memory() -> None:
    claims = [RULES[code].claim for code in codes_of(BY_NAME["gpu-idle"], RULES)]
    named = {claim.metric for claim in claims if claim is not None}
    assert named == {"step time", "time per sample", "traces"}


# Words

WORDS = {
    "OOM": ["out-of-memory"],
    "out of memory": ["out-of-memory"],
    "Killed": ["out-of-memory"],
    "ResourceExhaustedError: OOM when allocating tensor with shape[64,3]": ["out-of-memory"],
    "E tensorflow/stream_executor/cuda: CUDA_ERROR_OUT_OF_MEMORY": ["out-of-memory"],
    "memory leak": ["memory-grows"],
    "my RAM keeps growing": ["memory-grows"],
    "memory": ["memory-grows", "out-of-memory"],
    "GPU memory leak": ["memory-grows", "out-of-memory"],
    "gpu utilization low": ["gpu-idle"],
    "GPU utilisation is 10 %": ["gpu-idle"],
    "GPU idle": ["gpu-idle"],
    "starving": ["gpu-idle"],
    "slow": ["slow-steps"],
    "Why is training so slow?": ["slow-steps"],
    "slow first step": ["slow-first-step"],
    "the first epoch takes forever": ["slow-first-step", "slow-steps"],
    "the first epoch takes minutes": ["slow-first-step"],
    "steps get slower": ["steps-get-slower"],
    "training slows down over time": ["steps-get-slower"],
    "retracing warning": ["retracing"],
    "WARNING:tensorflow:5 out of the last 5 calls to <function train_step at 0x7f> triggered tf.function retracing. "
    "Tracing is expensive and the excessive number of tracings could be due to (1) creating @tf.function repeatedly in a "
    "loop, (2) passing tensors with different shapes": ["retracing"],
    "slow start": ["slow-start"],
    "it hangs": ["slow-start"],
    "Filling up shuffle buffer (this may take a while): 5012 of 10000": ["slow-start"],
    "loss not decreasing": ["fails-or-learns-wrong"],
    "retracng": ["retracing"],
    "utilzation": ["gpu-idle"],
}


@pytest.mark.parametrize("words", WORDS)
def test_people_s_words_find_the_symptom(words: str) -> None:
    assert [symptom.name for symptom in symptoms_like(words)] == WORDS[words]


@each_symptom
def test_a_name_a_title_and_each_phrase_find_their_symptom(symptom: Symptom) -> None:
    assert symptoms_like(symptom.name) == symptoms_like(symptom.title.upper()) == [symptom]
    assert [phrase for phrase in symptom.phrases if symptom not in symptoms_like(phrase)] == []


@pytest.mark.parametrize("words", ["", "bananas", "the", "of to in"])
def test_words_that_say_nothing_find_nothing(words: str) -> None:
    assert symptoms_like(words) == []


@pytest.mark.parametrize("words", ["loss is nan", "Why is my loss NaN?", "exploding gradients"])
def test_what_no_rule_finds_is_said_to_be_found_elsewhere(tflint_perf: CommandLine, words: str) -> None:
    assert symptoms_like(words) == []
    ran = tflint_perf("rules", "--symptom", words)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("No rule finds what makes a loss NaN or infinite.")
    assert "TFP101" not in ran.out
    assert json.loads(tflint_perf("rules", "--symptom", words, "--output-format", "json").out) == []


def test_no_phrase_of_what_is_found_elsewhere_is_one_of_a_symptom() -> None:
    assert [(one.title, phrase) for one in ELSEWHERE for phrase in one.phrases if symptoms_like(phrase)] == []


# The command


def test_rules_lists_every_rule_with_its_fix(tflint_perf: CommandLine) -> None:
    ran = tflint_perf("rules")
    assert (ran.code, ran.err) == (0, "")
    rows = [line.split(maxsplit=2) for line in ran.out.split("\nCosts come ")[0].splitlines()[1:]]
    assert [row[:2] for row in rows] == [[code, rule.name] for code, rule in catalogue().items()]
    fixes = {row[0]: row[2] for row in rows}
    assert fixes["TFP101"].startswith("unsafe, bold")
    assert fixes["TFP201"].startswith("safe, unsafe ")
    assert fixes["TFP402"].startswith("none ")
    assert all(f"  {symptom.name} " in ran.out for symptom in SYMPTOMS)


def test_a_symptom_leads_to_its_rules_and_to_the_next_command(tflint_perf: CommandLine) -> None:
    ran = tflint_perf("rules", "--symptom", "OOM")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("Out of memory\n=============\n")
    assert "\n  TFP404  missing-memory-growth" in ran.out
    assert "TFP503" not in ran.out
    command = ran.out.splitlines()[-1].split()
    tflint_perf.write(
        "train.py", "import tensorflow as tf\n\nmodel = tf.keras.Sequential()\nmodel.fit([1], [1])\n"
    )
    assert command[0] == "tflint-perf"
    assert "train.py: TFP404" in tflint_perf.found(*command[1:])


def ranked_under(name: str, why: str) -> Sequence[str]:
    """The rules under a cause, as `rules --symptom` shows them with the evidence on file."""
    (cause,) = (cause for cause in ranked_causes(BY_NAME[name], RULES, EVIDENCE) if cause.why == why)
    return cause.codes


def test_rules_that_are_on_come_first_and_the_dearest_on_top() -> None:
    codes = ranked_under("slow-steps", "The step waits for its input.")
    on = default_rules(RULES, EVIDENCE)
    are_on = [code in on for code in codes]
    assert are_on == sorted(are_on, reverse=True)
    assert set(are_on) == {True, False}
    costs = [max(cost.value for cost in figures_of(EVIDENCE[code])) for code in codes if code in on]
    assert costs == sorted(costs, reverse=True)


def test_what_claims_the_symptom_comes_before_what_costs_something_else() -> None:
    codes = ranked_under(
        "memory-grows", "Graphs, traces and models are made again and again, and TensorFlow keeps them."
    )
    on = default_rules(RULES, EVIDENCE)
    ranks = [(code not in on, not claims_it(RULES[code], BY_NAME["memory-grows"])) for code in codes]
    assert ranks == sorted(ranks)
    assert {other for _, other in ranks} == {True, False}


def test_the_command_shows_the_causes_and_rules_in_that_order(tflint_perf: CommandLine) -> None:
    out = tflint_perf("rules", "--symptom", "memory leak").out
    shown = [line.split()[0] for line in out.splitlines() if line.startswith("  TFP")]
    assert shown == [
        code for cause in ranked_causes(BY_NAME["memory-grows"], catalogue(), {}) for code in cause.codes
    ]


def test_a_cause_whose_rules_are_all_off_comes_last() -> None:
    symptom = BY_NAME["out-of-memory"]
    none_of_these = dict.fromkeys(symptom.causes[0].codes, ())
    causes = ranked_causes(symptom, RULES, {**EVIDENCE, **none_of_these})
    on = default_rules(RULES, {**EVIDENCE, **none_of_these})
    are_on = [not on.isdisjoint(cause.codes) for cause in causes]
    assert are_on == sorted(are_on, reverse=True)
    assert {code for cause in causes for code in cause.codes} == set(codes_of(symptom, RULES))


def test_words_of_two_symptoms_show_both(tflint_perf: CommandLine) -> None:
    out = tflint_perf("rules", "--symptom", "memory").out
    assert all(f"{BY_NAME[name].title}\n====" in out for name in ("memory-grows", "out-of-memory"))


def test_unknown_words_get_the_list_of_symptoms(tflint_perf: CommandLine) -> None:
    ran = tflint_perf("rules", "--symptom", "bananas")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "no symptom matches `bananas`; there are slow-steps, " in ran.err
    assert all(name in ran.err for name in BY_NAME)


def test_machines_get_the_same_as_json(tflint_perf: CommandLine) -> None:
    everything: list[dict[str, Any]] = json.loads(tflint_perf("rules", "--output-format", "json").out)
    assert [entry["code"] for entry in everything] == list(catalogue())
    narrowed = json.loads(tflint_perf("rules", "--symptom", "retracing", "--output-format", "json").out)
    assert [entry["code"] for entry in narrowed] == sorted(codes_of(BY_NAME["retracing"], catalogue()))
    assert narrowed == [entry for entry in everything if "retracing" in entry["symptoms"]]
    (first,) = [entry for entry in everything if entry["code"] == "TFP101"]
    assert (first["name"], first["fix"], first["bold"], first["default"]) == (
        "eager-train-step",
        "unsafe",
        True,
        True,
    )


@pytest.mark.parametrize("code", [code for code in RULES if code not in UNREACHED])
def test_a_rule_says_that_it_has_bold_fixes_when_it_makes_some(code: str) -> None:
    (file,) = (ROOT / "rules").rglob(f"{code.lower()}_*.py")
    assert RULES[code].bold is ("bold=" in file.read_text(encoding="utf-8"))
