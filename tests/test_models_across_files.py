"""Models of classes that other files define, and what those define besides."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tflint_perf.config.settings import Settings
from tflint_perf.project.linting import lint_files

NETS = """
    import tensorflow as tf
    class Plain(tf.keras.Model):
        def call(self, x):
            return x
    class Own(Plain):
        def predict(self, x):
            return self(x)
    class Base:
        def __init__(self):
            self.plain = [Plain() for _ in range(5)]
            self.own = [Own() for _ in range(5)]
            self.one = Own()
"""


@pytest.mark.parametrize(
    "imports", ["from parts import Squash", "from parts import *", "from parts import Other as Squash"]
)
def test_a_layer_of_another_file_is_made_on_each_step(tmp_path: Path, imports: str) -> None:
    (tmp_path / "parts.py").write_text(
        "from tensorflow.keras import layers\n"
        "class Squash(layers.Layer):\n    def call(self, x):\n        return x\n"
        "class Other:\n    def __call__(self, x):\n        return x\n"
    )
    user = tmp_path / "user.py"
    user.write_text(
        f"import tensorflow as tf\n{imports}\noptimizer = tf.keras.optimizers.SGD()\n"
        "for x in tf.data.Dataset.from_tensor_slices(data).batch(4):\n"
        "    with tf.GradientTape() as tape:\n        loss = tf.reduce_mean(w * Squash()(x))\n"
        "    optimizer.apply_gradients([(tape.gradient(loss, w), w)])\n"
    )
    [result] = lint_files([user], Settings(root=tmp_path, rules=frozenset({"TFP204"})), 1)
    assert [finding.start.row for finding in result.findings] == ([] if "Other" in imports else [6])


@pytest.mark.parametrize(
    ("model", "found"),
    [("self.plain[i % 5]", True), ("self.own[i % 5]", False), ("self.one", False), ("Plain()", True)],
)
def test_only_the_predict_of_keras_sets_up_a_pipeline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, found: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("nets.py").write_text(dedent(NETS))
    user = Path("user.py")
    user.write_text(
        dedent(f"""
            import numpy as np
            import tensorflow as tf
            from nets import Base, Plain
            class User(Base):
                def play(self, env):
                    net = {model.replace("[i % 5]", "[0]")}
                    for i in range(1000):
                        state = np.expand_dims(env.reset(), axis=0)
                        env.step({model if "[" in model else "net"}.predict(state))
        """)
    )
    [result] = lint_files([user], Settings(root=Path(), rules=frozenset({"TFP105"})), 1)
    assert [finding.code for finding in result.findings] == ["TFP105"] * found


def test_a_method_that_a_model_of_another_file_defines_anew_is_not_that_of_keras(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ranker.py").write_text(
        dedent("""
            import tensorflow as tf
            class Ranker(tf.keras.Model):
                def summary(self):
                    return tf.keras.Model(inputs=[x], outputs=[y])
        """)
    )
    user = Path("user.py")
    user.write_text("from ranker import Ranker\nmodel = Ranker().summary()\nmodel.fit([1], [2], epochs=3)\n")
    [result] = lint_files([user], Settings(root=Path(), rules=frozenset({"TFP404"})), 1)
    assert [finding.code for finding in result.findings] == ["TFP404"]


@pytest.mark.parametrize(("kept", "found"), [("z", 1), ("z.numpy()", 0), ("len(z)", 0)])
def test_a_layer_of_a_model_of_another_file_gives_a_tuple(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: str, found: int
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("coder.py").write_text(
        dedent("""
            import tensorflow as tf
            class Encoder(tf.keras.layers.Layer):
                def __init__(self):
                    super().__init__()
                    self.project = tf.keras.layers.Dense(2)
                def call(self, x):
                    z = self.project(x)
                    return z, "encoded"
            class Coder(tf.keras.Model):
                def __init__(self):
                    super().__init__()
                    self.encode = Encoder()
        """)
    )
    user = Path("user.py")
    user.write_text(
        dedent(f"""
            import tensorflow as tf
            from coder import Coder
            coder = Coder()
            coder.load_weights(path)
            points = []
            for image in tf.data.Dataset.from_tensor_slices(data).batch(32):
                z, name = coder.encode(image)
                points.append({kept})
            for point in points:
                plot(point)
        """)
    )
    [result] = lint_files([user], Settings(root=Path(), rules=frozenset({"TFP401"})), 1)
    assert [finding.code for finding in result.findings] == ["TFP401"] * found


USES = """
    import numpy as np
    import tensorflow as tf
    def validate(net, images, size):
        for start in range(0, len(images), size):
            batch = images[start:start + size]
            errors.append(net(batch))
    def save_all(net, paths):
        for path in paths:
            save(net(read(path)))
    class Player:
        def __init__(self, env, net):
            self.env, self.net = env, net
            self.brain = net
        def play(self):
            done, state = False, self.env.reset()
            while not done:
                state, _, done, _ = self.env.step(self.brain.predict(state[None]))
