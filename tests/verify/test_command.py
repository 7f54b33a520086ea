"""`tflint-perf verify` from its arguments to its exit code, with a TensorFlow that is quick to import."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import CommandLine
from tests.verify.support import FAKE_TENSORFLOW, fake_tensorflow, script
from tflint_perf.cli import requirements
from tflint_perf.verify import session, size_runs
from tflint_perf.verify.experiment import Experiment
from tflint_perf.verify.machine import Machine, pieces_of_work
from tflint_perf.verify.own_script import refuse_no_experiment
from tflint_perf.verify.records import Result, from_json, to_json

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("forked_scripts")]

SLOW, FAST, CRASHES = "takes(16)", "takes(4)", "[][0]"
for needed in ("psutil", "scipy", "rich", "matplotlib"):
    pytest.importorskip(needed)

FEW = ("--steps", "20")
# As `FAKE_TENSORFLOW`, on a machine with a GPU.
GPU_TENSORFLOW = f"""
import types


def executing_eagerly():
    return False


test = types.SimpleNamespace(experimental=types.SimpleNamespace(sync_devices=lambda: None))

{FAKE_TENSORFLOW.replace("return []", "return [types.SimpleNamespace(name='GPU:0')]")}

    class experimental:
        get_device_details = staticmethod(lambda gpu: {{"device_name": "Fake 1"}})

"""
PAIR = ("verify", "--pair", "before.py", "after.py", *FEW)


@pytest.fixture(autouse=True)
def tensorflow(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The TensorFlow of this process and of those that it starts; its folder."""
    folder = fake_tensorflow(tmp_path_factory.mktemp("packages"))
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder


@pytest.fixture(autouse=True)
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the machine does, the verifier finds it calm."""
    work = (pieces_of_work() * 0.001, 0.001)
    monkeypatch.setattr(session, "Machine", partial(Machine, lambda: work))


@pytest.fixture
def fixtures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of experiments of two rules, TFP105 and TFP406, in place of the project's."""
    folder = tmp_path / "fixtures"
    for code in ("TFP105", "TFP406"):
        script(folder / code, "slow", SLOW)
        script(folder / code, "fast", FAST)
    monkeypatch.setattr(session, "fixtures", lambda: folder)
    return folder


def write_pair(tflint_perf: CommandLine, before: str = SLOW, after: str = FAST) -> None:
    script(tflint_perf.folder, "before", before)
    script(tflint_perf.folder, "after", after)


def test_a_users_pair_that_got_faster_is_confirmed(tflint_perf: CommandLine) -> None:
    write_pair(tflint_perf)
    ran = tflint_perf(*PAIR)
    assert ran.code == 0, ran.err
    table, curves, last = ran.out.strip().split("\n\n")
    assert table.splitlines()[1].split()[-1] == "confirmed"
    assert table.endswith(
        "before → after: trained weights were not compared: no variable was seen to be trained"
    )
    assert [line.split()[0] for line in curves.splitlines()] == ["slow", "fast"]
    assert last.startswith("confirmed: 1; CPU (")
    assert "TensorFlow 9.8.7" in last


def test_a_users_pair_that_got_slower_is_refuted(tflint_perf: CommandLine) -> None:
    write_pair(tflint_perf, FAST, SLOW)
    ran = tflint_perf(*PAIR)
    assert ran.code == 1
    assert ran.err.startswith("tflint-perf: before → after: refuted: 0.")


def test_a_user_says_what_is_to_be_better_and_by_how_much(tflint_perf: CommandLine) -> None:
    write_pair(tflint_perf)
    ran = tflint_perf(*PAIR, "--metric", "time per sample", "--least", "50", "--output-format", "json")
    assert ran.code == 1
    (result,) = json.loads(ran.out)["results"].values()
    assert (result["claim"]["metric"], result["claim"]["least"], result["verdict"]) == (
        "time per sample",
        50,
        "refuted",
    )


