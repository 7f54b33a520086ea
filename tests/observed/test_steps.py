"""Steps are found in real programs, and what they cost. One is run as users run it, by a Python of its own."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.forked import Forks
from tflint_perf.measured.record import Event, Record, Spot
from tflint_perf.observed.process import Seen, watch
from tflint_perf.observed.request import Learning, Request
from tflint_perf.verify.learning import Apart, apart, read_learned

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("tensorflow") is None, reason="it runs TensorFlow, which `make test` installs"
    ),
]

HEAD = """\
import numpy as np
import tensorflow as tf

tf.random.set_seed(1)
x = np.random.default_rng(1).normal(size=(640, 8)).astype("float32")
y = x.sum(axis=1, keepdims=True)
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)
model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD()
"""
STEP = """\
def train_step(a, b):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(a) - b) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss
"""
COMPILED = "@tf.function\n" + STEP


def _run(folder: Path, program: str, watching: Callable[[Request], Seen] = watch, **more: object) -> Seen:
    (folder / "train.py").write_text(textwrap.dedent(program))
    options: dict[str, object] = {"steps": 60, "quiet": True, "timeout": 300, **more}
    seen = watching(Request(("train.py",), folder=folder, **options))  # type: ignore[arg-type]
    assert seen.record.steps.count, seen.stderr[-3000:]
    return seen


def _loop(folder: Path, record: Record) -> str:
    assert record.steps.loop is not None
    return (folder / record.steps.loop.file).read_text().splitlines()[record.steps.loop.row - 1].strip()


def _events(record: Record, folder: Path, kind: str) -> dict[str, list[Event]]:
    """By the source of the line."""
    rows = (folder / "train.py").read_text().splitlines()
    return {
        rows[line.spot.row - 1].strip(): [event for event in line.events if event.kind == kind]
        for line in record.lines
        if any(event.kind == kind for event in line.events)
    }


def test_an_eager_loop(tmp_path: Path) -> None:
    program = HEAD.replace("SGD()", "Adam()") + STEP + (
        "history = []\n"
        "for epoch in range(9):\n"
        "    for a, b in dataset:\n"
        "        loss = train_step(a, b)\n"
        "        history.append(loss)\n"
        "        print(float(loss))\n"
    )  # fmt: skip
    seen = _run(tmp_path, program, steps=70)
    record = seen.record
    assert (record.ended, record.code, record.steps.kind) == ("steps", 0, "optimizer")
    # The first gradient was all that was known at first, and its step is forgotten.
    assert len(seen.stdout.splitlines()) in range(69, 72)
    assert _loop(tmp_path, record) == "for a, b in dataset:"
    assert record.step is not None and record.step.low <= record.step.value <= record.step.high
    assert sum(record.parts.values()) == pytest.approx(record.step.value)
    assert record.parts["dispatch"] > record.parts["copies"] >= 0
    copies = _events(record, tmp_path, "copy")
    assert [event.what for event in copies["print(float(loss))"]] == ["float()"]
    assert copies["print(float(loss))"][0].count == pytest.approx(1, abs=0.3)
    ops = _events(record, tmp_path, "op")
    applied = ops["optimizer.apply_gradients(zip(gradients, model.trainable_variables))"]
    assert sum(event.count for event in applied) > 20
    assert "input" in {event.kind for line in record.lines for event in line.events}
    assert record.growth["live tensors"].grows
    assert any("history" in kept.holder for kept in record.kept)
    assert not record.growth["traces"].grows


def test_what_a_model_does_is_told_apart_by_who_calls_it(tmp_path: Path, forks: Forks) -> None:
    program = HEAD + STEP + (
        "class Net(tf.keras.Model):\n"
        "    def __init__(self, inner):\n"
        "        super().__init__()\n"
        "        self.inner = inner\n"
        "    def call(self, a):\n"
        "        return self.inner(a)\n"
        "model = Net(model)\n"
        "def act(a):\n"
        "    return model(a)\n"
        "for epoch in range(9):\n"
        "    for a, b in dataset:\n"
        "        act(a)\n"
        "        act(a)\n"
        "        train_step(a, b)\n"
    )  # fmt: skip
    record = _run(tmp_path, program, forks.watch, steps=40).record
    rows = (tmp_path / "train.py").read_text().splitlines()
    ops: Counter[str] = Counter()
    for way in record.ways:
        if rows[way.spot.row - 1].strip() == "return self.inner(a)":
            ops[rows[way.callers[0].row - 1].strip()] += sum(e.count for e in way.events if e.kind == "op")
    acting, training = "return model(a)", "loss = tf.reduce_mean((model(a) - b) ** 2)"
    # A look by the clock may fall between two rows: it tells time alone, and no ops.
    assert set(+ops) == {acting, training}
    assert ops[acting] == pytest.approx(2 * ops[training]) and ops[training] > 1


def test_whatever_of_numpy_a_tensor_is_given_to_copies_it_to_the_host(tmp_path: Path, forks: Forks) -> None:
    calls = (
        "amax(t, axis=-1)",
        "max(a=t)",
        "std(t)",
        "absolute(t)",
        "maximum(0.0, t)",
        "array(t)",
        "stack([t, t])",
    )
    program = HEAD + COMPILED + (
        "exp, t = np.exp, tf.ones((4, 4))\n"
        "for number in range(90):\n"
        "    train_step(x[:16], y[:16])\n"
        "    assert np.add.reduce(x[0]) and isinstance(np.exp, np.ufunc) and np.exp == exp\n"
        "    np.shape(t)\n"
        "    np.abs(x)\n"
        "    np.amax(x)\n"
    ) + "".join(f"    np.{call}\n" for call in calls) + "assert np.exp is exp\n"  # fmt: skip
    seen = _run(tmp_path, program, forks.watch, steps=120)
    assert seen.code == 0, seen.stderr
    copies = _events(seen.record, tmp_path, "copy")
    assert {source: [(event.what, event.count) for event in events] for source, events in copies.items()} == {
        f"np.{call}": [(f"np.{call.partition('(')[0]}", pytest.approx(1))] for call in calls
    }


def test_a_compiled_step_that_is_traced_again_and_again(tmp_path: Path, forks: Forks) -> None:
    program = HEAD + COMPILED.replace("(a, b):", "(a, b, number):") + (
        "for number in range(90):\n"
        "    train_step(x[:16], y[:16], number)\n"
    )  # fmt: skip
    record = _run(tmp_path, program, forks.watch, steps=24).record
    assert _loop(tmp_path, record) == "for number in range(90):"
    traced = next(trace for trace in record.traces if trace.function == "train_step")
    assert traced.in_steps > 16
    assert max(traced.causes, key=lambda cause: traced.causes[cause]) == "new Python value"
    assert traced.called_at is not None and traced.called_at.row == record.steps.loop.row + 1  # type: ignore[union-attr]
    assert record.growth["traces"].grows
    assert record.parts["tracing"] > record.parts["device"]


def test_a_first_call_that_traces_twice_to_make_variables_has_no_other_cause(
    tmp_path: Path, forks: Forks
) -> None:
    program = HEAD + COMPILED.replace("@tf.function", "@tf.function(reduce_retracing=True)") + (
        "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
        "for number in range(90):\n"
        "    train_step(x[:16], y[:16])\n"
    )  # fmt: skip
    record = _run(tmp_path, program, forks.watch, steps=20).record
    (traced,) = (trace for trace in record.traces if trace.function == "train_step")
    assert traced.causes == {"first call": 2}


def test_a_function_that_is_made_anew_and_shapes_that_change(tmp_path: Path, forks: Forks) -> None:
    program = HEAD + COMPILED + (
        "for number in range(90):\n"
        "    samples = 2 + number // 9\n"
        "    train_step(x[:samples], y[:samples])\n"
        "    double = tf.function(lambda v: v * 2)\n"
        "    double(x[:4])\n"
    )  # fmt: skip
    record = _run(tmp_path, program, forks.watch, steps=40).record
    causes = {trace.function: trace.causes for trace in record.traces}
    assert causes["<lambda>"]["new function object"] > 20
    assert causes["train_step"]["new shape"] >= 1
    made = _events(record, tmp_path, "new")
    assert [event.what for event in made["double = tf.function(lambda v: v * 2)"]] == ["Function"]


def test_a_gan(tmp_path: Path, forks: Forks) -> None:
    program = HEAD + (
        "critic = tf.keras.Sequential([tf.keras.Input((1,)), tf.keras.layers.Dense(1)])\n"
        "other = tf.keras.optimizers.SGD()\n"
        "@tf.function\n"
        "def train_critic(a):\n"
        "    with tf.GradientTape() as tape:\n"
        "        loss = tf.reduce_mean(critic(model(a)))\n"
        "    other.apply_gradients(zip(tape.gradient(loss, critic.trainable_variables), critic.trainable_variables))\n"
    ) + COMPILED + (
        "for epoch in range(9):\n"
        "    for a, b in dataset:\n"
        "        for _ in range(3):\n"
        "            train_critic(a)\n"
        "        train_step(a, b)\n"
    )  # fmt: skip
    record = _run(tmp_path, program, forks.watch).record
    assert _loop(tmp_path, record) == "for a, b in dataset:"


def test_a_run_that_is_held_against_another_ends_after_the_same_steps(tmp_path: Path, forks: Forks) -> None:
    program = HEAD + (
        "actor = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(1)])\n"
        "other = tf.keras.optimizers.SGD()\n"
        "def update(net, way):\n"
        "    with tf.GradientTape() as tape:\n"
        "        loss = tf.reduce_mean((net(x[:16]) - y[:16]) ** 2)\n"
        "    way.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))\n"
        "def learn():\n"
        "    for _ in range(5):\n"
        "        update(model, optimizer)\n"
        "    for _ in range(2):\n"
        "        update(actor, other)\n"
        "for epoch in range(40):\n"
        "    learn()\n"
        "    print(epoch)\n"
    )  # fmt: skip
    learning = Learning(tmp_path / "learned.npz")
    first = _run(tmp_path, program, forks.watch, details=False, steps=12, learning=learning)
    assert first.optimizers == 2
    again = _run(
        tmp_path, program, forks.watch, details=False, steps=4, learning=learning, optimizers=first.optimizers
    )
    # Alone, the first of them makes more than four updates before the other is seen.
    assert len(again.ends) == 4
    assert again.stdout.split() == [str(epoch) for epoch in range(3)]


def test_two_kerases_in_one_program(tmp_path: Path, forks: Forks) -> None:
    head = HEAD + (
        "import tf_keras\n"
        "older = tf_keras.Sequential([tf_keras.layers.Input((8,)), tf_keras.layers.Dense(1)])\n"
        "older_optimizer = tf_keras.optimizers.Adam()\n"
    )
    program = head + (
        "for epoch in range(2):\n"
        "    for a, b in dataset.take(20):\n"
        "        with tf.GradientTape(persistent=True) as tape:\n"
        "            one = tf.reduce_mean((model(a) - b) ** 2)\n"
        "            two = tf.reduce_mean((older(a) - b) ** 2)\n"
        "        for net, way, loss in ((model, optimizer, one), (older, older_optimizer, two)):\n"
        "            way.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))\n"
        "    print(epoch)\n"
        "older.compile('sgd', 'mse')\n"
        "print(sorted(older.fit(x[:64], y[:64], verbose=0).history))\n"
    )
    seen = _run(tmp_path, program, forks.watch, steps=200)
    assert (seen.record.ended, seen.record.code) == ("end", 0)
    assert seen.stdout.splitlines() == ["0", "1", "['loss']"]
    assert _loop(tmp_path, seen.record) == "for a, b in dataset.take(20):"
    assert seen.record.steps.count in range(39, 41)


@pytest.mark.parametrize(
    ("samples", "steps"),
    [
        ("16", "for episode in range(60):"),
        ("16 if episode % 3 else 20", "model.fit(x[:samples], y[:samples], batch_size=16, verbose=0)"),
    ],
    ids=["one batch each", "two batches in some"],
)
def test_a_call_of_fit_for_each_episode_steps_where_one_makes_several_updates(
    tmp_path: Path, forks: Forks, samples: str, steps: str
) -> None:
    program = HEAD + (
        "model.compile(optimizer, 'mse')\n"
        "for episode in range(60):\n"
        f"    samples = {samples}\n"
        "    model.fit(x[:samples], y[:samples], batch_size=16, verbose=0)\n"
    )
    assert _loop(tmp_path, _run(tmp_path, program, forks.watch, steps=12).record) == steps


def test_the_parts_of_steps_sum_to_what_such_steps_take_where_some_play_episodes(
    tmp_path: Path, forks: Forks
) -> None:
    program = "import time\n" + HEAD + COMPILED + (
        "a, b = x[:16], y[:16]\n"
        "train_step(a, b)\n"
        "def play(turns):\n"
        "    for turn in range(turns):\n"
        "        model(x[:1])\n"
        "        time.sleep(0.01)\n"
        "for update in range(200):\n"
        "    if update % 7 == 3:\n"
        "        play(10)\n"
        "    train_step(a, b)\n"
        "    time.sleep(0.01)\n"  # long beside what a busy machine adds
    )  # fmt: skip
    record = _run(tmp_path, program, forks.watch, steps=120).record
    assert record.step is not None and record.median_step is not None
    assert record.step.value > 1.5 * record.median_step
    assert record.parts_sum == pytest.approx(1, abs=0.5)  # a busy machine takes time from either
    assert sum(record.parts.values()) == pytest.approx(record.step.value)


def test_fit_with_a_slow_pipeline(tmp_path: Path, forks: Forks) -> None:
    program = HEAD + (
        "import time\n"
        "def slowly(a, b):\n"
        "    time.sleep(0.03)\n"
        "    return a, b\n"
        "def late(a, b):\n"
        "    a, b = tf.numpy_function(slowly, [a, b], [tf.float32, tf.float32])\n"
        "    return tf.ensure_shape(a, [None, 8]), tf.ensure_shape(b, [None, 1])\n"
        "model.compile('adam', 'mse')\n"
        "for epoch in range(9):\n"
        "    model.fit(\n"
        "        dataset.map(late), verbose=0)\n"
    )  # fmt: skip
    record = _run(tmp_path, program, forks.watch, steps=120).record
    assert (record.steps.kind, _loop(tmp_path, record)) == ("keras", "model.fit(")
    assert record.step is not None
    assert record.parts["input"] > 0.5 * record.step.value


def test_what_fit_does_between_epochs_is_in_no_step(tmp_path: Path, forks: Forks) -> None:
    program = HEAD + (
        "class Slow(tf.keras.callbacks.Callback):\n"
        "    def on_epoch_end(self, epoch, logs=None):\n"
        "        for _ in range(40):\n"
        "            self.model(x[:16])\n"
        "        tf.keras.layers.Dense(3)(x[:16])\n"
        "        self.model.save_weights('kept.weights.h5')\n"
        "model.compile('sgd', 'mse')\n"
        "small = dataset.take(8)\n"
        "model.fit(small, validation_data=dataset, callbacks=[Slow()], epochs=20, verbose=0)\n"
    )  # fmt: skip
    record = _run(tmp_path, program, forks.watch, steps=40).record
    assert _loop(tmp_path, record).startswith("model.fit(")
    # Forty eager calls and a file take many times as long as a compiled step, however busy the machine is.
    assert record.step is not None and record.step.value < sum(line.seconds for line in record.between)
    assert any(note.startswith("what is done between epochs takes") for note in record.steps.notes)
    assert any(line.source.startswith("self.model(x[:16])") for line in record.between)
    assert "self.model(x[:16])" not in _events(record, tmp_path, "op")


@pytest.mark.parametrize(
    ("loop", "is_told"),
    [("for i, (a, b) in enumerate(small):", True), ("for i, (a, b) in enumerate(dataset):", False)],
    ids=["to its end", "broken off"],
)
def test_what_a_loop_over_epochs_does_between_them_is_in_no_step(
    tmp_path: Path, forks: Forks, loop: str, is_told: bool
) -> None:
    program = HEAD + COMPILED + (
        "import time\n"
        "small = dataset.take(8)\n"
        "def show():\n"
        "    time.sleep(0.4)\n"
        "for epoch in range(20):\n"
        f"    {loop}\n"
        "        train_step(a, b)\n"
        "        if i == 7:\n"
        "            break\n"
        "    show()\n"
    ).replace("        if i == 7:\n            break\n", "" if is_told else "        if i == 7:\n            break\n")  # fmt: skip
    record = _run(tmp_path, program, forks.watch, steps=120).record
    assert _loop(tmp_path, record) == loop
    # A sleep is as long on a busy machine; spread over its epoch, it would be 50 ms a step, which takes some 2 ms.
    assert record.step is not None and record.step.value < 0.4 / 8
    assert any(note.startswith("what is done between epochs takes") for note in record.steps.notes) == is_told
    assert any(line.source == "time.sleep(0.4)" for line in record.between) == is_told


def test_what_comes_behind_each_step_of_fit_is_a_part_of_it(tmp_path: Path, forks: Forks) -> None:
    program = HEAD + (
        "model.compile('sgd', 'mse')\n"
        "for episode in range(60):\n"
        "    model.fit(x[:16], y[:16], validation_data=(x[:16], y[:16]), verbose=0)\n"
    )  # fmt: skip
    record = _run(tmp_path, program, forks.watch, steps=12).record
    assert not record.between and not record.steps.notes
    assert record.looked_at["details"]


def test_train_on_batch(tmp_path: Path, forks: Forks) -> None:
    program = HEAD + (
        "model.compile('sgd', 'mse')\n"
        "for number in range(90):\n"
        "    model.train_on_batch(x[:16], y[:16])\n"
    )  # fmt: skip
    record = _run(tmp_path, program, forks.watch).record
    assert _loop(tmp_path, record) == "for number in range(90):"
    keras = _events(record, tmp_path, "keras")
    assert [event.what for event in keras["model.train_on_batch(x[:16], y[:16])"]] == ["train_on_batch"]


def test_a_session(tmp_path: Path, forks: Forks) -> None:
    program = """\
        import numpy as np
        import tensorflow.compat.v1 as tf
        tf.disable_eager_execution()
        a = tf.placeholder(tf.float32, [None, 8])
        w = tf.get_variable("w", [8, 1])
        loss = tf.reduce_mean(tf.matmul(a, w) ** 2)
        train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
        x = np.ones((16, 8), "float32")
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for step in range(90):
                session.run([train, loss], {a: x})
                session.run(tf.reduce_sum(w))
        """
    record = _run(tmp_path, program, forks.watch).record
    assert record.steps.kind == "session"
    assert _loop(tmp_path, record) == "for step in range(90):"
    assert {event.what for event in _events(record, tmp_path, "graph op")["session.run(tf.reduce_sum(w))"]}
    fed = _events(record, tmp_path, "session")["session.run([train, loss], {a: x})"]
    assert fed[0].size == pytest.approx(16 * 8 * 4, rel=0.3)
    assert record.growth["graph ops"].grows


def test_gradients_without_an_optimizer_and_summaries(tmp_path: Path, forks: Forks) -> None:
    program = HEAD + (
        "writer = tf.summary.create_file_writer('logs')\n"
        "for number in range(90):\n"
        "    with tf.GradientTape() as tape:\n"
        "        loss = tf.reduce_mean(model(x[:16]) ** 2)\n"
        "    for g, v in zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables):\n"
        "        v.assign_sub(0.01 * g)\n"
        "    with writer.as_default(step=number):\n"
        "        tf.summary.write('loss', loss)\n"
        "    writer.flush()\n"
    )  # fmt: skip
    record = _run(tmp_path, program, forks.watch).record
    assert record.steps.kind == "gradient"
    assert _loop(tmp_path, record) == "for number in range(90):"
    written = _events(record, tmp_path, "summary")
    assert {line: [event.what for event in events] for line, events in written.items()} == {
        "with writer.as_default(step=number):": ["FlushSummaryWriter"],  # as it ends
        "tf.summary.write('loss', loss)": ["WriteSummary"],
        "writer.flush()": ["FlushSummaryWriter"],
    }


def test_an_exception_in_step_fifty_is_the_programs_own(tmp_path: Path, forks: Forks) -> None:
    program = HEAD + COMPILED + (
        "for number in range(90):\n"
        "    if number == 50:\n"
        "        raise ValueError('diverged')\n"
        "    train_step(x[:16], y[:16])\n"
    )  # fmt: skip
    seen = _run(tmp_path, program, forks.watch, steps=200)
    assert (seen.record.ended, seen.code, seen.record.steps.count) == ("error", 1, 50)
    assert seen.stderr.rstrip().endswith("ValueError: diverged")
    assert "observe" not in seen.stderr


def test_an_exception_inside_a_compiled_step_shows_no_frame_of_the_observer(
    tmp_path: Path, forks: Forks
) -> None:
    program = HEAD + COMPILED + "for number in range(90):\n    train_step(x[:16, :5], y[:16])\n"
    (tmp_path / "train.py").write_text(program)
    seen = forks.watch(Request(("train.py",), folder=tmp_path, quiet=True, timeout=300))
    assert (seen.record.ended, seen.code) == ("error", 1)
    assert "observe" not in seen.stderr


def test_the_profiler_of_the_program_is_left_to_it(tmp_path: Path, forks: Forks) -> None:
    program = HEAD + COMPILED + (
        "tf.profiler.experimental.start('logs')\n"
        "for number in range(60):\n"
        "    train_step(x[:16], y[:16])\n"
        "tf.profiler.experimental.stop()\n"
        "print('profiled')\n"
    )  # fmt: skip
    seen = _run(tmp_path, program, forks.watch, steps=200)
    assert (seen.record.ended, seen.code, seen.stdout) == ("end", 0, "profiled\n")
    assert list((tmp_path / "logs").rglob("*.xplane.pb"))


def test_what_is_learned_is_the_same_twice_and_nearly_so_when_nudged(tmp_path: Path, forks: Forks) -> None:
    import numpy as np

    program = HEAD + (
        "noise = tf.keras.layers.Dropout(0.5)\n"
    ) + STEP.replace("model(a)", "model(a + tf.random.normal(tf.shape(a)))") + (
        "for number in range(90):\n"
        "    train_step(x[:16], y[:16])\n"
    )  # fmt: skip
    compiled = program.replace("def train_step", "@tf.function\ndef train_step")
    outs = []
    for number, (text, asked) in enumerate(
        [
            (program, {}),
            (program, {}),
            (program, {"nudge": True}),
            (compiled, {}),
            (compiled, {"eagerly": True}),
        ]
    ):
        out = tmp_path / f"{number}.npz"
        seen = _run(tmp_path, text, forks.watch, steps=10, details=False, learning=Learning(out, **asked))
        assert seen.learned
        outs.append(np.load(out))
    once, twice, nudged, fast, slow = outs
    names = [name for name in once.files if name.startswith("last")]
    assert len(names) == 4
    assert once["losses"].shape[0] >= 9
    moved = max(abs(once[name] - once[name.replace("last", "first")]).max() for name in names)
    assert all((once[name] == twice[name]).all() and (once[name] == slow[name]).all() for name in names)
    differs = max(abs(once[name] - nudged[name]).max() for name in names)
    assert 0 < differs < 1e-3 * moved
    assert max(abs(once[name] - fast[name]).max() for name in names) < 1e-3 * moved


BY_HAND = (
    HEAD
    + """\