"""
OF_KERAS = """
    import tensorflow as tf
    from uses import Player, save_all, validate
    class Own(tf.keras.Model):
        @tf.function
        def call(self, x):
            return x
        def predict(self, x):
            return choose(x)
    class Model:
        def __call__(self, x):
            return x
"""


@pytest.mark.parametrize(
    ("made", "used", "found"),
    [
        ("tf.keras.Sequential()", "validate(net, images, 32)", ["TFP107"]),
        ("tf.keras.Sequential()", "validate(size=32, net=net, images=images)", ["TFP107"]),
        ("tf.keras.Sequential()", "save_all(net, names)", []),
        ("tf.keras.Sequential()", "Player(env, net).play()", ["TFP105"]),
        ("Own()", "validate(net, images, 32)", []),
        ("Own()", "Player(env, net).play()", []),
        ("Model()", "validate(net, images, 32)", []),
        ("make()", "validate(net, images, 32)", []),
    ],
)
def test_a_model_that_another_file_gives_is_known_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: str, used: str, found: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    user, program = Path("uses.py"), Path("program.py")
    user.write_text(dedent(USES))
    program.write_text(dedent(OF_KERAS) + f"net = {made}\n{used}\n")
    settings = Settings(root=Path(), rules=frozenset({"TFP105", "TFP107"}), project_root=Path())
    for linted in ([user, program], [user]):
        result = lint_files(linted, settings, 1)[0]
        assert [finding.code for finding in result.findings] == found


@pytest.mark.parametrize(("base", "found"), [("Base", ["TFP107"]), ("object", [])])
def test_what_is_done_to_an_object_tells_more_than_a_class_with_a_base_that_nobody_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, base: str, found: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    user, program = Path("draws.py"), Path("program.py")
    user.write_text(
        "import tensorflow as tf\nclass Drawing:\n    def draw(self, net, steps):\n        for step in range(steps):\n"
        "            show(net(tf.zeros((1, 9)), training=False))\n"
    )
    program.write_text(
        "from elsewhere import Base\nfrom draws import Drawing\n"
        f"class Net({base}):\n    def __call__(self, x, training):\n        return x\nDrawing().draw(Net(), 100)\n"
    )
    settings = Settings(root=Path(), rules=frozenset({"TFP107"}), project_root=Path())
    result = lint_files([user, program], settings, 1)[0]
    assert [finding.code for finding in result.findings] == found


@pytest.mark.parametrize("name", ["net", "nets.net"])
def test_a_loop_over_calls_of_a_model_that_another_file_made_is_one_of_steps(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "nets.py").write_text(
        "import tensorflow as tf\n"
        "class Net(tf.keras.Model):\n    def call(self, x):\n        return x, x\n"
        "net = Net()\n"
    )
    user = tmp_path / "user.py"
    user.write_text(
        "import tensorflow as tf\nimport nets\nfrom nets import net\n"
        "def decode(x):\n"
        f"    for i in range(40):\n        y, weights = {name}(x)\n        x = tf.concat([x, y], -1)\n"
        "    return x\n"
    )
    [result] = lint_files([user], Settings(root=tmp_path, rules=frozenset({"TFP107"})), 1)
    assert [finding.start.row for finding in result.findings] == [6]


@pytest.mark.parametrize(
    ("klass", "found"),
    [
        ("class Network:\n    def compile(self, loss, optimizer):\n        self.loss = loss\n", False),
        ("class Network:\n    def train(self, loss, optimizer):\n        self.loss = loss\n", True),
        (
            "import keras\nclass Network(keras.Model):\n    def compile(self, loss, **rest):\n        self.loss = loss\n",
            True,
        ),
    ],
    ids=["compiled as Keras's models are", "not compiled", "a model of Keras"],
)
def test_what_is_compiled_with_a_loss_is_a_model_where_no_other_class_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, klass: str, found: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("network.py").write_text(klass)
    user = Path("user.py")
    user.write_text(
        dedent("""
            import tensorflow as tf
            from network import Network
            class User:
                def __init__(self, net):
                    self.net = net
                def train(self, images):
                    self.net.compile(loss="mse", optimizer="adam")
                    for x in tf.data.Dataset.from_tensor_slices(images).batch(32):
                        y = self.net.predict(x)
        """)
    )
    [result] = lint_files([user], Settings(root=Path(), rules=frozenset({"TFP105"})), 1)
    assert [finding.code for finding in result.findings] == ["TFP105"] * found


@pytest.mark.parametrize(
    ("use", "found"),
    [("agent.act(env)", True), ("agent.set_net(load())", False)],
    ids=["as it was made", "set anew"],
)
def test_a_model_is_what_its_class_makes_until_a_file_sets_it_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: str, found: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    agent = Path("agent.py")
    agent.write_text(
        dedent("""
            import numpy as np
            import tensorflow as tf
            class Agent:
                def __init__(self):
                    self.net = tf.keras.Sequential([tf.keras.layers.Dense(2)])
                def set_net(self, net):
                    self.net = net
                def act(self, env):
                    for i in range(1000):
                        env.step(self.net.predict(np.expand_dims(env.reset(), axis=0)))
        """)
    )
    Path("main.py").write_text(f"from agent import Agent\nagent = Agent()\n{use}\n")
    results = lint_files([agent, Path("main.py")], Settings(root=Path(), rules=frozenset({"TFP105"})), 1)
    codes = [finding.code for result in results for finding in result.findings]
    assert codes == ["TFP105"] * found


NECK = """
    import tensorflow as tf
    def pyramid(features, rounds, head):
        outputs = []
        for level in range(rounds):
            features = head(features)
            outputs.append(tf.keras.layers.ReLU()(features))
        return outputs