def test_losses_of_a_users_pair_may_differ_within_his_tolerance(tflint_perf: CommandLine) -> None:
    write_pair(tflint_perf)
    text = (tflint_perf.folder / "after.py").read_text(encoding="utf-8")
    tflint_perf.write("after.py", text.replace("(1 + step)", "(1.01 + step)"))
    assert tflint_perf(*PAIR, "--quick").code == 1
    assert tflint_perf(*PAIR, "--quick", "--tolerance", "0.02").code == 0


def test_a_page_and_a_plot_are_written_where_asked(tflint_perf: CommandLine) -> None:
    write_pair(tflint_perf)
    ran = tflint_perf(*PAIR, "--report", "report", "--plot", "plot.png")
    assert ran.code == 0, ran.err
    assert "<html" in (tflint_perf.folder / "report" / "index.html").read_text(encoding="utf-8")
    assert (tflint_perf.folder / "plot.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("fixtures")
def test_json_is_a_record_of_evidence(tflint_perf: CommandLine) -> None:
    ran = tflint_perf("verify", "TFP406", *FEW, "--output-format=json")
    assert ran.code == 0, ran.err
    record = from_json(ran.out)
    assert record.results["TFP406"].verdict == "confirmed"
    # The cost is far beyond what is claimed.
    assert len(record.results["TFP406"].pairs) == 3
    assert {"tensorflow", "keras", "python", "tflint-perf"} == record.versions.keys()


@pytest.mark.usefixtures("fixtures")
def test_markdown_is_a_table(tflint_perf: CommandLine) -> None:
    ran = tflint_perf("verify", "TFP105,TFP406", "--quick", "--output-format=markdown")
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert [line.count("|") for line in lines] == [7] * 4
    assert lines[3].startswith("| TFP406 gc-in-loop | step time ≥ 2× |")
    assert lines[3].endswith("| agrees |")


def test_an_experiment_that_fails_is_told_and_the_others_run(
    tflint_perf: CommandLine, fixtures: Path
) -> None:
    script(fixtures / "TFP105", "fast", CRASHES)
    ran = tflint_perf("verify", "TFP105", "TFP406", "--quick")
    assert ran.code == 1
    first, *output = ran.err.splitlines()
    assert first == "tflint-perf: TFP105: failed: fast.py: IndexError: list index out of range"
    assert all(line.startswith("    ") for line in output)
    assert [line.split()[-1] for line in ran.out.splitlines()[1:3]] == ["failed", "agrees"]


def test_evidence_that_is_kept_is_compared_with(tflint_perf: CommandLine, fixtures: Path) -> None:
    ran = tflint_perf("verify", "TFP406", *FEW, "--record")
    assert ran.code == 0, ran.err
    file = fixtures / "evidence" / "cpu.json"
    assert from_json(file.read_text(encoding="utf-8")).results["TFP406"].verdict == "confirmed"

    script(fixtures / "TFP406", "slow", FAST)
    ran = tflint_perf("verify", "TFP406", *FEW, "--check")
    assert ran.code == 1
    assert "tflint-perf: TFP406: was confirmed, is refuted: " in ran.err


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the experiments that are run, in their order; after the first, somebody presses Ctrl-C."""
    names: list[str] = []
    run = size_runs.run_experiment

    def interrupted(experiment: Experiment, *rest: Any, **named: Any) -> Result:
        names.append(experiment.name)
        if len(names) == 2:
            raise KeyboardInterrupt
        return run(experiment, *rest, **named)

    monkeypatch.setattr(size_runs, "run_experiment", interrupted)
    return names


def test_a_run_that_was_cut_off_is_gone_on_with(
    tflint_perf: CommandLine, fixtures: Path, measured: list[str]
) -> None:
    with suppress(KeyboardInterrupt):
        tflint_perf("verify", "TFP105", "TFP406", *FEW, "--record")
    assert [path.name for path in (fixtures / "evidence").iterdir()] == ["cpu.unfinished"]

    ran = tflint_perf("verify", "TFP105", "TFP406", *FEW, "--record", "--resume")
    assert ran.code == 0, ran.err
    assert measured == ["TFP105", "TFP406", "TFP406"]
    assert "confirmed: 2" in ran.out
    kept = from_json((fixtures / "evidence" / "cpu.json").read_text(encoding="utf-8"))
    assert kept.results.keys() == {"TFP105", "TFP406"}


SIZES = """
of = "ms of other work"
[small]
at = 4
what = "4 ms"
[medium]
at = 20
what = "20 ms"
MORE = 20
[large]
at = 64
what = "64 ms"
MORE = 64
"""


@pytest.fixture
def sized(fixtures: Path) -> Path:
    """TFP406 takes 12 ms more a step than its fast script, at any of three sizes."""
    folder = fixtures / "TFP406"
    for side, each in (("slow", "takes(MORE + 12)"), ("fast", "takes(MORE)")):
        text = script(folder, side, each).read_text(encoding="utf-8")
        (folder / f"{side}.py").write_text(f"MORE = 4\n{text}", encoding="utf-8")
    (folder / "sizes.toml").write_text(SIZES, encoding="utf-8")
    return folder


def sizes_of(document: dict[str, Any]) -> list[str]:
    return [one["name"] for one in document["results"]["TFP406"]["sizes"]]


@pytest.mark.usefixtures("sized")
def test_the_small_size_is_measured_unless_all_are_asked_for(tflint_perf: CommandLine) -> None:
    ran = tflint_perf("verify", "TFP406", *FEW, "--output-format", "json")
    assert ran.code == 0, ran.err
    assert sizes_of(json.loads(ran.out)) == ["small"]


@pytest.mark.usefixtures("sized")
def test_all_sizes_are_told(tflint_perf: CommandLine) -> None:
    ran = tflint_perf("verify", "TFP406", *FEW, "--full")
    assert ran.code == 1, ran.err  # at the medium size, 32 ms are not twice 20
    said = [line for line in ran.out.splitlines() if line.startswith("TFP406")]
    assert said[0].split()[:3] == ["TFP406", "gc-in-loop,", "medium"]
    assert said[1:5] == [
        "TFP406, small (4 ms): slow 16 ms, fast 4.0 ms, 4.0×: confirmed",
        "TFP406, medium (20 ms): slow 32 ms, fast 20 ms, 1.6×: refuted",
        "TFP406, large (64 ms): slow 76 ms, fast 64 ms, 1.2×: refuted",
        "TFP406: a step 16 → 4.0 ms (4 ms), 76 → 64 ms (64 ms)",
    ]


def test_what_is_kept_is_of_the_size_that_decides(
    tflint_perf: CommandLine, fixtures: Path, sized: Path
) -> None:
    def kept() -> Result:
        text = (fixtures / "evidence" / "cpu.json").read_text(encoding="utf-8")
        return from_json(text).results["TFP406"]

    tflint_perf("verify", "TFP406", *FEW, "--record")
    assert (kept().size, kept().verdict) == ("medium", "refuted")
    # What is on file is not all that is asked for.
    tflint_perf("verify", "TFP406", *FEW, "--record", "--resume", "--full")
    assert [one.name for one in kept().sizes] == ["small", "medium", "large"]
    # The small size is as it was, whatever the verdict on the medium one.
    assert tflint_perf("verify", "TFP406", *FEW, "--check").code == 0


@pytest.mark.usefixtures("fixtures")
def test_a_machine_that_is_too_noisy_ends_with_2_and_says_what_was_seen(
    tflint_perf: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = (pieces_of_work() * 0.009, 0.001)
    monkeypatch.setattr(session, "Machine", partial(Machine, lambda: busy))
    ran = tflint_perf("verify", "TFP406", *FEW)
    assert ran.code == 2
    seen = "for a quarter of the time, the same work took 9.0 times as long as at best"
    assert f"TFP406: too noisy: machine too noisy to judge: {seen}" in ran.err


def test_a_machine_that_is_too_noisy_is_not_said_to_be_kept(
    tflint_perf: CommandLine, monkeypatch: pytest.MonkeyPatch, fixtures: Path
) -> None:
    busy = (pieces_of_work() * 0.009, 0.001)
    monkeypatch.setattr(session, "Machine", partial(Machine, lambda: busy))
    ran = tflint_perf("verify", "TFP406", *FEW, "--record")
    assert ran.err.splitlines()[-1] == "tflint-perf: TFP406: not kept: the machine was too busy"
    assert list((fixtures / "evidence").iterdir()) == []


@pytest.mark.usefixtures("fixtures")
def test_a_run_stops_in_time_and_says_what_is_left(tflint_perf: CommandLine) -> None:
    ran = tflint_perf("verify", "TFP105", "TFP406", *FEW, "--for", "0.0001")
    assert ran.code == 0, ran.err
    assert "confirmed: 1" in ran.out
    assert ran.err.splitlines()[-1] == (
        "tflint-perf: time is up: 1 not measured; with --record, --resume would continue"
    )


def test_what_nobody_has_measured_here_goes_first(
    tflint_perf: CommandLine, fixtures: Path, measured: list[str]
) -> None:
    assert tflint_perf("verify", "TFP105", *FEW, "--record").code == 0
    with suppress(KeyboardInterrupt):
        tflint_perf("verify", "TFP105", "TFP406", *FEW)
    assert measured == ["TFP105", "TFP406"]


def test_what_was_refuted_before_and_is_again_passes_a_check(
    tflint_perf: CommandLine, fixtures: Path
) -> None:
    script(fixtures / "TFP406", "slow", FAST)
    assert tflint_perf("verify", "TFP406", *FEW, "--record").code == 1
    assert tflint_perf("verify", "TFP406", *FEW, "--check").code == 0


@pytest.mark.usefixtures("fixtures")
def test_without_evidence_there_is_nothing_to_compare_with(tflint_perf: CommandLine) -> None:
    ran = tflint_perf("verify", "TFP406", "--check")
    assert ran.code == 2
    assert ran.err.startswith("tflint-perf: --check: no evidence on file from CPU (")


def test_a_rule_without_its_scripts_ends_with_2_and_the_others_run(
    tflint_perf: CommandLine, fixtures: Path
) -> None:
    (fixtures / "TFP105" / "fast.py").unlink()
    ran = tflint_perf("verify", "TFP105", "TFP406", "--quick")
    assert ran.code == 2
    assert "TFP105: no experiment" in ran.err
    assert "agrees: 1" in ran.out


def test_a_belief_that_is_refuted_is_no_failure(tflint_perf: CommandLine, fixtures: Path) -> None:
    folder = fixtures / "beliefs" / "sleep-is-quick"
    script(folder, "slow", FAST)
    script(folder, "fast", SLOW)
    (folder / "belief.toml").write_text(
        f'title = "Sleep is quick"\n[claim]\nmetric = "step time"\nleast = 1.1\nsteps = {FEW[1]}\n'
    )
    ran = tflint_perf("verify", "--beliefs", "sleep-is-quick")
    assert ran.code == 0, ran.err
    assert "refuted: 1" in ran.out


@pytest.mark.usefixtures("fixtures")
@pytest.mark.parametrize("arguments", [[], ["--quick"]])
def test_without_tensorflow_there_is_one_line(
    tflint_perf: CommandLine, monkeypatch: pytest.MonkeyPatch, arguments: Sequence[str]
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(requirements, "find_spec", lambda name: None if name == "tensorflow" else find(name))
    ran = tflint_perf("verify", "TFP406", *arguments)
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.splitlines()
    assert "not installed: tensorflow; `pip install 'tflint-perf[verify]'`" in line


def test_without_all_that_verifying_needs_there_is_one_line() -> None:
    program = (
        "import sys; sys.modules |= dict.fromkeys(['tensorflow', 'numpy', 'scipy', 'psutil', 'rich', 'matplotlib']); "
        "from tflint_perf.commands import run; sys.exit(run(['verify']))"
    )
    ran = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == (
        "tflint-perf: verify: not installed: tensorflow, psutil, rich, scipy; "
        "`pip install 'tflint-perf[verify]'` brings all that is needed, or name the Python that has TensorFlow with --python\n"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="a Python that is a shell script")
@pytest.mark.usefixtures("fixtures")
def test_the_scripts_run_in_the_python_that_is_named(
    tflint_perf: CommandLine, tensorflow: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TensorFlow is there alone, and the package of this name that lies there is not taken."""
    monkeypatch.delenv("PYTHONPATH")
    (tensorflow / "tflint_perf").mkdir()
    (tensorflow / "tflint_perf" / "__init__.py").write_text("raise SystemExit('another version')\n")
    python = tflint_perf.write(
        "bin/python", f'#!/bin/sh\nPYTHONPATH={tensorflow} exec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != str(tensorflow)])
    ran = tflint_perf("verify", "TFP406", "--quick", "--device", "cpu", "--python", "bin/python")
    assert (ran.code, ran.err) == (0, "")
    assert "agrees: 1; CPU" in ran.out
    assert "TensorFlow 9.8.7" in ran.out


def test_a_python_without_what_the_scripts_need_is_told_before_anything_runs(
    tflint_perf: CommandLine,
) -> None:
    python = tflint_perf.write("python", '#!/bin/sh\necho \'[[3, 12], ["tensorflow", "psutil"]]\'\n')
    python.chmod(0o755)
    ran = tflint_perf("verify", "TFP406", "--python", str(python))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        f"tflint-perf: verify: TensorFlow is not installed for {python}; psutil is not installed for {python}\n"
    )


def test_linting_imports_nothing_of_the_verifier(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", "import tensorflow as tf\n")
    program = (
        "import sys; from tflint_perf.commands import run; run(['check', 'train.py']); "
        "sys.exit(' '.join(name for name in sys.modules if 'verify' in name or name in ('scipy', 'rich', 'psutil')))"
    )
    ran = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (1, "\n")


@pytest.mark.usefixtures("fixtures")
def test_with_a_tensorflow_that_fails_to_import_there_is_one_line(
    tflint_perf: CommandLine, tensorflow: Path
) -> None:
    (tensorflow / "tensorflow" / "__init__.py").write_text("raise ImportError('libcuda.so.1: no such file')")
    ran = tflint_perf("verify", "TFP406")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "tflint-perf: verify: TensorFlow fails to import: ImportError: libcuda.so.1: no such file\n"
    )


@pytest.mark.usefixtures("fixtures")
def test_a_gpu_that_is_not_there_is_told(tflint_perf: CommandLine) -> None:
    ran = tflint_perf("verify", "TFP406", "--device", "gpu")
    assert (ran.code, ran.err) == (2, "tflint-perf: --device gpu: TensorFlow sees no GPU here\n")


@pytest.mark.usefixtures("fixtures")
def test_a_gpu_is_chosen_where_there_is_one(tflint_perf: CommandLine, tensorflow: Path) -> None:
    (tensorflow / "tensorflow" / "__init__.py").write_text(GPU_TENSORFLOW)
    ran = tflint_perf("verify", "TFP406", *FEW, "--output-format", "json")
    assert ran.code == 0, ran.err
    device = json.loads(ran.out)["device"]
    assert (device["kind"], device["name"]) == ("gpu", "Fake 1")


@pytest.mark.usefixtures("fixtures")
def test_a_script_that_hides_the_gpu_gives_no_evidence_of_it(
    tflint_perf: CommandLine, tensorflow: Path
) -> None:
    file = tensorflow / "tensorflow" / "__init__.py"
    file.write_text(f"{GPU_TENSORFLOW}    get_visible_devices = staticmethod(lambda kind: [])\n")
    ran = tflint_perf("verify", "TFP406", *FEW, "--output-format", "json")
    assert ran.code == 0, ran.err
    (result,) = json.loads(ran.out)["results"].values()
    assert (result["verdict"], result["pairs"]) == ("not measurable", [])
    assert result["reason"] == "its scripts hide the GPU; `--device cpu` measures it"


def test_on_a_gpu_losses_are_compared_apart_where_all_is_computed_the_same_each_time(
    tflint_perf: CommandLine, tensorflow: Path, fixtures: Path
) -> None:
    """What rounds by chance, as a GPU does unless it is told not to, is no disagreement; what differs is."""
    (tensorflow / "tensorflow" / "__init__.py").write_text(GPU_TENSORFLOW)
    rounds = "1 / (1 + step) + (os.getpid() % 97) * (os.environ.get('TF_DETERMINISTIC_OPS') != '1')"
    for side in ("slow", "fast"):
        file = fixtures / "TFP406" / f"{side}.py"
        file.write_text(file.read_text(encoding="utf-8").replace("1 / (1 + step)", rounds))
    ran = tflint_perf("verify", "TFP406", *FEW)
    assert ran.code == 0, ran.err

    file.write_text(file.read_text(encoding="utf-8").replace("1 / (1 + step)", "1.1 / (1 + step)"))
    ran = tflint_perf("verify", "TFP406", *FEW)
    assert ran.code == 1
    assert "the losses differ by 0.091" in ran.err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["TFP4O6"], "unknown rule `TFP4O6` (did you mean `TFP406`?)"),
        (["TFP001"], "nothing to run"),
        (["--pairs", "4"], "5"),
        (["--steps", "1"], "10"),
        (["--device", "tpu"], "tpu"),
        (["--pair", "before.py"], "--pair"),
        (["--pair", "before.py", "after.py"], "no such file"),
        (["--pair", "before.py", "after.py", "TFP101"], "--pair can't be combined with codes"),
        (["--pair", "before.py", "after.py", "--record"], "--pair can't be combined with codes"),
        (["--least", "2"], "need --pair"),
        (["--beliefs", "no-such-belief"], "unknown belief `no-such-belief`"),
        (["--quick", "--record"], "--quick measures nothing"),
        (["--quick", "--plot", "plot.png"], "--quick measures nothing"),
    ],
)
def test_arguments_that_make_no_sense_are_told(
    tflint_perf: CommandLine, arguments: Sequence[str], problem: str
) -> None:
    ran = tflint_perf("verify", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert problem in ran.err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "print('trains')\n",
            "after.py: there is no function `train`; --pair takes a generator `train(steps)`",
        ),
        ("class Trainer:\n    def train(self, steps):\n        yield 1\n", "there is no function `train`"),
        ("def train(steps):\n    print(steps)\n", "after.py:1: `train` yields nothing"),
        ("\ndef train():\n    yield 1\n", "after.py:2: `train` takes no number of steps"),
        ("def train(steps):\n    yield 1 +\n", "after.py:2: not Python: invalid syntax"),
    ],
)
def test_a_script_that_has_no_steps_is_told_before_anything_runs(
    tflint_perf: CommandLine, tensorflow: Path, text: str, problem: str
) -> None:
    write_pair(tflint_perf)
    tflint_perf.write("after.py", text)
    (tensorflow / "tensorflow" / "__init__.py").write_text("raise SystemExit('loaded')\n", encoding="utf-8")
    ran = tflint_perf(*PAIR)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert problem in ran.err


