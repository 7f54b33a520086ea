"""TFP203 graph-op-in-session-loop."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import costs_told, findings, fixed, flagged, notes

CODE = "TFP203"
PREAMBLE = dedent("""\
    import numpy as np
    import tensorflow as tf
    x = tf.placeholder(tf.float32, [None, 10])
    w = tf.get_variable("w", [10, 1])
    loss = tf.reduce_mean(tf.matmul(x, w))
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    train_op = optimizer.minimize(loss)
    sess = tf.Session()
""")


def rows_marked(source: str) -> list[int]:
    """The rows that say that they are flagged."""
    return [row for row, line in enumerate(source.splitlines(), 1) if line.endswith("# <-")]


def module(source: str) -> str:
    return PREAMBLE + dedent(source).lstrip()


SILENT = {
    "where a loss is no number any more": """
        for epoch in range(100):
            total = 0.0
            for step in range(1000):
                total += sess.run([train_op, loss])[1]
            if np.isnan(total) or np.isnan(sess.run(loss)):
                sess.run(tf.global_variables_initializer())
        """,
    "where a loss is not finite": """
        for step in range(1000):
            value = sess.run([train_op, loss])[1]
            if not np.isfinite(value):
                sess.run(tf.global_variables_initializer())
        """,
    "ops made anew for other settings": """
        class Search:
            def __init__(self):
                self.settings = []
            def prepare(self, size):
                self.settings = [size]
                self.picked = tf.nn.top_k(loss, size)
            def run(self, size):
                if [size] != self.settings:
                    self.prepare(size)
                return sess.run(self.picked)
        search = Search()
        for query in queries:
            search.run(3)
        """,
    "strings that are made of bytes": """
        for step in range(1000):
            value = sess.run(train_op)
            name = tf.compat.as_str(value)
        """,
    "each variable assigned once": """
        for name in weights:
            with tf.variable_scope(name, reuse=True):
                for data in weights[name]:
                    var = tf.get_variable("kernel", trainable=False)
                    sess.run(var.assign(data))
        """,
    "ops made before the loop": """
        accuracy = tf.reduce_mean(x)
        saver = tf.train.Saver()
        for step in range(1000):
            sess.run([train_op, accuracy])
        """,
    "a loop that builds a network and runs nothing": """
        for size in sizes:
            x = tf.layers.dense(x, size)
            v = tf.get_variable("v%d" % size, [size])
        for step in range(1000):
            sess.run(train_op)
        """,
    "a fresh graph for each iteration": """
        for fold in range(100):
            with tf.Graph().as_default():
                a = tf.constant(fold)
                with tf.Session() as inner:
                    inner.run(a)
        """,
    "a fresh graph with a name": """
        for fold in range(100):
            graph = tf.Graph()
            with graph.as_default(), tf.Session(graph=graph) as inner:
                inner.run(tf.constant(fold))
        """,
    "a fresh graph of the session": """
        for fold in range(100):
            with tf.Session(graph=tf.Graph()) as inner:
                inner.run(tf.constant(fold))
        """,
    "a graph that is thrown away": """
        for fold in range(100):
            tf.reset_default_graph()
            a = tf.constant(fold)
            with tf.Session() as inner:
                inner.run(a)
        """,
    "a function with a graph of its own": """
        def evaluate(path):
            with tf.Graph().as_default():
                with tf.Session() as inner:
                    inner.run(tf.constant(path))
        while True:
            evaluate("model")
        """,
    "values that are fed": """
        for step in range(1000):
            batch = np.zeros((32, 10), dtype=tf.float32.as_numpy_dtype)
            sess.run(train_op, feed_dict={x: batch})
        """,
    "things that are no ops": """
        writer = tf.summary.FileWriter("logs")
        coord = tf.train.Coordinator()
        try:
            while not coord.should_stop():
                value = sess.run(loss)
                tf.logging.info("loss %f", value)
                summary = tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=value)])
                writer.add_summary(summary, sess.run(tf.train.get_global_step()))
                path = tf.train.latest_checkpoint("logs")
                with tf.gfile.Open(path) as file:
                    file.read()
        except tf.errors.OutOfRangeError:
            coord.request_stop()
        """,
    "one op for each variable": """
        for v in tf.trainable_variables():
            sess.run(tf.assign(v, values[v.name]))
        for v, value in zip(variables, values):
            sess.run(v.assign(value))
        """,
    "a loop of a few rounds": """
        for i in range(3):
            sess.run(tf.constant(i))
        for i in range(1, 5):
            ops = [tf.reduce_mean(x), tf.reduce_sum(x)]
            sess.run(ops)
        """,
    "an op or two in each of a few dozen epochs": """
        epochs = 30
        for epoch in range(epochs):
            for step in range(1000):
                sess.run(train_op)
            correct = tf.equal(tf.argmax(x, 1), tf.argmax(y, 1))
            accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
            print(epoch, accuracy)
        """,
    "one op for each of a few": """
        for name in ("train", "test"):
            sess.run(tf.constant(name))
        """,
    "the first time alone": """
        class Model:
            def __init__(self):
                self.sess = tf.Session()
                self.op = None
            def step(self):
                if self.op is None:
                    self.op = tf.reduce_mean(x)
                return self.sess.run(self.op)
        model = Model()
        for step in range(1000):
            model.step()
        """,
    "on the first step alone": """
        for step in range(1000):
            if step == 0:
                sess.run(tf.global_variables_initializer())
            sess.run(train_op)
        """,
    "in a comprehension on a graph of its own": """
        with tf.Graph().as_default():
            values = [tf.constant(i) for i in range(1000)]
            with tf.Session() as inner:
                inner.run(values)
        """,
    "ops that are kept by name": """
        class Summaries:
            def __init__(self):
                self.known = {}
            def add(self, key):
                if key in self.known:
                    return
                placeholder = tf.placeholder(tf.float32, shape=())
                self.known[key] = (placeholder, tf.summary.scalar(key, placeholder))
            def get(self, key, value):
                self.add(key)
                placeholder, summary = self.known[key]
                return sess.run(summary, {placeholder: value})
        summaries = Summaries()
        for step in range(1000):
            sess.run(train_op)
            summaries.get("loss", 0.5)
        """,
    "one op for each layer": """
        def grams(layers):
            return dict((key, tf.matmul(value, value).eval()) for key, value in layers.items())
        """,
    "a function that makes ops, called before the loop": """
        def network(inputs):
            return tf.nn.softmax(tf.tanh(inputs))
        output = network(x)
        for step in range(1000):
            sess.run([train_op, output])
        sess.run(network(x))
        """,
    "after the loop has ended": """
        for step in range(1000):
            try:
                sess.run(train_op)
            except tf.errors.OutOfRangeError:
                sess.run(tf.reduce_mean(x))
                break
        """,
    "a test case": """
        class LossTest(tf.test.TestCase):
            def check(self, value):
                with self.session() as inner:
                    inner.run(tf.constant(value))
            def test_all(self):
                for value in range(100):
                    self.check(value)
        """,
}

EAGER = {
    "version 2, which runs a graph of version 1 besides": """
        import tensorflow as tf
        session = tf.compat.v1.Session(graph=graph)
        for path in paths:
            image = tf.io.decode_png(tf.io.read_file(path))
            session.run(output, {image_input: image.numpy()})
        """,
    "version 1 in eager mode": """
        import tensorflow as tf
        tf.enable_eager_execution()
        for step in range(1000):
            session.run(output, {value: tf.reduce_mean(x)})
        """,
    "compiled code": """
        import tensorflow as tf
        @tf.function
        def mean(x):
            return tf.reduce_mean(x)
        for step in range(1000):
            session.run(output, {value: mean(x)})
        """,
    "code for both modes": """
        import tensorflow as tf
        def get(path):
            value = tf.io.read_file(path)
            if tf.executing_eagerly():
                return value
            with tf.Session() as session:
                return session.run(value)
        for path in paths:
            get(path)
        """,
    "a session of something else": """
        import requests
        import tensorflow as tf
        for step in range(1000):
            runner.run(tf.reduce_mean(x))
        """,
}

FLAGGED = {
    "an op": """
        for step in range(1000):
            accuracy = tf.reduce_mean(tf.cast(tf.equal(x, 1.0), tf.float32))  # <-
            sess.run([train_op, accuracy])
        """,
    "ops in what is run": """
        for step in range(1000):
            sess.run([tf.reduce_mean(x), tf.reduce_sum(x)])  # <-
        """,
    "once an epoch": """
        for epoch in range(10):
            saver = tf.train.Saver()  # <-
            for step in range(1000):
                sess.run(train_op)
            saver.save(sess, "model")
        """,
    "an op in each of many epochs": """
        for epoch in range(1000):
            for step in range(1000):
                sess.run(train_op)
            accuracy = tf.reduce_mean(x)  # <-
        """,
    "what takes in the graph": """
        while True:
            sess.run(tf.global_variables_initializer())  # <-
            merged = tf.summary.merge_all()  # <-
            sess.run(merged)
        """,
    "assignments": """
        for step in range(1000):
            sess.run(tf.assign(w, np.ones((10, 1))))  # <-
            sess.run(w.assign(w * 2))  # <-
            w.assign_add(w).eval(session=sess)  # <-
        """,
    "a training op": """
        for step in range(1000):
            op = optimizer.minimize(loss)  # <-
            sess.run(op)
        """,
    "the next element": """
        iterator = tf.data.Dataset.range(3).make_one_shot_iterator()
        while True:
            images = iterator.get_next()  # <-
            sess.run(train_op, {x: sess.run(images)})
        """,
    "in a function that the loop calls": """
        def evaluate(session, labels):
            accuracy = tf.reduce_mean(labels)  # <-
            return session.run(accuracy)
        for step in range(1000):
            evaluate(sess, x)
        """,
    "in an agent's method": """
        class Agent:
            def __init__(self):
                self.sess = tf.Session()
                self.q = tf.layers.dense(x, 2)
            def act(self, state):
                return self.sess.run(tf.argmax(self.q, 1), {x: state})  # <-
            def learn(self):
                self.act(0)
        agent = Agent()
        for episode in range(1000):
            while not done:
                state, reward, done, info = env.step(agent.act(state))
                agent.learn()
        """,
    "by eval, in a session's with": """
        with tf.Session():
            for step in range(1000):
                print(tf.reduce_mean(x).eval())  # <-
        """,
    "on a graph made before the loop": """
        graph = tf.Graph()
        for step in range(1000):
            with graph.as_default():
                sess.run(tf.constant(step))  # <-
        """,
    "on a graph that an attribute keeps": """
        class Model:
            def __init__(self):
                self.graph = tf.Graph()
                self.sess = tf.Session(graph=self.graph)
            def step(self, value):
                with self.graph.as_default():
                    return self.sess.run(tf.constant(value))  # <-
        model = Model()
        for step in range(1000):
            model.step(step)
        """,
    "a monitored session": """
        with tf.train.MonitoredTrainingSession() as monitored:
            while not monitored.should_stop():
                monitored.run(tf.no_op())  # <-
        """,
    "variables": """
        for step in range(1000):
            v = tf.Variable(0.0)  # <-
            sess.run(v.initializer)
        """,
    "behind a counter": """
        class Critic:
            def learn(self, session):
                error = session.run(loss)
                if self.count % self.every == 0:
                    session.run([tf.assign(t, e) for t, e in zip(self.targets, self.params)])  # <-
                return error
        critic = Critic()
        for step in range(1000):
            critic.learn(sess)
        """,
    "an assignment to variables of unknown origin": """
        class Model:
            def copy_from(self, other):
                ops = []
                for p, q in zip(self.params, other.params):
                    ops.append(p.assign(sess.run(q)))  # <-
                sess.run(ops)
        target = Model()
        for step in range(1000):
            if step % period == 0:
                target.copy_from(model)
        """,
    "in a comprehension": """
        values = [sess.run(tf.constant(i)) for i in range(1000)]  # <-
        """,
    "a function that makes ops for the loop that runs them": """
        def network(inputs):
            hidden = tf.tanh(tf.matmul(inputs, w))
            return tf.nn.softmax(hidden)
        output = network(x)
        for step in range(1000):
            sess.run(train_op)
            image = sess.run(network(x))  # <-
        """,
    "a function that needs its op itself": """
        def save(session, path):
            saver = tf.train.Saver()  # <-
            saver.save(session, path)
        for step in range(1000):
            sess.run(train_op)
            save(sess, "model")
        """,
    "a method that makes ops for another that runs them": """
        class Model:
            def _accuracy(self):
                return tf.reduce_mean(tf.cast(self.correct, tf.float32))
            def test(self, session):
                return session.run(self._accuracy())  # <-
        model = Model()
        for step in range(1000):
            model.test(sess)
        """,
}
COMPAT = {
    "import tensorflow.compat.v1 as tf": "tf",
    "from tensorflow.compat import v1": "v1",
    "import tensorflow as tf\ntf.compat.v1.disable_eager_execution()": "tf.compat.v1",
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_says_nothing_of(source: str) -> None:
    assert flagged(CODE, module(source)) == []


@pytest.mark.parametrize("source", EAGER.values(), ids=EAGER.keys())
def test_says_nothing_of_code_that_may_be_eager(source: str) -> None:
    assert flagged(CODE, source) == []


@pytest.mark.parametrize("source", FLAGGED.values(), ids=FLAGGED.keys())
def test_flags(source: str) -> None:
    assert list(dict.fromkeys(flagged(CODE, module(source)))) == rows_marked(module(source)) != []


@pytest.mark.parametrize(("imported", "tf"), COMPAT.items())
def test_knows_version_1_however_it_is_imported(imported: str, tf: str) -> None:
    source = f"{imported}\nsess = {tf}.Session()\nfor i in range(1000):\n    sess.run({tf}.reduce_mean(x))\n"
    assert flagged(CODE, source) == [len(source.splitlines())]


def test_knows_graph_mode_by_the_session_around_the_loop() -> None:
    source = """\
        import tensorflow as tf
        with tf.compat.v1.Session() as sess:
            for i in range(1000):
                sess.run(tf.reduce_mean(x))
        """
    assert flagged(CODE, source) == [4]


# Ops made from what a loop does not change, as they are found in programs for version 1.
IN_LOOPS = {
    "for": "for step in range(1000):",
    "while": "while step < 1000:",
    "while True": "while True:",
}
IMPORTS = {
    "import tensorflow as tf": "tf.",
    "import tensorflow": "tensorflow.",
    "import tensorflow.compat.v1 as tf": "tf.",
    "import tensorflow.compat.v1 as tf1": "tf1.",
    "from tensorflow.compat import v1 as tf1": "tf1.",
    "from tensorflow import add, multiply, placeholder, Session, float32": "",
    "from tensorflow.compat.v1 import add, multiply, placeholder, Session, float32": "",
    "from tensorflow import *": "",
}


@pytest.mark.parametrize("loop", IN_LOOPS.values(), ids=IN_LOOPS.keys())
@pytest.mark.parametrize(("imported", "tf"), IMPORTS.items(), ids=IMPORTS.keys())
def test_makes_an_op_of_unchanging_inputs_once_in_every_loop_and_by_every_import(
    imported: str, tf: str, loop: str
) -> None:
    head = f"""\
{imported}
x = {tf}placeholder({tf}float32)
step = 0
with {tf}Session() as sess:
"""
    op = f"product = {tf}multiply({tf}add(x, 1.0), 2.0)\n"
    before = (
        f"{head}    {loop}\n        {op}        sess.run(product, feed_dict={{x: step}})\n        step += 1\n"
    )
    after = f"{head}    {op}    {loop}\n        sess.run(product, feed_dict={{x: step}})\n        step += 1\n"
    assert flagged(CODE, before) == [6]
    assert fixed(CODE, before) == after


def test_reports_a_statement_once_and_moves_all_that_it_makes() -> None:
    before = "for step in range(1000):\n    sess.run([tf.reduce_mean(x), tf.reduce_sum(x)])\n"
    (finding,) = findings(CODE, module(before))
    assert finding.message.startswith("`tf.reduce_mean` adds to the graph in each iteration")
    assert fixed(CODE, module(before)) == module(
        "reduce_mean_op = tf.reduce_mean(x)\nreduce_sum_op = tf.reduce_sum(x)\n"
        "for step in range(1000):\n    sess.run([reduce_mean_op, reduce_sum_op])\n"
    )


def test_reports_a_function_that_the_loop_calls_once() -> None:
    source = """\
        def evaluate(labels):
            correct = tf.equal(labels, 1)
            accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
            return sess.run(accuracy)
        for step in range(1000):
            evaluate(x)
        """
    (finding,) = findings(CODE, module(source))
    assert finding.start.row == len(PREAMBLE.splitlines()) + 2
    assert finding.message.startswith(
        "`evaluate`, which makes several ops, adds to the graph in each iteration"
    )


FIXES = {
    "an assignment goes directly above the loop": (
        """
        # Train.
        for step in range(1000):
            # How good is it?
            accuracy = tf.reduce_mean(x)  # mean

            sess.run([train_op, accuracy])
        """,
        """
        # How good is it?
        accuracy = tf.reduce_mean(x)  # mean
        # Train.
        for step in range(1000):
            sess.run([train_op, accuracy])
        """,
    ),
    "above the outermost loop in which it is invariant": (
        """
        for epoch in range(10):
            print(epoch)
            for step in range(1000):
                accuracy = tf.reduce_mean(x)
                sess.run(accuracy)
        """,
        """
        accuracy = tf.reduce_mean(x)
        for epoch in range(10):
            print(epoch)
            for step in range(1000):
                sess.run(accuracy)
        """,
    ),
    "several names": (
        """
        while True:
            values, indices = tf.nn.top_k(x, k=2)
            sess.run(values)
        """,
        """
        values, indices = tf.nn.top_k(x, k=2)
        while True:
            sess.run(values)
        """,
    ),
    "an op in what is run gets a name": (
        """
        for step in range(1000):
            mean = sess.run(tf.reduce_mean(x), {x: batch})  # mean
        """,
        """
        reduce_mean_op = tf.reduce_mean(x)
        for step in range(1000):
            mean = sess.run(reduce_mean_op, {x: batch})  # mean
        """,
    ),
    "an op on several lines": (
        """
        if train:
            for step in range(1000):
                sess.run(tf.add(
                    x,  # one
                    w,
                ))
        """,
        """
        if train:
            add_op = tf.add(
                x,  # one
                w,
            )
            for step in range(1000):
                sess.run(add_op)
        """,
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES.keys())
def test_makes_it_once_above_the_loop(before: str, after: str) -> None:
    assert fixed(CODE, module(before)) == module(after)


_NAMES = "the names of ops that are created later"
MAY_CHANGE = {
    "tf.reduce_mean(x)": f"{_NAMES} and, where the graph has a seed, their random numbers",
    "w.assign(w * 2)": f"{_NAMES} and, where the graph has a seed, their random numbers",
    "tf.random_normal([3])": f"the random numbers, and {_NAMES}",  # one op goes on in its sequence
    "optimizer.minimize(loss)": f"what the op takes in from the graph, and {_NAMES}",  # it may have variables
    "tf.train.Saver()": f"what the op takes in from the graph, and {_NAMES}",  # it deletes what it saved before
    "tf.summary.merge_all()": f"what the op takes in from the graph, and {_NAMES}",  # others may add summaries
}


@pytest.mark.parametrize(("made", "what"), MAY_CHANGE.items(), ids=MAY_CHANGE.keys())
def test_is_never_safe_because_ops_made_later_have_other_names(made: str, what: str) -> None:
    (finding,) = findings(
        CODE, module(f"for step in range(1000):\n    op = {made}\n    sess.run(train_op)\n")
    )
    assert finding.fix is not None
    assert not finding.fix.safe
    assert finding.fix.message == f"Create it once, above the loop; may change {what}"


REFUSED = {
    "`batch` changes in the loop (line 9)": """
        for batch in batches:
            sess.run(tf.assign(w, batch))
        """,
    "it is created in a function that the loop calls (line 11)": """
        def evaluate():
            sess.run(tf.reduce_mean(x))
        for step in range(1000):
            evaluate()
        """,
    "it makes variables, which would keep their values from step to step (line 10)": """
        for step in range(1000):
            op = tf.metrics.mean(x)[1]
            sess.run(op)
        """,
    "the iterator would continue where it now starts again (line 11)": """
        dataset = make()
        for step in range(1000):
            batch = tf.data.Dataset.range(3).make_one_shot_iterator().get_next()
            sess.run(batch)
        """,
    "`scale()` may do more than create ops (line 11)": """
        from helpers import scale
        for step in range(1000):
            op = tf.reduce_mean(scale(x))
            sess.run(op)
        """,
    "it is under a condition or in a block of the loop (line 10)": """
        for step in range(1000):
            with tf.control_dependencies([train_op]):
                op = tf.identity(loss)
            sess.run(op)
        """,
}


@pytest.mark.parametrize(("reason", "source"), REFUSED.items(), ids=REFUSED.keys())
def test_says_why_it_does_not_move_it(reason: str, source: str) -> None:
    assert notes(CODE, module(source)) == [f"no fix: {reason}"]


def test_leaves_what_takes_in_the_graph_below_what_adds_to_it() -> None:
    source = """
        for step in range(1000):
            v = tf.Variable(0.0)
            init = tf.global_variables_initializer()
            sess.run(init)
        """
    assert (
        notes(CODE, module(source))[1]
        == "no fix: it also takes in what else the loop adds to the graph (line 10)"
    )


@pytest.mark.parametrize("name", ["an op", "once an epoch"])
def test_tells_the_cost_only_of_what_each_step_adds(name: str) -> None:
    source = module(FLAGGED[name])
    (finding,) = findings(CODE, source)
    assert (" in each epoch;" in finding.message) is (name == "once an epoch")
    assert costs_told(CODE, source) == [name == "an op"]


@pytest.mark.parametrize(("steps", "told"), [("6", False), ("1000", True), ("steps", True)])
def test_tells_no_cost_of_a_loop_that_is_soon_over(steps: str, told: bool) -> None:
    source = module(f"for i in range({steps}):\n    sess.run([train_op, tf.nn.softmax(w)], {{x: data}})\n")
    assert costs_told(CODE, source) == [told]


@pytest.mark.parametrize(
    ("each_step", "each_epoch", "minor"),
    [("train_op", "tf.reduce_mean(x)", True), ("tf.reduce_mean(x)", "0", False)],
)
def test_what_is_added_once_an_epoch_is_minor(each_step: str, each_epoch: str, minor: bool) -> None:
    source = f"for epoch in range(1000):\n    for step in range(1000):\n        sess.run({each_step})\n    sess.run({each_epoch})\n"
    assert [found.minor for found in findings(CODE, module(source))] == [minor]
