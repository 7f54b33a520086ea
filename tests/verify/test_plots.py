"""The report as a picture."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest

from tests.verify.synthetic import document, not_measurable, result, run
from tflint_perf.problems import ConfigError
from tflint_perf.verify.plots import write_plots

pytestmark = pytest.mark.slow

GROWS = result(run(0.02, growth=4.3, leak=250_000), run(0.0006), value=4.3, kind="growth")


def size_of(png: Path) -> tuple[int, int]:
    head = png.read_bytes()[:24]
    assert head.startswith(b"\x89PNG\r\n")
    width, height = struct.unpack(">II", head[16:24])
    return width, height


def test_a_picture_has_a_row_for_each_experiment_that_ran(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    one = write_plots(document({"TFP203": GROWS}), tmp_path / "new" / "one.png")
    two = write_plots(
        document({"TFP101": result(), "TFP203": GROWS, "TFP404": not_measurable()}), tmp_path / "two.png"
    )
    (width, height), (same, taller) = size_of(one), size_of(two)
    assert width == same
    assert 1.8 < taller / height < 2.0


def test_both_scripts_are_drawn_and_named_in_both_charts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    drawn: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
    write_plots(document({"TFP203": GROWS}), tmp_path / "one.png")
    write_plots(document({"TFP101": result()}), tmp_path / "alone.png")
    assert [axis.axison for axis in drawn[1].axes] == [True, False], "memory where nothing claims it"
    step_time, memory = drawn[0].axes
    for axis in (step_time, memory):
        assert {"slow", "fast"} <= {text.get_text() for text in axis.texts}
        assert len(axis.lines) == 4  # two pairs
    assert [text.get_text() for text in step_time.texts][-1] == (
        "TFP203 graph-op-in-session-loop: growth of step time 4.30× (4.08 to 4.51), confirmed on CPU (synthetic)"
    )
    (foot,) = (text.get_text() for text in drawn[0].texts)
    assert foot.startswith(
        "CPU (synthetic), TensorFlow 9.8.7, Keras 6.5.4, 2030-01-02. 2 runs of each script; "
    )
    slow = max(axis_line.get_ydata()[-1] for axis_line in step_time.lines)
    assert slow == pytest.approx(GROWS["pairs"][0]["slow"]["windows"][-1][2] / 10 * 1000)


def test_a_script_is_named_where_its_line_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    drawn: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
    ended = result(run(0.1, steps=20), run(0.001, steps=200))
    write_plots(document({"TFP101": ended}), tmp_path / "one.png")
    at = {text.get_text(): text.xy[0] for text in drawn[0].axes[0].texts}
    assert at["slow"] < 0.1
    assert at["fast"] > 0.9


def test_where_nothing_ran_there_is_no_picture_but_one_clear_line(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(ConfigError, match="--plot: nothing ran that could be drawn"):
        write_plots(document({"TFP404": not_measurable()}), tmp_path / "none.png")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_matplotlib_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    with pytest.raises(ConfigError, match="matplotlib is needed"):
        write_plots(document({"TFP203": GROWS}), tmp_path / "one.png")
