"""What other files do that a trace would change or break keeps a step from being compiled, and is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_callers import project, write
from tflint_perf.config.settings import Settings
from tflint_perf.finding import Finding
from tflint_perf.project.linting import lint_files

__all__ = ["project"]

NETS = """
    import numpy as np
    import tensorflow as tf
    from tools import mean_of, noise

    class Net(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = tf.keras.layers.Dense(3)

        def call(self, x):
            return self.dense(x)

    class Noisy(Net):
        def call(self, x):
            return self.dense(x) + noise()

    class Traced(Net):
        @tf.function
        def call(self, x):
            print("tracing")
            return self.dense(x)

    class Scaled(Net):
        def call(self, x, scale=None):
            if scale is not None:
                x = x * scale
            if len(x.shape) == 2:
                return self.dense(x)
            return x

    class Error:
        def __call__(self, y):
            return y.numpy().mean()

        def at_hand(self, y):
            return tf.reduce_mean(y)

    @tf.function
    def compiled(y):
        print("tracing")
        return tf.reduce_mean(y)

    def error(y):
        return mean_of(y)

    mean = None

    def mean_in_metric(y):
        global mean
        if mean is None:
            mean = tf.keras.metrics.Mean()
        mean.update_state(y)
        return tf.reduce_mean(y)

    first = None

    def scaled(y):
        global first
        if first is None:
            first = tf.reduce_mean(y)
        return tf.reduce_mean(y / first)

    calls = 0

    def counted(y):
        global calls
        calls += 1
        return tf.reduce_mean(y)
"""
TOOLS = """
    import numpy as np

    def noise():
        return np.random.normal()

    def mean_of(y):
        return float(y)

    def over(outputs, names):
        return sum(output * len(name) for output, name in zip(outputs, names))

    def over_on_host(outputs):
        return sum(float(output) for output in outputs)
"""
TRAINING = """
    import tensorflow as tf
    from nets import Error, Net, Noisy, Scaled, Traced, compiled, counted, error, mean_in_metric, scaled

    model = {model}()
    optimizer = tf.keras.optimizers.Adam()
    measure = Error()

    def step(x):
        with tf.GradientTape() as tape:
            loss = {loss}
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))

    for x in tf.data.Dataset.from_tensor_slices(data).batch(32):
        step(x)
"""
MEAN = "tf.reduce_mean(model(x))"
REFUSED = {
    "a layer of a model": (
        "Noisy",
        MEAN,
        "no fix: `np.random.normal` runs on the host, in `noise` of tools.py (line 11)",
    ),
    "a function, two files away": (
        "Net",
        "error(model(x))",
        "no fix: `float()` runs on the host, in `mean_of` of tools.py (line 11)",
    ),
    "a tensor that the first call keeps": (
        "Net",
        "scaled(model(x))",
        "no fix: it writes to a name in another scope, in `scaled` of nets.py (line 11)",
    ),
    "a counter of calls": (
        "Net",
        "counted(model(x))",
        "no fix: it writes to a name in another scope, in `counted` of nets.py (line 11)",
    ),
    "an object that is called": (
        "Net",
        "measure(model(x))",
        "no fix: `.numpy()` runs on the host, in `Error.__call__` of nets.py (line 11)",
    ),
}
MADE = {
    "nothing stands in the way": ("Net", MEAN),
    "a switch and a rank": ("Scaled", MEAN),
    "what the first call alone makes": ("Net", "mean_in_metric(model(x))"),
    "another method": ("Net", "measure.at_hand(model(x))"),
    "what is compiled already": ("Net", "compiled(model(x))"),
    "a model whose own call is compiled already": ("Traced", MEAN),
}


def found(folder: Path, model: str, loss: str) -> Finding:
    """The one finding of the training."""
    training = TRAINING.format(model=model, loss=loss)
    paths = write(folder, nets=NETS, tools=TOOLS, training=training)
    results = lint_files(paths, Settings(root=Path(), rules=frozenset({"TFP101"})), 1)
    (finding,) = (finding for result in results for finding in result.findings)
    return finding


@pytest.mark.parametrize(("model", "loss", "note"), REFUSED.values(), ids=REFUSED)
def test_the_fix_is_refused_for(model: str, loss: str, note: str, project: Path) -> None:
    finding = found(project, model, loss)
    assert (finding.fix, finding.note) == (None, note)


@pytest.mark.parametrize(("model", "loss"), MADE.values(), ids=MADE)
def test_the_fix_is_made_where(model: str, loss: str, project: Path) -> None:
    assert found(project, model, loss).fix is not None


@pytest.mark.parametrize(("called", "tried"), [("over", True), ("over_on_host", False)])
def test_what_may_be_a_tensor_there_is_tried(called: str, tried: bool, project: Path) -> None:
    training = TRAINING.format(model="Net", loss=f"tf.reduce_mean({called}(model(x)))")
    training = training.replace("    model =", f"    from tools import {called}\n\n    model =", 1)
    paths = write(project, nets=NETS, tools=TOOLS, training=training)
    settings = Settings(
        root=Path(), rules=frozenset({"TFP101"}), fixable=frozenset({"TFP101"}), bold_fixes=True
    )
    (finding,) = (finding for result in lint_files(paths, settings, 1) for finding in result.findings)
    assert finding.fix is not None
    assert finding.fix.message.startswith("Compile `step`") is tried


@pytest.mark.parametrize(
    ("body", "note"),
    [
        (
            "return noise() * x",
            "no fix: `np.random.normal` runs on the host, in `noise` of tools.py (line 9)",
        ),
        ("return self.dense(x)", None),
    ],
)
def test_what_a_model_runs_whose_base_is_in_another_file_counts(
    body: str, note: str | None, project: Path
) -> None:
    training = TRAINING.format(model="Own", loss=MEAN).replace(
        "    model = ",
        f"    from tools import noise\n\n    class Own(Net):\n        def call(self, x):\n            {body}\n\n    model = ",
        1,
    )
    paths = write(project, nets=NETS, tools=TOOLS, training=training)
    results = lint_files(paths, Settings(root=Path(), rules=frozenset({"TFP101"})), 1)
    (finding,) = (finding for result in results for finding in result.findings)
    assert (finding.fix is None, finding.note) == (note is not None, note)


AGENT = """
    import tensorflow as tf

    class Agent:
        def __init__(self, net):
            self.net = net

        @tf.function
        def value(self, state):
            self.net(state)
            return {value}

        def freeze(self):
            self.net = tf.keras.Sequential([self.net])
            for layer in self.net.layers:
                layer.trainable = False

    class Score(tf.keras.metrics.Metric):
        def build(self, shape):
            self.width = shape[-1]

        def update_state(self, y, y_pred, sample_weight=None):
            self.total.assign_add({value})
