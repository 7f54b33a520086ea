"""TFP404 missing-memory-growth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.rules.support import costs_told, findings, fixed, flagged, notes
from tflint_perf.config.settings import Settings
from tflint_perf.lint.check import check_source
from tflint_perf.project.linting import lint_files
from tflint_perf.text.source import Source

TF = "import tensorflow as tf\n"
FIT = "model = tf.keras.Sequential()\nmodel.fit(tf.zeros((9, 9)), tf.zeros(9), epochs=3)\n"
STEP = """\
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
BUILD = "model = tf.keras.Sequential()\noptimizer = tf.keras.optimizers.Adam()\n"
GUARD = "if __name__ == '__main__':\n    "
SESSION = """\
import tensorflow.compat.v1 as tf
loss = tf.reduce_mean(tf.get_variable('w', (3,)))
train_op = tf.train.AdamOptimizer().minimize(loss)
"""

SILENT = {
    "Keras on whatever backend": "import keras\nx = keras.ops.ones((9, 1))\ny = x\n"
    "model = keras.Sequential([keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\nmodel.fit(x, y)\n",
    "and by names of it": "import keras\nfrom keras import layers, ops\nx = y = ops.ones((9, 1))\n"
    "model = keras.Sequential([keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\nmodel.fit(x, y)\n",
    "a session that restores a graph and asks it": "import tensorflow.compat.v1 as tf\nsess = tf.Session()\n"
    "tf.train.import_meta_graph('net.meta').restore(sess, 'net')\nfor i in range(9):\n    sess.run('logits:0')\n",
    "a session that loads weights": "import tensorflow.compat.v1 as tf\nimport numpy as np\nread = np.load('vgg.npy').item()\n"
    "w = tf.get_variable('w', (3,))\nwith tf.Session() as sess:\n    for i in range(9):\n"
    "        update = tf.assign(w, read[i])\n        sess.run(update)\n",
    "a session that counts": "import tensorflow.compat.v1 as tf\nn = tf.Variable(0)\nincrement = tf.assign(n, n + 1)\n"
    "with tf.Session() as sess:\n    for i in range(9):\n        sess.run(increment)\n",
    "memory growth by its first name": TF + "tf.config.gpu.set_per_process_memory_growth(True)\n" + FIT,
    "a library module": TF + BUILD + STEP,
    "a library module whose functions train": TF + "def train(data):\n    model = tf.keras.Sequential()\n    model.fit(data)\n",
    "a library module with a demonstration": TF + BUILD + STEP + GUARD + "model.summary()\n",
    "one step that tries out a model": TF + BUILD + "with tf.GradientTape() as tape:\n    loss = model(tf.zeros(9))\n"
    "variables = model.trainable_variables\noptimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))\n",
    "a script that only infers": TF + "model = tf.keras.models.load_model('m')\nmodel.predict(tf.zeros((9, 9)))\n",
    "an op that applies gradients, which an estimator keeps": TF + "optimizer = tf.keras.optimizers.Adam()\ndef model_fn(pairs):\n"
    "    op = optimizer.apply_gradients(pairs)\n    return op\ntf.estimator.Estimator(model_fn=model_fn).evaluate(feed)\n",
    "gradients applied in a function that nothing runs": TF + BUILD + "def update(pairs):\n    optimizer.apply_gradients(pairs)\nprint(model)\n",
    "a minimizer of SciPy": TF + "import scipy.optimize\nscipy.optimize.minimize(f, x0=[0.0])\n",
    "a thread that is not started": TF + BUILD + STEP + "from threading import Thread\nclass Worker(Thread):\n    def run(self):\n"
    "        train_step(1, 2)\nWorker().join()\n",
    "a search over what is no model": TF + "from sklearn.model_selection import GridSearchCV\ngrid = GridSearchCV(SVC(), sizes)\n"
    "grid.fit(x, y)\n",
    "a train of something else": TF + "tracker = Tracker()\ntracker.train(feed, steps=9)\n",
    "a fit of another library": TF + "from sklearn.svm import SVC\nSVC().fit(x, y)\n",
    "an excerpt whose model is defined nowhere": TF + STEP + "train_step(1, 2)\n",
    "Keras, on what nothing says": "import keras\n"
    "model = keras.Sequential([keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\nmodel.fit(x, y)\n",
    "Keras of any time, on what nothing says": "from keras.models import Sequential\nmodel = Sequential()\nmodel.fit([1], [2])\n",
    "an excerpt that fits": TF + "model.fit(data, epochs=3)\n",
    "an excerpt with a loop": TF + "for x, y in dataset:\n    model.train_on_batch(x, y)\n",
    "memory growth": TF + "for g in tf.config.list_physical_devices('GPU'):\n"
    "    tf.config.experimental.set_memory_growth(g, True)\n" + FIT,
    "memory growth in a function": TF + "def setup():\n    gpus = tf.config.experimental.list_physical_devices('GPU')\n"
    "    tf.config.experimental.set_memory_growth(gpus[0], True)\nsetup()\n" + FIT,
    "a memory limit": TF + "tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(9)])\n" + FIT,
    "the environment variable": TF + "import os\nos.environ['TF_FORCE_GPU_ALLOW_GROWTH'] = 'true'\n" + FIT,
    "session options": SESSION + "config = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True))\n"
    "sess = tf.Session(config=config)\nsess.run(train_op)\n",
    "session options by attribute": SESSION + "config = tf.ConfigProto()\nconfig.gpu_options.allow_growth = True\n"
    "sess = tf.Session(config=config)\nsess.run(train_op)\n",
    "graph code that trains nothing": SESSION + "sess = tf.Session()\nsess.run(tf.global_variables_initializer())\n",
    "a session without a GPU": SESSION + "tf.Session(config=tf.ConfigProto(device_count={'GPU': 0})).run(train_op)\n",
    "GPUs hidden": "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '-1'\n" + TF + FIT,
    "GPUs hidden by an empty list": "import os\nos.environ.setdefault('CUDA_VISIBLE_DEVICES', '')\n" + TF + FIT,
    "GPUs hidden by an update": "import os\nos.environ.update({'CUDA_VISIBLE_DEVICES': '-1'})\n" + TF + FIT,
    "GPUs hidden by a call": TF + "tf.config.set_visible_devices([], 'GPU')\n" + FIT,
    "a backend that a run chooses": "import os\nfor name in ('jax', 'tensorflow'):\n  os.environ['KERAS_BACKEND'] = name\n" + TF + FIT,
    "another backend": "import os\nos.environ['KERAS_BACKEND'] = 'jax'\n" + TF + FIT,
    "a TPU alone": TF + "strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())\n" + FIT,
    "an estimator for TPUs": TF + "tf.estimator.tpu.TPUEstimator(model_fn).train(input_fn=feed)\n",
    "a TPU or nothing": TF + "try:\n    resolver = tf.distribute.cluster_resolver.TPUClusterResolver()\nexcept ValueError:\n"
    "    raise SystemExit('no TPU')\n" + FIT,
    "a TPU for each fold that is trained": TF + BUILD + "for fold in range(5):\n    if fold < used:\n"
    "        tf.tpu.experimental.initialize_tpu_system(resolver)\n        model.fit(x, y)\n",
    "a TPU in a main guard": TF + FIT.replace("model.fit", GUARD + "tf.tpu.experimental.initialize_tpu_system()\n    model.fit"),
    "a library's method of unknown use": TF + BUILD + "tools['gpu']()\nsettings.set_gpu_options()\n" + STEP + "train_step(1, 2)\n",
    "a table of what trains nothing": TF + "def test():\n    print(1)\nmodes = {'test': test}\nmodes[mode]()\n",
    "GPUs hidden as an option says": TF + "import os\ndef configure(use_gpu):\n    if not use_gpu:\n"
    "        os.environ['CUDA_VISIBLE_DEVICES'] = '-1'\nconfigure(options.gpu)\n" + FIT,
    "GPUs hidden by the other branch of a switch": TF + "import os\nUSE_GPU = False\nif USE_GPU:\n    print(1)\nelse:\n"
    "    os.environ['CUDA_VISIBLE_DEVICES'] = '-1'\n" + FIT,
    "GPUs hidden for one of two callers": TF + "import os\ndef configure(use_gpu=True):\n    if not use_gpu:\n"
    "        os.environ['CUDA_VISIBLE_DEVICES'] = '-1'\nconfigure()\nconfigure(False)\n" + FIT,
    "an initializer that is run by its method": SESSION + "sess = tf.InteractiveSession()\n"
    "init = tf.global_variables_initializer()\ninit.run(session=sess)\n",
    "a helper of another file": TF + "from utils import set_gpu\nset_gpu(0)\n" + FIT,
    "a module for devices": TF + "import helpers\nhelpers.configure_devices()\n" + FIT,
    "a module about GPUs": TF + "import gpu_config\n" + FIT,
}  # fmt: skip


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_what_is_no_program_or_settles_the_memory_is_left_alone(source: str) -> None:
    assert flagged("TFP404", source) == []


