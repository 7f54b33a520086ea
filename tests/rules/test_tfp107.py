"""TFP107 eager-inference-step."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.rules.support import costs_told, findings, fixed, flagged, notes
from tflint_perf.config.settings import Settings
from tflint_perf.project.linting import lint_files

PREAMBLE = dedent("""\
    import numpy as np
    import tensorflow as tf
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam()
    dataset = tf.data.Dataset.from_tensor_slices(data).batch(32)
""")
# A model of as many layers as the experiment has, and more.
LARGE = PREAMBLE.replace("Sequential([tf.keras.layers.Dense(1)])", "applications.ResNet50()")
ROWS = PREAMBLE.count("\n")

SILENT = {
    "a copy that each task gets, and trains before it is asked": """
        def learn(copy, x, optimizer):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(copy(x))
            optimizer.apply_gradients(zip(tape.gradient(loss, copy.weights), copy.weights))
            return copy, loss
        meta = tf.keras.optimizers.Adam()
        def train(base, tasks, size=1, rounds=500):
            for epoch in range(rounds):
                for batch in range(size):
                    for task in tasks:
                        copy = tf.keras.models.clone_model(base)
                        optimizer = tf.keras.optimizers.SGD(0.1)
                        for _ in range(5):
                            copy, loss = learn(copy, task["x"], optimizer)
                        print(copy(task["z"]))
                    meta.apply_gradients(zip(grads, base.weights))
        train(model, load())
        """,
    "what a program asks for a few times in all, over its loops and calls": """
        ROUNDS = 15
        def average(x):
            return tf.add_n([model(x) for _ in range(ROUNDS)])
        def main():
            for x in dataset.take(3):
                print(average(x))
            for i in range(11):
                print(tf.reduce_mean(model(noise[i])))
        if __name__ == "__main__":
            main()
        """,
    "a layer that a loop gives its own result, in a forward pass, and one that decodes in compiled code": """
        class Net(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.dense = tf.keras.layers.Dense(8)
                self.cell = tf.keras.layers.LSTMCell(8)
            def refine(self, x):
                for _ in range(50):
                    x = self.dense(x)
                return x.numpy()
            def call(self, x):
                state = self.start(x)
                for at in range(50):
                    out, state = self.cell(x[:, at], state)
                return out
        print(Net().refine(first))
        """,
    "what a container that outlives the loop keeps from being run again": """
        seen = {}
        for x in dataset:
            if "first" not in seen:
                seen["first"] = model(x)
        """,
    "a look at the first few": """
        for case in cases[:5]:
            print(model(case))
        for i in range(min(5, len(cases))):
            print(model(cases[i]))
        """,
    "a benchmark, with its clock around all rounds": """
        import time
        start = time.time()
        for _ in range(1000):
            _ = model(image)
        print((time.time() - start) / 1000)
        """,
    "a model's parts for each of its feature maps, in another method than its input": """
        class Detector:
            def build(self):
                image = tf.keras.Input((256, 256, 3))
                maps = self.pyramid(image)
                return tf.keras.Model(image, self.propose(maps))
            def pyramid(self, image):
                p2 = tf.keras.layers.Conv2D(8, 3)(image)
                p3 = tf.keras.layers.Conv2D(8, 3)(p2)
                return [p2, p3]
            def propose(self, maps):
                rpn, found = tf.keras.Sequential([tf.keras.layers.Dense(3)]), []
                for p in maps:
                    found.append(rpn([p]))
                return found
        """,
    "what leads to the outputs of a model, of which nobody gives the input": """
        def unroll(x, head, cell):
            outputs = []
            for _ in range(200):
                x = model(x)
                outputs.append(x)
            return tf.keras.Model(inputs=x, outputs=outputs)
        """,
    "a target network, asked in a gradient step while its tape is paused": """
        target = tf.keras.models.clone_model(model)
        def gradients(x):
            grads = {"q": {"g": [], "v": model.trainable_variables}}
            with tf.GradientTape() as tape:
                with tape.stop_recording():
                    wanted = target(x)
                loss = tf.reduce_mean((model(x) - wanted) ** 2)
                grads["q"]["g"] = tape.gradient(loss, grads["q"]["v"])
            return loss, grads
        for x in dataset:
            loss, grads = gradients(x)
            optimizer.apply_gradients(zip(grads["q"]["g"], grads["q"]["v"]))
        """,
    "a target network, asked in a function beside the tape whose gradients the caller applies": """
        target = tf.keras.models.clone_model(model)
        def wanted(x):
            return 0.9 * target(x)
        def gradients(x):
            goal = wanted(x)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x) - goal) ** 2)
            return {"q": tape.gradient(loss, model.trainable_variables)}
        for x in dataset:
            grads = gradients(x)
            optimizer.apply_gradients(zip(grads["q"], model.trainable_variables))
        """,
    "the time loop of another library's layer": """
        class Layer:
            def __call__(self, x, states):
                return self.forward(x, states)
        class Recurrent(Layer):
            def __init__(self, cell):
                self.cell = cell
                self.kept = self.cell.trainable_weights
            def forward(self, x, states):
                for step in range(x.shape[1]):
                    output, states = self.cell.call(x[:, step], states, training=self.training)
                return output
        recurrent = Recurrent(make())
        for x in dataset:
            show(recurrent(x, None))
        """,
    "a model of unknown class, where all that the file defines are compiled": """
        class Net(tf.keras.Model):
            @tf.function
            def call(self, x):
                return x * 2.0
        def test(net, dataset):
            for x in dataset:
                show(net(x))
        """,
    "what was saved, and compiled for that": """
        loaded = tf.saved_model.load(export_dir="saved", tags=None)
        for x in dataset:
            show(loaded(x, training=False))
        """,
    "behind a counter, and on the first few steps": """
        for step, x in enumerate(dataset):
            model.train_on_batch(x, x)
            if (step + 1) % 5 == 0 or step < 30:
                show(model(x))
        """,
    "a loop on some steps that looks at what was learnt": """
        for step in range(steps):
            model.train_on_batch(x, y)
            if step % 100 == 0:
                for i in range(classes):
                    save(model(noise[i]))
        """,
    "a layer that may hold variables, made on each call": """
        class Actor(tf.keras.Model):
            def call(self, x):
                return tf.keras.layers.Dense(1)(x)
        actor = Actor()
        for x in dataset:
            actor(x)
        """,
    "a few samples of a few batches": """
        for x in dataset.take(3):
            for _ in range(5):
                show(model(x))
        """,
    "a layer that nothing trains by itself": """
        class Net(tf.keras.layers.Layer):
            def call(self, x):
                return x * 2.0
        net = Net()
        for n in range(steps):
            out[n] = net(states[n])
        """,
    "a function that is called for files, by the name of their list": """
        import glob
        paths = glob.glob("*.wav")
        def enhance(path, at):
            save(model(read(path)), at)
        for at, path in enumerate(paths):
            enhance(path, at)
        """,
    "one of two models that are compiled themselves": """
        class Net(tf.keras.Model):
            @tf.function
            def call(self, x):
                return x
        class Other(tf.keras.Model):
            @tf.function
            def call(self, x):
                return x * 2.0
        class Brain:
            def __init__(self, kind):
                if kind == "net":
                    self.model = Net()
                else:
                    self.model = Other()
            def act(self, x):
                return self.model.call(x)
        brain = Brain("net")
        for x in dataset:
            brain.act(x)
        """,
    "a loop that makes each model that it calls": """
        for path in paths:
            net = tf.keras.models.load_model(path)
            assert np.allclose(net(images), expected)
        """,
    "a method that another of its name hides": """
        class Agent:
            def act(self, x):
                return model(x)
            def act(self, x):
                return policy.choose(x)
        agent = Agent()
        for x in dataset:
            agent.act(x)
        """,
    "a parameter that gives what is made a tensor": """
        def test(model, pairs):
            for x, y in pairs:
                prediction = model(x)
                loss = tf.convert_to_tensor(prediction) - y
        """,
    "a parameter that is given a compiled model": """
        class Net(tf.keras.Model):
            @tf.function
            def call(self, x):
                return x
        class Other(tf.keras.Model):
            def call(self, x):
                return x
        def test(net):
            for x in dataset:
                prediction = net(x, training=False)
        test(Net())
        test(Other())
        """,
    "the forward pass beside a step without a tape": """
        def step(x):
            loss = loss_fn(model(x))
            optimizer.minimize(lambda: loss_fn(model(x)), model.trainable_variables)
            return loss
        for x in dataset:
            step(x)
        """,
    "models that are parts of one, each given what the one before gave": """
        nets = [tf.keras.Sequential([tf.keras.layers.Dense(1)]) for _ in range(3)]
        def forward(x):
            for i in range(3):
                y = nets[i](x)
                x = tf.nn.relu(y)
            return x
        for batch in dataset:
            forward(batch)
        """,
    "several models, once": """
        nets = [tf.keras.Sequential([tf.keras.layers.Dense(1)]) for _ in range(3)]
        answers = [net(batch) for net in nets]
        """,
    "beside the tape, for its tensors": """
        target = tf.keras.models.clone_model(model)
        def learn(states, rewards):
            values = target(states)
            wanted = rewards + 0.9 * tf.reduce_max(values, axis=1)
            with tf.GradientTape() as tape:
                loss = loss_fn(wanted, model(states))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        for x in dataset:
            learn(x, np.ones(32))
        """,
    "what becomes an array, once for several gradient steps": """
        def replay(states):
            last = np.array(model(states))
            for _ in range(10):
                with tf.GradientTape() as tape:
                    loss = loss_fn(last, model(states))
                optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        for x in dataset:
            replay(x)
        """,
    "what becomes an array, under the tape of who calls": """
        def choose(state):
            return np.argmax(model(state).numpy())
        for x in dataset:
            with tf.GradientTape() as tape:
                loss = loss_fn(choose(x), model(x))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        """,
    "what an object keeps by the name of no model": """
        class Agent:
            def __init__(self, scale):
                self.scale = scale
            def act(self, state):
                return self.scale(tf.expand_dims(state, 0))
        agent = Agent(read())
        while not done:
            state, reward, done, _ = env.step(agent.act(state))
        """,
    "what an object makes of a model that it is handed": """
        class Agent:
            def __init__(self, network):
                self.network = tf.function(network)
            def act(self, state):
                return self.network(tf.expand_dims(state, 0))
        agent = Agent(read())
        while not done:
            state, reward, done, _ = env.step(agent.act(state))
        """,
    "a layer that reads a number of what it is given": """
        class Scale(tf.keras.layers.Layer):
            def call(self, x):
                return x / float(tf.reduce_sum(x))
        scale = Scale()
        for x in dataset:
            keep(scale(x))
        """,
    "a compiled pass where everything is turned eager": """
        tf.config.run_functions_eagerly(True)
        @tf.function
        def evaluate(x):
            return model(x)
        for x in dataset:
            evaluate(x)
        """,
    "an episode that a tape records": """
        def play(state):
            for t in range(1000):
                logits = model(state)
                state, reward, done, _ = env.step(logits)
            return logits
        for episode in range(200):
            with tf.GradientTape() as tape:
                loss = loss_fn(play(env.reset()))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        """,
    "a call that makes the variables": """
        for step in range(200):
            target = tf.keras.models.clone_model(model)
            target(tf.zeros((1, 4)))
            _ = model(np.random.random((1, 4)))
            model.train_on_batch(x, y)
        """,
    "a loop over files": """
        import os
        for folder in folders:
            for name in sorted(os.listdir(folder)):
                save(model(read(name)))
        """,
    "a signature of a saved model": "for x in dataset:\n    model(**{name: x})\n",
    "compiled code": """
        @tf.function
        def score(x):
            return model(x)
        for x in dataset:
            score(x)
        """,
    "a model that is compiled where it is used": """
        run = tf.function(model)
        for x in dataset:
            run(x)
        """,
    "the forward pass of a gradient step": """
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        """,
    "a loss in a function that the tape calls": """
        def compute_loss(x, y):
            return loss_fn(y, model(x))
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss = compute_loss(x, y)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        """,
    "a target beside the tape, in the function of the step": """
        def learn(x, following):
            y = tf.reduce_max(model(following), axis=1)
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        for x, following in dataset:
            learn(x, following)
        """,
    "a target beside the call of an eager gradient step": """
        def update(x, y):
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        def learn(x, following):
            update(x, tf.reduce_max(model(following), axis=1))
        for x, following in dataset:
            learn(x, following)
        """,
    "a metric of the step, between its tape and its update": """
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x))
            gradients = tape.gradient(loss, model.trainable_variables)
            accuracy = tf.reduce_mean(model(x))
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        """,
    "a tape whose gradients nothing applies": """
        for x in dataset:
            with tf.GradientTape() as tape:
                tape.watch(x)
                score = model(x)
            saliency.append(tape.gradient(score, x).numpy())
        """,
    "a call that runs once": "model(tf.zeros((1, 4)))\n",
    "a function that nothing here calls per step": """
        def score(x):
            return model(x)
        score(data)
        """,
    "once an epoch": """
        for epoch in range(200):
            for x, y in dataset:
                model.train_on_batch(x, y)
            sample = model(noise)
        """,
    "behind a counter": """
        for step, (x, y) in enumerate(dataset):
            model.train_on_batch(x, y)
            if step % 100 == 0:
                print(model(x))
        """,
    "behind a counter of TensorFlow's": """
        for x, y in dataset:
            model.train_on_batch(x, y)
            if tf.equal(tf.math.mod(step, 100), 0):
                print(model(x))
        """,
    "in a function that is called behind a counter, and once at the end": """
        def show(x):
            return model(x)
        for step, (x, y) in enumerate(dataset):
            model.train_on_batch(x, y)
            if step % 100 == 0:
                show(x)
        show(data)
        """,
    "the building of a model": """
        def build(units):
            inputs = tf.keras.Input((4,))
            hidden = tf.keras.layers.Dense(units)
            return tf.keras.Model(inputs, hidden(inputs))
        for units in range(200):
            build(units).fit(x, y)
        """,
    "layers made and called at once": """
        for i in range(200):
            x = tf.keras.layers.Dense(8)(x)
            model.train_on_batch(x, y)
        """,
    "a loop over layers": """
        for x in dataset:
            model.train_on_batch(x, y)
            for layer in model.layers:
                x = layer(x)
        """,
    "an ensemble": "models = [model] * 20\nlogits = [m(x) for m in models]\n",
    "a few results": "for x in dataset.take(5):\n    print(model(x))\n",
    "a few results by an iterator": "iterator = iter(dataset.take(5))\nfor x in iterator:\n    print(model(x))\n",
    "a few results by a count": "for i in range(5):\n    print(model(next(samples)))\n",
    "a loop for the best score": """
        for epoch in range(200):
            score = sum(model.train_on_batch(x, y) for x, y in dataset)
            if score > best_score:
                best_score = score
                for x in dataset:
                    save(model(x))
        """,
    "a loop behind a flag": "if args.visualize:\n    for x in dataset:\n        y = model(x)\n",
    "a model whose code runs on the host": """
        class M(tf.keras.Model):
            def call(self, x):
                return np.mean(x.numpy())
        m = M()
        for x in dataset:
            m(x)
        """,
    "a class whose call is a function of TensorFlow": """
        class Actor(tf.keras.Model):
            @tf.function
            def call(self, x):
                return model(x)
        actor = Actor()
        for x in dataset:
            actor(x)
        """,
    "a model that is given a compiled call": """
        model.call = tf.function(model.call, reduce_retracing=True)
        for x in dataset:
            model(x)
        """,
    "models that are the layers of one": """
        class Block(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.net = tf.keras.Sequential()
            def call(self, x):
                return part(self.net, x)
        def part(net, x):
            return net(x)
        class Net(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.blocks = [Block() for _ in range(6)]
            def call(self, x):
                for i in range(6):
                    x = self.blocks[i](x)
                return x
        Net()(data)
        part(model, data)
        """,
    "a saved function": """
        import tensorflow_hub as hub
        encoder = hub.load(url)
        for x in dataset:
            encoder(x)
        """,
    "an object with weights of another name": """
        class Agent:
            def __init__(self, memory):
                self.memory = memory
            def act(self, state):
                return self.memory(state)
            def copy(self, other):
                self.memory.set_weights(other.get_weights())
        agent = Agent(build())
        while not done:
            state, reward, done, _ = env.step(agent.act(state))
        """,
    "something of unknown kind": "for x in dataset:\n    network(x)\n",
    "other ways to run a model": "for x in dataset:\n    model.predict_on_batch(x)\n    model.summary()\n",
}

FLAGGED = {
    "a pass that is compiled with that of what calls it, unless something stands against it": (
        """
        head = tf.keras.layers.Dense(9)
        def attend(x):
            return head(x)
        def predict(x):
            return attend(model(x))
        def score(x):
            return head(x)
        def judge(x):
            print(score(x).numpy())
            return model(x)
        for x, y in dataset:
            train(x, y, predict(x), judge(x))
        """,
        [6, 8, 11],
    ),
    "a model that each branch calls, and a function makes one of two passes": (
        """
        other = tf.keras.models.clone_model(model)
        def act(x, first):
            if first:
                return model(x)
            return other(x)
        def ask(x):
            if turned:
                y = model(tf.reverse(x, [1]))
            elif mirrored:
                y = model(tf.reverse(x, [2]))
            else:
                y = model(x)
            return y
        for x, y in dataset:
            if flip:
                z = model(tf.reverse(x, [1]))
            else:
                z = model(x)
            train(x, y, act(x, True), ask(x), z)
        """,
        [5, 9, 17],
    ),
    "one model with other inputs in each branch, in a function that can't be compiled": (
        """
        def losses(x, y):
            if conditional:
                z = model([x, y], labels)
            else:
                z = model(x)
            return z.numpy()
        for x, y in dataset:
            train(x, y, losses(x, y))
        """,
        [4, 6],
    ),
    "the branch that steps take, where callers say which": (
        """
        def rollout(steps, mirrored):
            for _ in range(steps):
                if mirrored:
                    z = model(tf.reverse(env.observe(), [1]))
                else:
                    z = model(env.observe())
                env.step(z)
        for step, (x, y) in enumerate(dataset):
            model.train_on_batch(x, y)
            if step % 100 == 0:
                rollout(1000, False)
        """,
        [7],
    ),
    "two models in the branches of a loop, and one twice in a step": (
        """
        other = tf.keras.models.clone_model(model)
        for x, y in dataset:
            if first:
                z = model(x)
            else:
                z = other(x)
            if again:
                z = other(z)
            train(x, y, z)
        """,
        [5, 7, 9],
    ),
    "under a tape that nobody asks for a gradient": (
        """
        for epoch in range(10):
            train(model, dataset)
            for x, y in validation:
                with tf.GradientTape() as tape:
                    loss = loss_fn(y, model(x))
                mean.update_state(loss)
        """,
        [6],
    ),
    "a method of a model, by which whoever has it makes sentences": (
        """
        class Net(tf.keras.Model):
            def write(self, word):
                words = []
                for _ in range(25):
                    word = tf.argmax(self(word)).numpy()
                    if word == 0:
                        break
                    words.append(word)
                return words
        net = Net()
        net.fit(x, y, epochs=20)
        print(net.write(first))
        """,
        [6],
    ),
    "what a program asks for a hundred times and more, or as often as others call it": (
        """
        def average(x):
            return tf.add_n([model(x) for _ in range(15)])
        def draw(x):
            for _ in range(15):
                print(tf.reduce_mean(model(x)))
        def look(x):
            for _ in range(15):
                print(tf.reduce_sum(model(x)))
        for x in dataset.take(7):
            print(average(x))
        report(on_end=look)
        look(first)
        """,
        [3, 6, 9],
    ),
    "a few steps that learn by what a model gives": (
        """
        for i in range(300):
            target = model(noise[i])
            model.train_on_batch(noise[i], target)
        """,
        [3],
    ),
    "a layer that decodes word by word, with its state": (
        """
        class Decoder(tf.keras.layers.Layer):
            def call(self, word, state): return self.cell(word, state)
        class Translator(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.decoder = Decoder()
            def translate(self, word, state):
                words = []
                for at in range(500):
                    scores, state = self.decoder(word, state)
                    word = tf.argmax(scores, -1)
                    words.append(word)
                return tf.stack(words).numpy()
        print(Translator().translate(first, start))
        """,
        [11],
    ),
    "what a word in a text that each iteration takes anew does not keep from being run": (
        """
        for x in dataset:
            label = next(labels)
            if "skip" in label:
                continue
            print(model(x))
        """,
        [6],
    ),
    "a method that asks for the model's numbers, which methods of a class that is derived from another file's call": (
        """
        from base import Ranker
        class Own(Ranker):
            def __init__(self):
                self.model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            def score(self, row):
                return self.model(row)[0].numpy()
            def rank_all(self):
                for row in self.rows:
                    self.keep(self.score(row))
        """,
        [7],
    ),
    "inputs by their names": (
        """
        for text in texts:
            inputs = tokenizer(text, return_tensors="tf")
            print(model(**inputs))
        """,
        [4],
    ),
    "many of them": (
        """
        for i in range(min(5000, len(cases))):
            print(model(cases[i]))
        """,
        [3],
    ),
    "what is timed, and used": (
        """
        import time
        for x in dataset:
            start = time.time()
            answer = model(x)
            print(time.time() - start, answer)
        """,
        [5],
    ),
    "a helper that gets a batch, in a file that builds a model": (
        """
        def features(x):
            return model(x)
        def build():
            inputs = tf.keras.Input((4,))
            return tf.keras.Model(inputs, tf.keras.layers.Dense(1)(inputs))
        net = build()
        for x in dataset:
            features(x)
        """,
        [3],
    ),
    "at the end of some epochs": (
        """
        for epoch in range(epochs):
            for x, y in dataset:
                model.train_on_batch(x, y)
            if epoch % 10 == 0:
                for i in range(classes):
                    save(model(noise[i]))
        """,
        [7],
    ),
    "beside the losses of each output": (
        """
        def test(losses):
            for images, labels in dataset:
                outputs = model(images)
                for output, label, loss in zip(outputs, labels, losses):
                    total.append(loss(label, output))
        """,
        [4],
    ),
    "a few samples for each batch": (
        """
        for x in dataset:
            for _ in range(5):
                likelihood.append(model(x))
        """,
        [4],
    ),
    "a layer that holds no state, made on each call": (
        """
        class Actor(tf.keras.Model):
            def call(self, x):
                return tf.keras.layers.Flatten()(x)
        actor = Actor()
        for x in dataset:
            actor(x)
        """,
        [7],
    ),
    "a layer by the name of a method of the host": (
        """
        class Net(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.batch = tf.keras.layers.BatchNormalization()
            def call(self, x):
                return self.batch(x)
        net = Net()
        for x in dataset:
            net(x)
        """,
        [10],
    ),
    "a layer that is trained as a model is": (
        """
        class Net(tf.keras.layers.Layer):
            def call(self, x):
                return x * 2.0
        net = Net()
        def learn(x):
            with tf.GradientTape() as tape:
                loss = net(x)
            optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
        for n in range(steps):
            out[n] = net(states[n])
        """,
        [11],
    ),
    "a model that calls itself to write text": (
        """
        class Writer(tf.keras.Model):
            def call(self, x, training=False):
                return tf.reduce_sum(x)
            def write(self, text, length):
                for i in range(length):
                    logits = self.call(text, training=False)
                    text = tf.concat([text, logits], 0)
                return text
        Writer().write(tf.zeros(3), 1000)
        """,
        [7],
    ),
    "a parameter that gives what is asked for its values": (
        """
        def test(net, pairs):
            for x, y in pairs:
                prediction = net(x)
                hits = np.argmax(prediction.numpy(), axis=1)
        def sample(my_model, text, length):
            for i in range(length):
                logits = my_model(text)
                text = tf.concat([text, tf.argmax(logits[:, -1], -1)], 1)
        def tag(model, batches):
            for batch in batches:
                _, tags = model(words=batch["words"], mask=batch["mask"])
                count(tf.argmax(tags, axis=-1))
        """,
        [4, 8, 12],
    ),
    "several models that are asked side by side": (
        """
        nets = [tf.keras.Sequential([tf.keras.layers.Dense(1)]) for _ in range(3)]
        for x in dataset:
            answers = [net(x) for net in nets]
        """,
        [4],
    ),
    "the actors of several players": (
        """
        class Team:
            def __init__(self, size):
                self.actors = [tf.keras.Sequential([tf.keras.layers.Dense(1)]) for _ in range(size)]
            def act(self, states):
                moves = []
                for i in range(len(self.actors)):
                    moves.append(self.actors[i](states[i]).numpy())
                return moves
        team = Team(3)
        while not done:
            states, rewards, done, _ = env.step(team.act(states))
        """,
        [8],
    ),
    "beside the tape, for arrays": (
        """
        target = tf.keras.models.clone_model(model)
        def learn(states, rewards):
            values = target(states)
            best = tf.argmax(model(states), axis=1)
            values, best = np.array(values), best.numpy()
            wanted = rewards + 0.9 * values[:, best]
            with tf.GradientTape() as tape:
                loss = loss_fn(wanted, model(states))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            return np.abs(wanted - model(states).numpy())
        for x in dataset:
            learn(x, np.ones(32))
        """,
        [4, 5, 11],
    ),
    "beside the tape, for arrays, in a function of its own": (
        """
        def errors(states):
            return np.square(model(states))
        def learn(states):
            wanted = errors(states)
            with tf.GradientTape() as tape:
                loss = loss_fn(wanted, model(states))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        for x in dataset:
            learn(x)
        """,
        [3],
    ),
    "a network that an object is handed": (
        """
        class Greedy:
            def __init__(self, env, dqn):
                self.env = env
                self.dqn = dqn
            def act(self, state):
                state = tf.expand_dims(state, 0)
                return tf.argmax(self.dqn(state)[0])
        greedy = Greedy(env, read())
        while not done:
            state, reward, done, _ = env.step(greedy.act(state))
        """,
        [8],
    ),
    "a layer that reads its settings as numbers": (
        """
        class Scale(tf.keras.layers.Layer):
            def __init__(self, depth, heads):
                super().__init__()
                self.depth = depth // heads
            def call(self, x):
                return x * float(self.depth) ** -0.5 / np.sqrt(self.depth)
        scale = Scale(8, read())
        for x in dataset:
            keep(scale(x))
        """,
        [10],
    ),
    "a call that lacks an argument, which says nothing of that": (
        """
        def score(x, network, scale=None):
            return network(x)
        def learn(network):
            for x in dataset:
                keep(score(x, network))
                keep(score(x))
        learn(model)
        """,
        [3],
    ),
    "a batch that is decoded word by word": (
        """
        coder = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        for x in dataset:
            state = coder(x)
            for t in range(length):
                word, state = model([word, state])
        """,
        [4, 6],
    ),
    "a compiled call of another object": (
        "other.call = tf.function(other.call)\nfor x in dataset:\n    model(x)\n",
        [3],
    ),
    "a class with another method that is compiled": (
        """
        class Actor(tf.keras.Model):
            @tf.function
            def score(self, x):
                return x
            def call(self, x):
                return model(x)
        actor = Actor()
        for x in dataset:
            actor(x)
        """,
        [10],
    ),
    "a target beside the call of a compiled gradient step": (
        """
        @tf.function
        def update(x, y):
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        def learn(x, following):
            update(x, tf.reduce_max(model(following), axis=1))
        for x, following in dataset:
            learn(x, following)
        """,
        [8],
    ),
    "a network whose weights are copied": (
        """
        class Agent:
            def __init__(self, target_net):
                self.target_net = target_net
            def act(self, state):
                return self.target_net(state)
            def copy(self, net):
                self.target_net.set_weights(net.get_weights())
        agent = Agent(build())
        while not done:
            state, reward, done, _ = env.step(agent.act(state))
        """,
        [6],
    ),
    "the call of a model, not a part of its own code that is called once besides": (
        """
        class Net(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.dense = tf.keras.layers.Dense(3)
            def warm_up(self, x):
                return self.dense(x)
            def call(self, x):
                return self.warm_up(x)
        net = Net()
        net.warm_up(data)
        for x in dataset:
            net(x)
        """,
        [13],
    ),
    "a picture of each result": ("for x in dataset:\n    plt.imshow(model(x)[0])\n", [2]),
    "as many pictures as there are": ("for i in range(250):\n    plt.imshow(model(noise)[i])\n", [2]),
    "text that gets longer with each call": (
        """
        for i in range(500):
            text = tf.concat([text, tf.argmax(model(text), axis=-1)], axis=1)
        """,
        [3],
    ),
    "an evaluation loop that comes every so many steps": (
        """
        for step, (x, y) in enumerate(dataset):
            model.train_on_batch(x, y)
            if step % 1000 == 0:
                for x in dataset:
                    metric(model(x))
        """,
        [6],
    ),
    "a function with an evaluation loop that is called every so many epochs": (
        """
        def evaluate(dataset):
            for x in dataset:
                metric(model(x))
        for epoch in range(200):
            model.fit(dataset)
            if epoch % 10 == 0:
                evaluate(dataset)
        """,
        [4],
    ),
    "a model of unknown origin that is called as only a model is": (
        """
        def evaluate(network, data):
            for x in tf.data.Dataset.from_tensor_slices(data).batch(32):
                metric(network(x, training=False))
        """,
        [4],
    ),
    "a model of unknown origin whose variables are trained": (
        """
        class Trainer:
            def __init__(self, network):
                self.network = network
            def learn(self, x):
                with tf.GradientTape() as tape:
                    loss = self.network(x)
                optimizer.apply_gradients(zip(tape.gradient(loss, self.network.trainable_variables), v))
            def act(self, state):
                return self.network(state)
        trainer = Trainer(build())
        while not done:
            state, reward, done, _ = env.step(trainer.act(state))
        """,
        [10],
    ),
    "a check in the other branch of a training step": (
        """
        def train(x, check):
            if check:
                y = model(x)
            else:
                with tf.GradientTape() as tape:
                    y = model(x)
                optimizer.apply_gradients(zip(tape.gradient(y, v), v))
            return y
        for x in dataset:
            train(x, False)
            train(x, True)
        """,
        [4],
    ),
    "an evaluation loop": (
        "for x, y in dataset:\n    metric.update_state(y, model(x, training=False))\n",
        [2],
    ),
    "a loop over NumPy slices": (
        "for i in range(batches):\n    logits = model(images[i * 32 : (i + 1) * 32])\n",
        [2],
    ),
    "an agent that acts": (
        """
        class Agent:
            def __init__(self):
                self.actor = tf.keras.Sequential([tf.keras.layers.Dense(2)])
            def act(self, state):
                return self.actor(state)
        agent = Agent()
        while not done:
            state, reward, done, _, _ = env.step(agent.act(state))
        """,
        [6],
    ),
    "a decoding loop": (
        """
        class Decoder(tf.keras.Model):
            def call(self, token, state):
                return token, state
        decoder = Decoder()
        for t in range(length):
            token, state = decoder(token, state)
        """,
        [7],
    ),
    "two passes of one function": (
        """
        critic = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        def act(state):
            values = critic(state)
            chances = model(state)
            return tf.argmax(chances), values
        while not done:
            state, reward, done, _, _ = env.step(act(state))
        """,
        [4, 5],
    ),
    "several models one after the other, those of one statement once": (
        """
        coder = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        head = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        for x in dataset:
            code = tf.nn.relu(coder(x))
            scaled = code / 2
            keep(model(head(code)), model(scaled))
        """,
        [5, 7],
    ),
    "layers behind one another": (
        """
        coder = tf.keras.layers.Dense(1)
        head = tf.keras.layers.Dense(1)
        for x in dataset:
            code = tf.nn.relu(coder(x))
            scaled = code / 2
            keep(head(scaled))
        """,
        [5],
    ),
    "the same model twice, in one loop": (
        """
        for x in dataset:
            plain = model(x)
            turned = model(tf.image.flip_left_right(x))
            keep(plain + turned)
        """,
        [3, 4],
    ),
    "several models of one function, once": (
        """
        critic = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        def act(state):
            return model(state), critic(state)
        while not done:
            state, reward, done, _, _ = env.step(act(state))
        """,
        [4],
    ),
    "a teacher before the tape, in the loop": (
        """
        teacher = tf.keras.models.load_model(path)
        for x in dataset:
            y = teacher(x)
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        """,
        [4],
    ),
    "a model in whose place another may be loaded": (
        """
        class Agent:
            def __init__(self):
                self.net = tf.keras.Sequential([tf.keras.layers.Dense(2)])
            def load(self, path):
                self.net = tf.saved_model.load(path)
            def act(self, state):
                return self.net(state)
        agent = Agent()
        while True:
            state = env.step(agent.act(state))[0]
        """,
        [8],
    ),
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_it_stays_silent(source: str) -> None:
    assert flagged("TFP107", PREAMBLE + dedent(source)) == []


def test_what_a_loop_takes_from_something_unknown_is_passed_as_it_is() -> None:
    """It may be a list of several inputs."""
    source = PREAMBLE + "for x, y in load():\n    print(tf.reduce_mean(model(x)).numpy())\n"
    assert "tf.reduce_mean(run_model(x)).numpy()" in fixed("TFP107", source)


@pytest.mark.parametrize(("source", "rows"), FLAGGED.values(), ids=FLAGGED.keys())
def test_it_flags_the_first_call(source: str, rows: list[int]) -> None:
    assert flagged("TFP107", PREAMBLE + dedent(source)) == [ROWS + row for row in rows]


def test_the_function_of_the_forward_pass_is_compiled() -> None:
    source = (
        PREAMBLE
        + "def teach(x):\n    # softly\n    return tf.nn.softmax(model(x))\nfor x in dataset:\n    y = teach(x)\n"
    )
    assert fixed("TFP107", source) == source.replace("def teach", "@tf.function\ndef teach")


def test_batches_of_varying_shape_ask_for_reduced_retracing() -> None:
    source = PREAMBLE.replace(".batch(32)", ".padded_batch(32)")
    source += "def teach(x):\n    return model(x)\nfor x in dataset:\n    y = teach(x)\n"
    assert "@tf.function(reduce_retracing=True)\ndef teach" in fixed("TFP107", source)


REFUSED = {
    "`.numpy()` runs on the host": "return model(x).numpy()",
    "`np.argmax` runs on the host": "return np.argmax(model(x))",
    "`float()` runs on the host": "return float(model(x))",
    "`np.random.rand` runs on the host": "return model(x) if np.random.rand() > 0.1 else 0",
    "`.append()` writes to a container outside the step": "seen.append(model(x))",
    "`*x` unpacks what may be an array, which compiled code gets as a tensor": "return tf.reshape(model(x), (-1, *x))",
}


@pytest.mark.parametrize(("reason", "statement"), REFUSED.items(), ids=REFUSED.keys())
def test_the_fix_is_refused_where_tracing_would_change_the_function(reason: str, statement: str) -> None:
    source = PREAMBLE + f"seen = []\ndef act(x):\n    {statement}\nfor x in dataset:\n    act(x)\n"
    assert notes("TFP107", source) == [f"no fix: {reason} (line {ROWS + 3})"]


def test_code_for_any_backend_of_keras_gets_no_function_of_tensorflow() -> None:
    source = (
        "import keras\nfrom keras import ops\nmodel = keras.Sequential()\n"
        "def act(x):\n    return model(x, training=False)\nfor i in range(1000):\n    act(ops.zeros((1, 4)))\n"
    )
    alone = "the file imports Keras alone, which may run on other backends than TensorFlow"
    assert notes("TFP107", source) == [f"no fix: {alone} (line 4)"]
    assert "@tf.function" in fixed("TFP107", f"import tensorflow as tf\n{source}")


def test_an_input_that_gets_longer_would_be_traced_for_each_length() -> None:
    source = (
        PREAMBLE
        + "def predict(x):\n    return model(x)\nfor i in range(500):\n    text = tf.concat([text, predict(text)], 1)\n"
    )
    assert notes("TFP107", source) == [
        f"no fix: an input gets longer with each call, and each length would be retraced (line {ROWS + 2})"
    ]


def test_a_forward_pass_in_the_loop_itself_gets_a_function_above_it() -> None:
    source = PREAMBLE + "for x in dataset:\n    y = model(x, training=False)\n    print(y.numpy())\n"
    made = fixed("TFP107", source)
    assert "@tf.function\ndef run_model(inputs):\n    return model(inputs, training=False)\n" in made
    assert "for x in dataset:\n    y = run_model(x)\n    print(y.numpy())\n" in made
    assert flagged("TFP107", made) == []


def test_a_loop_in_a_function_gets_it_above_the_function() -> None:
    source = (
        PREAMBLE
        + "def score(model, data):\n    for x in data:\n        print(model(x))\nscore(model, dataset)\n"
    )
    made = fixed("TFP107", source)
    assert "def run_model(model, inputs):\n    return model(inputs)\n" in made
    assert "print(run_model(model, x))" in made


def test_models_one_behind_the_other_in_a_loop_have_no_function_of_their_own() -> None:
    source = PREAMBLE + "head = tf.keras.layers.Dense(3)\nfor x in dataset:\n    y = head(model(x))\n"
    assert notes("TFP107", source) == [
        f"no fix: several models run one behind the other, in no function of their own (line {ROWS + 3})"
    ]


ANOTHER_MODEL = {
    "`model` is another object on later calls": """
        for fold in range(5):
            model = tf.keras.Sequential([tf.keras.layers.Dense(fold)])
            for x in dataset:
                print(model(x))
        """,
    "`net` is another object on later calls": """
        def score(width):
            net = tf.keras.Sequential([tf.keras.layers.Dense(width)])
            for x in dataset:
                print(net(x))
        for width in (8, 16):
            score(width)
        """,
    "another model or optimizer is given later, and a trace for it can create no variables": """
        def score(net):
            for x in dataset:
                print(net(x))
        for width in range(9):
            score(tf.keras.Sequential([tf.keras.layers.Dense(width)]))
        """,
    "`self.net` is set between calls": """
        class Runner:
            def load(self, width):
                self.net = tf.keras.Sequential([tf.keras.layers.Dense(width)])
            def score(self):
                for x in dataset:
                    print(self.net(x))
        runner = Runner()
        for width in range(9):
            runner.load(width)
            runner.score()
        """,
}


@pytest.mark.parametrize(("reason", "source"), ANOTHER_MODEL.items(), ids=ANOTHER_MODEL)
def test_a_function_above_the_loop_would_keep_the_model_of_its_first_call(reason: str, source: str) -> None:
    (said,) = notes("TFP107", PREAMBLE + dedent(source).lstrip())
    assert said.startswith(f"no fix: {reason} (")


PADDED = "padded = dataset.map(tokens).padded_batch(8)\n"


def test_one_trace_is_to_do_for_padded_inputs_unless_the_code_reads_their_shape() -> None:
    loop = "for x in padded:\n    y = model(x)\n    print(y.numpy())\n"
    assert "@tf.function(reduce_retracing=True)\ndef run_model" in fixed("TFP107", PREAMBLE + PADDED + loop)
    source = (
        "import tensorflow as tf\nclass Net(tf.keras.Model):\n    def call(self, x):\n"
        "        rows, columns = x.shape\n        return tf.reshape(x, (rows * columns,))\n"
        f"model = Net()\ndataset = tf.data.Dataset.range(10)\n{PADDED}{loop}"
    )
    assert notes("TFP107", source) == [
        "no fix: the code reads the static shape, which a trace for varying shapes does not know (line 4)"
    ]


def test_a_context_of_a_text_that_gets_longer_would_be_traced_for_each_length() -> None:
    source = (
        PREAMBLE + "for i in range(500):\n    context = text[:, -128:]\n    word = model(context)\n"
        "    text = tf.concat([text, word], 1)\n"
    )
    assert notes("TFP107", source) == [
        "no fix: the input is cut from what gets longer with each call, and each length would be retraced"
        f" (line {ROWS + 3})"
    ]


def test_a_loop_over_keras_for_any_backend_gets_no_function() -> None:
    source = (
        "import keras\nfrom keras import ops\nmodel = keras.Sequential()\n"
        "for i in range(1000):\n    y = model(ops.zeros((1, 4)))\n"
    )
    alone = "the file imports Keras alone, which may run on other backends than TensorFlow"
    assert notes("TFP107", source) == [f"no fix: {alone} (line 5)"]


def test_an_evaluation_now_and_then_is_a_hint() -> None:
    evaluated = """
        def forward(x, training=False):
            return model(x, training=training)
        def evaluate():
            for x, y in test_set:
                accuracy.update_state(y, forward(x))
        for step, (x, y) in enumerate(dataset):
            with tf.GradientTape() as tape:
                loss = loss_of(forward(x, training=True), y)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.variables), model.variables))
            if step % 20 == 0:
                evaluate()
        """
    each_step = evaluated.replace(
        "            if step % 20 == 0:\n                evaluate()", "            evaluate()"
    )
    for source, minor in ((evaluated, True), (each_step, False)):
        assert [found.minor for found in findings("TFP107", PREAMBLE + dedent(source).lstrip())] == [minor]


@pytest.mark.parametrize(
    "joined",
    [
        "tokens = tf.concat([tokens, word], axis=1)",
        "tokens = [np.concatenate([each, word]) for each in tokens]",
    ],
)
def test_where_an_input_gets_longer_it_is_told_how_to_compile(joined: str) -> None:
    source = f"""
        def write(tokens):
            for _ in range(length):
                word = model(tokens)
                {joined}
        for x, y in dataset:
            write(x)
        """
    (found,) = findings("TFP107", PREAMBLE + dedent(source).lstrip())
    assert "gets longer with each call" in found.message
    assert "reduce_retracing=True" in found.message


def test_a_window_that_moves_on_gets_no_longer() -> None:
    source = """
        frames = np.zeros((1, 8, 8, 4))
        while not done:
            state, reward, done, _ = env.step(act(frames))
            best = model(np.float32(frames))
            frames = np.append(state, frames[:, :, :, :3], axis=3)
        """
    (found,) = findings("TFP107", PREAMBLE + dedent(source).lstrip())
    assert "gets longer" not in found.message


CUT = {
    "to the first channels": ("state = state[..., :8]", "fixed", False),
    "to the last ones": ("state = state[..., -n:]", "fixed", False),
    "now and then": ("if late:\n        state = state[..., :8]", "fixed", True),
    "by what is left out": ("state = state[..., :-1]", "fixed", True),
    "behind what is left out": ("state = state[..., 1:]", "fixed", True),
    "to what grows itself": ("n += 1\n    state = state[..., :n]", "fixed", True),
    "to a window of a text that fills it word by word": ("state = state[..., -n:]", "word", True),
}


@pytest.mark.parametrize(("cut", "joined", "longer"), CUT.values(), ids=CUT)
def test_what_is_cut_to_one_length_gets_no_longer(cut: str, joined: str, longer: bool) -> None:
    source = f"""
while going:
    state = model(state)
    word = tf.argmax(state)
    {cut}
    state = tf.concat([state, {joined}], -1)
"""
    (found,) = findings("TFP107", PREAMBLE + source)
    assert ("gets longer" in found.message) is longer


@pytest.mark.parametrize(
    "loop",
    [
        """
        for step in range(10000):
            noise = tf.random.normal((32, 8))
            noise = tf.concat([noise, labels], 1)
            kept.append(model(noise).numpy())
        """,
        """
        for step, (images, _) in enumerate(dataset):
            shown = model(images)
            images = np.concatenate([images.numpy(), shown.numpy()])
            show(images)
        """,
    ],
)
def test_what_each_iteration_begins_again_gets_no_longer(loop: str) -> None:
    (found,) = findings("TFP107", PREAMBLE + dedent(loop).lstrip())
    assert "gets longer" not in found.message


@pytest.mark.parametrize(
    ("then", "told"), [("show(word)", True), ("tokens = tf.concat([tokens, word], 1)", False)]
)
def test_tells_the_cost_only_of_inputs_of_one_shape(then: str, told: bool) -> None:
    source = f"""
        def write(tokens):
            for _ in range(length):
                word = model(tokens)
                {then}
        for x, y in dataset:
            write(x)
        """
    assert costs_told("TFP107", LARGE + dedent(source).lstrip()) == [told]


def test_names_reduced_retracing_without_a_cost_where_batches_are_padded() -> None:
    source = LARGE + "for x in dataset.unbatch().padded_batch(32).repeat(3):\n    print(model(x))\n"
    (found,) = findings("TFP107", source)
    assert "compile the forward pass with `@tf.function(reduce_retracing=True)`" in found.message
    assert costs_told("TFP107", source) == [False]


@pytest.mark.parametrize(
    ("draw", "told"),
    [
        ("noise = np.random.rand(8)", True),
        ("noise = tf.random.uniform((8,))", False),
        ("noise = 0.0\n            if np.random.rand() < 0.1: return x", False),
    ],
)
def test_where_a_trace_would_keep_a_draw_it_is_told_to_draw_in_tensorflow(draw: str, told: bool) -> None:
    source = f"""
        def sample(x):
            y = model(x)
            {draw}
            return y + noise
        for x, y in dataset:
            use(sample(x))
        """
    (found,) = findings("TFP107", PREAMBLE + "import numpy as np\n" + dedent(source).lstrip())
    message = "it would keep one draw of `np.random.rand`, so draw by `tf.random.uniform` and compile the forward pass"
    assert (message in found.message) is told
    assert "compile the forward pass with `@tf.function`" in found.message


def test_names_reduced_retracing_without_a_cost_where_each_input_has_a_length_of_its_own() -> None:
    source = dedent("""
        for epoch in range(9):
            for text in texts:
                tokens = [0]
                for word in text.split():
                    tokens += [words[word]]
                kept.append(model(np.array([tokens])).numpy())
            optimizer.minimize(loss, model.trainable_variables)
        """)
    (found,) = findings("TFP107", LARGE + source)
    assert "its batches differ in shape" in found.message
    assert costs_told("TFP107", LARGE + source) == [False]
    brought = source.replace("[tokens]", "pad(tokens, maxlen=8)")
    assert costs_told("TFP107", LARGE + brought) == [True]
    cut = source.replace("[tokens]", "[tokens[-8:]]")
    assert costs_told("TFP107", LARGE + cut) == [True]


@pytest.mark.parametrize(
    ("then", "longer"),
    [("text += decode(word)", True), ("count += 1", False), ("text = decode(word)", False)],
)
def test_a_text_that_the_loop_adds_to_gets_longer_with_each_call(then: str, longer: bool) -> None:
    source = f"""
        def write(text):
            tokens, count = encode(text), 0
            for _ in range(length):
                word = model(tf.constant(table[tokens])[None, :])
                {then.replace("text = ", 'text = " " + ').replace("+= decode", '+= " " + decode')}
                tokens = encode(text)
        for x, y in dataset:
            write(x)
        """
    (found,) = findings("TFP107", LARGE + dedent(source).lstrip())
    assert ("gets longer" in found.message) is longer
    assert costs_told("TFP107", LARGE + dedent(source).lstrip()) == [not longer]


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("tf.keras.layers.Dense(8)", False),
        ("tf.keras.layers.TextVectorization()", False),
        ("tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.LSTM(8)])", False),
        ("tf.keras.Sequential([tf.keras.layers.Dense(8) for _ in range(12)])", True),
        ("tf.keras.Sequential([tf.keras.layers.Dense(8), *layers])", True),
        ("tf.keras.applications.ResNet50()", True),
    ],
)
def test_tells_the_cost_of_a_model_of_many_layers_alone(made: str, told: bool) -> None:
    source = f"net = {made}\nfor epoch in range(9):\n    for x, y in dataset:\n        print(net(x))\n"
    assert costs_told("TFP107", PREAMBLE.replace("model =", "other =") + source) == [told]


@pytest.mark.parametrize(
    ("switch", "first"),
    [("tf.config.run_functions_eagerly(True)", True), ("tf.config.run_functions_eagerly(False)", False)],
)
def test_where_nothing_is_compiled_the_switch_is_to_go_first(switch: str, first: bool) -> None:
    [finding] = findings("TFP107", PREAMBLE + (f"{switch}\nfor x in dataset:\n    keep(model(x))\n"))
    assert ("; remove `run_functions_eagerly(True)`, then compile the" in finding.message) is first


@pytest.mark.parametrize(("layer", "told"), [("LSTM(64)", False), ("Dense(64)", True)])
def test_a_pass_through_recurrent_layers_was_not_measured(layer: str, told: bool) -> None:
    source = f"state = tf.keras.layers.{layer}\nfor x in dataset:\n    scores = model(x)\n"
    assert costs_told("TFP107", LARGE + source) == [told]


@pytest.mark.parametrize(("layer", "told"), [("Dense", True), ("SimpleRNN", False)])
def test_tells_no_cost_where_a_module_makes_recurrent_layers(tmp_path: Path, layer: str, told: bool) -> None:
    layers = ", ".join(8 * [f"keras.layers.{layer}(8)"])
    (tmp_path / "nets.py").write_text(
        f"import keras\nCHOICE = [{layers}]\ndef net():\n    return keras.Sequential(CHOICE)\n"
    )
    (tmp_path / "evaluate.py").write_text(
        "import tensorflow as tf\nfrom nets import net\nmodel = net()\n"
        "for x in tf.data.Dataset.load(PATH).batch(8).repeat(9):\n    print(model(x))\n"
    )
    settings = Settings(root=tmp_path, rules=frozenset({"TFP107"}))
    (result,) = lint_files([tmp_path / "evaluate.py"], settings, 1)
    assert [finding.as_measured for finding in result.findings] == [told]


DECODING = """\
import numpy as np
import tensorflow as tf


class Decoder(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.cell, self.head = tf.keras.layers.GRUCell(8), tf.keras.layers.Dense(5)

    def call(self, x, features, state, training=None):
        out, state = self.cell(tf.concat([x, features], axis=-1), state)
        return self.head(out), state


class Pair:
    def __init__(self, decoder):
        self.decoder = decoder


def decode(decoder, features, x, state):
    for t in range(200):
        y, state = {}
        print(t, y.numpy())


decode(Decoder(), tf.zeros((1, 4)), tf.zeros((1, 3)), [tf.zeros((1, 8))])
"""


@pytest.mark.parametrize(
    ("call", "parameters", "inside"),
    [
        ("decoder(x, features, state)", "features, state", "features, state"),
        (
            "decoder(x, features, state=state, training=False)",
            "features, state",
            "features, state=state, training=False",
        ),
        ("decoder(x, features * 2.0, tf.concat(state, 1))", "value, state", "value, state"),
    ],
)
def test_what_a_model_is_given_besides_its_inputs_is_handed_on(
    call: str, parameters: str, inside: str
) -> None:
    source = DECODING.replace("        y, state = {}\n", "").replace("y.numpy()", "np.argmax({}[0])")
    after = fixed("TFP107", source.format(call), bold=True)
    assert f"def run_decoder(decoder, inputs, {parameters}):\n    return decoder(inputs, {inside})\n" in after
    assert after.count("run_decoder(decoder, x, ") == 1


def test_the_state_of_a_model_is_given_back_to_it_as_it_is() -> None:
    after = fixed("TFP107", DECODING.format("decoder(x, features, state)"), bold=True)
    assert "        y, state = run_decoder(decoder, x, features, state)\n" in after


def test_a_number_besides_the_inputs_would_have_a_trace_for_each() -> None:
    source = DECODING.replace("        y, state = {}\n", "").replace("y.numpy()", "np.argmax({}[0])")
    source = source.format("decoder(x, features, t)")
    assert fixed("TFP107", source, bold=True) == source


def test_a_model_of_something_else_is_given_to_its_function() -> None:
    source = DECODING.replace("        y, state = {}\n", "").replace("y.numpy()", "np.argmax({}[0])")
    source = source.replace("decoder, features, x", "pair, features, x").replace(
        "(Decoder(),", "(Pair(Decoder()),"
    )
    after = fixed("TFP107", source.format("pair.decoder(x, features, state)"), bold=True)
    assert (
        "def run_decoder(model, inputs, features, state):\n    return model(inputs, features, state)\n"
        in after
    )
    assert "run_decoder(pair.decoder, x, features, state)" in after