"""
SWITCH = """
    import tensorflow as tf
    from agent import Agent, Score

    if __name__ == "__main__":
        {switch}
"""
SWITCHES = {
    "for all functions": ("tf.config.run_functions_eagerly(True)", "value"),
    "for a model with a metric": (
        'tf.keras.Sequential().compile(loss="mse", metrics=[Score()], run_eagerly=True)',
        "update_state",
    ),
}


@pytest.mark.parametrize(("switch", "name"), SWITCHES.values(), ids=SWITCHES)
@pytest.mark.parametrize("hindered", [True, False])
def test_a_switch_says_what_cannot_be_compiled_in_another_file(
    project: Path, switch: str, name: str, hindered: bool
) -> None:
    value = "float(tf.abs(1.0))" if hindered else "tf.abs(1.0)"
    settings = Settings(root=Path(), rules=frozenset({"TFP104"}), fixable=frozenset({"TFP104"}))
    paths = write(project, agent=AGENT.format(value=value), main=SWITCH.format(switch=switch))
    (found,) = (finding for result in lint_files(paths, settings, 1) for finding in result.findings)
    assert (f"; remove it once `{name}` can be compiled" in found.message) is hindered
    assert (found.fix is None) is hindered
    if hindered:
        assert f"no fix: `{name}` would be compiled, but `float()` runs on the host (agent.py, line " in (
            found.note or ""
        )


def test_a_switch_names_what_stands_against_training_first(project: Path) -> None:
    net = """
        import tensorflow as tf
        class Net(tf.keras.Model):
            def test_step(self, data):
                return {"loss": float(self(data))}
            def train_step(self, data):
                self.weigh(tf.keras.backend.get_value(self.optimizer.iterations))
                return super().train_step(data)
        """
    main = 'import tensorflow as tf\nfrom net import Net\nmodel = Net()\nmodel.compile("adam", "mse", run_eagerly=True)\nmodel.fit(x, y)\n'
    settings = Settings(root=Path(), rules=frozenset({"TFP104"}), fixable=frozenset({"TFP104"}))
    results = lint_files(write(project, net=net, main=main), settings, 1)
    (found,) = (finding for result in results for finding in result.findings)
    assert "; remove it once `train_step` can be compiled" in found.message
    assert "get_value` runs on the host (net.py, line 7)" in (found.note or "")