FLAGGED = {
    "a model that unknown code makes for training": ("import importlib\nimport tensorflow as tf\nx = y = tf.ones((9, 1))\nnets = importlib.import_module(input())\n"
        "model = nets.new_model(units=8, training=True)\nmodel.compile(optimizer='sgd', loss='mse')\nmodel.fit(x, y, epochs=3)\n", [2]),
    "Keras, by what says that it runs on TensorFlow": ("import keras\n"
        "model = keras.Sequential([keras.layers.Dense(1)])  # on tensorflow\nmodel.compile('sgd', 'mse')\nmodel.fit(x, y)\n", [1]),
    "Keras on TensorFlow": ("import os\nos.environ['KERAS_BACKEND'] = 'tensorflow'\nimport keras\nx = y = keras.ops.ones((9, 1))\n"
        "model = keras.Sequential([keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\nmodel.fit(x, y)\n", [3]),
    "an op that contributed code makes": ("import tensorflow as tf\nfrom tensorflow.contrib import layers\n"
        "class Net:\n    def __init__(self, loss):\n        self.train = layers.optimize_loss(loss, None, 0.1, 'Adam')\n"
        "        self.sess = tf.Session()\n    def update(self, x):\n        return self.sess.run(self.train, {self.x: x})\n"
        "net = Net(loss())\nfor x in data:\n    net.update(x)\n", [1]),
    "what a base of another library calls": (TF + "from tf_agents.agents import tf_agent\n" + BUILD + STEP.replace("train_step", "run")
        + "class Agent(tf_agent.TFAgent):\n    def _train(self, x):\n        run(x, x)\nagent = Agent()\nfor x in data:\n"
        "    agent.train(x)\n", [1]),
    "Keras by itself and TensorFlow behind it": ("import keras\nfrom tensorflow.keras import layers\n" + FIT.replace("tf.keras", "keras").replace("tf.", "np."), [2]),
    "a session that assigns to variables by hand": (
        "import tensorflow.compat.v1 as tf\nw = tf.Variable(tf.zeros([3]))\ntrain = tf.group(tf.assign(w, w * 0.9))\n"
        "with tf.Session() as sess:\n    for i in range(9):\n        sess.run([w, train])\n",
        [1],
    ),
    "a session that goes on with a graph from a file": (
        "import tensorflow.compat.v1 as tf\nsess = tf.Session()\ntf.train.import_meta_graph('net.meta').restore(sess, 'net')\n"
        "train_op = tf.get_collection('ops')[0]\nfor i in range(9):\n    sess.run(train_op)\n",
        [1],
    ),
    "fit at module level": (TF + FIT, [1]),
    "fit behind a main guard": (TF + "model = tf.keras.Sequential()\n" + GUARD + "model.fit(tf.zeros(9))\n", [1]),
    "fit in what a main guard calls": (
        TF + "def main():\n    model = tf.keras.Sequential()\n    model.fit(data())\n" + GUARD + "main()\n",
        [1],
    ),
    "a model from another file": (TF + "from zoo import build\nmodel = build()\nmodel.fit(build(), epochs=3)\n", [1]),
    "a model of the file's own": (
        TF + "class Net(tf.keras.Model):\n    pass\nnet = Net()\nnet.fit(tf.zeros(9))\n",
        [1],
    ),
    "train_on_batch in a loop": (TF + BUILD + "for i in range(9):\n    model.train_on_batch(tf.zeros(9), tf.zeros(9))\n", [1]),
    "a gradient step in a loop": (TF + BUILD + STEP + "for i in range(9):\n    train_step(i, i)\n", [1]),
    "an inline gradient step": (
        TF + BUILD + "for x in range(9):\n    with tf.GradientTape() as tape:\n        loss = model(x)\n"
        "    gradients = tape.gradient(loss, model.trainable_variables)\n"
        "    optimizer.apply_gradients(zip(gradients, model.trainable_variables))\n",
        [1],
    ),
    "a gradient step in a method": (
        TF + "class Trainer:\n    def __init__(self):\n        self.model = tf.keras.Sequential()\n    def run(self):\n"
        "        with tf.GradientTape() as tape:\n            loss = self.model(1)\n"
        "        variables = self.model.trainable_variables\n"
        "        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))\n"
        + GUARD + "Trainer().run()\n",
        [1],
    ),
    "gradients that other processes send": (
        TF + "class Chief:\n    def __init__(self):\n        self.model = tf.keras.Sequential()\n        self.optimizer = tf.keras.optimizers.Adam()\n"
        "    def update(self, gradients):\n        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))\n"
        "def learn(pipe):\n    chief = Chief()\n    for _ in range(1000):\n        chief.update(pipe.recv())\n" + GUARD + "learn(connect())\n",
        [1],
    ),
    "a step given to a strategy": (
        TF + "strategy = tf.distribute.MirroredStrategy()\n" + BUILD + STEP + "strategy.run(train_step, args=(1, 2))\n",
        [1],
    ),
    "absl": ("from absl import app\n" + TF + BUILD + STEP + "def main(argv):\n    train_step(1, 2)\n" + GUARD + "app.run(main)\n", [2]),
    "tf.app.run": (
        SESSION.replace("loss = ", "def main(_):\n  loss = ").replace("train_op", "  train_op") + "  tf.Session().run(train_op)\n"
        + GUARD + "tf.app.run()\n",
        [1],
    ),
    "an optimizer that is not known": (
        SESSION.replace("tf.train.AdamOptimizer()", "getattr(tf.train, 'AdamOptimizer')()") + "sess = tf.Session()\nsess.run(train_op)\n", [1],
    ),
    "a minimizer": (
        "import tensorflow_probability as tfp\n" + TF + "tfp.optimizer.lbfgs_minimize(loss, initial_position=start)\n", [2]
    ),
    "a minimizer of SciPy, on gradients of a tape": (
        TF + "from scipy import optimize\ndef f(w):\n    with tf.GradientTape() as tape:\n        y = loss(w)\n    return y, tape.gradient(y, w)\n"
        "optimize.minimize(f, x0=[0.0], jac=True, method='L-BFGS-B')\n", [1],
    ),
    "an optimizer that is given a function": (TF + BUILD + "optimizer.minimize(lambda: model(1), model.trainable_variables)\n", [1]),
    "threads": (
        "import threading\n" + TF + BUILD + STEP + "class Worker(threading.Thread):\n    def run(self):\n        train_step(1, 2)\n"
        + GUARD + "workers = [Worker() for _ in range(4)]\n    for worker in workers:\n        worker.start()\n", [2],
    ),
    "an estimator": (TF + "classifier = tf.estimator.Estimator(model_fn)\nclassifier.train(input_fn=feed, steps=9)\n", [1]),
    "an estimator and its evaluation": (TF + "e = make()\ntf.estimator.train_and_evaluate(e, train_spec, eval_spec)\n", [1]),
    "an estimator that gets its input by place": (TF + "e = tf.estimator.LinearClassifier(columns)\ne.train(feed, steps=9)\n", [1]),
    "a search of scikit-learn over models": (
        "from tensorflow.keras.wrappers.scikit_learn import KerasClassifier\nfrom sklearn.model_selection import GridSearchCV\n"
        "grid = GridSearchCV(estimator=KerasClassifier(build_fn=build), param_grid=sizes)\ngrid.fit(x, y)\n".replace("build)", "print)"), [1],
    ),
    "a cross-validation of models": (
        TF + "from sklearn.model_selection import cross_val_score\ncross_val_score(tf.keras.wrappers.scikit_learn.KerasRegressor(print), x, y)\n",
        [1],
    ),
    "a session": (SESSION + "sess = tf.Session()\nsess.run(train_op)\n", [1]),
    "growth that is set to false": (
        TF + "for g in tf.config.list_physical_devices('GPU'):\n    tf.config.experimental.set_memory_growth(g, False)\n" + FIT,
        [1],
    ),
    "GPUs that all callers want": (
        TF + "import os\ndef configure(use_gpu, seed=1):\n    if not use_gpu:\n        os.environ['CUDA_VISIBLE_DEVICES'] = '-1'\n"
        "configure(use_gpu=True)\n" + FIT, [1],
    ),
    "GPUs that a switch leaves on": (
        TF + "import os\nDEVICE = 'gpu'\nif DEVICE == 'cpu':\n    os.environ['CUDA_VISIBLE_DEVICES'] = '-1'\n" + FIT, [1],
    ),
    "the method of an op": (SESSION + "sess = tf.InteractiveSession()\nfor i in range(9):\n    train_op.run({x: i})\n", [1]),
    "the method of an op from elsewhere": (
        SESSION + "sess = tf.InteractiveSession()\nfor i in range(9):\n    steps['w'].op.run(feed_dict={x: i})\n", [1],
    ),
    "one GPU made visible": ("import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\n" + TF + FIT, [3]),
    "a TPU or GPUs": (
        TF + "strategy = tf.distribute.TPUStrategy(resolver) if tpu else tf.distribute.MirroredStrategy()\n" + FIT,
        [1],
    ),
    "a TPU for some folds": (
        TF + BUILD + "for fold in range(5):\n    if fold < used:\n"
        "        tf.tpu.experimental.initialize_tpu_system(resolver)\n    model.fit(x, y)\n",
        [1],
    ),
    "a TPU where there is one": (
        TF + "try:\n    strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())\nexcept ValueError:\n"
        "    strategy = tf.distribute.get_strategy()\n" + FIT,
        [1],
    ),
    "a library that looks at GPUs": (TF + "import GPUtil\nGPUtil.showUtilization()\nGPUtil.getGPUs()\n" + FIT, [1]),
    "a session that TensorFlow makes ready": (SESSION + "sess = tf.train.Supervisor().prepare_or_wait_for_session()\nsess.run(train_op)\n", [1]),
    "a table of functions": (TF + BUILD + STEP + "def f():\n    train_step(1, 2)\nmodes = {'train': f, 'test': test}\nmodes[mode]()\n", [1]),
    "a table that is asked": (TF + BUILD + STEP + "modes = dict(train=train_step)\nrun = modes.get(mode)\nrun(1, 2)\n", [1]),
    "one of several classes": (
        TF + BUILD + STEP + "class A:\n    def train(self):\n        train_step(1, 2)\nclass B:\n    def train(self):\n        pass\n"
        "trainer = A() if fast else B()\ntrainer.train()\n", [1],
    ),
    "the first of several imports": ("import os\nfrom tensorflow import keras\n" + TF + FIT, [2]),
    "a session that runs a list": (SESSION + "sess = tf.Session()\nfetches = [loss, train_op]\nsess.run(fetches)\n", [1]),
    "a session that runs an attribute of a list": ("import tensorflow.compat.v1 as tf\nclass Net:\n    def __init__(self):\n"
        "        self.loss = tf.reduce_mean(tf.get_variable('w', (3,)))\n        self.update = tf.train.AdamOptimizer().minimize(self.loss)\n"
        "        self.sess = tf.Session()\n    def step(self):\n        wanted = [self.update, self.loss]\n        return self.sess.run(wanted)\n"
        "net = Net()\nnet.step()\n", [1]),
    "an import behind a try": ("try:\n    import tensorflow as tf\nexcept ImportError:\n    raise\n" + FIT, [2]),
    "a growth that is only in a comment": (TF + "# tf.config.experimental.set_memory_growth(gpu, True)\n" + FIT, [1]),
}  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), FLAGGED.values(), ids=FLAGGED.keys())
def test_a_training_program_is_flagged_once_at_its_first_import_of_tensorflow(
    source: str, expected: list[int]
) -> None:
    assert flagged("TFP404", source) == expected


