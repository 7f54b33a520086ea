"""What callers in other files, and what other files define, mean for the findings in one."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

from tflint_perf.config.settings import Settings
from tflint_perf.lint import check
from tflint_perf.lint.asking import InternalError
from tflint_perf.lint.check import check_source
from tflint_perf.project.linting import FileResult, Neighbours, lint_files
from tflint_perf.text.source import Source

RULES = frozenset({"TFP101", "TFP202", "TFP406"})
STEP = """
    import gc
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam()

    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    def clean_up():
        gc.collect()
"""
AGENT = """
    import gc
    import tensorflow as tf

    class Agent:
        def __init__(self):
            self.model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            self.optimizer = tf.keras.optimizers.Adam()

        def learn(self, x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(self.model(x) ** 2)
            gradients = tape.gradient(loss, self.model.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
            return loss

        def tidy(self):
            gc.collect()

    def make_agent():
        return Agent()
"""


@pytest.fixture(params=[1, 1_000], ids=["imports known", "imports not known"])
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """The folder of a project, linted as if it were of many files, and of few."""
    monkeypatch.setattr("tflint_perf.project.linting._MANY", request.param)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").touch()
    return tmp_path


def write(folder: Path, **files: str) -> list[Path]:
    """Write modules: `a__b` is `a/b.py`."""
    paths = []
    for name, text in files.items():
        path = folder / (name.replace("__", "/").replace("/init/", "/__init__") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
        paths.append(path.relative_to(folder))
    return paths


def lint(paths: list[Path], rules: frozenset[str] = RULES, **how: object) -> dict[str, list[str]]:
    """The codes found in each file that has any."""
    settings = Settings(root=Path(), rules=rules, fixable=rules, **how)  # type: ignore[arg-type]
    results: list[FileResult] = lint_files(paths, settings, 1)
    assert not [result.failure for result in results if result.failure]
    return {
        result.path: [finding.code for finding in result.findings] for result in results if result.findings
    }


STRATEGY = "import tensorflow as tf\nfrom steps import train_step\ns = tf.distribute.MirroredStrategy()\n"
LOOP = "from steps import train_step, clean_up\nfor x, y in batches():\n    "


@pytest.mark.parametrize(
    ("caller", "found"),
    [
        # Nobody calls it: the step is judged by itself, and whether the collection runs per step isn't known.
        ("print(1)", ["TFP101"]),
        (LOOP + "train_step(x, y)", ["TFP101"]),
        (LOOP + "train_step(x, y); clean_up()", ["TFP101", "TFP406"]),
        ("import steps\nfor x in range(9000):\n    steps.train_step(x, x)\n    steps.clean_up()", ["TFP101", "TFP406"]),
        ("from steps import *\nfor x in range(9000):\n    train_step(x, x)\n    clean_up()", ["TFP101", "TFP406"]),
        ("from steps import clean_up as tidy, train_step as s\nwhile True:\n    s(1, 2); tidy()", ["TFP101", "TFP406"]),
        ("import tensorflow as tf\nfrom steps import train_step\nfast = tf.function(train_step)", []),
        ("import tensorflow as tf\nimport steps\nsteps.train_step = tf.function(steps.train_step)", []),
        ("import tensorflow as tf\nfrom steps import train_step\n@tf.function\ndef f(x):\n    train_step(x, x)", []),
        # Run by a strategy.
        (STRATEGY + "@tf.function\ndef f(x):\n    s.run(train_step, args=(x, x))", []),
        (STRATEGY + "for x in range(9000):\n    s.run(train_step, args=(x, x))", ["TFP101"]),
        # Handed to something that nobody knows: it may be compiled there.
        ("from steps import train_step\nfrom elsewhere import run\nrun(train_step)", []),
        # Once only.
        ("from steps import train_step, clean_up\ntrain_step(1, 2)\nclean_up()", []),
        ("from steps import train_step, clean_up\ndef main():\n    train_step(1, 2)\nmain()", []),
        # Through a function of the other file, in a loop there or in a third file.
        (
            "from steps import train_step, clean_up\ndef one(x):\n    train_step(x, x)\n    clean_up()\n"
            "for x in range(9000):\n    one(x)",
            ["TFP101", "TFP406"],
        ),
    ],
)  # fmt: skip
def test_a_caller_in_another_file_decides(project: Path, caller: str, found: list[str]) -> None:
    paths = write(project, steps=STEP, train=caller)
    assert lint(paths).get("steps.py", []) == found


@pytest.mark.parametrize("asked", ["summarise_source", "uses_in_source"])
def test_a_file_that_the_model_fails_on_says_nothing_to_others(
    project: Path, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    def fail(*_: object) -> None:
        raise InternalError("the code is nested too deeply")

    paths = write(project, steps=STEP, train=LOOP + "train_step(x, y); clean_up()")
    assert lint(paths)["steps.py"] == ["TFP101", "TFP406"]
    monkeypatch.setattr(check, asked, fail)
    assert "TFP101" in lint(paths)["steps.py"]


@pytest.mark.parametrize(
    ("caller", "found"),
    [
        ("from agents import Agent\nagent = Agent()\nwhile True:\n    agent.learn(1); agent.tidy()", ["TFP101", "TFP406"]),
        ("from agents.dqn import make_agent\na = make_agent()\nwhile True:\n    a.learn(1); a.tidy()", ["TFP101", "TFP406"]),
        (
            "from agents import Agent\nclass Trainer:\n    def __init__(self):\n        self.agent = Agent()\n"
            "    def run(self):\n        for x in range(9999):\n            self.agent.learn(x)\n"
            "            self.agent.tidy()",
            ["TFP101", "TFP406"],
        ),
        ("import tensorflow as tf\nfrom agents import Agent\na = Agent()\na.learn = tf.function(a.learn)", []),
        ("from agents import Agent\nAgent().learn(1)", []),
    ],
)  # fmt: skip
def test_methods_of_objects_made_elsewhere_are_followed(project: Path, caller: str, found: list[str]) -> None:
    paths = write(project, agents____init__="from .dqn import Agent", agents__dqn=AGENT, train=caller)
    assert lint(paths).get("agents/dqn.py", []) == found


def test_a_function_that_its_package_gives_on_is_followed(project: Path) -> None:
    caller = "from kit import train_step, clean_up\nfor x in range(9000):\n    train_step(x, x); clean_up()"
    paths = write(
        project, kit____init__="from kit.steps import train_step, clean_up", kit__steps=STEP, train=caller
    )
    assert lint(paths) == {"kit/steps.py": ["TFP101", "TFP406"]}


@pytest.mark.parametrize(
    ("caller", "found"),
    [
        ("import tensorflow as tf\nimport parse\ndata = tf.data.TFRecordDataset(f).map(map_func=parse.Records.parse)", True),
        ("import tensorflow as tf\nfrom parse import Records\n@tf.function\ndef f(x):\n    Records.parse(x)", True),
        ("from parse import Records\nfor x in records:\n    Records.parse(x)", False),
        ("print(1)", False),
    ],
)  # fmt: skip
def test_what_another_file_compiles_is_compiled(project: Path, caller: str, found: bool) -> None:
    parse = """
        import numpy as np
        import tensorflow as tf
        class Records:
            @staticmethod
            def parse(record):
                return tf.io.parse_tensor(record, tf.float32) * np.random.rand()
        """
    paths = write(project, parse=parse, data=caller)
    assert lint(paths, frozenset({"TFP205"})) == ({"parse.py": ["TFP205"]} if found else {})


def test_a_chain_of_callers_in_several_files_is_followed(project: Path) -> None:
    paths = write(
        project,
        steps=STEP,
        middle="from steps import train_step, clean_up\ndef one(x):\n    train_step(x, x)\n    clean_up()",
        train="from middle import one\nfor x in range(9000):\n    one(x)",
    )
    assert lint(paths)["steps.py"] == ["TFP101", "TFP406"]


def test_a_base_class_that_keeps_what_a_class_is_given_calls_it(project: Path) -> None:
    actor = """
        import tensorflow as tf
        class Actor:
            def __init__(self):
                self.model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            def answer(self, state):
                return self.model.predict(state[None])
    """
    player = """
        class Player:
            def __init__(self, actor):
                self.actor = actor
            def run(self, env):
                state, done = env.reset(), False
                while not done:
                    state, reward, done, _ = env.step(self.actor.answer(state))
    """
    paths = write(
        project,
        actors=actor,
        player=player,
        players="from player import Player\nclass Quiet(Player):\n    def say(self):\n        pass\n",
        main="import tensorflow as tf\nfrom actors import Actor\nfrom players import Quiet\nQuiet(Actor()).run(env)\n",
    )
    assert lint(paths, frozenset({"TFP105"})) == {"actors.py": ["TFP105"]}


def test_a_compiled_layer_that_is_put_into_a_model_makes_no_step_of_it(project: Path) -> None:
    blocks = """
        import tensorflow as tf
        def check(size):
            assert size > 0
        @tf.function
        def smoothed(x, size):
            check(size)
            return tf.nn.avg_pool2d(x, size, 1, "SAME")
        def smooth(x, size):
            return smoothed(x, size)
        class Blur(tf.keras.layers.Layer):
            def __init__(self, size):
                super().__init__()
                self.size = size
                self.call = tf.function(self.call)
            def call(self, x):
                return smooth(x, self.size)
        def blur(x, size):
            return Blur(size)(x)
    """
    network = """
        import tensorflow as tf
        from blocks import blur
        def network(x, stages):
            for stage in range(stages):
                x = blur(x, stage)
            return x
    """
    paths = write(project, blocks=blocks, network=network)
    assert lint(paths, frozenset({"TFP201", "TFP204", "TFP107"})) == {}


@pytest.mark.parametrize(
    ("switch", "found"),
    [
        ("tf.config.run_functions_eagerly(True)", {}),
        ("tf.config.experimental_run_functions_eagerly(True)", {}),
        ("tf.config.run_functions_eagerly(False)", {"steps.py": ["TFP205"]}),
        ("def debug():\n    tf.config.run_functions_eagerly(True)", {"steps.py": ["TFP205"]}),
    ],
)
def test_an_imported_module_may_have_all_functions_run_eagerly(
    project: Path, switch: str, found: dict[str, list[str]]
) -> None:
    steps = """
        import numpy as np
        import tensorflow as tf
        import settings
        @tf.function
        def step(x):
            return x * np.random.uniform(0, 1)
    """
    paths = write(project, settings=f"import tensorflow as tf\n{switch}\n", steps=steps)
    assert lint(paths, frozenset({"TFP205"})) == found


def test_every_module_on_a_line_of_imports_is_seen(project: Path) -> None:
    tools = "import gc\nimport tensorflow as tf\ndef tidy():\n    gc.collect()"
    train = "import steps, tools\nfor x in range(9000):\n    steps.train_step(x, x)\n    steps.clean_up()"
    paths = write(project, steps=STEP, tools=tools, train=train)
    assert lint(paths) == {"steps.py": ["TFP101", "TFP406"]}


def test_a_base_class_that_compiles_a_method_decides_on_those_who_define_it_anew(project: Path) -> None:
    base = """
        import tensorflow as tf
        class Trainer:
            {decorator}
            def step(self, x):
                return self.update(x)
            def run(self, dataset):
                for x in dataset:
                    {call}(x)
    """
    mine = """
        import tensorflow as tf
        from base import Trainer
        class Mine(Trainer):
            def update(self, x):
                with tf.GradientTape() as tape:
                    loss = self.model(x)
                gradients = tape.gradient(loss, self.model.trainable_variables)
                self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
    """
    paths = write(project, base=base.format(decorator="@tf.function", call="self.step"), mine=mine)
    assert lint(paths) == {}
    paths = write(project, base=base.format(decorator="", call="self.update"), mine=mine)
    assert lint(paths) == {"mine.py": ["TFP101"]}


def test_one_file_alone_is_judged_with_what_its_neighbours_say(project: Path) -> None:
    steps, train = write(project, steps=STEP, train=LOOP + "train_step(x, y); clean_up()")
    assert lint([steps]) == lint([steps, train]) == {"steps.py": ["TFP101", "TFP406"]}


def test_outside_a_project_only_linted_files_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    steps, train = write(tmp_path, steps=STEP, train=LOOP + "train_step(x, y); clean_up()")
    assert lint([steps]) == {"steps.py": ["TFP101"]}
    assert lint([steps], project_root=tmp_path) == lint([steps, train]) == {"steps.py": ["TFP101", "TFP406"]}


def test_test_files_are_no_callers(project: Path) -> None:
    steps, _ = write(project, steps=STEP, test_steps=LOOP + "train_step(x, y); clean_up()")
    assert lint([steps]) == {"steps.py": ["TFP101"]}


def test_a_call_of_a_step_of_another_file_makes_a_loop_a_step_loop(project: Path) -> None:
    train = "import gc\nimport tensorflow as tf\nfrom steps import train_step\nfor x in batches:\n    train_step(x, x)\n    gc.collect()\n"
    paths = write(project, steps=STEP, train=train)
    assert lint(paths, frozenset({"TFP406"})) == {"train.py": ["TFP406"]}


def test_what_a_program_unpacks_for_a_function_of_its_own_is_known_in_other_files(project: Path) -> None:
    program = """
        from agents import Agent
        def run(agent, steps):
            for x in range(steps):
                agent.learn(x)
        if __name__ == "__main__":
            settings = {"agent": Agent(), "steps": 9999}
            run(**settings)
    """
    paths = write(project, agents=AGENT, train=program)
    assert lint(paths, frozenset({"TFP101"})) == {"agents.py": ["TFP101"]}


def test_a_class_whose_base_in_another_file_is_keras_s_is_one_of_keras_s(project: Path) -> None:
    base = "import tensorflow as tf\nclass Base(tf.keras.Model):\n    pass\n"
    model = (
        STEP.replace("def train_step(", "def step(")
        + """
    from base import Base
    class Net(Base):
        def train_step(self, x):
            with tf.GradientTape() as tape:
                loss = self(x)
            self.optimizer.apply_gradients(zip(tape.gradient(loss, self.weights), self.weights))
    """
    )
    paths = write(project, base=base, model=model)
    assert lint(paths, frozenset({"TFP101"})) == {"model.py": ["TFP101"]}


@pytest.mark.parametrize("imported", ["from tensorflow import keras", "from backend import keras"])
def test_the_layers_of_a_layer_make_no_loop_of_steps(project: Path, imported: str) -> None:
    blocks = f"""
        {imported}

        class Attention(keras.layers.Layer):
            def __init__(self):
                super().__init__()
                self.project = keras.layers.Dense(3)

            def call(self, x, training=False):
                return self.project(x, training=training)

            def build(self, shape):
                self.project.build(shape)

        class Block(keras.layers.Layer):
            def __init__(self):
                super().__init__()
                self.attention = Attention()

            def mix(self, x):
                return self.attention(x)

            def call(self, x):
                return self.mix(x) + x

        class Encoder(keras.layers.Layer):
            def __init__(self, count):
                super().__init__()
                self.blocks = [Block() for _ in range(count)]

            def call(self, x):
                for block in self.blocks:
                    x = block(x)
                return x
    """
    convert = "import tensorflow as tf\nfrom blocks import Encoder\nprint(Encoder(12)(tf.zeros((1, 3))))\n"
    paths = write(project, blocks=dedent(blocks), convert=convert)
    assert lint(paths, frozenset({"TFP107"})) == {}


def test_a_fix_waits_until_all_callers_are_known(project: Path) -> None:
    paths = write(
        project, steps=STEP, train="import tensorflow as tf\nimport steps\nf = tf.function(steps.train_step)"
    )
    before = paths[0].read_text()
    lint(paths, fix="apply", unsafe_fixes=True)
    assert paths[0].read_text() == before
    write(project, train=LOOP + "train_step(x, y)")
    lint(paths, fix="apply", unsafe_fixes=True)
    assert "@tf.function\ndef train_step" in paths[0].read_text()


def test_files_that_import_each_other_are_no_trouble(project: Path) -> None:
    paths = write(
        project,
        a="import tensorflow as tf\nfrom b import *\nfrom b import C\nclass B(C):\n    def go(self):\n        self.go()\n" + dedent(STEP),
        b="import tensorflow as tf\nfrom a import *\nfrom a import B\nclass C(B):\n    pass\nx = B().go()\n" + dedent(STEP),
    )  # fmt: skip
    assert lint(paths) == {"a.py": ["TFP101"], "b.py": ["TFP101"]}


@pytest.mark.slow
def test_several_processes_find_the_same(project: Path) -> None:
    files = {f"steps{number}": STEP for number in range(20)}
    calls = "".join(
        f"from steps{n} import clean_up as c{n}\nwhile True:\n    c{n}(); f()\n" for n in range(5)
    )
    train = "import tensorflow as tf\n@tf.function\ndef f():\n    tf.print(1)\n"
    paths = write(project, **files, train=train + calls.replace("f()", "model.train_on_batch(1)"))
    settings = Settings(root=Path(), rules=RULES, fixable=RULES)
    one, two = lint_files(paths, settings, 1), lint_files(paths, settings, 2)
    assert one == two
    assert [finding.code for finding in one[0].findings] == ["TFP101", "TFP406"]
    assert [finding.code for finding in one[9].findings] == ["TFP101"]


def test_a_module_that_sets_memory_growth_settles_it_for_those_who_import_it(project: Path) -> None:
    train = "import tensorflow as tf\nfrom setup_gpu import prepare\nimport other\nprepare()\nmodel = tf.keras.Sequential([])\nmodel.fit(x, y)\n"
    quiet = "import tensorflow as tf\ndef prepare():\n    print(tf.__version__)\n"
    setting = (
        "def prepare():\n    for g in gpus:\n        tf.config.experimental.set_memory_growth(g, True)\n"
    )
    rules = frozenset({"TFP404"})
    paths = write(project, setup_gpu=quiet, other=quiet, train=train.replace("prepare()\nm", "m"))
    assert lint(paths, rules) == {"train.py": ["TFP404"]}
    in_comment = "".join(f"# {line}\n" for line in setting.splitlines())
    write(project, other=f"import tensorflow as tf\nif tf:\n    #{in_comment}    pass\n")
    assert lint(paths, rules) == {"train.py": ["TFP404"]}
    write(project, other="import tensorflow as tf\n" + setting)
    assert lint(paths, rules) == {}


PROGRAM = "from agents import make_agent\nif __name__ == '__main__':\n    agent = make_agent()\n    for x in range(9999):\n        agent.learn(x)\n"
MEMORY = frozenset({"TFP404"})


@pytest.mark.parametrize(
    ("program", "row"),
    [
        (PROGRAM, 1),
        ("import os\nimport agents\nif __name__ == '__main__':\n    agents.Agent().learn(1)\n", 2),
        ("import agents\nimport tensorflow as tf\nagents.Agent().learn(1)\n", 2),
        ("from middle import run\nif __name__ == '__main__':\n    run()\n", 1),
        ("from middle import Trainer\ndef main():\n    Trainer().train()\nif __name__ == '__main__':\n    main()\n", 1),
    ],
)  # fmt: skip
def test_a_program_whose_training_is_in_other_files_is_found(project: Path, program: str, row: int) -> None:
    middle = """
        from agents import Agent
        class Trainer:
            def __init__(self):
                self.agent = Agent()
            def train(self):
                for x in range(9999):
                    self.agent.learn(x)
        def run():
            trainer = Trainer()
            def go():
                trainer.train()
            go()
    """
    paths = write(project, agents=AGENT, middle=middle, train=program)
    settings = Settings(root=Path(), rules=MEMORY, fixable=MEMORY)
    found = [f for result in lint_files(paths, settings, 1) for f in result.findings]
    assert [(f.code, f.start.row) for f in found] == [("TFP404", row)]


HEADS = """
import tensorflow as tf
class Learner:
    def learn(
        self,
        x: int = max(1, 2),
        optimizer=tf.keras.optimizers.Adam(0.1),
    ):
        pass
"""
CONSTANTS = "import tensorflow as tf\nTOLERANCE = tf.constant(0.01)\nKIND = tf.float32\n"


@pytest.mark.parametrize(
    ("physics", "above"),
    [
        (CONSTANTS, "import physics"),
        (HEADS, "import physics"),
        ("import keras\naugment = keras.Sequential([keras.layers.RandomFlip()])\n", "import physics"),
        ("from tensorflow import keras\nmean = keras.metrics.Mean()\n", "import physics"),
        ("from tensorflow.keras.metrics import Mean, Recall\nWATCHED = [Recall(0.5)]\n", "import physics"),
        ("from metrics import Recall\nWATCHED = [Recall(0.5)]\n", "x = 1"),
        ("import keras\nWATCHED = [\n    keras.metrics.Recall(),\n]\n", "import physics"),
        ("import keras\ndef net():\n    dense = keras.layers.Dense(1)\n    return dense\n", "x = 1"),
        ("KIND = 'tf.constant(1)'\n", "x = 1"),
        ("def learn(\n    x, rate=float(1), step=(1, (2, 3))\n):\n    return tf.constant(1)\n", "x = 1"),
    ],
)
def test_growth_is_set_before_an_import_that_makes_tensors(project: Path, physics: str, above: str) -> None:
    source = "import tensorflow as tf\nimport numpy as np\nimport physics\nimport agents\nx = 1\nagents.Agent().learn(x)\n"
    paths = write(project, agents=AGENT, physics=physics, train=source)
    settings = Settings(root=Path(), rules=MEMORY, fixable=MEMORY, fix="diff", unsafe_fixes=True)
    (diff,) = [result.diff for result in lint_files(paths, settings, 1) if result.diff]
    added, _, rest = diff.partition("set_memory_growth")
    assert f"{above}\n" not in added.replace("+", "")
    assert f" {above}\n" in rest


@pytest.mark.parametrize(("made", "fixed"), [("net = agents.make_agent()\n", False), ("", True)])
def test_growth_is_not_set_where_a_model_may_be_built_already(project: Path, made: str, fixed: bool) -> None:
    source = f"import agents\n{made}import tensorflow as tf\nagents.Agent().learn(1)\n"
    paths = write(project, agents=AGENT, train=source)
    settings = Settings(root=Path(), rules=MEMORY, fixable=MEMORY, fix="diff", unsafe_fixes=True)
    results = lint_files(paths, settings, 1)
    assert [finding.code for result in results for finding in (*result.findings, *result.fixed)] == ["TFP404"]
    assert any("set_memory_growth" in result.diff for result in results) is fixed


def test_growth_is_not_set_behind_an_import_that_makes_variables_and_it_is_said_why(project: Path) -> None:
    data = "import keras\naugment = keras.Sequential([keras.layers.RandomFlip()])\n"
    source = "# The data\nfrom data import augment\nimport tensorflow as tf\nimport agents\nagents.Agent().learn(1)\n"
    paths = write(project, agents=AGENT, data=data, train=source)
    results = lint_files(paths, Settings(root=Path(), rules=MEMORY), 1)
    (found,) = [finding for result in results for finding in result.findings]
    assert found.fix is None
    assert found.note == "no fix: a module that is imported makes tensors or variables at once (line 2)"
    assert "for each GPU above `from data import augment`, which makes tensors or variables" in found.message


GRAPH_MODEL = """
    import tensorflow.compat.v1 as tf
    class Model:
        def __init__(self, sess, optimizer):
            self.sess = sess
            self.images = tf.placeholder(tf.float32)
            self.train_op = optimizer(0.1).minimize(self.images)
        def train(self, images):
            for x in images:
                self.sess.run(self.train_op, feed_dict={self.images: x})
        def predict(self, x):
            return self.sess.run(self.images, feed_dict={self.images: x})
"""
RUNNER = """
    class Runner:
        def __init__(self, agent, env):
            self.agent, self.env = agent, env
        def run(self):
            for x in range(9999):
                self.agent.learn(x)
        def play(self):
            self.agent.act(self.env)
"""
HOOKS = """
    from agents import Agent
    class Base:
        def train(self):
            for x in range(9999):
                self._train_step(x)
        def evaluate(self):
            self.evaluate_step()
    class Derived(Base):
        def __init__(self):
            self.step = Agent().learn
        def _train_step(self, x):
            self.step(x)
    def fit(data, train_step):
        for x in data:
            train_step(x)
"""
TAPED = """
    import threading
    import tensorflow as tf
    from agents import Agent
    class Model:
        def backward(self, loss, tape):
            self.optimizer.apply_gradients([(tape.gradient(loss, self.w), self.w)])
    def step(x, model):
        with tf.GradientTape() as tape:
            loss = model.loss(x)
        model.backward(loss, tape)
    def make(name):
        return Agent() if name == "a" else find(name)
    class Worker(threading.Thread):
        def run(self):
            Agent().learn(1)
    def start():
        workers = []
        for i in range(4):
            workers.append(Worker())
        for worker in workers:
            worker.start()
"""
STARRED = (
    "from shared import *\ndef learn(tape, v):\n    optimizer.apply_gradients([(tape.gradient(v, v), v)])\n"
)
NAMED_MAIN = "import tensorflow as tf\nfrom agents import Agent\ndef main(agent):\n    Agent().learn(1)\n"
SESSION = "import tensorflow.compat.v1 as tf\nfrom models import Model\nsess = tf.Session()\nmodel = Model(sess, opt)\n"


@pytest.mark.parametrize(
    ("program", "row"),
    [
        # Without a main guard.
        ("import agents\nagent = agents.Agent()\nfor x in range(9999):\n    agent.learn(x)\n", 1),
        # By way of an object that another file is given, or that a name is looked up for.
        ("from agents import Agent\nfrom runner import Runner\nif __name__ == '__main__':\n    Runner(Agent(), env).run()\n", 1),
        ("from steps import *\nfrom runner import Runner\nif __name__ == '__main__':\n    Runner(pick(), env).run()\n", 1),
        ("import agents\ndef main(name):\n    agent = getattr(agents, name)()\n    agent.learn(1)\nmain('Agent')\n", 1),
        ("def main():\n    import named\n    named.main()\nif __name__ == '__main__':\n    main()\n", 2),
        ("from hooks import Derived\nDerived().train()\n", 1),
        ("import hooks\nhooks.fit(data, make_step())\n", 1),
        # A tape is handed on, and an object made, in other files.
        ("import taped\nif __name__ == '__main__':\n    taped.step(1)\n", 1),
        ("import os\nfrom taped import make\nmake('a').train()\nagent = make('b')\nagent.train()\n", 2),
        # Threads.
        ("from taped import start\nif __name__ == '__main__':\n    start()\n", 1),
        # In sessions.
        (SESSION + "model.train([1])\n", 1),
        (SESSION + "for x in images:\n    sess.run([model.train_op, model.images], {model.images: x})\n", 1),
        # What is called for GPUs in another file of the project sets nothing.
        ("import tensorflow as tf\nfrom runner import Runner\nfrom agents import *\nfrom gpus import train_on_gpu\ntrain_on_gpu()\n", 1),
    ],
)  # fmt: skip
def test_a_program_that_trains_by_what_it_is_given_or_in_a_session_is_found(
    project: Path, program: str, row: int
) -> None:
    gpus = "import tensorflow as tf\nfrom agents import Agent\ndef train_on_gpu():\n    Agent().learn(1)\n"
    paths = write(
        project, agents=AGENT, models=GRAPH_MODEL, runner=RUNNER, hooks=HOOKS, named=NAMED_MAIN, gpus=gpus, steps=STARRED,
        taped=TAPED, shared="import tensorflow as tf\n", train=program,
    )  # fmt: skip
    settings = Settings(root=Path(), rules=MEMORY, fixable=MEMORY)
    found = [f for result in lint_files(paths, settings, 1) for f in result.findings]
    assert [(f.code, f.start.row) for f in found] == [("TFP404", row)]


@pytest.mark.parametrize(
    "program",
    [
        "from agents import Agent\nfrom runner import Runner\nif __name__ == '__main__':\n    Runner(Agent(), env).play()\n",
        "from runner import Runner\nif __name__ == '__main__':\n    Runner(agent, env).run()\n",
        "import torch\nimport agents\ndef main(name):\n    agent = getattr(agents, name)()\n    agent.learn(1)\nmain('Agent')\n",
        "import tokens\nimport agents\ntokenizer = tokens.Tokenizer()\ntokenizer.train(agents.FILES)\n",
        "from agents import Agent\nfrom hooks import Base\nif __name__ == '__main__':\n    Base().evaluate()\n",
        "import agents\ndef main(data):\n    for x in data.train_batches():\n        agents.lost(x)\nmain([])\n",
        SESSION + "for x in images:\n    sess.run(model.images, {model.images: x})\n",
        SESSION + "for x in images:\n    sess.run([model.train_accuracy, model.images], {model.images: x})\n",
        SESSION + "model.predict(1)\n",
    ],
)  # fmt: skip
def test_a_program_that_uses_but_does_not_train_is_left_alone(project: Path, program: str) -> None:
    paths = write(project, agents=AGENT, models=GRAPH_MODEL, runner=RUNNER, hooks=HOOKS, train=program)
    assert lint(paths, MEMORY) == {}


@pytest.mark.parametrize(
    ("program", "others"),
    [
        # A library, and programs that train nothing.
        ("from agents import make_agent\ndef run():\n    make_agent().learn(1)\n", {}),
        ("from agents import make_agent\nif __name__ == '__main__':\n    make_agent().tidy()\n", {}),
        ("from agents import lost\nif __name__ == '__main__':\n    lost().learn(1)\n", {}),
        # What it imports, or what that imports, settles the memory or hides the GPUs.
        ("import gpus\n" + PROGRAM, {"gpus": "import tensorflow as tf\ntf.config.experimental.set_memory_growth(g, True)\n"}),
        ("import setup.gpus\n" + PROGRAM, {"setup__init": "", "setup__gpus": "tf.config.set_logical_device_configuration(g, c)\n"}),
        ("import a\n" + PROGRAM, {"a": "import b", "b": "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '-1'\n"}),
        ("import a\n" + PROGRAM, {"a": "from b import *", "b": "session_options.gpu_options.allow_growth = True\n"}),
    ],
)  # fmt: skip
def test_what_runs_no_training_of_other_files_or_settles_the_memory_there_is_left_alone(
    project: Path, program: str, others: dict[str, str]
) -> None:
    paths = write(project, agents=AGENT, train=program, **others)
    assert lint(paths, MEMORY) == {}


def test_only_rules_about_what_a_file_imports_see_one_that_names_no_framework(project: Path) -> None:
    paths = write(project, agents=AGENT, train="import gc\n" + PROGRAM + "        gc.collect()\n")
    assert lint(paths, frozenset({"TFP404", "TFP406"})) == {"train.py": ["TFP404"]}


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("agent.model(state)", ["TFP107"]),
        ("agent.model.predict(state)", ["TFP105"]),
        ("agent.model.predict_on_batch(state)", []),
        ("agent.tidy(state)", []),
    ],
)
def test_a_model_of_another_file_that_a_rollout_asks_is_known(
    project: Path, call: str, found: list[str]
) -> None:
    program = f"""
        from agents import Agent
        def play(env, agent):
            state = env.reset()
            while True:
                action = {call}
                state, reward, done, _ = env.step(action)
        if __name__ == "__main__":
            play(make_env(), Agent())
    """
    paths = write(project, agents=AGENT, train=program)
    assert lint(paths, frozenset({"TFP105", "TFP107"})).get("train.py", []) == found


@pytest.mark.parametrize(
    ("parameter", "found"),
    [
        ("state", ["TFP105"]),
        ("obs", ["TFP105"]),
        ("state_batch", ["TFP105"]),
        ("data", []),
        ("states_file", []),
        ("batch_indices", []),
    ],
)
def test_what_a_rollout_of_another_file_asks_a_model_for_is_one_sample(
    project: Path, parameter: str, found: list[str]
) -> None:
    agents = f"""
        import tensorflow as tf
        class Agent:
            def __init__(self):
                self.model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            def act(self, {parameter}):
                return self.model.predict({parameter})
    """
    program = (
        "from agents import Agent\nagent = Agent()\nwhile True:\n    env.step(agent.act(env.observe()))\n"
    )
    paths = write(project, agents=agents, train=program)
    assert lint(paths, frozenset({"TFP105"})).get("agents.py", []) == found


MINING = """
    import numpy as np
    def mined(model, rows, size):
        x, y = np.zeros((size, 4)), np.zeros((size, 1))
        for i in range(size):
            near, far = model.predict(np.array([rows[i], rows[i + 1]]))
            x[i], y[i] = rows[i], far - near
            PLAY
        return x, y
"""


@pytest.mark.parametrize(
    ("play", "found"),
    [
        ("pass", {"mining.py": ["TFP105"], "train.py": ["TFP105"]}),
        ("state = env.step(near)", {"mining.py": ["TFP105"]}),
    ],
)
def test_what_makes_the_batch_of_a_step_in_another_file_loops_as_part_of_it(
    project: Path, play: str, found: dict[str, list[str]]
) -> None:
    program = """
        import tensorflow as tf
        from mining import mined
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        for step in range(1000):
            x, y = mined(model, rows, batch_size)
            model.fit(x, y, verbose=0)
    """
    paths = write(project, mining=MINING.replace("PLAY", play), train=program)
    assert lint(paths, frozenset({"TFP105", "TFP303"})) == found


RANKING = """
    import numpy as np
    _net = None
    _cases = None
    def rank(net, cases):
        global _net, _cases
        _net, _cases = net, cases
        ranks = []
        for at in range(len(cases)):
            ranks.append(rank_one(at))
        return ranks
    def rank_one(at):
        user, items = _cases[at]
        return _net.predict([np.full(len(items), user), np.array(items)], batch_size=100, verbose=0)
"""


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("import tensorflow as tf\nnet = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n", {"ranking.py": ["TFP105"]}),
        ("from tensorflow import data\nfrom sklearn.linear_model import LinearRegression\nnet = LinearRegression()\n", {}),
    ],
)  # fmt: skip
def test_a_model_in_a_global_of_a_module_that_names_no_framework_is_that_of_its_callers(
    project: Path, made: str, found: dict[str, list[str]]
) -> None:
    program = (
        f"{made}from ranking import rank\nfor epoch in range(9):\n    net.fit(x, y)\n    rank(net, cases)\n"
    )
    paths = write(project, ranking=RANKING, train=program)
    assert lint(paths, frozenset({"TFP105"})) == found


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("draw(rows, batch_size)", ["TFP105"]),
        ("draw(rows, args.batch_size)", ["TFP105"]),
        ("draw(rows, 0.5)", []),
        ("drawn", []),
    ],
)
def test_a_function_of_another_file_makes_a_batch_where_it_is_told_the_size_of_one(
    project: Path, asked: str, found: list[str]
) -> None:
    draws = "import numpy as np\ndef draw(rows, size):\n    return rows.sample(size), np.ones((size, 1))\n"
    program = f"""
        import tensorflow as tf
        from draws import draw
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        drawn = draw(rows, batch_size)
        for step in range(1000):
            x, y = {asked}
            model.fit(x, y, verbose=0)
    """
    paths = write(project, draws=draws, train=program)
    assert lint(paths, frozenset({"TFP105"})).get("train.py", []) == found


def test_growth_is_set_below_the_imports_of_a_program_that_names_no_framework(project: Path) -> None:
    paths = write(project, agents=AGENT, train=PROGRAM)
    lint(paths, MEMORY, fix="apply", unsafe_fixes=True)
    assert (
        paths[1]
        .read_text()
        .startswith(
            "from agents import make_agent\nimport tensorflow as tf\n\nfor gpu in tf.config.list_physical_devices"
        )
    )
    assert lint(paths, MEMORY) == {}


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("agent.tidy(1)", ["TFP603"]),
        ("if step % 100 == 0:\n        agent.tidy(1)", []),
        ("if ready(step):\n        agent.tidy(1)", []),
    ],
)
def test_what_the_caller_asks_before_it_calls_counts(project: Path, call: str, found: list[str]) -> None:
    agent = AGENT.replace(
        "def tidy(self):\n            gc.collect()",
        "def tidy(self, g):\n            tf.summary.histogram('g', g, step=1)",
    )
    assert "histogram" in agent
    loop = f"from agent import Agent\nagent = Agent()\nfor step in range(9999):\n    agent.learn(step)\n    {call}\n"
    paths = write(project, agent=agent, train=loop)
    assert lint(paths, frozenset({"TFP603"})).get("agent.py", []) == found


@pytest.mark.parametrize(
    ("before", "found"),
    [("model = make()\nmodel.load_weights('best.h5')\n", []), ("model = make()\n", ["TFP302"])],
)
def test_what_a_program_calls_that_applies_a_trained_model_is_no_step_of_training(
    project: Path, before: str, found: list[str]
) -> None:
    shown = (
        "import tensorflow as tf\ndef show(model, x):\n    y = tf.nn.relu(model(x))\n    print(y.numpy())\n"
    )
    head = "import tensorflow as tf\nfrom shown import show\nfrom models import make\n"
    models = (
        "import tensorflow as tf\ndef make():\n    return tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
    )
    loop = "for x in tf.data.Dataset.from_tensor_slices(images).batch(8):\n    show(model, x)\n"
    paths = write(project, shown=shown, models=models, apply=head + before + loop)
    assert lint(paths, frozenset({"TFP302"})).get("shown.py", []) == found


def test_what_another_file_computes_under_the_tape_is_part_of_one_step(project: Path) -> None:
    net = """
        import tensorflow as tf
        class Net(tf.keras.Model):
            def call(self, x):
                return x
        def guess(model, x):
            for _ in range(9):
                x = model(x)
            return x
    """
    train = """
        import gc
        import tensorflow as tf
        from net import Net, guess
        model = Net()
        for step in range(1000):
            with tf.GradientTape() as tape:
                x = guess(model, draw())
                loss = 0.0
                for part in x[1:]:
                    loss += model(part)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            gc.collect()
    """
    assert lint(write(project, net=net, train=train)) == {"train.py": ["TFP101", "TFP406"]}


@pytest.mark.parametrize(
    ("guarded", "found"),
    [("agent.learn(x)", True), ("agent.judge(x)", False)],
    ids=["the training", "a look"],
)
def test_a_training_step_behind_a_guard_in_another_file_is_one_all_the_same(
    project: Path, guarded: str, found: bool
) -> None:
    agents = """
        import tensorflow as tf
        class Agent:
            def __init__(self):
                self.net = tf.keras.Sequential()
            def learn(self, x):
                self.net.train_on_batch(x, self.judge(x))
            def judge(self, x):
                return self.net(x, training=False)
        """
    program = f"""
        import gym
        from agents import Agent
        agent, env = Agent(), gym.make("CartPole-v1")
        for step in range(100000):
            x, reward, done, _ = env.step(0)
            if step % 4 == 0:
                {guarded}
        """
    files = write(project, agents=agents, program=program)
    assert ("agents.py" in lint(files, frozenset({"TFP107"}))) is found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("scored(net, x)", True),
        ("if step % 100 == 0: scored(net, x)", False),
        ("if tired: scored(net, x)", True),
    ],
)
def test_a_guard_in_front_of_all_calls_in_other_files_counts(project: Path, line: str, found: bool) -> None:
    scoring = """
        import tensorflow as tf
        def scored(net, x):
            return net(x, training=False)
        """
    program = f"""
        import tensorflow as tf
        from scoring import scored
        net = tf.keras.Sequential()
        for step, (x, y) in enumerate(tf.data.Dataset.from_tensor_slices(data).batch(32)):
            net.train_on_batch(x, y)
            {line}
        """
    files = write(project, scoring=scoring, program=program)
    assert ("scoring.py" in lint(files, frozenset({"TFP107"}))) is found


@pytest.mark.parametrize(
    ("under", "asked", "found"),
    [
        ("tf.GradientTape() as tape", "tape.gradient(loss, net.trainable_variables)", False),
        ("tf.GradientTape() as tape", "0", True),
        ("open(path) as log", "0", True),
    ],
)
def test_a_pass_that_another_file_runs_under_the_tape_is_that_of_the_gradient_step(
    project: Path, under: str, asked: str, found: bool
) -> None:
    losses = """
        import tensorflow as tf
        features = tf.keras.applications.VGG19()
        def perceptual_loss(x, y):
            return tf.reduce_mean(tf.abs(features(x) - features(y)))
        """
    program = f"""
        import tensorflow as tf
        from losses import perceptual_loss
        net = tf.keras.Sequential()
        for x, y in tf.data.Dataset.from_tensor_slices(data).batch(32):
            with {under}:
                loss = perceptual_loss(net(x), y)
            gradients = {asked}
        """
    files = write(project, losses=losses, program=program)
    assert ("losses.py" in lint(files, frozenset({"TFP107"}))) is found


@pytest.mark.parametrize(
    ("also", "found"),
    [
        ("saved = tf.train.Checkpoint(net=net)", ["TFP205"]),
        ("net(tf.zeros((1, 8)))", []),
        ("export(net)", []),
    ],
)
def test_a_layer_of_a_model_that_other_files_compile_is_compiled(
    project: Path, also: str, found: list[str]
) -> None:
    nets = """
        import tensorflow as tf
        class Attend(tf.keras.layers.Layer):
            def call(self, x):
                scores = tf.matmul(x, x, transpose_b=True)
                print("scores", scores)
                return tf.nn.softmax(scores)
        class Net(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.attend = Attend()
            def call(self, x):
                return self.attend(x)
        """
    program = f"""
        import tensorflow as tf
        from nets import Net
        net = Net()
        {also}
        @tf.function
        def step(x):
            return net(x)
        for x in tf.data.Dataset.from_tensor_slices(data).batch(32):
            step(x)
        """
    files = write(project, nets=nets, program=program)
    assert lint(files, frozenset({"TFP205"})).get("nets.py", []) == found


@pytest.mark.parametrize(("decorator", "rows"), [("@tf.function", [4]), ("", [])])
def test_a_step_of_a_model_that_another_file_calls_by_itself_is_what_that_makes_of_it(
    project: Path, decorator: str, rows: list[int]
) -> None:
    net = """
        import tensorflow as tf
        class Net(tf.keras.Model):
            def train_step(self, x): print(tf.reduce_sum(x))
            def call(self, x): return x
        """
    program = f"""
        import tensorflow as tf
        from net import Net
        net = Net()
        {decorator}
        def step(x):
            return net.train_step(x)
        for x in tf.data.Dataset.from_tensor_slices(data).batch(32):
            step(tf.cast(x, tf.float32))
        """
    files = write(project, net=net, program=program)
    found = lint_files(files, Settings(root=Path(), rules=frozenset({"TFP205"})), 1)
    assert [finding.start.row for result in found for finding in result.findings] == rows


@pytest.mark.parametrize("name", ["network", "critic_1", "dqn"])
def test_a_network_that_an_object_of_another_file_keeps_is_a_model(project: Path, name: str) -> None:
    greedy = f"""
        import tensorflow as tf
        class Greedy:
            def __init__(self, {name}):
                self.{name} = {name}
            def act(self, state):
                state = tf.expand_dims(state, axis=0)
                return tf.argmax(self.{name}(state)[0])
        """
    program = """
        import gym
        from greedy import Greedy
        from nets import build
        env = gym.make("CartPole-v1")
        greedy = Greedy(build())
        state = env.reset()
        while True:
            state, reward, done, info = env.step(greedy.act(state))
        """
    files = write(project, greedy=greedy, program=program)
    assert lint(files, frozenset({"TFP107"})) == {"greedy.py": ["TFP107"]}


@pytest.mark.parametrize(("decorator", "found"), [("@tf.function", False), ("", True)])
def test_a_model_of_another_file_may_be_compiled_itself(project: Path, decorator: str, found: bool) -> None:
    nets = f"""
        import tensorflow as tf
        class Actor(tf.keras.Model):
            {decorator}
            def call(self, x):
                return tf.nn.relu(x)
        """
    program = """
        import tensorflow as tf
        from nets import Actor
        actor = Actor()
        while not done:
            state, reward, done, _ = env.step(actor(state))
        """
    files = write(project, nets=nets, program=program)
    assert ("program.py" in lint(files, frozenset({"TFP107"}))) is found


@pytest.mark.parametrize(("start", "found"), [("trainer.fit_once()", True), ("trainer.look()", False)])
@pytest.mark.parametrize(
    "how", ["{}", "tf.distribute.get_strategy().run({})", "runs = dict(x={})\nruns[mode]()"]
)
def test_a_program_trains_by_what_it_hands_on(project: Path, start: str, found: bool, how: str) -> None:
    tools = """
        import tensorflow as tf
        class Trainer:
            def fit_once(self):
                tf.keras.Sequential().fit(data, epochs=3)
            def look(self):
                print(tf.keras.Sequential())
        """
    handed_on = how.format(start if how == "{}" else start.removesuffix("()"))
    program = f"import tensorflow as tf\nfrom tools import Trainer\ntrainer = Trainer()\nmode = ask()\n{handed_on}\n"
    files = write(project, tools=tools, program=program)
    assert ("program.py" in lint(files, frozenset({"TFP404"}))) is found


@pytest.mark.parametrize(("method", "found"), [("train_step", True), ("test_step", False)])
def test_a_program_trains_by_a_loop_that_gets_its_model(project: Path, method: str, found: bool) -> None:
    nets = """
        import tensorflow as tf
        class Net(tf.keras.Model):
            def train_step(self, x):
                with tf.GradientTape() as tape:
                    loss = self(x)
                self.optimizer.apply_gradients(zip(tape.gradient(loss, self.variables), self.variables))
        """
    loop = f"""
        def run(model, data):
            for x in data:
                metrics = model.{method}(x)
            model.save_weights("net")
        """
    program = "import tensorflow as tf\nfrom nets import Net\nfrom loop import run\nrun(Net(), data)\n"
    files = write(project, nets=nets, loop=loop, program=program)
    assert ("program.py" in lint(files, frozenset({"TFP404"}))) is found


@pytest.mark.parametrize(("call", "found"), [("super().learn(x)", True), ("super().look(x)", False)])
def test_a_method_of_a_base_in_another_file_is_reached_by_super(
    project: Path, call: str, found: bool
) -> None:
    base = """
        import tensorflow as tf
        class Base:
            def learn(self, x):
                tf.keras.Sequential().fit(x, epochs=3)
            def look(self, x):
                print(x)
        """
    program = f"""
        import tensorflow as tf
        from base import Base
        class Agent(Base):
            def learn(self, x):
                {call}
        Agent().learn(tf.zeros(3))
        """
    files = write(project, base=base, program=program)
    assert ("program.py" in lint(files, frozenset({"TFP404"}))) is found


@pytest.mark.parametrize(("where", "found"), [("if __name__ == '__main__':\n    ", True), ("", False)])
def test_what_a_module_does_to_the_devices_in_its_main_guard_is_not_done_by_importing_it(
    project: Path, where: str, found: bool
) -> None:
    net = f"import os\ndef f():\n    pass\n{where}os.environ['CUDA_VISIBLE_DEVICES'] = ''\n"
    program = "import tensorflow as tf\nimport net\ntf.keras.Sequential().fit(tf.zeros(3))\n"
    files = write(project, net=net, program=program)
    assert ("program.py" in lint(files, frozenset({"TFP404"}))) is found


@pytest.mark.parametrize("codes", [RULES, {"TFP101"}, {"TFP406"}, {"TFP101", "TFP406"}])
def test_whose_callers_matter_does_not_depend_on_the_rules_that_are_selected(
    project: Path, codes: set[str]
) -> None:
    (path,) = write(project, steps=STEP)
    neighbours = Neighbours(project, None)
    source = Source.from_bytes(path.read_bytes(), str(path))
    settings = Settings(root=Path(), rules=frozenset(codes))
    checked = check_source(source, settings, neighbours.outside(str(path), None), ask=True)
    assert checked.open.keys() == {"train_step", "clean_up"}


@pytest.mark.parametrize(
    "importing",
    [
        "from pack import (  # two modules\n    idle,\n    steps,\n)",
        "from pack import idle, \\\n    steps",
        "if True:\n    from pack import steps",
        "import pack.idle, pack.steps\nfrom pack import steps",
        "from pack import *\nfrom .pack import steps",
    ],
)
def test_a_module_is_called_however_it_is_imported(project: Path, importing: str) -> None:
    caller = f"{importing}\nfor x in range(9000):\n    steps.train_step(x, x)\n    steps.clean_up()"
    paths = write(project, pack__init="", pack__idle="", pack__steps=STEP, train=caller)
    (project / "pack" / "init.py").rename(project / "pack" / "__init__.py")
    assert lint([path for path in paths if path.name != "init.py"])["pack/steps.py"] == ["TFP101", "TFP406"]


def test_a_base_class_calls_what_imports_it(project: Path) -> None:
    base = """
        class Trainer:
            def run(self):
                for x in range(9000):
                    self.tidy()
    """
    derived = """
        import gc
        import tensorflow as tf
        from base import Trainer

        class Mine(Trainer):
            def tidy(self):
                tf.keras.Model().train_on_batch(1, 2)
                gc.collect()
    """
    assert lint(write(project, base=base, derived=derived)) == {"derived.py": ["TFP406"]}


BASE = """
    class Base:
        def train(self):
            for epoch in range(9):
                self.train_epoch()
        def train_epoch(self):
            {body}
"""


@pytest.mark.parametrize(
    ("body", "trains", "found"),
    [
        ("raise NotImplementedError", "tf.train.AdamOptimizer().minimize(loss)", True),
        ('"""Train once through the data."""', "tf.train.AdamOptimizer().minimize(loss)", True),
        ("pass", "tf.reduce_mean(loss)", False),
        ("print('nothing to do')", "tf.train.AdamOptimizer().minimize(loss)", False),
    ],
)
def test_a_base_class_trains_by_what_it_leaves_to_others(
    project: Path, body: str, trains: str, found: bool
) -> None:
    trainer = """
        from base import Base
        class Trainer(Base):
            def train_epoch(self):
                self.session.run([self.model.train_step, self.model.loss])
        """
    net = f"import tensorflow as tf\nclass Net:\n    def __init__(self, loss):\n        self.train_step = {trains}\n"
    program = "import tensorflow as tf\nfrom net import Net\nfrom trainer import Trainer\nTrainer(tf.Session(), Net(1)).train()\n"
    files = write(project, base=BASE.format(body=body), trainer=trainer, net=net, program=program)
    assert ("program.py" in lint(files, frozenset({"TFP404"}))) is found


@pytest.mark.parametrize(("method", "found"), [("explore", True), ("look", False)])
def test_a_program_trains_by_whichever_object_it_chooses(project: Path, method: str, found: bool) -> None:
    agents = """
        import tensorflow as tf
        class Deep:
            def explore(self):
                tf.keras.Sequential().fit(data, epochs=3)
            def look(self):
                print(1)
        class Random:
            def explore(self):
                print(2)
            def look(self):
                print(3)
        """
    program = f"""
        import tensorflow as tf
        from agents import Deep, Random
        if deep:
            agent = Deep()
        else:
            agent = Random()
        agent.{method}()
        """
    files = write(project, agents=agents, program=program)
    assert ("program.py" in lint(files, frozenset({"TFP404"}))) is found


def test_a_program_trains_by_a_step_whose_strategy_applies_the_gradients(project: Path) -> None:
    trainer = """
        import tensorflow as tf
        class Trainer:
            def __init__(self, strategy, optimizer, model):
                self.strategy, self.optimizer, self.model = strategy, optimizer, model
            @tf.function
            def _apply(self, gradients):
                self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
            @tf.function
            def step(self, batch):
                with tf.GradientTape() as tape:
                    loss = self.model(batch)
                self.strategy.run(self._apply, args=(tape.gradient(loss, self.model.trainable_variables),))
        """
    program = """
        import tensorflow as tf
        from trainer import Trainer
        trainer = Trainer(tf.distribute.MirroredStrategy(), tf.keras.optimizers.Adam(), tf.keras.Sequential())
        for batch in batches:
            trainer.step(batch)
        """
    files = write(project, trainer=trainer, program=program)
    assert "program.py" in lint(files, frozenset({"TFP404"}))


@pytest.mark.parametrize(
    ("saving", "found"),
    [
        ("if score >= best_score:\n        best_score = score\n        agent.store('best')", []),
        ("agent.store('last')", ["TFP603"]),
    ],
)
def test_a_call_after_the_training_does_not_make_one_behind_a_condition_one_of_each_step(
    project: Path, saving: str, found: list[str]
) -> None:
    nets = """
        import tensorflow as tf
        class Net:
            def __init__(self):
                self.model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            def store(self, path):
                self.model.save_weights(path)
        """
    agent = """
        from nets import Net
        class Agent:
            def __init__(self):
                self.net = Net()
            def store(self, path):
                self.net.store(path)
        """
    program = (
        "from agent import Agent\nagent = Agent()\nbest_score = 0\nfor step in range(1000):\n"
        f"    state, score, done, info = env.step(1)\n    {saving}\nagent.store('end')\n"
    )
    paths = write(project, nets=nets, agent=agent, program=program)
    assert lint(paths, frozenset({"TFP603"})).get("nets.py", []) == found


@pytest.mark.parametrize(("run", "found"), [("net.train_step()", ["TFP101"]), ("net.fit(data)", [])])
@pytest.mark.parametrize(
    "chosen", ["if deep:\n    net = nets.Deep()\nelse:\n    net = nets.Net()", "net = nets.Net()"]
)
def test_a_step_of_keras_that_another_file_runs_by_itself_is_eager(
    project: Path, chosen: str, run: str, found: list[str]
) -> None:
    nets = """
        import tensorflow as tf
        class Net(tf.keras.Model):
            def train_step(self, batch=None):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(self(self.memory.sample()) ** 2)
                gradients = tape.gradient(loss, self.trainable_variables)
                self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        class Deep(tf.keras.Model):
            def call(self, x):
                return x
            def train_step(self, batch=None):
                return {}
        """
    program = f"import nets\n{chosen}\nfor step in range(1000):\n    {run}\n"
    files = write(project, nets=nets, program=program)
    assert lint(files).get("nets.py", []) == found


@pytest.mark.parametrize(("decorator", "found"), [("@tf.function", []), ("", ["TFP107"])])
def test_a_model_that_other_files_give_as_a_parameter_may_be_compiled_itself(
    project: Path, decorator: str, found: list[str]
) -> None:
    nets = f"""
        import tensorflow as tf
        class Net(tf.keras.Model):
            {decorator}
            def call(self, x):
                return tf.nn.relu(x)
        def build():
            return Net()
        """
    score = """
        import tensorflow as tf
        def score(images, net):
            return rate(images, net)
        def rate(images, net):
            for image in images:
                show(net(image, training=False))
        """
    program = """
        from nets import build
        from score import score
        net = build()
        score(load(), net)
        """
    files = write(project, nets=nets, score=score, program=program)
    assert lint(files, frozenset({"TFP107"})).get("score.py", []) == found


_LEARNERS = """
    import tensorflow as tf
    class Learner(tf.keras.Model):
        def improve(self, x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(self(x) ** 2)
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
    class Planner(Learner):
        pass
"""
_RUNNERS = {
    "a function": """
        def run(env, learner, steps=100):
            for step in range(steps):
                learner.improve(env.observe())
        """,
    "an object": """
        class Run:
            def __init__(self, env, learner, steps=100):
                self.env, self.steps = env, steps
                self.agent = learner
            def train(self):
                for step in range(self.steps):
                    self.agent.improve(self.env.observe())
        class LongRun(Run):
            pass
        def run(env, learner):
            LongRun(env, learner).train()
        """,
    "an object of a class derived from another": """
        class Run:
            def __init__(self, env, learner):
                self.env, self.agent = env, None
                self.agent = learner
        class LongRun(Run):
            def __init__(self, env, learner, steps=100):
                super().__init__(env, learner=learner)
                self.steps = steps
            def train(self):
                for step in range(self.steps):
                    self.agent.improve(self.env.observe())
        """,
}


@pytest.mark.parametrize("runner", _RUNNERS.values(), ids=_RUNNERS.keys())
@pytest.mark.parametrize(("given", "found"), [("Planner()", ["TFP101"]), ("other()", [])])
def test_a_method_of_what_is_given_as_a_parameter_is_called(
    project: Path, runner: str, given: str, found: list[str]
) -> None:
    start = "LongRun(env, learner).train()" if "def run(" not in runner else "run(env, learner=learner)"
    program = f"""
        from learners import Planner
        from elsewhere import other
        from runner import *
        learner = {given}
        {start}
        """
    files = write(project, learners=_LEARNERS, runner=runner, program=program)
    assert lint(files).get("learners.py", []) == found


@pytest.mark.slow
def test_many_files_are_looked_through_in_several_processes(tmp_path: Path) -> None:
    from tflint_perf.project.callers import callers_of

    (tmp_path / "step.py").write_text(dedent(STEP))
    loop = "from step import train_step\nfor i in range(9):\n    train_step(i, {})\n"
    files = [tmp_path / f"program_{number}.py" for number in range(40)]
    for number, file in enumerate(files):
        file.write_text(loop.format(number))
    asked = {tmp_path / "step.py": {"train_step": ()}}
    project = [tmp_path / "step.py", *files]
    found = []
    for processes in (1, 2):
        near = Neighbours(tmp_path, None)
        with near.around.hearing() as heard:
            found.append((callers_of(asked, near.files, project, processes=processes), heard))
    assert found[0] == found[1]
    assert all(
        caller.per_step and caller.looped for caller in found[0][0][tmp_path / "step.py"]["train_step"]
    )


@pytest.mark.slow
def test_what_another_process_finds_a_file_to_say_is_kept(tmp_path: Path) -> None:
    from tflint_perf.project.uses_in import UsesIn

    (tmp_path / "step.py").write_text(dedent(STEP))
    files = [tmp_path / f"program_{number}.py" for number in range(40)]
    for file in files:
        file.write_text("from step import train_step\ntrain_step(1)\n")
    near = Neighbours(tmp_path, None)
    # The last is this process's own; all others are another one's.
    files[-1].write_text("import tensorflow as tf\n")
    UsesIn(near.files, near.mentions, frozenset(), processes=2).prepare(
        [file for other in files[:30] for file in (other, files[-1])]
    )
    assert tmp_path / "step.py" in near.files.known()


@pytest.mark.parametrize(("decorator", "found"), [("", True), ("@tf.function\n", False)])
def test_rows_are_computed_one_by_one_for_the_step_of_another_file_tfp106(
    project: Path, decorator: str, found: bool
) -> None:
    losses = (
        "import tensorflow as tf\ndef pairs(x):\n    rows = tf.square(x)\n    total = 0\n"
        "    for i in range(rows.shape[0]):\n        total += tf.reduce_sum(tf.exp(rows[i]))\n    return total\n"
    )
    train = (
        "import tensorflow as tf\nfrom losses import pairs\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
        f"opt = tf.keras.optimizers.SGD()\n{decorator}def step(x):\n    with tf.GradientTape() as tape:\n"
        "        loss = pairs(model(x))\n    gradients = tape.gradient(loss, model.trainable_variables)\n"
        "    opt.apply_gradients(zip(gradients, model.trainable_variables))\n"
        "for x in tf.data.Dataset.from_tensor_slices(data).batch(32):\n    step(x)\n"
    )
    linted = lint(write(project, losses=losses, train=train), frozenset({"TFP106"}))
    assert linted == ({"losses.py": ["TFP106"]} if found else {})


def test_where_fit_of_another_file_has_files_read_tfp304(project: Path) -> None:
    rows = """
        import numpy as np
        import tensorflow as tf
        class Rows(tf.keras.utils.Sequence):
            def __init__(self, paths):
                self.paths = paths
            def __getitem__(self, at):
                return np.loadtxt(self.paths[at])
        """
    train = "import tensorflow as tf\nfrom rows import Rows\nmodel = tf.keras.Sequential([])\n"
    fit = "model.fit(Rows(names), workers=4, use_multiprocessing={})\n"
    threads = write(project, rows=rows, train=train + fit.format("False"))
    assert lint(threads, frozenset({"TFP304"})) == {"rows.py": ["TFP304"]}
    processes = write(project, rows=rows, train=train + fit.format("True"))
    assert lint(processes, frozenset({"TFP304"})) == {}


def test_the_time_is_right_where_a_model_that_calls_the_layer_runs_eagerly_tfp205(project: Path) -> None:
    blocks = """
        import time
        import tensorflow as tf
        class Block(tf.keras.layers.Layer):
            def call(self, x):
                begun = time.time()
                x = tf.nn.relu(x)
                return x, time.time() - begun
        """
    net = """
        import tensorflow as tf
        from blocks import Block
        class Net(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.block = Block()
            def call(self, x):
                return self.block(x)
        """
    made = "import tensorflow as tf\nfrom net import Net\nnet = Net()\n"
    eager = write(project, blocks=blocks, net=net, show=made + "for x in xs:\n    print(net(x)[1])\n")
    assert lint(eager, frozenset({"TFP205"})) == {}
    compiled = made + "@tf.function\ndef step(x):\n    return net(x)\nfor x in xs:\n    print(step(x)[1])\n"
    traced = write(project, blocks=blocks, net=net, show=compiled)
    assert lint(traced, frozenset({"TFP205"})) == {"blocks.py": ["TFP205"]}


COMPILED = """
    import tensorflow as tf
    class Agent:
        def __init__(self):
            self.net = tf.keras.Sequential([tf.keras.layers.Dense(2)])
        @tf.function{signature}
        def act(self, x, epsilon):
            q = self.net(x)
            return tf.where(tf.random.uniform([]) < epsilon, tf.zeros_like(q), q)
    """
ACTING = """
    import tensorflow as tf
    from agent import Agent
    def play(agent):
        for step in range(100000):
            epsilon = max(0.1, 1.0 - step / 1000)
            agent.act(tf.zeros((1, 4)), {epsilon})
    play(Agent())
    """


@pytest.mark.parametrize(
    ("signature", "epsilon", "found"),
    [
        ("", "epsilon", True),
        ("", "tf.constant(epsilon)", False),
        ("", "0.1", False),
        ("(input_signature=[tf.TensorSpec(None), tf.TensorSpec([])])", "epsilon", False),
    ],
)
def test_a_number_that_changes_is_passed_to_a_function_that_another_file_compiles(
    project: Path, signature: str, epsilon: str, found: bool
) -> None:
    paths = write(project, agent=COMPILED.format(signature=signature), play=ACTING.format(epsilon=epsilon))
    assert (lint(paths, frozenset({"TFP202"})) == {"play.py": ["TFP202"]}) is found


def test_a_program_that_names_no_framework_passes_a_number_to_what_another_file_compiles_tfp202(
    project: Path,
) -> None:
    play = dedent(ACTING).format(epsilon="epsilon").replace("import tensorflow as tf\n", "")
    paths = write(
        project, agent=COMPILED.format(signature=""), play=play.replace("tf.zeros((1, 4))", "observe()")
    )
    assert lint(paths, frozenset({"TFP202"})) == {"play.py": ["TFP202"]}


HANDING_ON = """
    def choose(self, x, epsilon):
        return self.act(x, epsilon)
    """


@pytest.mark.parametrize(
    ("epsilon", "found"), [("epsilon", True), ("tf.constant(epsilon)", False), ("0.1", False)]
)
def test_a_number_that_another_file_changes_is_handed_on_to_a_compiled_function(
    project: Path, epsilon: str, found: bool
) -> None:
    agent = dedent(COMPILED.format(signature="")) + indent(dedent(HANDING_ON), "    ")
    play = ACTING.format(epsilon=epsilon).replace("agent.act", "agent.choose")
    assert lint(write(project, agent=agent, play=play), frozenset({"TFP202"})) == (
        {"agent.py": ["TFP202"]} if found else {}
    )


TASKS = """
    import tensorflow as tf
    class Meta:
        def __init__(self):
            self.net = tf.keras.Sequential([tf.keras.layers.Dense(2)])
        def learn(self, batches, optimizer):
            for x, y in next(batches):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(self.net(x) - y)
                gradients = tape.gradient(loss, self.net.trainable_variables)
                optimizer.apply_gradients(zip(gradients, self.net.trainable_variables))
    """


@pytest.mark.parametrize(("loop", "is_made"), [("for batch in range(1000): ", False), ("", True)])
def test_no_function_is_put_into_one_that_a_loop_of_another_file_calls(
    project: Path, loop: str, is_made: bool
) -> None:
    train = (
        "import tensorflow as tf\nfrom tasks import Meta\nmeta = Meta()\n"
        + f"{loop}meta.learn(batches(), adam)\n"
    )
    paths = write(project, tasks=TASKS, train=train)
    settings = Settings(None, frozenset({"TFP101"}), fixable=frozenset({"TFP101"}), unsafe_fixes=True)  # type: ignore[arg-type]
    found = [finding for result in lint_files(paths, settings, 1) for finding in result.findings]
    assert [finding.fix is not None for finding in found] == [is_made]


TRAINING = """
    from steps import train_step
    def train(steps):
        for step in range(steps):
            train_step(x, y)
"""


def test_a_few_steps_of_a_program_that_calls_through_two_files_are_few(project: Path) -> None:
    few = write(project, steps=STEP, training=TRAINING, run="from training import train\ntrain(20)\n")
    assert lint(few, frozenset({"TFP101"})) == {"steps.py": ["TFP101"]}
    fixed = TRAINING.replace("range(steps)", "range(20)")
    few = write(project, steps=STEP, training=fixed, run="from training import train\ntrain()\n")
    assert lint(few, frozenset({"TFP101"})) == {}
    many = write(project, run="from training import train\nfor fold in range(10): train()\n")
    assert lint([*few, *many], frozenset({"TFP101"})) == {"steps.py": ["TFP101"]}
    unknown = write(project, run="from training import train\nscheduler.every(60, train)\n")
    assert lint([*few, *unknown], frozenset({"TFP101"})) == {"steps.py": ["TFP101"]}


def test_a_loop_in_another_file_may_pause(project: Path) -> None:
    model = """
        import tensorflow as tf
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        def judge(x):
            return model.predict(x[None])
    """
    watch = "import time\nfrom model import judge\nwhile True:\n    judge(read())\n    time.sleep({})\n"
    assert lint(write(project, model=model, watch=watch.format(60)), frozenset({"TFP105"})) == {}
    often = write(project, model=model, watch=watch.format(0.01))
    assert lint(often, frozenset({"TFP105"})) == {"model.py": ["TFP105"]}


@pytest.mark.parametrize(
    ("imports", "number"),
    [
        ("from settings import STEPS", "STEPS"),
        ("from settings import *", "STEPS"),
        ("import settings", "settings.STEPS"),
        ("from settings import Config", "Config.steps"),
        ("from settings import STEPS as most", "most // 2"),
    ],
)
def test_a_number_may_be_a_setting_in_another_file(project: Path, imports: str, number: str) -> None:
    train = f"{imports}\n{dedent(STEP)}\nfor step in range({number}):\n    train_step(x, y)\n"
    few = write(project, settings="STEPS = 40\nclass Config:\n    steps = 2 * STEPS\n", train=train)
    assert lint(few, frozenset({"TFP101"})) == {}
    many = write(project, settings="STEPS = 4000\nclass Config:\n    steps = 2 * STEPS\n", train=train)
    assert lint(many, frozenset({"TFP101"})) == {"train.py": ["TFP101"]}
    unknown = "import sys\nSTEPS = 4\nif long: STEPS = int(sys.argv[1])\nclass Config:\n    steps = STEPS\n"
    assert lint(write(project, settings=unknown, train=train), frozenset({"TFP101"})) == {
        "train.py": ["TFP101"]
    }


def test_another_file_may_call_what_nothing_in_its_own_does(project: Path) -> None:
    program = f"{dedent(STEP)}\nmodel.compile('adam', 'mse')\nmodel.fit(arrays, answers)\n"
    loop = "from steps import train_step\nfor x, y in batches():\n    train_step(x, y)\n"
    assert lint(write(project, steps=program), frozenset({"TFP101"})) == {}
    assert lint(write(project, steps=program, more=loop), frozenset({"TFP101"})) == {"steps.py": ["TFP101"]}


BRAIN = """
    import numpy as np
    from tensorflow import keras
    class Brain:
        def __init__(self):
            self.model = keras.Sequential([keras.layers.Dense(2)])
        def predict(self, state):
            return self.model.predict(state.reshape(1, 4))
    """
OWNER_OF_BRAIN = """
    import numpy as np
    from brain import Brain
    class Agent:
        def __init__(self):
            self.brain = Brain()
        def learn(self, state):
            return self.brain.predict(state).max()
    """
WORLD = """
    import gymnasium as gym
    class World:
        def __init__(self):
            self.env = gym.make("CartPole-v1")
        def run(self, agent):
            state, _ = self.env.reset()
            while True:
                state, reward, done, _, _ = self.env.step(0)
                agent.{called}(state)
                if done:
                    break
    """
PLAYING = "from agent import Agent\nfrom world import World\nworld, agent = World(), Agent()\nwhile True:\n    world.run(agent)\n"


@pytest.mark.parametrize(("called", "found"), [("learn", True), ("remember", False)])
@pytest.mark.parametrize("alone", [False, True])
def test_steps_call_a_method_that_an_object_given_to_them_calls_of_another(
    project: Path, called: str, found: bool, alone: bool
) -> None:
    paths = write(project, brain=BRAIN, agent=OWNER_OF_BRAIN, world=WORLD.format(called=called), main=PLAYING)
    linted = [path for path in paths if path.name == "brain.py"] if alone else paths
    assert lint(linted, frozenset({"TFP105"})) == ({"brain.py": ["TFP105"]} if found else {})
