"""Experiments at three sizes: what their files say, what is run, and what becomes of the results."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.verify.support import OPTIONS, STEP_TIME, experiment, fake_tensorflow, nursery, script
from tflint_perf.catalogue.registry import all_rules
from tflint_perf.config.settings import Settings
from tflint_perf.lint.check import check_source
from tflint_perf.problems import ConfigError
from tflint_perf.text.source import Source
from tflint_perf.verify import size_runs
from tflint_perf.verify.experiment import Experiment, fixtures, rule_experiments
from tflint_perf.verify.records import Result
from tflint_perf.verify.runner import run_experiment
from tflint_perf.verify.script_constants import with_constants
from tflint_perf.verify.size_runs import at_sizes, run_sizes
from tflint_perf.verify.sizes import NAMES, Size, read_sizes

pytestmark = pytest.mark.slow

pytest.importorskip("psutil")
pytest.importorskip("scipy")

SIZES = """
of = "pixels"
[small]
at = 8
what = "8 pixels"
[medium]
at = 64
what = "64 pixels"
SIDE = 64
[large]
at = 512
what = "512 pixels"
SIDE = 512
SHAPE = [512, 512]
steps = 12
"""
# A step takes as many milliseconds as `SIDE` says, and the slow one 10 more.
SIDED = "takes(SIDE{})"
WITH_SIZES = [found for found in rule_experiments([], fixtures())[0] if found.sizes]
EACH_SIZE = [(found, size) for found in WITH_SIZES for size in found.sizes]


@pytest.fixture(autouse=True)
def tensorflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(fake_tensorflow(tmp_path)))


def written(folder: Path, text: str = SIZES) -> Path:
    (folder / "sizes.toml").write_text(text, encoding="utf-8")
    return folder


def sized(folder: Path, *more: str) -> Experiment:
    """An experiment whose slow script takes 10 ms more a step at any size, and what else `more` says of each script."""
    subject = experiment(folder, SIDED.format(" + 10"), SIDED.format(""), replace(STEP_TIME, least=1.1))
    for side in (subject.slow, subject.fast):
        side.write_text("SIDE = 8\nSHAPE = (8, 8)\n" + side.read_text(encoding="utf-8"), encoding="utf-8")
    return replace(subject, sizes=read_sizes(written(folder)))


def run(subject: Experiment, names: Sequence[str] = NAMES) -> Result:
    with nursery() as forked:
        return run_sizes(at_sizes(subject, names), OPTIONS, lambda: None, forked)  # type: ignore[arg-type]


def test_an_experiment_without_the_file_has_no_sizes(tmp_path: Path) -> None:
    assert read_sizes(tmp_path) == ()


def test_sizes_are_read_from_small_to_large(tmp_path: Path) -> None:
    assert read_sizes(written(tmp_path)) == (
        Size("small", "8 pixels", "pixels", 8),
        Size("medium", "64 pixels", "pixels", 64, constants={"SIDE": 64}),
        Size("large", "512 pixels", "pixels", 512, constants={"SIDE": 512, "SHAPE": [512, 512]}, steps=12),
    )
    with_epochs = written(tmp_path, SIZES.replace("of =", 'step = "an epoch"\nof ='))
    assert {size.step for size in read_sizes(with_epochs)} == {"an epoch"}
    of_cause = written(tmp_path, SIZES.replace("of =", 'grows = "cause"\nof ='))
    assert {size.grows for size in read_sizes(of_cause)} == {"cause"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (SIZES.replace("[large]", "[huge]"), "a table for each of small, medium, large"),
        (SIZES.replace("SIDE = 64", "side = 64"), "unknown key `side` in"),
        (SIZES.replace('what = "8 pixels"', ""), "what"),
        (SIZES.replace("of =", 'grows = "model"\nof ='), "`grows` is one of step, cause"),
        (SIZES.replace("at = 8\n", ""), "at"),
        ("of =", "not sizes of an experiment"),
    ],
)
def test_a_file_of_another_form_is_told_by_its_path(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as error:
        read_sizes(written(tmp_path, text))
    assert "sizes.toml" in str(error.value)


@pytest.mark.parametrize("text", ["", "SIDE = 1\nSIDE = 2\n", "def f():\n    SIDE = 1\n", "SIDE: int = 1\n"])
def test_a_constant_must_stand_once_at_the_top(text: str) -> None:
    with pytest.raises(ValueError, match="`SIDE = …` stands at its top"):
        with_constants(ast.parse(text), {"SIDE": 2})


def test_a_script_has_the_constants_of_its_size(tmp_path: Path) -> None:
    at = {found.size.name: found for found in at_sizes(sized(tmp_path), NAMES) if found.size}
    seen = tmp_path / "seen"
    for name, subject in at.items():
        each = f"open({str(seen)!r}, 'w').write(repr([SIDE, SHAPE, steps]))"
        for side in ("slow", "fast"):
            text = script(tmp_path, side, each).read_text(encoding="utf-8")
            (tmp_path / f"{side}.py").write_text(f"SIDE = 8\nSHAPE = (8, 8)\n{text}", encoding="utf-8")
        result = run_sizes([subject], replace(OPTIONS, quick=True), lambda: None, None)
        assert result.verdict == "agrees", result
        expected = {
            "small": "[8, (8, 8), 20]",
            "medium": "[64, (8, 8), 20]",
            "large": "[512, (512, 512), 12]",
        }
        assert seen.read_text() == expected[name]


def test_the_medium_size_decides_and_all_are_kept(tmp_path: Path) -> None:
    result = run(sized(tmp_path))
    assert [(one.name, one.what, one.of, one.verdict) for one in result.sizes] == [
        ("small", "8 pixels", "pixels", "confirmed"),
        ("medium", "64 pixels", "pixels", "confirmed"),
        ("large", "512 pixels", "pixels", "refuted"),
    ]
    assert (result.size, result.verdict) == ("medium", "confirmed")
    assert [len(one.slow) for one in result.sizes] == [len(one.fast) for one in result.sizes] == [5, 5, 5]
    for one, fast in zip(result.sizes, (0.008, 0.064, 0.512), strict=True):
        assert one.fast[0] == pytest.approx(fast, rel=0.02)
        assert one.slow[0] - one.fast[0] == pytest.approx(0.010, rel=0.02)


def test_one_size_alone_decides_for_itself(tmp_path: Path) -> None:
    result = run(sized(tmp_path), ["small"])
    assert (result.size, result.verdict, [one.name for one in result.sizes]) == (
        "small",
        "confirmed",
        ["small"],
    )


@pytest.mark.parametrize(
    ("noisy", "noise", "verdict", "at_that_size"),
    [
        ("large", 1.3, "confirmed", "inconclusive"),
        ("large", 1.6, "too noisy", None),
        ("medium", 1.3, "too noisy", None),
    ],
)
def test_some_noise_leaves_open_what_does_not_decide(
    noisy: str,
    noise: float,
    verdict: str,
    at_that_size: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def on_machine(subject: Experiment, *others: Any) -> Result:
        result = run_experiment(subject, *others)
        is_noisy = subject.size is not None and subject.size.name == noisy
        return replace(result, verdict="too noisy", noise=noise) if is_noisy else replace(result, noise=1.0)

    monkeypatch.setattr(size_runs, "run_experiment", on_machine)
    result = run(sized(tmp_path))
    assert result.verdict == verdict
    assert {one.name: one.verdict for one in result.sizes}.get(noisy) == at_that_size


def test_an_experiment_without_sizes_is_run_as_it_stands(tmp_path: Path) -> None:
    result = run(experiment(tmp_path, "takes(16)", "takes(4)"))
    assert (result.verdict, result.size, result.sizes) == ("confirmed", "", ())


def test_what_fails_at_one_size_has_failed(tmp_path: Path) -> None:
    subject = sized(tmp_path)
    text = subject.fast.read_text(encoding="utf-8")
    subject.fast.write_text(text.replace("yield 1 /", "yield SIDE // 512 + 1 /"), encoding="utf-8")
    result = run(subject)
    assert result.verdict == "failed"
    assert result.reason.endswith("(at the large size)")


def test_a_constant_that_a_script_lacks_is_told(tmp_path: Path) -> None:
    subject = sized(tmp_path)
    subject.fast.write_text(subject.fast.read_text().replace("SIDE = 8\n", "SIDE, OTHER = 8, 1\n"))
    assert "fast.py: `SIDE = …` stands at its top 0 times, not once" in run(subject).reason


@pytest.mark.parametrize(("pair", "size"), EACH_SIZE, ids=[f"{p.name}-{s.name}" for p, s in EACH_SIZE])
def test_the_scripts_are_what_they_are_at_every_size(pair: Experiment, size: Size) -> None:
    """Both have its constants, and the linter finds the same in them."""
    codes = frozenset(all_rules())
    settings = Settings(root=fixtures(), rules=codes, fixable=codes)
    for side, expected in (("slow", {pair.name}), ("fast", set())):
        tree = ast.parse(pair.script(side).read_text(encoding="utf-8"))
        text = ast.unparse(with_constants(tree, size.constants))
        found = check_source(Source.from_bytes(text.encode(), "script.py"), settings).findings
        assert {finding.code for finding in found} == expected


@pytest.mark.parametrize("pair", WITH_SIZES, ids=lambda pair: pair.name)
def test_sizes_differ_and_say_what_they_are(pair: Experiment) -> None:
    assert [size.name for size in pair.sizes] == list(NAMES)
    assert len({size.what for size in pair.sizes}) == len({json.dumps(s.constants) for s in pair.sizes}) == 3
    assert all(size.what for size in pair.sizes)