GROWTH = """
for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, True)
"""
KERAS = "keras.Sequential().fit(data())\n"
FIXES = {
    "behind the last import": (
        "import tensorflow as tf\nimport numpy as np\n\nmodel = tf.keras.Sequential()\n",
        f"import tensorflow as tf\nimport numpy as np\n{GROWTH}\nmodel = tf.keras.Sequential()\n",
    ),
    "with a blank line in front of code": (
        "import tensorflow as tf\nmodel = tf.keras.Sequential()\n",
        f"import tensorflow as tf\n{GROWTH}\nmodel = tf.keras.Sequential()\n",
    ),
    "behind a comment on the line": (
        "import tensorflow as tf  # the library\n\nmodel = tf.keras.Sequential()\n",
        f"import tensorflow as tf  # the library\n{GROWTH}\nmodel = tf.keras.Sequential()\n",
    ),
    "behind a docstring and a future import": (
        '"""Train."""\nfrom __future__ import annotations\nimport tensorflow as tf\n\nmodel = tf.keras.Sequential()\n',
        f'"""Train."""\nfrom __future__ import annotations\nimport tensorflow as tf\n{GROWTH}\nmodel = tf.keras.Sequential()\n',
    ),
    "behind a try around an import": (
        "import tensorflow as tf\ntry:\n    import wandb\nexcept ImportError:\n    wandb = None\n\nmodel = tf.keras.Sequential()\n",
        "import tensorflow as tf\ntry:\n    import wandb\nexcept ImportError:\n    wandb = None\n"
        f"{GROWTH}\nmodel = tf.keras.Sequential()\n",
    ),
    "behind an import of several lines": (
        "import tensorflow as tf\nfrom os import (\n    path,\n)\n\nmodel = tf.keras.Sequential()\n",
        f"import tensorflow as tf\nfrom os import (\n    path,\n)\n{GROWTH}\nmodel = tf.keras.Sequential()\n",
    ),
    "behind imports after settings": (
        "import os\nos.environ['A'] = '1'\nimport tensorflow as tf\nimport sys\nsys.path.append('..')\nimport json\n\n"
        "model = tf.keras.Sequential()\n",
        "import os\nos.environ['A'] = '1'\nimport tensorflow as tf\nimport sys\nsys.path.append('..')\nimport json\n"
        f"{GROWTH}\nmodel = tf.keras.Sequential()\n",
    ),
    "behind the choice of GPUs": (
        "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\nimport tensorflow as tf\n\nmodel = tf.keras.Sequential()\n",
        f"import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\nimport tensorflow as tf\n{GROWTH}\nmodel = tf.keras.Sequential()\n",
    ),
    "in front of an op, even if imports follow": (
        "import tensorflow as tf\n\nseed = tf.zeros(3)\nimport json\nmodel = tf.keras.Sequential()\n",
        f"import tensorflow as tf\n{GROWTH}\nseed = tf.zeros(3)\nimport json\nmodel = tf.keras.Sequential()\n",
    ),
    "with another name for the device": (
        "import tensorflow as tf\n\ngpu = 0\nmodel = tf.keras.Sequential()\n",
        "import tensorflow as tf\n"
        + GROWTH.replace("gpu", "gpu_2")
        + "\ngpu = 0\nmodel = tf.keras.Sequential()\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES.keys())
def test_memory_growth_is_set_after_the_imports_and_before_any_op(before: str, after: str) -> None:
    train = "model.fit(data())\n"
    before, after = (f"{text}{train}".replace("data()", "tf.zeros(3)") for text in (before, after))
    assert fixed("TFP404", before) == after
    assert flagged("TFP404", after) == []


SPELLINGS = {
    "TensorFlow by its name": (
        "import tensorflow\nfrom tensorflow import keras\n",
        GROWTH.replace("tf.", "tensorflow."),
    ),
    "its config": ("from tensorflow import config, keras\n", GROWTH.replace("tf.", "")),
    "Keras alone": ("from tensorflow import keras\n", "import tensorflow as tf\n" + GROWTH),
    "the compatibility module": (
        "import tensorflow.compat.v2 as tf2\nimport keras\n",
        GROWTH.replace("tf.", "tf2."),
    ),
}


@pytest.mark.parametrize(("imports", "added"), SPELLINGS.values(), ids=SPELLINGS.keys())
def test_names_are_spelled_as_the_file_does(imports: str, added: str) -> None:
    assert fixed("TFP404", f"{imports}\n{KERAS}") == f"{imports}{added}\n{KERAS}"


@pytest.mark.parametrize(
    ("imports", "title"),
    [
        ("import tensorflow as tf\nfrom tensorflow import keras", "Set memory growth after the imports; "),
        ("import keras  # on tensorflow", "Import TensorFlow, and set memory growth after the imports; "),
        ("from tensorflow import keras", "Import TensorFlow, and set memory growth after the imports; "),
    ],
)
def test_the_title_says_whether_the_fix_imports_tensorflow(imports: str, title: str) -> None:
    (finding,) = findings("TFP404", f"{imports}\n\n{KERAS}")
    assert finding.fix is not None
    assert finding.fix.message.startswith(title)


def test_an_import_further_down_is_not_relied_on() -> None:
    before = f"from tensorflow import keras\n\ndef f():\n    pass\n\nimport tensorflow as tf\n{KERAS}"
    after = before.replace("keras\n", f"keras\nimport tensorflow as tf\n{GROWTH}", 1)
    assert fixed("TFP404", before) == after


REFUSED = {
    "TensorFlow 1 graph code": (
        SESSION + "sess = tf.Session()\nsess.run(train_op)\n",
        "no fix: in TensorFlow 1 graph code the `ConfigProto` of the session decides",
    ),
    "an import in a function": (
        "def main():\n    import tensorflow as tf\n    tf.keras.Sequential().fit(tf.zeros(3))\nmain()\n",
        "no fix: TensorFlow is not imported on a line of its own at the top of the file (line 2)",
    ),
    "the visible GPUs chosen below the imports": (
        "import os\nimport tensorflow as tf\n\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\ntf.keras.Sequential().fit(tf.zeros(3))\n",
        "no fix: the GPUs that TensorFlow sees are chosen further down (line 4)",
    ),
    "the visible GPUs chosen by a call": (
        "import tensorflow as tf\ndef f():\n    tf.config.set_visible_devices(gpus[1:], 'GPU')\ntf.keras.Sequential().fit(tf.zeros(3))\n",
        "no fix: the GPUs that TensorFlow sees are chosen further down (line 3)",
    ),
    "code on the same line": (
        "import tensorflow as tf; x = tf.zeros(3)\ntf.keras.Sequential().fit(x)\n",
        "no fix: TensorFlow is not imported on a line of its own at the top of the file (line 1)",
    ),
}


@pytest.mark.parametrize(("source", "note"), REFUSED.values(), ids=REFUSED.keys())
def test_the_fix_is_withheld_where_it_would_not_help(source: str, note: str) -> None:
    assert notes("TFP404", source) == [note]


def notebook(*cells: str, **metadata: object) -> Source:
    content = {
        "cells": [
            {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [], "source": cell.splitlines(True)}
            for cell in cells
        ],
        "metadata": metadata,
        "nbformat": 4,
        "nbformat_minor": 5,
    }  # fmt: skip
    return Source.from_bytes(json.dumps(content).encode(), "train.ipynb")


@pytest.mark.parametrize("end", ["", "\n"])
def test_in_a_notebook_the_fix_stays_in_the_cell_of_the_imports(end: str) -> None:
    source = notebook(f"%matplotlib inline\nimport tensorflow as tf{end}", "import json", FIT)
    settings = Settings(root=Path(), rules=frozenset({"TFP404"}), fixable=frozenset({"TFP404"}))
    (finding,) = check_source(source, settings).findings
    assert finding.fix is not None
    cells = [text for _, text in source.apply(finding.fix.edits).cells()]
    assert [cell.strip() for cell in cells] == [
        f"%matplotlib inline\nimport tensorflow as tf\n{GROWTH}".strip(),
        "import json",
        FIT.strip(),
    ]


OWN = {"display_name": "Python 3 (ipykernel)", "name": "python3"}
OF_HOSTS = {"display_name": "Python 3", "name": "python3"}
TPU_OR_NOT = (
    "try:\n    strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())\n"
    "except ValueError:\n    strategy = tf.distribute.get_strategy()\n"
)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (notebook(TF, FIT, colab={}, kernelspec=OF_HOSTS), 0),
        (notebook(TF, FIT, kaggle={}, kernelspec=OF_HOSTS), 0),
        (notebook(TF, FIT, colab={}), 0),
        (notebook(TF, FIT, kernelspec=OF_HOSTS), 1),
        (notebook(TF, FIT, colab={}, kernelspec=OWN), 1),
        (notebook("from google.colab import drive\n", TF, FIT), 0),
        (
            notebook(
                "try:\n    from google.colab import drive\nexcept ImportError:\n    drive = None\n", TF, FIT
            ),
            1,
        ),
        (notebook("if hosted:\n    from google.colab import drive\n", TF, FIT), 1),
        (notebook("from kaggle_datasets import KaggleDatasets\n", TF, FIT), 0),
        (notebook(TF + TPU_OR_NOT, FIT), 0),
        (notebook(TF + TPU_OR_NOT, FIT, kernelspec=OWN), 1),
    ],
)
def test_nobody_else_uses_the_gpu_of_a_hosted_notebook(source: Source, found: int) -> None:
    assert len(check_source(source, Settings(root=Path(), rules=frozenset({"TFP404"}))).findings) == found