"""


@pytest.mark.parametrize(
    ("given", "found"), [("backbone(tf.keras.Input((8, 8, 3)))", False), ("backbone(images)", True)]
)
def test_layers_that_another_file_applies_to_inputs_make_no_steps(
    tmp_path: Path, given: str, found: bool
) -> None:
    (tmp_path / "neck.py").write_text(dedent(NECK))
    (tmp_path / "detector.py").write_text(
        "import tensorflow as tf\nfrom neck import pyramid\nfrom backbones import backbone\n"
        "def build(images):\n"
        "    head = tf.keras.Sequential([tf.keras.layers.Conv2D(8, 3)])\n"
        f"    return pyramid({given}, 5, head)\n"
    )
    files = [tmp_path / name for name in ("neck.py", "detector.py")]
    results = lint_files(files, Settings(root=tmp_path, rules=frozenset({"TFP107", "TFP204"})), 1)
    assert bool([finding for result in results for finding in result.findings]) == found


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("    model(rows)\n    return model\n", 1),
        ("    if rows is None:\n        return model\n    return model\n", 1),
        ("    model = convert(model)\n    return model\n", 0),
        ("    if rows is None:\n        return rows\n    return model\n", 0),
        ("    return convert(model)\n", 0),
    ],
)
@pytest.mark.parametrize("call", ["train(rows, model)", "train(rows, model=model)"])
def test_what_a_function_of_another_file_gives_back_is_what_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, found: int, call: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trainer.py").write_text(f"import tensorflow as tf\ndef train(rows, model):\n{body}")
    user = Path("user.py")
    user.write_text(
        dedent(f"""
            import tensorflow as tf
            from trainer import train
            model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            trained = {call}
            for batch in tf.data.Dataset.from_tensor_slices(data).batch(32):
                trained.predict(batch)
        """)
    )
    [result] = lint_files([user], Settings(root=Path(), rules=frozenset({"TFP105"})), 1)
    assert [finding.code for finding in result.findings] == ["TFP105"] * found


NETWORK = """
import tensorflow as tf
class Network(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    def decode(self, z):
        return self.net(z)
"""
TRAINER = """
import tensorflow as tf
from network import Network
network = Network()
{}
def loss_of(x):
    return tf.reduce_mean(network.decode(x))
def show(x):
    print(network.decode(x))
def train(dataset):
    for epoch in range(100):
        for x in dataset:
            loss_of(x)
    show(x)
train(tf.data.Dataset.from_tensor_slices(images).batch(32))
"""


@pytest.mark.parametrize(("decorator", "found"), [("@tf.function", []), ("", ["TFP107"])])
def test_what_a_step_runs_in_compiled_code_and_else_runs_once_is_no_eager_step(
    tmp_path: Path, decorator: str, found: list[str]
) -> None:
    network, trainer = tmp_path / "network.py", tmp_path / "train.py"
    network.write_text(NETWORK)
    trainer.write_text(TRAINER.format(decorator))
    settings = Settings(root=tmp_path, rules=frozenset({"TFP107"}))
    [result] = [
        each for each in lint_files([network, trainer], settings, 1) if Path(each.path).name == "network.py"
    ]
    assert [finding.code for finding in result.findings] == found


_NET = """
import tensorflow as tf

class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.cell = tf.keras.layers.Dense(8)

    def call(self, x):
        for t in range(x.shape[1]):
            x = tf.tanh(x + x[:, t:t + 1])
        return tf.keras.layers.BatchNormalization()(self.cell(x))
"""
_TRAIN = """
import tensorflow as tf
from net import Net

model = Net()
optimizer = tf.keras.optimizers.Adam()

def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))

