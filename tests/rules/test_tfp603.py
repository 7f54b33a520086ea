"""TFP603 unguarded-logging."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import costs_told, findings, fixed, flagged, notes

CODE = "TFP603"
PREAMBLE = dedent("""\
    import tensorflow as tf
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    dataset = tf.data.Dataset.from_tensor_slices(data).batch(32)
    writer = tf.summary.create_file_writer("logs")
    checkpoint = tf.train.Checkpoint(model=model)
    manager = tf.train.CheckpointManager(checkpoint, "checkpoints", max_to_keep=3)
    @tf.function
    def train_step(x):
        return model(x)
""")


def module(source: str) -> str:
    return PREAMBLE + dedent(source).lstrip()


SILENT = {
    "a loop over trials, of which each trains a model": """
        def train(net, data):
            return net.fit(data.x, data.y, epochs=data.epochs, validation_split=0.1)
        def study(net, data):
            history = train(net, data)
            return history, net(data.x)
        for name, data in trials.items():
            study(model, data)
            model.save(f"{name}.keras")
        """,
    "a loop over a few images, in a validation behind a counter": """
        def validate(images, step):
            for image in images:
                shown = model(image)
                tf.summary.image("x", shown, step=step)
        for step, x in enumerate(dataset):
            train_step(x)
            if step % 500 == 0:
                validate(x, step)
        """,
    "a picture of each item, under a name of its own": """
        for epoch in range(epochs):
            for i in range(count):
                tf.summary.image(f"digit {i}", model.predict(digits[i : i + 1]), step=epoch)
        """,
    "a picture of each result of a model that was trained before": """
        model.load_weights("best.h5")
        for step, x in enumerate(dataset):
            tf.summary.image("result", model(x), step=step)
        """,
    "a flush of anything else": """
        for step, x in enumerate(dataset):
            train_step(x)
            other.add_summary(x)
            log.flush()
        """,
    "behind a counter": """
        for step, x in enumerate(dataset):
            train_step(x)
            if step % 100 == 0:
                tf.summary.histogram("x", x, step=step)
                model.save_weights("w")
        """,
    "behind a whole training of each of several models": """
        for name in names:
            encoder = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            encoder(tf.zeros([1, 3]))
            encoder.fit(dataset, epochs=epochs[name])
            encoder.save_weights(name)
        """,
    "where an episode has ended": """
        while True:
            score = agent.play(train_step(x))
            if score is not None:
                model.save("best")
        """,
    "scalars": """
        for step, x in enumerate(dataset):
            with writer.as_default():
                tf.summary.scalar("loss", train_step(x), step=step)
        """,
    "behind what an iteration tells": """
        for x in dataset:
            reward = play(train_step(x))
            if reward is not None:
                writer.flush()
        """,
    "once an epoch": """
        for epoch in range(10):
            for x in dataset:
                train_step(x)
            tf.summary.histogram("x", x, step=epoch)
            model.save_weights("w")
            checkpoint.save("c")
            writer.flush()
        """,
    "once a run": """
        for x in dataset:
            train_step(x)
        model.save("m")
        manager.save()
        """,
    "once an epoch of fit": """
        for epoch in range(10):
            model.fit(dataset)
            model.save("m")
        """,
    "when it is the best": """
        for x in dataset:
            loss = train_step(x)
            if loss < best_loss:
                model.save_weights("w")
        """,
    "under some other condition": """
        for step, x in enumerate(dataset):
            train_step(x)
            if step in wanted:
                tf.summary.histogram("x", x, step=step)
            if time.time() > due:
                manager.save()
            if not step & 127:
                writer.flush()
        """,
    "behind a continue": """
        for step, x in enumerate(dataset):
            train_step(x)
            if step % 100:
                continue
            model.save_weights("w")
        """,
    "recorded seldom": """
        for step, x in enumerate(dataset):
            with tf.summary.record_if(step % 100 == 0):
                tf.summary.histogram("x", x, step=step)
        """,
    "in a function that is called seldom": """
        def log(x, step):
            tf.summary.histogram("x", x, step=step)
        for step, x in enumerate(dataset):
            train_step(x)
            if step % 100 == 0:
                log(x, step)
        """,
    "before the loop is left": """
        for x in dataset:
            train_step(x)
            if x is None:
                model.save_weights("w")
                break
        """,
    "when something fails": """
        for x in dataset:
            try:
                train_step(x)
            except ValueError:
                model.save_weights("w")
        """,
    "a manager that decides": """
        for x in dataset:
            train_step(x)
            manager.save(check_interval=True)
        """,
    "a manager that saves every hundred steps": """
        seldom = tf.train.CheckpointManager(
            checkpoint, "checkpoints", max_to_keep=3, checkpoint_interval=100, step_counter=optimizer.iterations
        )
        for x in dataset:
            train_step(x)
            seldom.save()
        class Trainer:
            def __init__(self):
                self.manager = tf.train.CheckpointManager(checkpoint, "c", 3, checkpoint_interval=100)
            def run(self):
                for x in dataset:
                    train_step(x)
                    self.manager.save()
        Trainer().run()
        """,
    "TensorFlow 1": """
        import tensorflow.compat.v1 as tf1
        for x in dataset:
            train_step(x)
            tf1.summary.histogram("x", x)
        """,
    "graph code": """
        sess = tf.compat.v1.Session()
        for x in dataset:
            tf.summary.histogram("x", x, step=0)
            sess.run(train_op)
        """,
    "a flush of what writes no summaries": """
        def log(stream, x):
            with stream.as_default():
                print(x)
                stream.flush()
            sink.flush()
        for x in dataset:
            log(open_stream(), train_step(x))
        """,
    "a model that each iteration makes": """
        for make in makers:
            net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            print(net(x))
            net.save_weights("w")
        """,
    "other things that save and flush": """
        for x in dataset:
            train_step(x)
            image.save("x.png")
            np.save("x.npy", x)
            sys.stdout.flush()
            plt.hist(x)
            np.histogram(x)
        """,
    "a model that saves in its own way": """
        class Net(tf.keras.Model):
            def save(self, path):
                self.saved = path
        net = Net()
        for x in dataset:
            train_step(x)
            net.save("m")
        """,
    "no loop": """
        tf.summary.histogram("x", x, step=0)
        model.save_weights("w")
        """,
}

FLAGGED = {
    "a name that has the step in it": """
        for step, x in enumerate(dataset):
            train_step(x)
            tf.summary.image(f"input {step}", x, step=step)  # <-
        """,
    "a loop in a function that is also called behind no counter": """
        def train(images):
            for step, image in enumerate(images):
                train_step(image)
                tf.summary.image("x", image, step=step)  # <-
        for epoch in range(9):
            train(dataset)
            if epoch % 3 == 0:
                train(dataset)
        """,
    "a flush of a writer of TensorFlow 1": """
        def write(log, values, step):
            for name, value in values.items():
                log.add_summary(tf.compat.v1.Summary(value=[value]), step)
                log.flush()  # <-
        events = tf.compat.v1.summary.FileWriter("logs")
        for step, x in enumerate(dataset):
            train_step(x)
            write(book, {"loss": 0.5}, step)
            events.flush()  # <-
        """,
    "a histogram": """
        for step, x in enumerate(dataset):
            train_step(x)
            tf.summary.histogram("x", x, step=step)  # <-
        """,
    "an image under a writer": """
        for step, x in enumerate(dataset):
            with writer.as_default():
                tf.summary.image("x", x, step=step)  # <-
        """,
    "histograms of all variables": """
        for step, x in enumerate(dataset):
            train_step(x)
            for variable in model.trainable_variables:
                tf.summary.histogram(variable.name, variable, step=step)  # <-
        """,
    "weights": """
        for x in dataset:
            train_step(x)
            model.save_weights("w")  # <-
        """,
    "the whole model": """
        for x in dataset:
            train_step(x)
            model.save("m.keras")  # <-
        """,
    "checkpoints": """
        for x in dataset:
            train_step(x)
            checkpoint.save("c")  # <-
            path = manager.save()  # <-
        """,
    "a flush of a writer that a function is given": """
        def log(target, loss):
            with target.as_default():
                tf.summary.scalar("loss", loss, step=0)
                target.flush()  # <-
        for x in dataset:
            log(make_writers()[0], train_step(x))
        """,
    "a flush": """
        for x in dataset:
            train_step(x)
            writer.flush()  # <-
        """,
    "if there is a writer": """
        for x in dataset:
            train_step(x)
            if writer is not None:
                writer.flush()  # <-
        """,
    "in a function that the loop calls": """
        def log(x, step):
            with writer.as_default():
                tf.summary.histogram("x", x, step=step)  # <-
        for step, x in enumerate(dataset):
            train_step(x)
            log(x, step)
        """,
    "in the compiled step": """
        @tf.function
        def logged_step(x, step):
            tf.summary.histogram("x", x, step=step)  # <-
            return model(x)
        for step, x in enumerate(dataset):
            logged_step(x, tf.constant(step))
        """,
    "on the trainer": """
        class Trainer:
            def __init__(self):
                self.model = tf.keras.Sequential()
                self.manager = tf.train.CheckpointManager(a, b, 3)
            def train(self):
                for x in dataset:
                    self.model.train_on_batch(x, x)
                    self.model.save_weights("w")  # <-
                    self.manager.save()  # <-
        """,
    "all of it under a flag": """
        if args.train:
            for x in dataset:
                train_step(x)
                model.save_weights("w")  # <-
        """,
}

FIXED = {
    "one statement": (
        """
        for step, x in enumerate(dataset):
            train_step(x)
            tf.summary.histogram("x", x, step=step)
        """,
        """
        for step, x in enumerate(dataset):
            train_step(x)
            if step % 100 == 0:
                tf.summary.histogram("x", x, step=step)
        """,
    ),
    "neighbours together, with their comments": (
        """
        for step, x in enumerate(dataset):
            train_step(x)
            # What comes in.
            tf.summary.histogram("x", x, step=step)  # all of it
            tf.summary.image("x", x, step=step)
            print(step)
        """,
        """
        for step, x in enumerate(dataset):
            train_step(x)
            if step % 100 == 0:
                # What comes in.
                tf.summary.histogram("x", x, step=step)  # all of it
                tf.summary.image("x", x, step=step)
            print(step)
        """,
    ),
    "only what is no scalar": (
        """
        for step, x in enumerate(dataset):
            with writer.as_default():
                tf.summary.scalar("loss", train_step(x), step=step)
                tf.summary.histogram("x", x, step=step)
        """,
        """
        for step, x in enumerate(dataset):
            with writer.as_default():
                tf.summary.scalar("loss", train_step(x), step=step)
                if step % 100 == 0:
                    tf.summary.histogram("x", x, step=step)
        """,
    ),
    "whole blocks": (
        """
        for step in range(1000):
            train_step(x)
            with writer.as_default():
                for variable in model.trainable_variables:
                    tf.summary.histogram(
                        variable.name, variable, step=step
                    )
            writer.flush()
        """,
        """
        for step in range(1000):
            train_step(x)
            if step % 100 == 0:
                with writer.as_default():
                    for variable in model.trainable_variables:
                        tf.summary.histogram(
                            variable.name, variable, step=step
                        )
                writer.flush()
        """,
    ),
    "a counter of the loop's own": (
        """
        steps = 0
        for x in dataset:
            train_step(x)
            model.save_weights("w")
            steps += 1
        """,
        """
        steps = 0
        for x in dataset:
            train_step(x)
            if steps % 100 == 0:
                model.save_weights("w")
            steps += 1
        """,
    ),
    "one of several counters that begin in one statement": (
        """
        episode, steps = 0, 0
        while episode < 10:
            train_step(x)
            model.save_weights("w")
            if done(x):
                episode += 1
            steps += 1
        """,
        """
        episode, steps = 0, 0
        while episode < 10:
            train_step(x)
            if steps % 100 == 0:
                model.save_weights("w")
            if done(x):
                episode += 1
            steps += 1
        """,
    ),
    "a loop that does not count yet": (
        """
        for x in dataset:
            train_step(x)
            model.save_weights("w")
        """,
        """
        for step, x in enumerate(dataset):
            train_step(x)
            if step % 100 == 0:
                model.save_weights("w")
        """,
    ),
}

REFUSED = {
    "the loop runs only 50 times": """
        for step in range(50):
            train_step(x)
            model.save_weights("last.weights.h5")
        """,
    "its result is used": """
        for step, x in enumerate(dataset):
            train_step(x)
            path = manager.save()
        """,
    "it runs in a function that the loop calls": """
        def log(x, step):
            tf.summary.histogram("x", x, step=step)
        for step, x in enumerate(dataset):
            train_step(x)
            log(x, step)
        """,
    "it shares its line with other statements": """
        for step, x in enumerate(dataset):
            train_step(x); model.save_weights("w")
        """,
    "no step counter is in scope": """
        while training:
            train_step(x)
            model.save_weights("w")
        """,
}


@pytest.mark.parametrize("source", SILENT.values(), ids=list(SILENT))
def test_it_leaves_alone(source: str) -> None:
    assert flagged(CODE, module(source)) == []


@pytest.mark.parametrize("source", FLAGGED.values(), ids=list(FLAGGED))
def test_it_flags(source: str) -> None:
    text = module(source)
    rows = [row for row, line in enumerate(text.splitlines(), 1) if line.endswith("# <-")]
    assert flagged(CODE, text) == rows


@pytest.mark.parametrize(("source", "expected"), FIXED.values(), ids=list(FIXED))
def test_its_fix_gives(source: str, expected: str) -> None:
    assert fixed(CODE, module(source)) == module(expected)


@pytest.mark.parametrize(("source", "expected"), FIXED.values(), ids=list(FIXED))
def test_what_it_has_fixed_is_left_alone(source: str, expected: str) -> None:
    assert flagged(CODE, module(expected)) == []


@pytest.mark.parametrize(("reason", "source"), REFUSED.items())
def test_it_refuses_to_fix(reason: str, source: str) -> None:
    (note,) = notes(CODE, module(source))
    assert note.startswith(f"no fix: {reason}")


def test_a_flush_loses_nothing_that_is_written() -> None:
    source = PREAMBLE + "for step in range(1000):\n    train_step(x)\n    with writer.as_default():\n"
    source += "        tf.summary.scalar('loss', x, step=step)\n    writer.flush()\n"
    (finding,) = findings("TFP603", source)
    assert finding.fix is not None
    assert finding.fix.message == "Flush every 100 steps; may change when summaries reach the disk"


@pytest.mark.parametrize(
    ("save", "told"),
    [
        ("model.save_weights('w.weights.h5')", True),
        ("model.save('model.keras')", True),
        ("model.save('saved/model')", False),
        ("checkpoint.save('saved/model')", True),
    ],
)
def test_tells_the_cost_only_of_weights(save: str, told: bool) -> None:
    assert costs_told(CODE, module(f"for x in dataset:\n    train_step(x)\n    {save}\n")) == [told]


def test_writes_of_one_step_tell_of_each_other() -> None:
    writes = "    tf.summary.histogram('a', x)\n    tf.summary.histogram('b', x)\n    writer.flush()\n"
    source = module(f"for x in dataset:\n    train_step(x)\n{writes}")
    row = source[: source.index("'a'")].count("\n") + 1
    assert [finding.beside for finding in findings(CODE, source)] == [
        f"the step writes in lines {one} and {other}, too: one guard does for all of them"
        for one, other in ((row + 1, row + 2), (row, row + 2), (row, row + 1))
    ]
    (alone,) = findings(
        CODE, module("for x in dataset:\n    train_step(x)\n    writer.flush()\n    writer.close()\n")
    )
    assert alone.beside == ""
