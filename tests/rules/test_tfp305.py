"""TFP305: what is flagged, and what is left alone."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import costs_told, findings, flagged
from tflint_perf.catalogue.evidence import Evidence
from tflint_perf.catalogue.rules import catalogue
from tflint_perf.config.selection import default_rules

_HEAD = """\
import numpy as np
import tensorflow as tf
x = tf.compat.v1.placeholder(tf.float32, (None, 10))
rate = tf.compat.v1.placeholder(tf.float32)
train_op = build(x, rate)
(images, labels), _ = tf.keras.datasets.mnist.load_data()
sess = tf.compat.v1.Session()
"""
_ROWS = _HEAD.count("\n")

SILENT = {
    "once": "sess.run(train_op, feed_dict={x: images})\n",
    "once an epoch": """
        for epoch in range(10):
            for step in range(1000):
                sess.run(train_op)
            print(sess.run(loss, feed_dict={x: images}))
        """,
    "behind a counter": """
        for step in range(1000):
            sess.run(train_op)
            if step % 100 == 0:
                print(sess.run(loss, feed_dict={x: images[:100]}))
        """,
    "behind a counter, and at the end": """
        for step in np.arange(1000):
            sess.run(train_op)
            if step % 100 == 0 or (step + 1) == last:
                print(sess.run(loss, feed_dict={x: images[:100]}))
        """,
    "numbers and flags": """
        for step in range(1000):
            sess.run(train_op, feed_dict={rate: 0.1 / (step + 1), training: True})
        """,
    "settings from elsewhere": """
        for step in range(1000):
            sess.run(train_op, feed_dict={net.keep_prob: args.keep_prob, net.lr: schedule(step), net.is_training: flag})
        """,
    "what a log is given": """
        for step in range(1000):
            env.step(sess.run(action))
            sess.run(summary, feed_dict={reward_ph: total_reward})
        """,
    "the handle of an iterator, an array that holds one text": """
        handle = tf.compat.v1.placeholder(tf.string, shape=[])
        chosen = sess.run(iterator.string_handle())
        while True:
            sess.run(train_op, feed_dict={handle: chosen})
        """,
    "nothing": """
        for step in range(1000):
            sess.run(train_op)
            sess.run([train_op], {})
        """,
    "feeds that are one another": """
        feed = other = None
        for step in range(1000):
            feed = other
            other = feed
            sess.run(train_op, feed_dict=feed)
        """,
    "a feed out of sight": """
        for step in range(1000):
            sess.run(train_op, feed_dict=make_feed(step))
            sess.run(train_op, **options)
        """,
    "a number that is called after batches": """
        for step in range(1000):
            batch_size = schedule(step)
            sess.run(predictions, feed_dict={rate: batch_size})
        """,
    "a dict that other keys go into": """
        for step in range(1000):
            feed, other = {}, {}
            other[x] = images[step * 32 : step * 32 + 32]
            sess.run(train_op, feed_dict=feed)
        """,
    "something else that runs": """
        for step in range(1000):
            runner.run(step, images[step * 32 : step * 32 + 32])
            subprocess.run(["ls"], {x: images})
        """,
}

FLAGGED = {
    "in one branch of a choice": (
        """
        for step in range(1000):
            if ready(step):
                sess.run(other_op)
            else:
                sess.run(train_op, feed_dict={x: images[step * 32 : step * 32 + 32]})
        """,
        [6],
    ),
    "a whole array in a loop that predicts": (
        """
        for step in range(1000):
            print(sess.run(predictions, feed_dict={x: images}))
        """,
        [3],
    ),
    "an environment's observation": (
        """
        state = env.reset()
        while True:
            action = sess.run(policy, feed_dict={x: np.array([state, state])})
            state, reward, done, _ = env.step(action)
        """,
        [4],
    ),
    "what a placeholder of some axes gets that has two names": (
        """
        class Actor:
            def __init__(self):
                states = tf.compat.v1.placeholder(tf.float32, [None, 4])
                self.states = states
            def act(self, state):
                return sess.run(self.action, {self.states: state})
        actor = Actor()
        for step in range(1000):
            actor.act(recall())
        """,
        [7],
    ),
    "what a placeholder of some axes gets, wherever it comes from": (
        """
        class Agent:
            def __init__(self, shape):
                self.states = tf.compat.v1.placeholder(tf.float32, [None, 4])
                self.images = tf.compat.v1.placeholder(tf.float32, shape=shape)
                self.rate = tf.compat.v1.placeholder(tf.float32, shape=())
                self.other = tf.compat.v1.placeholder(tf.float32)
            def act(self, state, rate):
                sess.run(policy, {self.rate: rate, self.other: rate})
                sess.run(policy, {self.images: state})
                return sess.run(policy, {self.states: state, self.rate: rate})
        agent = Agent(size)
        while True:
            state = env.step(agent.act(state, 0.1))
        """,
        [10, 11],
    ),
    "a slice": (
        """
        for step in range(1000):
            batch = images[step * 32 : (step + 1) * 32]
            sess.run(train_op, feed_dict={x: batch, rate: 0.1})
        """,
        [4],
    ),
    "a whole array": (
        """
        for step in range(1000):
            _, value = sess.run([train_op, loss], {x: images})
        """,
        [3],
    ),
    "a feed with a name": (
        """
        with tf.compat.v1.Session() as session:
            for epoch in range(10):
                for step in range(1000):
                    batch_x, batch_y = data.next_batch(32)
                    feed = {x: batch_x, y: batch_y}
                    session.run(train_op, feed_dict=feed)
        """,
        [7],
    ),
    "a loop that predicts": (
        """
        for step in range(1000):
            print(sess.run(predictions, feed_dict={x: images[step * 32 : step * 32 + 32]}))
        """,
        [3],
    ),
    "what the graph gave before": (
        """
        while True:
            batch_x, batch_y = sess.run([decoded, answers])
            value = sess.run(loss, feed_dict={x: batch_x})
            pixels = sess.run(decoded)
            value = sess.run(loss, feed_dict={x: pixels})
        """,
        [4, 6],
    ),
    "a dict that is filled": (
        """
        for step in range(1000):
            feed = dict()
            for i in range(2):
                feed[inputs[i]] = images[step * 32 : step * 32 + 32]
            sess.run(train_op, feed_dict=feed)
        """,
        [6],
    ),
    "a dict that a function makes": (
        """
        def feed(batch, rate_now):
            return {x: batch, rate: rate_now}
        for step in range(1000):
            sess.run(train_op, feed_dict=feed(images[step * 32 : step * 32 + 32], 0.1))
        """,
        [5],
    ),
    "on all steps but those that are shown": (
        """
        for step in range(1000):
            batch = images[step * 32 : (step + 1) * 32]
            if step == 1 or step % 100 == 0:
                print(sess.run([train_op, loss], feed_dict={x: batch}))
            else:
                sess.run(train_op, feed_dict={x: batch})
        """,
        [7],
    ),
    "batches by their name": (
        """
        for batch in make_batches():
            x_batch, y_batch = zip(*batch)
            sess.run(train_op, feed_dict={x: x_batch})
        """,
        [4],
    ),
    "an observation for a placeholder that is out of sight": (
        """
        class Agent:
            def act(self, observation):
                return self.sess.run(self.network.action, feed_dict={self.network.state: observation})
        agent = Agent()
        while True:
            state, reward, done, _ = env.step(agent.act([state]))
        """,
        [4],
    ),
    "a method": (
        """
        class Model:
            def train(self, batch):
                self.sess.run(self.train_op, feed_dict={self.x: batch})
        model = Model()
        for start in range(0, len(images), 32):
            model.train(images[start : start + 32])
        """,
        [4],
    ),
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT)
def test_it_leaves_alone(source: str) -> None:
    assert flagged("TFP305", _HEAD + dedent(source)) == []


@pytest.mark.parametrize(("source", "rows"), FLAGGED.values(), ids=FLAGGED)
def test_it_flags(source: str, rows: list[int]) -> None:
    assert flagged("TFP305", _HEAD + dedent(source)) == [_ROWS + row for row in rows]


def test_it_is_off_until_it_is_selected() -> None:
    confirmed = {"TFP305": (Evidence("cpu", "confirmed", {}),)}
    assert "TFP305" not in default_rules(catalogue(), confirmed)
    assert "TFP305" not in default_rules(catalogue(), {})


READ = {
    "a generator that reads": (
        """
        def batches():
            while True:
                yield np.load("batch.npy")
        for _, batch in zip(range(100), batches()):
            sess.run(train_op, feed_dict={x: batch})
        """,
        True,
    ),
    "a file for each step": (
        """
        for path in paths:
            batch = np.load(path)
            sess.run(train_op, feed_dict={x: batch})
        """,
        True,
    ),
    "a slice": (FLAGGED["a slice"][0], False),
    "a whole array": (FLAGGED["a whole array"][0], False),
    "an environment's observation": (FLAGGED["an environment's observation"][0], False),
}


@pytest.mark.parametrize(("source", "told"), READ.values(), ids=READ)
def test_tells_the_cost_only_where_steps_read_files(source: str, told: bool) -> None:
    source = (
        "from tensorflow.compat.v1 import train\n"
        + _HEAD
        + "train_op = train.AdamOptimizer().minimize(x)\n"
        + dedent(source)
    )
    assert costs_told("TFP305", source) == [told]


@pytest.mark.parametrize(
    "name", ["an environment's observation", "an observation for a placeholder that is out of sight"]
)
def test_advises_no_pipeline_for_what_an_environment_gives(name: str) -> None:
    (finding,) = findings("TFP305", _HEAD + dedent(FLAGGED[name][0]))
    assert "which no pipeline has beforehand" in finding.message