for x in dataset:
    step(x)
"""
_COMPILED_TRAIN = _TRAIN.replace("def step", "@tf.function\ndef step")
_BUILD = "import tensorflow as tf\nfrom net import Net\nmodel = Net()\nmodel(tf.zeros((1, 9)))\nmodel.fit(dataset)\n"


@pytest.mark.parametrize(
    ("programs", "expected"),
    [
        ([_TRAIN], ["a new `BatchNormalization` is created on each step, with new weights"]),
        ([_COMPILED_TRAIN], ["a Python loop in compiled code", "`BatchNormalization` is created in compiled code"]),
        ([_TRAIN, _COMPILED_TRAIN], ["a Python loop in compiled code", "`BatchNormalization` is created in compiled code"]),
        ([_BUILD], ["a Python loop in compiled code", "`BatchNormalization` is created in compiled code"]),
    ],
    ids=["in eager mode", "compiled", "both", "built by a call and fitted"],
)  # fmt: skip
def test_a_model_that_is_trained_in_eager_mode_alone_is_not_compiled_tfp103_tfp204(
    programs: list[str], expected: list[str], tmp_path: Path
) -> None:
    texts = {"net.py": _NET} | {f"train_{n}.py": text for n, text in enumerate(programs)}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    files = [tmp_path / name for name in texts]
    results = lint_files(files, Settings(root=tmp_path, rules=frozenset({"TFP103", "TFP204"})), 1)
    said = [finding.message for finding in results[0].findings]
    assert len(said) == len(expected)
    assert all(map(str.startswith, said, expected))


@pytest.mark.parametrize("decorator", ["    @tf.function\n", ""], ids=["compiled", "eager"])
def test_a_pass_that_eager_code_makes_once_and_compiled_code_per_step_is_none_of_eager_mode(
    tmp_path: Path, decorator: str
) -> None:
    (tmp_path / "net.py").write_text(
        "import tensorflow as tf\n\nclass Net:\n    def __init__(self):\n        self.head = tf.keras.layers.Dense(9)\n\n"
        "    def forward(self, x):\n        return self.head(x)\n"
    )
    (tmp_path / "train.py").write_text(
        "import tensorflow as tf\nfrom net import Net\n\nclass Wrapped:\n"
        "    def __init__(self):\n        self.net = Net()\n\n    def forward(self, x):\n        return self.net.forward(x)\n\n"
        "def look():\n    print(Wrapped().forward(tf.zeros((1, 9))))\n\n"
        "def train(rows):\n    model = Wrapped()\n    dataset = tf.data.Dataset.from_tensor_slices(rows).batch(8)\n\n"
        f"{decorator}    def step(x):\n        return model.forward(x)\n\n"
        "    for x in dataset:\n        total = step(x)\n\nlook()\ntrain(rows)\n"
    )
    files = [tmp_path / name for name in ("net.py", "train.py")]
    results = lint_files(files, Settings(root=tmp_path, rules=frozenset({"TFP107"})), 1)
    assert len(results[0].findings) == (not decorator)