inputs = tf.constant(x[:16])
def slopes():
    with tf.GradientTape() as inner:
        inner.watch(inputs)
        answers = model(inputs)
    return inner.gradient(answers, inputs)
def compute():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((slopes() - 1.0) ** 2)
    return loss, tape.gradient(loss, model.trainable_variables)
sizes = [int(np.prod(v.shape)) for v in model.trainable_variables]
at = [v.numpy() for v in model.trainable_variables]
for number in range(90):
    for v, new in zip(model.trainable_variables, at):
        v.assign(new)
    loss, gradients = compute()
    at = [a - 0.1 * (0.0 if g is None else g.numpy()) for a, g in zip(at, gradients)]
"""
)


@pytest.mark.parametrize("compiled", ["", "@tf.function\n"], ids=["eager", "compiled"])
def test_gradients_of_gradients_make_one_step_however_many_are_compiled_together(
    compiled: str, tmp_path: Path, forks: Forks
) -> None:
    program = BY_HAND.replace("def compute", f"{compiled}def compute")
    learning = Learning(tmp_path / "learned.npz")
    seen = _run(tmp_path, program, forks.watch, details=False, steps=20, learning=learning, optimizers=2)
    assert (len(seen.ends), seen.optimizers) == (20, 2)


def test_a_program_that_sets_its_weights_itself_is_nudged_by_its_gradients(
    tmp_path: Path, forks: Forks
) -> None:
    import numpy as np

    outs = []
    for nudge in (False, True):
        learning = Learning(tmp_path / f"{nudge}.npz", nudge=nudge)
        _run(tmp_path, BY_HAND, forks.watch, details=False, steps=10, learning=learning)
        outs.append(np.load(learning.out))
    once, nudged = outs
    names = [name for name in once.files if name.startswith("last")]
    moved = max(abs(once[name] - once[name.replace("last", "first")]).max() for name in names)
    assert 0 < max(abs(once[name] - nudged[name]).max() for name in names) < 1e-3 * moved


def test_a_statement_that_is_moved_out_of_a_tape_draws_the_same(tmp_path: Path, forks: Forks) -> None:
    import numpy as np

    draw, tape = "noise = tf.random.normal(tf.shape(a))\n", "    with tf.GradientTape() as tape:\n"
    step = STEP.replace("model(a)", "model(a + noise)")
    outs = []
    for number, moved in enumerate((f"    {draw}{tape}", f"{tape}        {draw}")):
        out = tmp_path / f"{number}.npz"
        program = (
            HEAD + step.replace(tape, moved) + "for number in range(40):\n    train_step(x[:16], y[:16])\n"
        )
        _run(tmp_path, program, forks.watch, steps=10, details=False, learning=Learning(out))
        outs.append(np.load(out))
    before, under = outs
    assert all((before[name] == under[name]).all() for name in before.files if name.startswith("last"))


def test_arguments_may_be_called_what_they_are_called(tmp_path: Path, forks: Forks) -> None:
    program = HEAD + STEP + (
        "@tf.function\n"
        "def scaled(function, thing):\n"
        "    return function * thing\n"
        "class Scaling(tf.keras.layers.Layer):\n"
        "    def call(self, inputs, graph=None):\n"
        "        return inputs\n"
        "for number in range(20):\n"
        "    loss = train_step(x[:16], y[:16])\n"
        "    np.asarray(a=loss), np.stack(arrays=[loss, loss]), np.array(object=loss)\n"
        "    scaled(function=loss, thing=loss)\n"
        "    Scaling()(x[:2], graph=None)\n"
        "print('done')\n"
    )  # fmt: skip
    seen = _run(tmp_path, program, forks.watch, steps=None)
    assert (seen.record.ended, seen.stdout) == ("end", "done\n"), seen.stderr[-2000:]


@pytest.mark.parametrize(
    ("compiled", "is_apart"),
    [("noisy", True), ("train_step", False), ("", False)],
    ids=["alone", "with the step", "eager"],
)
def test_what_draws_twice_in_a_step_is_known_where_it_is_compiled_alone(
    tmp_path: Path, forks: Forks, compiled: str, is_apart: bool
) -> None:
    program = HEAD + (
        "def noisy(a):\n    return a + tf.random.normal(tf.shape(a))\n"
    ) + STEP.replace("model(a)", "model(noisy(noisy(a)))") + (
        "for number in range(20):\n"
        "    train_step(x[:16], y[:16])\n"
    )  # fmt: skip
    assert _compiled_apart(tmp_path, program, compiled, forks).draws_apart is is_apart


@pytest.mark.parametrize(
    ("between", "is_apart"),
    [
        ("        train_step(x[:8], y[:8])\n", True),
        ("        with tf.GradientTape():\n            loss_of(x, y)\n", True),
        ("        loss_of(x, y), loss_of(x, y)\n", False),
        ("        noisy(x)\n", False),
    ],
    ids=[
        "traced again",
        "drawn between steps under a tape",
        "drawn by a validation",
        "drawn by another statement",
    ],
)
def test_numbers_that_a_compiled_step_cannot_draw_as_eager_code_does_are_known(
    tmp_path: Path, forks: Forks, between: str, is_apart: bool
) -> None:
    program = HEAD + (
        "def noisy(a):\n    return a + tf.random.normal(tf.shape(a))\n"
        "def loss_of(a, b):\n"
        "    noise = tf.random.normal(tf.shape(a))\n"
        "    return tf.reduce_mean(tf.square(model(a + noise) - b))\n"
        "def train_step(a, b):\n"
        "    with tf.GradientTape() as tape:\n"
        "        loss = loss_of(a, b)\n"
        "    gradients = tape.gradient(loss, model.trainable_variables)\n"
        "    optimizer.apply_gradients(zip(gradients, model.trainable_variables))\n"
        "for number in range(20):\n"
        "    train_step(x[:16], y[:16])\n"
        "    if number % 5 == 4:\n"
    ) + between  # fmt: skip
    assert _compiled_apart(tmp_path, program, "train_step", forks).draws_apart is is_apart


def test_a_compiled_step_goes_on_where_eager_code_has_drawn_by_the_same_statement(
    tmp_path: Path, forks: Forks
) -> None:
    program = HEAD + (
        "def noisy(a):\n    return a + tf.random.normal((16, 8))\n"
    ) + STEP.replace("model(a)", "model(noisy(a))") + (
        "for number in range(20):\n"
        "    train_step(noisy(x[:16]), y[:16])\n"
    )  # fmt: skip
    assert _compiled_apart(tmp_path, program, "train_step", forks).most < 1e-3


def test_rows_of_functions_that_a_graph_calls_are_reached_and_those_of_others_are_not(
    tmp_path: Path, forks: Forks
) -> None:
    program = HEAD + (
        "def helper(a):\n"
        "    return a * 2\n"
        "def never(a):\n"
        "    return a * 3\n"
    ) + COMPILED.replace("model(a)", "model(helper(a))") + (
        "dataset = dataset.map(lambda a, b: (helper(a), b))\n"
        "for a, b in dataset.take(4):\n"
        "    train_step(a, b)\n"
    )  # fmt: skip
    rows = program.splitlines()
    asked = [
        "    return a * 2",
        "    return a * 3",
        "        loss = tf.reduce_mean((model(helper(a)) - b) ** 2)",
    ]
    probes = tuple(Spot("train.py", rows.index(row) + 1) for row in asked)
    seen = _run(tmp_path, program, forks.watch, probes=probes)
    assert [rows[spot.row - 1] for spot in seen.record.reached] == [asked[0], asked[2]]


def _compiled_apart(folder: Path, program: str, function: str, forks: Forks) -> Apart:
    """How far the program learns from itself with a function of it compiled."""
    found = []
    for text in (program, program.replace(f"def {function}(", f"@tf.function\ndef {function}(")):
        out = folder / f"{len(found)}.npz"
        seen = _run(folder, text, forks.watch, steps=10, details=False, learning=Learning(out))
        read = read_learned(out, len(seen.ends))
        assert read is not None, seen.stderr
        found.append(read)
    return apart(*found)


def test_a_step_that_keras_traces_twice_is_of_one_optimizer(tmp_path: Path, forks: Forks) -> None:
    """Its function stands in another, and is traced for each batch: the steps are those of a step of its own."""
    program = HEAD + (
        "model = tf.keras.Sequential([tf.keras.layers.LSTM(4), tf.keras.layers.Dense(1)])\n"
        "model.compile('adam', 'mse')\n"
        "for step in range(8):\n"
        "    model.fit(x[:16].reshape(16, 4, 2), y[:16], verbose=0)\n"
    )
    seen = _run(tmp_path, program, forks.watch, steps=5)
    assert (len(seen.ends), seen.optimizers) == (5, 1)


IN_LOOP = (
    "@tf.function\n"
    "def train(a, b):\n"
    "    for start in tf.range(0, 48, 16):\n"
    "        train_step(a[start : start + 16], b[start : start + 16])\n"
    "for number in range(20):\n"
    "    train(x[:48], y[:48])\n"
)


@pytest.mark.parametrize(("details", "steps"), [(True, 20), (False, 9)])
def test_updates_of_a_loop_in_a_graph_are_steps_where_runs_are_compared(
    tmp_path: Path, forks: Forks, details: bool, steps: int
) -> None:
    """Another version may make them one by one. A run ends with the call that makes the last."""
    more = {} if details else {"learning": Learning(tmp_path / "learned.npz")}
    asked = None if details else 7
    seen = _run(tmp_path, HEAD + STEP + IN_LOOP, forks.watch, details=details, steps=asked, **more)
    assert len(seen.ends) == steps
    assert any("updates in a loop inside a graph" in note for note in seen.record.steps.notes)
    assert list(seen.ends) == sorted(set(seen.ends))


@pytest.mark.parametrize(("calls", "steps"), [(4, 24), (1, 18)])
def test_runs_that_are_compared_end_with_a_fit_that_is_called_often(
    tmp_path: Path, forks: Forks, calls: int, steps: int
) -> None:
    program = HEAD + (
        "model.compile(optimizer, 'mse')\n"
        f"for number in range({calls}):\n"
        f"    model.fit(x[:96], y[:96], batch_size=24, epochs={8 // calls}, verbose=0)\n"
    )
    learning = Learning(tmp_path / "learned.npz")
    seen = _run(tmp_path, program, forks.watch, details=False, steps=18, learning=learning)
    assert len(seen.ends) == steps
