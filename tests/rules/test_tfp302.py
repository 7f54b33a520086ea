"""TFP302: what is flagged, what is left alone, and what the fix makes of it."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import costs_told, findings, fixed, flagged, notes

_HEAD = """\
import logging
import cv2
import matplotlib.pyplot as plt
import sys
import numpy as np
import tensorflow as tf
from tqdm import tqdm
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
metric = tf.keras.metrics.Mean()
losses = []
mean, means = 0.0, {"loss": 0.0}
dataset = tf.data.Dataset.from_tensor_slices(data).batch(32)
@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
"""
_ROWS = _HEAD.count("\n")

SILENT = {
    "a program of forty steps in all": """
        for step in range(40):
            print(step, train_step(x, y).numpy())
        """,
    "a dict that is given a format, which fails before anything is copied": """
        @tf.function
        def compiled(x, y):
            return {"loss": train_step(x, y)}
        for x, y in dataset:
            losses = compiled(x, y)
            print(f"{losses:.4f}")
        """,
    "a step that nothing calls, in a program that trains by `fit`": """
        def old_step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x) - y)
            print(loss.numpy())
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        def main():
            model.fit(dataset, epochs=3)
        main()
        """,
    "beside what a function needs on the host, for which each step waits after the loss is made": """
        def sort(x):
            made = model(x)
            return find(made.numpy())
        for step, (x, y) in enumerate(dataset):
            loss = train_step(x, y)
            kept[step] = sort(x)
            print(step, loss.numpy())
        """,
    "errors of each sample that an object keeps for whoever draws samples": """
        class Learner:
            def errors_of(self, x, y):
                errors = tf.reduce_sum(tf.square(model(x) - y), axis=1)
                self.sample_error = errors.numpy()
                return errors
            def learn(self, x, y):
                train_step(x, self.errors_of(x, y))
        learner = Learner()
        for x, y in dataset:
            learner.learn(x, y)
        """,
    "what an array is made of behind the loop, by way of a tensor": """
        losses = []
        for x, y in dataset:
            losses.append(float(train_step(x, y)))
        np.savetxt("losses.txt", tf.stack(losses).numpy())
        """,
    "an array that a layer returns as it is": """
        class Critic(tf.keras.layers.Layer):
            def call(self, x):
                rates = np.random.rand(32, 8)
                return tf.reduce_mean(x), rates
        critic = Critic()
        for x, y in dataset:
            value, rates = critic(x)
            train_step(np.array(rates), value)
        """,
    "numbers of elements, which no model sees": """
        for x, y in dataset:
            print(tf.reduce_max(x))
            print(x.shape, y.shape)
        """,
    "files of what a model makes of elements": """
        for i, x in enumerate(dataset):
            for y in model(x):
                np.save(str(i), y.numpy())
        """,
    "pictures in files of what nobody knows makes of elements": """
        for i, x in enumerate(dataset):
            y = tf.image.resize(painter(x), (64, 64))
            cv2.imwrite(str(i) + ".png", (y.numpy() * 255).astype(np.uint8)[0])
        """,
    "pictures of elements, which no model sees": """
        def grey(x):
            return tf.image.resize(tf.reduce_mean(x, -1, keepdims=True), (64, 64))
        for i, x in enumerate(dataset):
            cv2.imwrite(str(i) + ".png", (grey(x).numpy() * 255).astype(np.uint8)[0])
        """,
    "a list that gets longer, of which each item is needed": """
        def rated(answers):
            found = []
            for answer in answers.numpy():
                found.append(answer)
            return found
        def evaluate(dataset):
            ratings = []
            for x, y in dataset:
                ratings += rated(forward(x))
            return area(sorted(ratings))
        @tf.function
        def forward(x):
            return model(x)
        evaluate(dataset)
        """,
    "the names of what a step measures, which lie in host memory": """
        @tf.function
        def step(x, y):
            return train_step(x, y), ["loss"]
        for x, y in dataset:
            losses, names = step(x, y)
            for name in names:
                print(name.numpy().decode("ascii"))
        """,
    "under a flag of the first step that a dict holds": """
        def options(step):
            return {"first": step == 0, "batch": 32}
        for step, (x, y) in enumerate(dataset):
            told = options(step)
            loss = train_step(x, y)
            if told["first"]:
                print(loss.numpy())
        """,
    "the shape of a tensor": """
        for x, y in dataset:
            print(np.shape(train_step(x, y)), np.ndim(x))
        """,
    "what a step has to copy as well": """
        for x, y in dataset:
            loss = train_step(x, y)
            kept.append(loss.numpy())
            print(loss)
        plt.plot(kept)
        """,
    "what a function that each step calls has to copy as well": """
        @tf.function
        def forward(state):
            return model(state), tf.reduce_mean(model(state))
        class Agent:
            def act(self, state):
                logits, value = forward(state)
                print("value", float(value))
                return np.argmax(logits.numpy())
        agent = Agent()
        state = env.reset()
        for i in range(100000):
            state, reward, done, _ = env.step(agent.act(state))
        """,
    "a count where each step has to copy something": """
        for x, y in dataset:
            pool[:] = model(x).numpy()
            train_step(pool, y)
            if optimizer.iterations.numpy() % 100 == 0:
                save(pool)
        """,
    "a look at each of several files once an epoch": """
        import glob
        def test_files(paths):
            for path in paths:
                fake = model(np.load(path)[None])
                print(fake.numpy().mean())
        for epoch in range(100):
            for x, y in dataset:
                train_step(x, y)
            test_files(glob.glob("test/*.npy"))
        """,
    "what is printed where it is missing": """
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x) - y)
            gradients = tape.gradient(loss, model.trainable_variables)
            for gradient, variable in zip(gradients, model.trainable_variables):
                if gradient is None:
                    print(variable.name, gradient)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        """,
    "on the host's own device": """
        device = "/cpu:0"
        with tf.device(device):
            for x, y in dataset:
                print(train_step(x, y).numpy())
        """,
    "behind what has waited already": """
        for x, y in dataset:
            losses = model.train_on_batch(x, y)
            print(losses, model.optimizer.learning_rate.numpy())
        """,
    "what a parameter chooses anew for each call": """
        def look(x, y, kind):
            if kind == "gan":
                print(train_step(x, y).numpy())
        for x, y in dataset:
            look(x, y, names.pop())
        """,
    "what a parameter chooses that the loop changes": """
        def run(dataset, kind):
            for x, y in dataset:
                if kind == "gan":
                    print(train_step(x, y).numpy())
                kind = names.pop()
        run(dataset, "gan")
        """,
    "an array that NumPy fills in and an environment takes": """
        for x, y in dataset:
            moves = model(x).numpy()
            moves[moves < 0] += np.abs(model(y).numpy()).sum()
            environment.step(moves)
        """,
    "a tuple of which a part decides": """
        def step(x, y):
            loss = train_step(x, y)
            return loss.numpy(), x.shape[0]
        for x, y in dataset:
            results = step(x, y)
            print(results[1])
            if results[0] < 0.1:
                break
        """,
    "an array that other steps have filled, too": """
        table = np.zeros((10, 10))
        for step, (x, y) in enumerate(dataset):
            table[step] = train_step(x, y).numpy()
            model.train_on_batch(x, table)
        """,
    "a print behind every second step": """
        for step, (x, y) in enumerate(dataset):
            loss = train_step(x, y)
            if (step + 1) % 2 == 0:
                print(float(loss))
        """,
    "a rate that may be a schedule": """
        for x, y in dataset:
            train_step(x, y)
            print(optimizer.learning_rate)
        """,
    "a rate that a list keeps": """
        for x, y in dataset:
            train_step(x, y)
            rates.append(tf.keras.backend.get_value(optimizer.lr))
        """,
    "an attribute by which the class goes on each step": """
        class Trainer:
            def step(self, x, y):
                self.loss = float(train_step(x, y))
            def run(self):
                for x, y in dataset:
                    self.step(x, y)
                    if self.loss < 0.1:
                        break
        """,
    "an attribute that is no number for a log": """
        class Trainer:
            def step(self, x, y):
                self.state = train_step(x, y).numpy()
            def run(self):
                for x, y in dataset:
                    self.step(x, y)
        """,
    "a print on every second step, or with the remainder asked the right way round": """
        for step, (x, y) in enumerate(dataset):
            loss = train_step(x, y)
            if step % 2:
                print(float(loss))
            if not step % 100:
                print(float(loss))
            if step % 100:
                continue
            print(float(loss))
        """,
    "boxes that decide what is kept": """
        for x, y in dataset:
            boxes, scores = model(x).numpy(), model(y).numpy()
            for box, score in zip(boxes, scores):
                if score > 0.5:
                    kept.append(box)
        """,
    "what makes a gradient step beside a counter of its own": """
        def learn(x, y, step):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x) - y)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            if step % 100 == 0:
                print(float(loss))
        """,
    "a loss that nobody in sight takes": """
        def learn(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x) - y)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            return float(loss)
        """,
    "a row of whole numbers that were brought to the device": """
        for x, y in dataset:
            train_step(x, y)
            print(tf.constant([1, 2])[0].numpy())
        """,
    "a function that the loop calls steps the environment": """
        def play(action):
            return env.step(action)
        for i in range(n):
            q = train_step(x, y)
            state = play(int(q))
        """,
    "a print behind a counter": """
        for step, (x, y) in enumerate(dataset):
            loss = train_step(x, y)
            if step % 100 == 0:
                print(step, float(loss), loss.numpy(), f"{loss}")
        """,
    "a print behind a flag": """
        for x, y in dataset:
            loss = train_step(x, y)
            if verbose:
                print(loss.numpy())
        """,
    "a print behind any other condition": """
        for x, y in dataset:
            loss = train_step(x, y)
            if time.time() - last > 10:
                print(loss.numpy())
        """,
    "a print behind a flag that the first step takes back": """
        first = True
        for x, y in dataset:
            loss = train_step(x, y)
            if first is True:
                print(loss.numpy())
                first = False
        """,
    "a print behind a step that is skipped": """
        for step, (x, y) in enumerate(dataset):
            loss = train_step(x, y)
            if step % 10:
                continue
            print(loss.numpy())
        """,
    "a function that prints, behind a counter where it is called": """
        def report(loss):
            print(loss.numpy())
        for step, (x, y) in enumerate(dataset):
            loss = train_step(x, y)
            if step % 50 == 0:
                report(loss)
        """,
    "a print once an epoch": """
        for epoch in range(1000):
            for x, y in dataset:
                loss = train_step(x, y)
                metric(loss)
            print(epoch, loss.numpy(), metric.result().numpy())
        """,
    "a loop of a few steps": """
        for i in range(10):
            print(i, train_step(x, y).numpy())
        """,
    "a print where an episode ends": """
        while True:
            loss = train_step(x, y)
            x, reward, done, _, _ = env.step(model(x).numpy())
            if done:
                print(float(loss))
        """,
    "a print behind a counter that is set back": """
        count = 0
        for x, y in dataset:
            loss = train_step(x, y)
            count += 1
            if count > 99:
                count = 0
                print(float(loss))
        """,
    "a print behind a flag among the settings": """
        for x, y in dataset:
            loss = train_step(x, y)
            if args.verbose:
                print(float(loss))
        """,
    "what an agent draws from its probabilities": """
        while True:
            probs = model(state[None]).numpy()
            action = np.random.choice(2, p=np.squeeze(probs))
            state, reward, done, _, _ = env.step(action)
        """,
    "what an agent remembers": """
        while True:
            value = model(state[None]).numpy()
            memory.store_transition(state, value)
            state, reward, done, _, _ = env.step(env.action_space.sample())
        """,
    "what comes beside the loss that a gradient is asked of": """
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss, count, loss_names = elsewhere.losses(model, x, y)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            print(float(count), str(loss_names))
        """,
    "tensors in a list that is read once an epoch": """
        for epoch in range(1000):
            losses = []
            for x, y in dataset:
                losses.append(train_step(x, y))
            print(np.mean(losses))
        """,
    "numbers in a list": """
        losses = []
        for x, y in dataset:
            losses.append(trainer.step(x, y))
            print(np.mean(losses))
        """,
    "the number in a dict that holds tensors as well": """
        for step, (x, y) in enumerate(dataset):
            logs = {"step": step, "loss": train_step(x, y)}
            print(logs["step"])
        """,
    "a counter of Python's": """
        step = 0
        for x, y in dataset:
            train_step(x, y)
            step += 1
            if step % 100 == 0:
                print(step)
        """,
    "a counter that is a whole number of TensorFlow's": """
        for step in tf.range(100000):
            train_step(x, y)
            if step % 100 == 0:
                print("still here")
        """,
    "an action that reaches the environment": """
        state, _ = env.reset()
        while True:
            action = np.argmax(model(state[None]))
            state, reward, done, _, _ = env.step(action)
        """,
    "what decides how the loop goes on": """
        for x, y in dataset:
            loss = train_step(x, y)
            if float(loss) < 0.1:
                break
        """,
    "a print in a loop that waits for the device anyway": """
        for x, y in dataset:
            loss = train_step(x, y)
            print(loss.numpy())
            if loss < 0.1:
                break
        """,
    "a list that NumPy reads later": """
        losses = []
        for x, y in dataset:
            losses.append(train_step(x, y).numpy())
        print(np.mean(losses))
        """,
    "a value that is kept and shown": """
        for x, y in dataset:
            loss = float(train_step(x, y))
            losses.append(loss)
            print(loss)
        plt.plot(losses)
        """,
    "a dict of lists": """
        for x, y in dataset:
            history["loss"].append(float(train_step(x, y)))
            history["last"] = float(train_step(x, y))
        """,
    "a list of which Python makes a sum and keeps the last": """
        losses, rates = [], {"loss": []}
        for x, y in dataset:
            losses.append(float(train_step(x, y)))
            rates["loss"].append(float(train_step(x, y)))
        print(sum(losses), losses[-1])
        print({key: (sum(each), max(each)) for key, each in rates.items()})
        """,
    "a list of a module that others may read": """
        history = []
        def run(dataset):
            for x, y in dataset:
                history.append(train_step(x, y).numpy())
        """,
    "an array that grows, which NumPy reads later": """
        ranks = np.array([])
        rows = np.zeros((1, 10))
        for x, y in dataset:
            ranks = np.append(ranks, train_step(x, y).numpy())
            rows = np.concatenate([rows, model(x).numpy()], axis=0)
        print(np.mean(ranks), len(np.where(ranks <= 10)), rows.mean())
        """,
    "an attribute": """
        for x, y in dataset:
            trainer.loss = float(train_step(x, y))
        """,
    "what a function of another file gets": """
        for x, y in dataset:
            update_plot(train_step(x, y).numpy())
        """,
    "a dict that is filled to be kept": """
        for x, y in dataset:
            logs = {}
            logs["loss"] = float(train_step(x, y))
            history.append(logs)
        """,
    "a dict that a function returns and that is kept": """
        def step(x, y):
            return {"loss": train_step(x, y).numpy()}
        for x, y in dataset:
            logs = step(x, y)
            history.append(logs)
        """,
    "what a function gives to code that is not in sight": """
        def step(x, y):
            return train_step(x, y).numpy()
        """,
    "elements of a dataset": """
        for x, y in dataset:
            train_step(x, y)
            print(x.numpy().shape, np.mean(y), f"{y}")
        """,
    "shapes and strings": """
        for x, y in dataset:
            train_step(x, y)
            print(tf.shape(x).numpy(), tf.strings.length(names).numpy(), x.shape, f"{x.dtype}")
        """,
    "a clock": """
        for x, y in dataset:
            train_step(x, y)
            print(tf.timestamp().numpy())
        """,
    "a counter of type int32": """
        step = tf.Variable(0)
        for x, y in dataset:
            train_step(x, y)
            step.assign_add(1)
            print(int(step))
        """,
    "what Keras gives back": """
        for x, y in dataset:
            loss = model.train_on_batch(x, y)
            print(float(loss), f"{loss:.3f}", model.predict_on_batch(x))
        """,
    "a tensor of unknown origin": """
        for x, y in dataset:
            loss = trainer.step(x, y)
            print(loss.numpy(), float(loss), f"{loss}")
        """,
    "compiled code": """
        @tf.function
        def run():
            for x, y in dataset:
                print(train_step(x, y), float(1))
        run()
        """,
    "a summary that takes the tensor": """
        for step, (x, y) in enumerate(dataset):
            tf.summary.scalar("loss", train_step(x, y), step=step)
        """,
    "TensorFlow's own print": """
        for x, y in dataset:
            tf.print(train_step(x, y))
        """,
    "a wait on purpose": """
        for x, y in dataset:
            loss = train_step(x, y)
            loss.numpy()
        """,
    "a number": """
        for step, (x, y) in enumerate(dataset):
            train_step(x, y)
            print(float(step), f"{step}", np.sqrt(step), "%d" % step, "{}".format(step))
        """,
    "what is computed on the CPU on purpose": """
        for x, y in dataset:
            with tf.device("/CPU:0"):
                print(train_step(x, y).numpy())
        """,
    "a program without a GPU": """
        import os
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
        for x, y in dataset:
            print(train_step(x, y).numpy())
        """,
    "sessions": """
        with tf.compat.v1.Session() as sess:
            for i in range(1000):
                print(float(sess.run(loss)))
        """,
    "a handler of an exception": """
        for x, y in dataset:
            loss = train_step(x, y)
            try:
                check(x)
            except ValueError:
                print(loss.numpy())
        """,
    "a solver that runs until it has converged": """
        x = tf.constant(1.0)
        while error.numpy() > 1e-6:
            x = x * 2.0
            error = tf.abs(x - 1.0)
            print(error.numpy())
        """,
    "odd syntax": """
        for x, y in dataset:
            print(*train_step(x, y), **options)
            f = lambda: print(train_step(x, y).numpy())
            print((n := len(x)), end="")
            match x:
                case [loss]: print(loss.numpy())
        """,
    "a list whose mean TensorFlow makes, and whose best value decides": """
        def test():
            rates = []
            for x, y in dataset:
                rates.append(train_step(x, y).numpy())
            if max(rates) > 0.9:
                return 0.0
            return tf.reduce_mean(rates)
        """,
    "a list that a function gives away beside its mean": """
        def test():
            rates = []
            for x, y in dataset:
                rates.append(train_step(x, y).numpy())
            return tf.reduce_mean(rates), rates
        """,
    "text that a function makes of other text": """
        for x, y in dataset:
            loss = train_step(x, y)
            parse("loss {}".format(format(loss, ".2f")))
        """,
    "what is picked from a list to go on with": """
        for x, y in dataset:
            environments[int(train_step(x, y))].reset()
            print(train_step(x, rows[int(train_step(x, y))]).shape)
        """,
    "what waits for a clock": """
        import time
        def measure():
            for x, y in dataset:
                start = time.time()
                result = train_step(x, y).numpy()
                times.append(time.time() - start)
        """,
    "what has a name to say that nothing reads it": """
        def warm_up():
            for x, y in dataset:
                _ = train_step(x, y).numpy()
        """,
    "a name that another cell of a notebook may read": """
        for x, y in dataset:
            last = train_step(x, y).numpy()
        """,
    "a variable that is compared with no multiple": """
        def run(step):
            for x, y in dataset:
                train_step(x, y)
                step.assign_add(1)
                if step.numpy() > 100:
                    break
        """,
    "a variable of whole numbers that is kept": """
        def run(count):
            for x, y in dataset:
                train_step(x, y)
                count.assign_add(1)
                step = int(count)
                steps.append(step)
        """,
    "a number of Python's that has the name of a variable elsewhere": """
        def count(step):
            step.assign_add(1)
        def run(step):
            for x, y in dataset:
                train_step(x, y)
                step = following(step)
                if int(step) % 100 == 0:
                    manager.save()
        """,
}

FLAGGED = {
    "a list of values unpacked into a format": (
        "print('%d: %.3f %.3f' % (1, *loss.numpy()))",
        "show it every 100 steps",
    ),
    "a print of a tensor": ("print(loss)", "show it every 100 steps"),
    "a print of its value": ("print(loss.numpy())", "show it every 100 steps"),
    "float": ("print('loss', float(loss))", "show it"),
    "an f-string": ('print(f"loss {loss:.3f}")', "show it"),
    "format": ('print("loss {:.3f}".format(loss))', "show it"),
    "format with an object of its own": (
        'message.format(loss)\n    print("{}".format(loss.numpy()))',
        "show it",
    ),
    "percent": ('print("loss %.3f" % loss)', "show it"),
    "percent and a tuple": ('print("step %d loss %.3f" % (1, loss))', "show it"),
    "NumPy": ("print(np.asarray(loss), np.mean(loss))", "show it"),
    "a logger": ('logging.info("loss %s", loss)', "show it"),
    "a logger of its own": ('logger.info("loss %s", loss.numpy())', "show it"),
    "standard output": ('sys.stdout.write(f"{loss}")', "show it"),
    "a progress bar": ("bar.set_postfix(loss=loss.numpy())", "set it every 100 steps"),
    "Keras's progress bar": (
        'progbar.add(1, values=[("loss", loss.numpy())])',
        "`progbar.add` counts its calls, so keep them",
    ),
    "Keras's progress bar that is told the step": (
        'progbar.update(step, [("loss", loss.numpy())])',
        "set it every 100 steps",
    ),
    "a progress bar that counts its calls": (
        'prog_bar.update("loss {:.3f}".format(loss.numpy()))',
        "give it a new value every 100 steps, or that of a few steps ago",
    ),
    "a progress bar's dict": ('bar.set_postfix({"loss": float(loss)})', "set it"),
    "a summary of a host value": ('tf.summary.scalar("loss", loss.numpy(), step=1)', "show it"),
    "TensorFlow's print of a string": ('tf.print("loss %.3f" % loss)', "show it"),
    "a name in between": ("value = loss.numpy()\n    print(value)", "show it"),
    "a text in between": ('text = f"loss {loss}"\n    print(text)', "show it"),
    "a name shown behind a counter": (
        "value = float(loss)\n    if step % 10 == 0:\n        print(value)",
        "copy it only where it is used",
    ),
    "a name kept and acted by behind a counter alone": (
        "value = float(loss)\n    if step % 10 == 0:\n        kept.append(value)\n        stop(value)",
        "copy it only where it is used",
    ),
    "a name read after the loop": ("value = loss.numpy()\nprint(value)", "read it once, after the loop"),
    "a dict that is filled to be shown": (
        'logs = {}\n    logs["loss"] = float(loss)\n    bar.set_postfix(logs)',
        "show it",
    ),
    "the corner of a box": (
        "left = int(loss[0])\n    cv2.rectangle(picture, (left, 1), (9, 9), 2)",
        "copy only",
    ),
    "the text of a progress bar": ('bar.postfix["loss"] = f"{loss:.3f}"', "set it every"),
    "a mean over a batch, shown behind a counter": (
        "right = tf.keras.metrics.binary_accuracy(y, loss)\n"
        "    right = np.sum(right.numpy()) / len(right.numpy())\n"
        "    if step % 20 == 0:\n        print(right)",
        "only where it is used",
    ),
    "a sum": ("total += loss.numpy()", "add it up on the device"),
    "a sum that is shown": ("total += float(loss)\n    print(total)", "add it up on the device"),
    "a metric": ("metric(loss)\n    print(metric.result().numpy())", "show it"),
    "the steps of an optimizer": (
        "if optimizer.iterations.numpy() % 100 == 0:\n        print(step)",
        "count the steps in a Python number",
    ),
    "a condition on a counter that is a tensor": (
        "if tf.equal(optimizer.iterations % 100, 0):\n        print(step)",
        "count the steps in a Python number",
    ),
    "the same without an op": (
        "if optimizer.iterations % 100 == 0:\n        print(step)",
        "count the steps in a Python number",
    ),
    "the mean of a list of tensors": ("losses.append(loss)\n    print(np.mean(losses[-100:]))", "show it"),
    "a mean by Python": ("losses.append(loss)\n    print(sum(losses) / len(losses))", "show it"),
    "a dict of tensors": ('logs = {"step": step, "loss": loss}\n    print(logs["loss"])', "show it"),
    "a dict of tensors in a progress bar": ('bar.set_postfix({"loss": loss, "step": step})', "set it"),
    "a running mean": ("mean = (mean * step + loss) / (step + 1)\n    print(f'{mean:.3f}')", "show it"),
    "running means in a dict": (
        "for key, value in zip(means, [loss]):\n        means[key] = (means[key] * step + value) / (step + 1)\n"
        "    print(''.join([f'{key} {value}' for key, value in means.items()]))",
        "show it",
    ),
    "a sum over a short loop": (
        "total = 0.0\n    for i in range(3):\n        total += train_step(x, y)\n    print(total)",
        "show it",
    ),
    "how often it was right": (
        "correct += np.sum(model.predict_on_batch(x) == tf.argmax(loss).numpy())",
        "add it up on the device",
    ),
    "a sum in an attribute": ("trainer.total += loss.numpy()", "add it up on the device"),
    "a picture": (
        "image = np.clip(loss * 255, 0, 255)\n    plt.imshow(image)",
        "copy only what is looked at",
    ),
    "a picture in a file": (
        'cv2.imwrite("out.png", cv2.resize(loss.numpy(), (9, 9)))',
        "write it every 100 steps",
    ),
    "a picture that is shown": ("plt.imshow(loss.numpy())", "copy only what is looked at"),
    "a tensor made of it": ("model(tf.constant(loss.numpy() * 2))", "compute with it on the device"),
    "behind a remainder that is always none": (
        "if (step + 1) % 1 == 0:\n        print(float(loss))",
        "show it",
    ),
    "an optimizer's rate": ("print(step, optimizer.learning_rate.numpy(), float(optimizer.lr))", "show it"),
    "a rate by Keras's function": ("print(tf.keras.backend.get_value(optimizer.lr))", "show it"),
    "text beside a bar": ('bars.child.comment = f"loss {loss:.3f}"', "show it"),
    "a number that meets a tensor": ("weight = loss.numpy()\n    model(x * 2.0 * weight)", "compute with it"),
    "rows that are written": (
        'for at, (row, z) in enumerate(zip(loss.numpy(), x)):\n        f.write("{}\\n".format(row))',
        "write it every 100 steps, or copy one batch while the next one is computed",
    ),
    "a part of what was brought to the device": (
        "batch = tf.convert_to_tensor(np.array(memory))\n    model(np.array([batch[0]]))",
        "compute with it",
    ),
    "behind a remainder that is seldom none": ("if step % 1000:\n        print(float(loss))", "show it"),
    "behind one that is compared": ("if step % args.every != 0:\n        print(float(loss))", "show it"),
    "behind a setting": ("if args.use_gan:\n        print(float(loss))", "show it"),
    "once enough was gathered": ("if len(memory) > 1000:\n        print(float(loss))", "show it"),
    "after a warm-up": ("if step > args.warmup_steps:\n        print(float(loss))", "show it"),
    "a format by the builtin": ('print("loss " + format(loss, ".2f"))', "show it"),
    "text with a name that goes to a function which logs": (
        'message = "loss {}".format(loss)\n    tell_status(message)',
        "show it",
    ),
    "text that goes to a function which prints": (
        'template = "loss {}"\n    overprint("".join([template.format(format(loss, ".2f"))]))',
        "show it",
    ),
    "a logger among several": ('run["train/loss"].log(loss.numpy())', "show it"),
    "the rate of a schedule": (
        "schedule = tf.keras.optimizers.schedules.CosineDecay(0.1, 90)\n    print(schedule(step).numpy())",
        "show it",
    ),
    "a rate that an optimizer asks its schedule for": (
        "tf.summary.scalar('rate', optimizer.lr(step).numpy(), step=step)",
        "show it",
    ),
    "what may be a number where it is none": (
        "mean = 1.0\n    if step > 5:\n        mean = tf.reduce_mean(loss)\n    print(mean.numpy())",
        "show it",
    ),
    "rounded, and so on": (
        "print(round(float(loss), 3), loss.numpy().item(), np.round(loss.numpy(), 2))",
        "show it",
    ),
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT)
def test_it_leaves_alone(source: str) -> None:
    assert flagged("TFP302", _HEAD + dedent(source)) == []


@pytest.mark.parametrize(("statements", "remedy"), FLAGGED.values(), ids=FLAGGED)
def test_it_flags_once_a_statement(statements: str, remedy: str) -> None:
    source = (
        _HEAD + f"for step, (x, y) in enumerate(dataset):\n    loss = train_step(x, y)\n    {statements}\n"
    )
    (finding,) = findings("TFP302", source)
    assert remedy in finding.message


def test_the_message_names_the_counter_that_is_there() -> None:
    (finding,) = findings(
        "TFP302",
        _HEAD
        + "steps = 0\nfor x, y in dataset:\n    steps += 1\n    loss = train_step(x, y)\n    bar.set_postfix(loss=float(loss))\n",
    )
    assert "set it every 100 steps, under `if steps % 100 == 0:`" in finding.message


def test_a_counter_is_told_without_the_cost_of_printing_a_loss() -> None:
    counts = "step.assign_add(1)\n    if step.numpy() % 100 == 0:\n        save(model)"
    source = (
        _HEAD
        + f"step = tf.Variable(0, dtype=tf.int64)\nfor x, y in dataset:\n    train_step(x, y)\n    {counts}\n"
    )
    (finding,) = findings("TFP302", source)
    assert finding.message == "`step` is read on each step to count; count the steps in a Python number"
    assert finding.minor
    assert not finding.as_measured
    assert finding.note is not None
    assert finding.note.startswith(
        "no fix: a number in Python has to begin where this one does, which may be a"
    )
    shown = _HEAD + "for step, (x, y) in enumerate(dataset):\n    print(train_step(x, y).numpy())\n"
    (finding,) = findings("TFP302", shown)
    assert finding.as_measured
    assert not finding.minor


PLACES = {
    "a dict as a whole, and its values by a format": (
        """
        @tf.function
        def compiled(x, y):
            return {"loss": train_step(x, y)}
        for x, y in dataset:
            losses = compiled(x, y)
            print(f"{losses}")
            print(f"{losses['loss']:.4f}")
        """,
        [7, 8],
    ),
    "a step that nothing calls, in a program that trains by nothing else": (
        """
        def old_step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x) - y)
            print(loss.numpy())
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        """,
        [5],
    ),
    "pictures of what a model makes of elements, to look at": (
        """
        for i, x in enumerate(dataset):
            plt.imshow((model(x).numpy() * 255).astype(np.uint8)[0])
        """,
        [3],
    ),
    "what is printed of the numbers that a model makes of elements": (
        """
        for i, x in enumerate(dataset):
            print(tf.reduce_max(model(x)))
        """,
        [3],
    ),
    "a list that gets longer, of which the mean is all that is asked": (
        """
        def rated(answers):
            found = []
            for answer in answers.numpy():
                found.append(answer)
            return found
        def evaluate(dataset):
            ratings = []
            for x, y in dataset:
                ratings += rated(forward(x))
            return sum(ratings) / len(ratings)
        @tf.function
        def forward(x):
            return model(x)
        evaluate(dataset)
        """,
        [4],
    ),
    "what a parameter chooses for the whole loop": (
        """
        def run(dataset, kind, verbose):
            for step, (x, y) in enumerate(dataset):
                if kind == "gan":
                    print(train_step(x, y).numpy())
                elif kind == "vae":
                    print(float(train_step(y, x)))
                if verbose:
                    print(train_step(x, x).numpy())
                if step == "first":
                    print(train_step(y, y).numpy())
        run(dataset, "gan", False)
        """,
        [5, 7],
    ),
    "what is kept in a list or dict that nothing reads": (
        """
        def run(dataset):
            kept, history = [], {"loss": [], "mean": []}
            shown, drawn = [], []
            for x, y in dataset:
                loss = train_step(x, y)
                other = train_step(y, x)
                kept.append(np.asscalar(loss.numpy()))
                history["loss"].append(loss.numpy())
                shown.append(other.numpy())
                drawn.append(other.numpy())
            plt.plot(drawn)
            return shown
        run(dataset)
        """,
        [8, 9],
    ),
    "what picks rows of a tensor, and rows that become a tensor again": (
        """
        def run(dataset):
            text = tf.zeros((9, 1))
            for x, y in dataset:
                row = tf.argmax(train_step(x, y))
                before = text[row.numpy()]
                rows = []
                for _ in range(3):
                    rows.append(train_step(x, y).numpy())
                text = tf.constant(rows)
        run(dataset)
        """,
        [6, 9],
    ),
    "what a program keeps in a list that nothing reads": (
        """
        kept, history = [], []
        def run(dataset):
            for x, y in dataset:
                kept.append(train_step(x, y).numpy())
        run(dataset)
        for x, y in dataset:
            history.append(train_step(x, y).numpy())
        """,
        [5, 8],
    ),
    "what is kept in a dict of lists that nothing reads": (
        """
        def run(dataset):
            history = {"loss": [], "mean": []}
            for x, y in dataset:
                history["loss"].append(train_step(x, y).numpy())
        run(dataset)
        """,
        [5],
    ),
    "targets that NumPy fills in and the model learns": (
        """
        def train(batch):
            x = np.array([each[0] for each in batch])
            values = model(x)
            after = model(np.array([each[1] for each in batch]))
            targets = values.numpy()
            rewards = np.array([each[2] for each in batch])
            rewards[rewards > 0] += 0.9 * np.amax(after.numpy(), axis=1)
            targets[np.arange(32), 0] = rewards
            model.train_on_batch(x, targets)
        for batch in replay:
            train(batch)
        """,
        [6, 8],
    ),
    "targets that NumPy computes and a loss gets beside what the model gives": (
        """
        def replay(x, after, rewards, done):
            best = np.max(model(after), axis=1)
            targets = np.where(done, rewards, rewards + 0.9 * best)
            with tf.GradientTape() as tape:
                loss = criterion(targets, tf.reduce_sum(model(x), axis=1))
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        for x, after, rewards, done in replay_buffer:
            replay(x, after, rewards, done)
        """,
        [3],
    ),
    "a tuple of numbers that a function returns, of which one is shown": (
        """
        def step(x, y):
            loss = train_step(x, y)
            return loss.numpy(), x.shape[0]
        for x, y in dataset:
            results = step(x, y)
            print("{}".format(results[0]))
        """,
        [4],
    ),
    "what a model gives that is asked for itself": (
        """
        for x, y in dataset:
            if model:
                train_step(x, y)
            print(model(x).numpy())
        """,
        [5],
    ),
    "a text of several lines": (
        """
        for x, y in dataset:
            loss = train_step(x, y)
            print("step: "
                  f"{loss:.3f}")
        """,
        [4],
    ),
    "an attribute that is read for a log at the end of an episode": (
        """
        class Agent:
            def learn(self, x, y):
                self.critic_loss = float(train_step(x, y))
            def play(self):
                while True:
                    state, reward, done, _ = env.step(1)
                    self.learn(state, reward)
                    if done:
                        print(self.critic_loss)
        """,
        [4],
    ),
    "what makes a gradient step, though nobody in sight calls it": (
        """
        class Agent:
            def learn(self, x, y):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(model(x) - y)
                optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
                print(float(loss))
        """,
        [7],
    ),
    "what a process does": (
        """
        def work(remote):
            while True:
                state, reward, done, _ = env.step(1)
                print(float(train_step(state, reward)))
        context = torch.multiprocessing.get_context("spawn")
        context.Process(target=work, args=(remote,)).start()
        """,
        [5],
    ),
    "sums of a validation": (
        """
        for epoch in range(100):
            for x, y in dataset:
                train_step(x, y)
            mean = 0.0
            for i, (x, y) in enumerate(dataset):
                loss = tf.reduce_mean(model(x) - y)
                mean = (mean * i + loss.numpy()) / (i + 1)
            print(mean)
        """,
        [8],
    ),
    "a loop that computes without training": (
        """
        def double(iterations):
            x = tf.constant(1.0)
            for i in range(iterations):
                x = x * 2.0
                print(tf.reduce_sum(x).numpy())
        double(1000)
        """,
        [6],
    ),
    "a function that the loop calls": (
        """
        def report(loss):
            print(loss.numpy())
        for x, y in dataset:
            report(train_step(x, y))
        """,
        [3],
    ),
    "what a function returns to be shown": (
        """
        def step(x, y):
            loss = train_step(x, y)
            return loss.numpy(), x
        for x, y in dataset:
            value, _ = step(x, y)
            print(value)
        """,
        [4],
    ),
    "a dict that a function returns": (
        """
        def step(x, y):
            loss = train_step(x, y)
            return loss, {"loss": loss.numpy()}
        for i, (x, y) in enumerate(dataset):
            loss, logs = step(x, y)
            if not (i + 1) % 90:
                print(i, logs)
        def other(x, y):
            return {"loss": float(train_step(x, y))}
        for x, y in dataset:
            print(other(x, y)["loss"])
        """,
        [4, 10],
    ),
    "beside what decides how to go on": (
        """
        for x, y in dataset:
            loss = train_step(x, y)
            other = train_step(y, x)
            print(loss, other)
            if loss < 0.1:
                break
        """,
        [5],
    ),
    "beside an environment": (
        """
        while True:
            loss = train_step(state, reward)
            print(float(loss))
            state, reward, done, _, _ = env.step(model(state).numpy())
        """,
        [4],
    ),
    "a function that several loops call": (
        """
        def accuracy(x, y):
            return float(tf.reduce_mean(model(x) - y))
        for x, y in dataset:
            total += accuracy(x, y)
        for x, y in dataset:
            if step % 10 == 0:
                accuracy(x, y)
        """,
        [3],
    ),
    "a list that a function returns": (
        """
        def accuracies(x, y):
            found = []
            for k in (1, 5):
                found.append(float(tf.reduce_mean(model(x) - k)))
            return found
        for x, y in dataset:
            first, fifth = accuracies(x, y)
            print(first, fifth)
        """,
        [5],
    ),
    "the counter of an optimizer, which also ends the loop": (
        """
        for x, y in dataset:
            train_step(x, y)
            step = optimizer.iterations.numpy()
            if step % 1000 == 0:
                manager.save(checkpoint_number=step)
            if step == last:
                break
        """,
        [4],
    ),
    "the counter of an optimizer that another file makes": (
        """
        optimizer = make_optimizer()
        for x, y in dataset:
            train_step(x, y)
            if optimizer.iterations % 100 == 0:
                manager.save()
            if optimizer.iterations == last:
                break
        """,
        [5],
    ),
    "the counter of an optimizer of the add-ons": (
        """
        import tensorflow_addons as tfa
        slow = tfa.optimizers.LazyAdam(1e-3)
        for x, y in dataset:
            train_step(x, y)
            step = slow.iterations.numpy()
            if step % 100 == 0:
                manager.save()
        """,
        [6],
    ),
    "a counter in a loop that validates now and then": (
        """
        count = tf.Variable(0)
        for x, y in dataset:
            train_step(x, y)
            count.assign_add(1)
            if tf.equal(count % 10, 0):
                manager.save()
            if tf.logical_and(count % 100 == 0, count > 1000):
                for z, _ in dataset:
                    metric(model(z))
        """,
        [6],
    ),
    "the text that a tensor goes into, on several lines": (
        """
        for step, (x, y) in enumerate(dataset):
            loss = train_step(x, y)
            print(
                "step {} loss {}".format(
                    step,
                    loss.numpy(),
                )
            )
            print("step %d loss %f" % (
                step, loss.numpy()))
            print(f"step {step} "
                  f"loss {loss.numpy()}")
        """,
        [5, 10, 13],
    ),
    "a loop with several steps of a critic in each": (
        """
        for x, y in batches:
            for _ in range(args.n_critic):
                critic_loss = train_step(x, y)
            metric(train_step(x, y))
            bar.postfix["loss"] = f"{metric.result():.3f}"
        """,
        [6],
    ),
    "a metric by the other name of its module": (
        """
        mean = tf.metrics.Mean()
        for x, y in dataset:
            mean.update_state(train_step(x, y))
            print(mean.result().numpy())
        """,
        [5],
    ),
    "the losses beside the one that a gradient is asked of": (
        """
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss, kl_loss, logits = elsewhere.losses(model, x, y)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            print(kl_loss.numpy())
        """,
        [6],
    ),
    "what a gradient is asked of": (
        """
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss, accuracy = elsewhere.loss(model, x, y)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            print(loss.numpy())
        """,
        [6],
    ),
    "epochs of one step each": (
        """
        for epoch in range(args.epochs):
            print(epoch, train_step(x, y).numpy())
        """,
        [3],
    ),
    "an inference loop": (
        """
        for x in dataset:
            print(tf.argmax(model(x), axis=-1).numpy())
        """,
        [3],
    ),
    "a loop of epochs with one step each": (
        """
        for epoch in range(10000):
            print(epoch, train_step(x, y).numpy())
        """,
        [3],
    ),
    "a short loop in another": (
        """
        for epoch in range(1000):
            for step in range(20):
                print(step, train_step(x, y).numpy())
        """,
        [4],
    ),
    "a step counter of TensorFlow's": (
        """
        step = tf.Variable(0, dtype=tf.int64)
        for x, y in dataset:
            train_step(x, y)
            step.assign_add(1)
            if int(step) % 100 == 0:
                print(int(step))
        """,
        [6],
    ),
    "a list of numbers of which TensorFlow makes the mean": (
        """
        def test():
            rates, values = [], []
            for x, y in dataset:
                prediction = model(x)
                rate = np.argmax(y, axis=1) == np.argmax(prediction, axis=1)
                rate = np.mean(rate)
                rates.append(np.mean(rate))
                values.append(tf.reduce_mean(prediction - y).numpy())
            return tf.reduce_mean(rates), tf.reduce_sum(tf.stack(values))
        """,
        [6, 9],
    ),
    "numbers of which Python makes the mean": (
        """
        for epoch in range(90):
            losses, rates = [], {"loss": [], "rate": []}
            for x, y in dataset:
                losses.append(float(train_step(x, y)))
                rates["loss"].append(float(train_step(x, y)))
            print(sum(losses) / len(losses), sum(losses[-9:]) / 9)
            print({key: sum(each) / len(each) if each else 0 for key, each in rates.items()})
        """,
        [5, 6],
    ),
    "what a step returns for a list of which TensorFlow makes the mean": (
        """
        def step(x, y):
            loss = train_step(x, y)
            return loss, np.mean(np.argmax(loss, axis=1) == y)
        for epoch in range(90):
            rates = []
            for x, y in dataset:
                loss, rate = step(x, y)
                rates.append(rate)
            history.append(tf.reduce_mean(rates))
        """,
        [4],
    ),
    "a list of one number that a step returns beside its loss": (
        """
        def step(x, y):
            rates = []
            loss = train_step(x, y)
            rates.append(np.mean(np.argmax(loss, axis=1) == y))
            return loss, rates
        for epoch in range(90):
            rates = []
            for x, y in dataset:
                loss, rate = step(x, y)
                rates.append(rate)
            history.append(tf.reduce_mean(rates))
        """,
        [5],
    ),
    "a copy that nothing reads before there is another": (
        """
        def train():
            for x, y in dataset:
                loss = train_step(x, y).numpy()
                keep(loss)
                loss = train_step(y, x).numpy()
        train()
        """,
        [6],
    ),
    "a copy that nothing reads": (
        """
        def train():
            start = time.time()
            for step, (x, y) in enumerate(dataset):
                longest = tf.reduce_max(model(x)).numpy()
                train_step(x, y)
                if step % 100 == 0:
                    print(time.time() - start)
        """,
        [5],
    ),
    "a counter of type int32 in guards": (
        """
        step = tf.Variable(0)
        for x, y in dataset:
            train_step(x, y)
            step.assign_add(1)
            if int(step) % 100 == 0:
                manager.save()
            if step.numpy() > 1000 and step.numpy() % 10 == 0:
                manager.save()
        """,
        [6, 8],
    ),
    "a variable of numbers with a point": (
        """
        gate = tf.Variable(4.0)
        scale = tf.Variable([-0.5, 1.0])
        count = tf.Variable([4, 5])
        for x, y in dataset:
            train_step(x, y)
            print(gate.numpy(), scale.numpy())
            print(count.numpy())
        """,
        [7],
    ),
    "a counter of type int32 that has another name": (
        """
        def run(count):
            for x, y in dataset:
                train_step(x, y)
                count.assign_add(1)
                step = int(count)
                if step % 100 == 0:
                    manager.save(step)
        """,
        [6],
    ),
    "a counter that comes from elsewhere": (
        """
        def run(checkpoint, count):
            for x, y in dataset:
                train_step(x, y)
                checkpoint.step.assign_add(1)
                count.assign_add(1)
                if int(checkpoint.step) % 100 == 0:
                    print(int(checkpoint.step))
                if tf.equal(count % 100, 0):
                    print("saved")
        """,
        [7, 9],
    ),
    "a tensor of a step that is not compiled": (
        """
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x) - y)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            print("loss:", loss.numpy())
        """,
        [6],
    ),
    "the mean error of a batch that an object keeps for a log": (
        """
        class Learner:
            def learn(self, x, y):
                errors = tf.reduce_sum(tf.square(model(x) - y), 1)
                self.mean_error = tf.reduce_mean(errors).numpy()
                train_step(x, errors)
        learner = Learner()
        for x, y in dataset:
            learner.learn(x, y)
        """,
        [5],
    ),
    "in each training step of an agent, which runs now and then": (
        """
        def learn(x, y):
            loss = train_step(x, y)
            print("loss", loss.numpy())
        for step in range(100000):
            state, reward, done, _ = env.step(action)
            if step % 4 == 0:
                learn(*memory.sample(32))
            if step % 1000 == 0:
                print(model(state[None]).numpy())
        """,
        [4],
    ),
    "a loss of several": (
        """
        @tf.function
        def steps(x, y):
            return train_step(x, y), {"loss": train_step(y, x)}
        for x, y in dataset:
            loss, others = steps(x, y)
            print(loss.numpy(), others["loss"].numpy())
            print(others["loss"].numpy())
        """,
        [7, 8],
    ),
}


@pytest.mark.parametrize(("source", "rows"), PLACES.values(), ids=PLACES)
def test_it_flags_in(source: str, rows: list[int]) -> None:
    assert flagged("TFP302", _HEAD + dedent(source)) == [_ROWS + row for row in rows]


FIXES = {
    "a loop whose targets stand in parentheses": (
        """
        for (x, y) in dataset:
            loss = train_step(x, y)
            print(loss.numpy())
        """,
        """
        for step, (x, y) in enumerate(dataset):
            loss = train_step(x, y)
            if step % 100 == 0:
                print(loss.numpy())
        """,
    ),
    "a counter of the loop": (
        """
        for i, (x, y) in enumerate(dataset):
            loss = train_step(x, y)
            print(i, loss.numpy())
        """,
        """
        for i, (x, y) in enumerate(dataset):
            loss = train_step(x, y)
            if i % 100 == 0:
                print(i, loss.numpy())
        """,
    ),
    "a range": (
        """
        for n in range(1, 1 + rounds):
            print(n, train_step(x, y).numpy())
            loss = train_step(x, y)
            print(loss)  # the second one
        """,
        """
        for n in range(1, 1 + rounds):
            print(n, train_step(x, y).numpy())
            loss = train_step(x, y)
            if n % 100 == 0:
                print(loss)  # the second one
        """,
    ),
    "a counter kept by hand, and neighbours": (
        """
        n = 0
        while True:
            loss = train_step(x, y)
            # How it goes
            print("loss",
                  loss.numpy())

            print(f"{loss}")
            n += 1
        """,
        """
        n = 0
        while True:
            loss = train_step(x, y)
            if n % 100 == 0:
                # How it goes
                print("loss",
                      loss.numpy())

                print(f"{loss}")
            n += 1
        """,
    ),
    "no counter": (
        """
        for x, y in tqdm(dataset):
            loss = train_step(x, y)
            print(loss)
        """,
        """
        for step, (x, y) in enumerate(tqdm(dataset)):
            loss = train_step(x, y)
            if step % 100 == 0:
                print(loss)
        """,
    ),
    "a loop over steps in a block": (
        """
        with writer.as_default():
            for step in tqdm(range(steps)):
                loss = train_step(x, y)
                with tf.name_scope("loss"):
                    tf.summary.scalar("loss", loss.numpy(), step=step)
        """,
        """
        with writer.as_default():
            for step in tqdm(range(steps)):
                loss = train_step(x, y)
                with tf.name_scope("loss"):
                    if step % 100 == 0:
                        tf.summary.scalar("loss", loss.numpy(), step=step)
        """,
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES)
def test_the_fix_shows_values_every_hundred_steps(before: str, after: str) -> None:
    assert fixed("TFP302", _HEAD + dedent(before)) == _HEAD + dedent(after)


REFUSALS = {
    "a statement that trains": ("print(train_step(x, y).numpy())", "it does more than show values"),
    "a statement that assigns": ("value = loss.numpy()\n    print(value)", "it does more than show values"),
    "a sum": ("total += loss.numpy()", "it does more than show values"),
    "a progress bar that counts its calls": (
        'bar.update(f"{loss.numpy():.3f}")',
        "the progress bar counts how often this is called",
    ),
    "a remainder that is seldom none": (
        "if step % 1000:\n        print(float(loss))",
        "the condition may be meant the other way round",
    ),
    "a shared line": ("n = 1; print(loss)", "it shares its line with other statements"),
    "a string of several lines": (
        'print(f"""loss\n{loss}""")',
        "a string of several lines can't be indented",
    ),
}


@pytest.mark.parametrize(("statements", "reason"), REFUSALS.values(), ids=REFUSALS)
def test_there_is_no_fix_for(statements: str, reason: str) -> None:
    source = (
        _HEAD + f"for step, (x, y) in enumerate(dataset):\n    loss = train_step(x, y)\n    {statements}\n"
    )
    assert any(note.startswith(f"no fix: {reason}") for note in notes("TFP302", source)), notes(
        "TFP302", source
    )
    assert fixed("TFP302", source) == source


def test_there_is_no_fix_in_a_function_or_on_the_line_of_the_loop() -> None:
    function = "def report(loss):\n    print(loss)\nfor x, y in dataset:\n    report(train_step(x, y))\n"
    line = "for loss in map(train_step, dataset): print(metric(loss))\nfor x in dataset: print(model(x).numpy())\n"
    assert fixed("TFP302", _HEAD + function) == _HEAD + function
    assert fixed("TFP302", _HEAD + line) == _HEAD + line


def test_a_meter_adds_up() -> None:
    source = dedent("""\
        import tensorflow as tf
        from utils import AverageMeter
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        losses = AverageMeter()
        @tf.function
        def step(x):
            return tf.reduce_mean(model(x))
        for x in tf.data.Dataset.from_tensor_slices(data).batch(32):
            loss = step(x)
            losses.update(loss.numpy(), 32)
        """)
    assert flagged("TFP302", source) == [10]
    assert flagged("TFP302", source.replace("AverageMeter", "Schedule")) == []


def test_an_op_with_named_arguments_alone_is_no_trouble() -> None:
    source = "import tensorflow as tf\nfor x in tf.data.Dataset.range(9).batch(3):\n    print(tf.constant(value=3))\n"
    assert flagged("TFP302", source) in ([], [3])


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        ("print(train_step(x, y).numpy())", True),
        ("mean += train_step(x, y).numpy()", False),
    ],
)
def test_tells_the_cost_of_a_copy_that_is_shown_not_of_one_that_a_metric_saves(
    statements: str, told: bool
) -> None:
    source = f"{_HEAD}for x, y in dataset:\n    {statements}\nprint(mean)\n"
    (finding,) = findings("TFP302", source)
    assert ("in a `tf.keras.metrics.Mean` that the compiled step updates" in finding.message) is not told
    assert finding.minor is not told
    assert costs_told("TFP302", source) == [told]


def test_tells_no_cost_beside_a_step_in_eager_mode_where_python_is_what_all_wait_for() -> None:
    source = (
        _HEAD.replace("@tf.function\n", "") + "for x, y in dataset:\n    print(train_step(x, y).numpy())\n"
    )
    assert costs_told("TFP302", source) == [False]


# Programs around a copy, with whether it tells what printing the loss of a compiled step costs.
COPIES_MEASURED = {
    "a loss of a compiled step": ("loss = train_step(x, y)\n        print(float(loss))", True),
    "a loss among what a compiled step gives": (
        "logs = train_and_tell(x, y)\n        print(float(logs['loss']))",
        True,
    ),
    "a metric that a compiled step updates": (
        "train_step(x, y)\n        print(metric.result().numpy())",
        True,
    ),
    "a loss on a progress bar": ("bar.set_postfix(loss=float(train_step(x, y)))", True),
    "a loss of a compiled step that does not train": (
        "loss = test_step(x, y)\n        print(float(loss))",
        False,
    ),
    "a metric beside an eager model": ("metric(model(x))\n        print(metric.result().numpy())", False),
    "many numbers of a compiled step": ("images = forward(x)\n        print(images.numpy())", False),
    "a loss that eager ops compute": (
        "loss = tf.reduce_mean(model(x) - y)\n        print(loss.numpy())",
        False,
    ),
    "a picture": ("image = model(x)\n        plt.imshow(image.numpy())", False),
}


@pytest.mark.parametrize(("statements", "told"), COPIES_MEASURED.values(), ids=COPIES_MEASURED)
def test_tells_the_cost_only_of_a_number_that_a_compiled_training_step_gives(
    statements: str, told: bool
) -> None:
    others = (
        "@tf.function\ndef test_step(x, y):\n    return tf.reduce_mean(model(x) - y)\n"
        "@tf.function\ndef forward(x):\n    return model(x)\n"
        "@tf.function\ndef train_and_tell(x, y):\n    return {'loss': train_step(x, y)}\n"
    )
    training = "for epoch in range(90):\n    for x, y in dataset:\n        train_step(x, y)\n"
    source = f"{_HEAD}{others}bar = tqdm()\n{training}    for x, y in dataset:\n        {statements}\n"
    assert costs_told("TFP302", source) == [told]
    (finding,) = findings("TFP302", source)
    assert finding.minor is not told


@pytest.mark.parametrize(("start", "remedy"), [("np.zeros(9)", "as a tensor"), ("0.0", "Mean")])
def test_a_sum_of_arrays_is_one_of_tensors_and_no_metric(start: str, remedy: str) -> None:
    source = (
        f"total = {start}\nfor x, y in dataset:\n    loss = train_step(x, y)\n    total += loss.numpy()\n"
        "print(total / 9)\n"
    )
    (finding,) = findings("TFP302", _HEAD + source)
    assert remedy in finding.message.rsplit("; ", 1)[1]


@pytest.mark.parametrize(("step", "remedy"), [("train_step", "Mean"), ("eager_step", "as a tensor")])
def test_only_a_compiled_step_is_told_to_update_a_metric(step: str, remedy: str) -> None:
    eager = "def eager_step(x, y):\n    return tf.reduce_mean(model(x) - y)\n"
    source = f"total = 0.0\nfor x, y in dataset:\n    total += {step}(x, y).numpy()\nprint(total / 9)\n"
    (finding,) = findings("TFP302", _HEAD + eager + source)
    assert remedy in finding.message.rsplit("; ", 1)[1]


def _beside(source: str) -> list[str]:
    return [finding.beside for finding in findings("TFP302", _HEAD + dedent(source))]


def test_copies_of_one_step_tell_of_each_other() -> None:
    source = """\
        for x, y in dataset:
            loss = train_step(x, y)
            print(loss)
            mean += loss.numpy()
            train_step(x, y)
            means["loss"] += float(loss)
        for x, y in dataset:
            print(train_step(x, y))
        """
    assert _beside(source) == [
        f"the step waits in {lines}, too: change all of them together" if lines else ""
        for lines in (
            f"lines {_ROWS + 4} and {_ROWS + 6}",
            f"lines {_ROWS + 3} and {_ROWS + 6}",
            f"lines {_ROWS + 3} and {_ROWS + 4}",
            "",
        )
    ]


def test_many_lines_of_one_step_are_told_from_the_first_to_the_last() -> None:
    shown = "".join(f"    print('{name}', loss)\n" for name in "abcd")
    found = _beside(f"for x, y in dataset:\n    loss = train_step(x, y)\n{shown}")
    assert found[0].startswith(f"the step waits in lines {_ROWS + 4} to {_ROWS + 6}, too:")


def test_a_copy_tells_of_the_one_that_decides_how_the_step_goes_on() -> None:
    source = """\
        for x, y in dataset:
            loss = train_step(x, y)
            if np.isnan(loss):
                raise ValueError
            print(train_step(x, y))
        """
    (told,) = _beside(source)
    assert told.startswith(f"the step waits in line {_ROWS + 3}, too, for what decides how it goes on: ")
    assert costs_told("TFP302", _HEAD + dedent(source)) == [False]


def test_a_copy_tells_of_no_line_that_only_the_loop_around_it_runs() -> None:
    source = """\
        while True:
            for episode in range(3):
                for step in range(3):
                    loss = train_step(x, y)
                    print(loss.numpy())
            print(loss.numpy())
            env.step(act())
        """
    assert _beside(source) == ["", f"the step waits in line {_ROWS + 5}, too: change all of them together"]


def test_a_validation_is_told_that_a_mean_of_all_will_do() -> None:
    source = """\
        for epoch in range(1000):
            for x, y in dataset:
                train_step(x, y)
            for x, y in dataset:
                print(tf.reduce_mean(model(x) - y).numpy())
        """
    (finding,) = findings("TFP302", _HEAD + dedent(source))
    assert finding.message.endswith("under `if step % 100 == 0:`, or a mean of all, once, after the loop")


def test_no_counter_is_named_where_none_can_be_seen() -> None:
    source = """\
        def show(x, y):
            print(train_step(x, y).numpy())
        for x, y in dataset:
            show(x, y)
        """
    (finding,) = findings("TFP302", _HEAD + dedent(source))
    assert "show it every 100 steps (" in f"{finding.message} ("
    assert "under" not in finding.message


def test_a_copy_tells_of_the_test_of_a_tensor_but_of_none_of_a_count() -> None:
    source = """\
        for x, y in dataset:
            metric.update_state(train_step(x, y))
            if {} < 0.01:
                break
            if optimizer.iterations % 10 == 0:
                save(model)
        """
    (told,) = _beside(source.format("metric.result()"))
    assert told.startswith(f"the step waits in line {_ROWS + 3}, too, for what decides how it goes on: ")
    assert _beside(source.format("optimizer.iterations")) == [""]
    assert _beside(source.replace("{} < 0.01", "metric.result() is None")) == [""]


@pytest.mark.parametrize(("steps", "every"), [(140, 10), (500, 10), (5000, 100)])
def test_a_short_loop_shows_more_than_its_first_step(steps: int, every: int) -> None:
    source = f"{_HEAD}for step in range({steps}):\n    print(train_step(x, y))\n"
    (finding,) = findings("TFP302", source)
    assert f"show it every {every} steps, under `if step % {every} == 0:`" in finding.message
    source = source.replace("print(train_step(x, y))", "loss = train_step(x, y)\n    print(loss)")
    assert f"    if step % {every} == 0:\n        print(loss)\n" in fixed("TFP302", source)


_SORTED = """
    def sort(x):
        made = model(x)
        return find(made.numpy())
    for step, (x, y) in enumerate(dataset):
        {}
        print(step, loss.numpy())
    """
STILL_WAITED_FOR = {
    "what is made after a function has waited for its own": (
        "kept[step] = sort(x)\n        loss = train_step(x, y)"
    ),
    "beside a function that needs a copy now and then": (
        "loss = train_step(x, y)\n        if step % 100 == 0:\n            kept[step] = sort(x)"
    ),
}


@pytest.mark.parametrize("steps", STILL_WAITED_FOR.values(), ids=STILL_WAITED_FOR)
def test_a_function_that_needs_a_copy_excuses_what_was_made_before_on_each_step(steps: str) -> None:
    (finding,) = findings("TFP302", _HEAD + dedent(_SORTED.format(steps)))
    assert finding.message.startswith("`loss` is copied to the host on each step")