def test_in_a_session_its_own_options_are_named() -> None:
    (found,) = findings("TFP404", SESSION + "with tf.Session() as sess:\n    sess.run(train_op)\n")
    assert found.message.endswith("give its session a `ConfigProto` with `gpu_options.allow_growth`")
    configured = (
        "with tf.Session(config=tf.ConfigProto(log_device_placement=True)) as sess:\n    sess.run(train_op)\n"
    )
    (found,) = findings("TFP404", SESSION + configured)
    assert found.message.endswith("set `gpu_options.allow_growth` in the `ConfigProto` of its session")


def test_tells_the_cost_only_of_what_was_measured_in_tensorflow_2() -> None:
    in_session = SESSION + "with tf.Session() as sess:\n    sess.run(train_op)\n"
    estimator = "estimator = tf.estimator.Estimator(model_fn)\nestimator.train(read)\n"
    assert costs_told("TFP404", in_session) == [False]
    (found,) = findings("TFP404", in_session + estimator)
    assert found.message.endswith("set `gpu_options.allow_growth` in the `session_config` of its `RunConfig`")
    keras = "import tensorflow as tf\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\nmodel.fit(x, y)\n"
    assert costs_told("TFP404", keras) == [True]


IN_ESTIMATOR = "set `gpu_options.allow_growth` in the `session_config` of its `RunConfig`"
RUN = "def run(spec):\n    estimator = tf.estimator.DNNClassifier([8], columns, config=get_config())\n"
ESTIMATORS = {
    "by what trains and evaluates": "    tf.estimator.train_and_evaluate(estimator, spec, spec)\n",
    "by its method": "    estimator.train(lambda: read(), steps=9)\n",
}