@pytest.mark.parametrize(
    "text",
    [
        "from trainer import train\n",
        "from trainer import *\n",
        "train = make_it()\n",
        "import x.y as train\n",
        "try:\n    import fast\nexcept ImportError:\n    def train(steps):\n        yield 1\n",
        "def train(steps):\n    return Trainer().losses(steps)\n",
        "def train(*given):\n    yield from losses(*given)\n",
        "@counted\ndef train():\n    pass\n",
        "globals()['train'] = make_it()\n",
    ],
)
def test_a_script_that_may_have_steps_is_let_pass(tmp_path: Path, text: str) -> None:
    (tmp_path / "before.py").write_text(text, encoding="utf-8")
    refuse_no_experiment(tmp_path / "before.py")


@pytest.mark.usefixtures("fixtures")
def test_nothing_but_the_report_is_printed_where_there_is_no_terminal(tflint_perf: CommandLine) -> None:
    ran = tflint_perf("verify", "TFP406", "--quick")
    assert ran.err == ""
    assert "\x1b" not in ran.out


@pytest.mark.usefixtures("fixtures")
def test_the_end_of_each_experiment_is_told_where_there_is_no_terminal(tflint_perf: CommandLine) -> None:
    ran = tflint_perf("verify", "TFP105", "TFP406", *FEW)
    told = [re.sub(r"\d+ s\b", "N s", line) for line in ran.err.splitlines() if " of 2: " in line]
    assert told[0].startswith("tflint-perf: 1 of 2: TFP105 keras-call-in-loop: ")
    assert told[1] == "tflint-perf: 2 of 2: TFP406 gc-in-loop: confirmed (N s)"