@pytest.mark.parametrize("training", ESTIMATORS.values(), ids=ESTIMATORS.keys())
def test_an_estimator_makes_its_session_by_its_run_config(training: str) -> None:
    source = f"{TF}from configs import get_config\n{RUN}{training}run(spec)\n"
    (found,) = findings("TFP404", source)
    assert found.message.endswith(IN_ESTIMATOR)
    assert found.fix is None
    assert notes("TFP404", source) == ["no fix: the `session_config` of the Estimator's `RunConfig` decides"]


@pytest.mark.parametrize(
    ("training", "told"), [("", True), ("def other(model):\n    model.fit(x, epochs=3)\n", False)]
)
def test_an_estimator_of_another_file_does_so_too(tmp_path: Path, training: str, told: bool) -> None:
    task = f"{TF}{RUN}{ESTIMATORS['by its method']}{training}"
    (tmp_path / "task.py").write_text(task.replace("get_config()", "tf.estimator.RunConfig()"))
    program = tmp_path / "program.py"
    program.write_text(f"{TF}import task\n{GUARD}task.run(None)\n")
    settings = Settings(root=tmp_path, rules=frozenset({"TFP404"}))
    [result] = lint_files([program], settings, 1)
    assert [found.message.endswith(IN_ESTIMATOR) for found in result.findings] == [told]