# What the fixture `calm` does, for a process of its own.
CALM = """
from tflint_perf.verify.machine import Machine
Machine.noise = lambda self, since=0: 1.0
"""


def shown_on_a_terminal(*arguments: str, **environment: str) -> list[str]:
    """The lines that a terminal is shown on standard error."""
    import pty

    ours, theirs = pty.openpty()
    program = [sys.executable, "-m", "tflint_perf", *arguments]
    given = os.environ | {"TERM": "xterm", "COLUMNS": "120", "NO_COLOR": "1", **environment}
    with subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=theirs, env=given) as process:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # which tells the end, on Linux
            while read := os.read(ours, 4096):
                shown += read
        os.close(ours)
    assert process.returncode == 0
    return shown.decode(errors="replace").splitlines()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_terminal_is_told_what_is_run_and_how_long_it_takes(
    tflint_perf: CommandLine, tensorflow: Path
) -> None:
    (tensorflow / "sitecustomize.py").write_text(CALM, encoding="utf-8")
    write_pair(tflint_perf)
    lines = shown_on_a_terminal(*PAIR)
    assert any("Loading TensorFlow" in line for line in lines)
    # The pair, how many runs are done, and the time left.
    assert any(re.search(r"before → after .* [1-9]/10 .*\b\d:\d\d:\d\d\b", line) for line in lines)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_terminal_is_told_each_verdict_as_it_comes(tflint_perf: CommandLine, tensorflow: Path) -> None:
    # The project's own experiments do not train with this TensorFlow; the folder of others is the process's.
    for code in ("TFP105", "TFP406"):
        script(tflint_perf.folder / "fixtures" / code, "slow", SLOW)
        script(tflint_perf.folder / "fixtures" / code, "fast", FAST)
    elsewhere = f"""{CALM}
from pathlib import Path
from tflint_perf.verify import session
session.fixtures = lambda: Path({str(tflint_perf.folder / "fixtures")!r})
"""
    (tensorflow / "sitecustomize.py").write_text(elsewhere, encoding="utf-8")
    lines = shown_on_a_terminal("verify", "TFP105", "TFP406", *FEW)
    (first,) = [
        at for at, line in enumerate(lines) if "1 of 2: TFP105 keras-call-in-loop: confirmed (" in line
    ]
    (second,) = [at for at, line in enumerate(lines) if "2 of 2: TFP406 gc-in-loop: confirmed (" in line]
    assert any("TFP406 gc-in-loop" in line and "/20" in line for line in lines[first:second])


def test_a_record_on_file_is_written_the_same_again(fixtures: Path, tflint_perf: CommandLine) -> None:
    tflint_perf("verify", "TFP406", *FEW, "--record")
    text = (fixtures / "evidence" / "cpu.json").read_text(encoding="utf-8")
    assert to_json(from_json(text)) == text
