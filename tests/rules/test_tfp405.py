"""TFP405 late-memory-growth."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import findings, fixed, flagged, notes

CODE = "TFP405"
PREAMBLE = "import tensorflow as tf\n"
GROW = """
for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, True)
"""


def module(source: str) -> str:
    return PREAMBLE + dedent(source).lstrip()


SILENT = {
    "growth set first": f"{GROW}\nx = tf.constant(1)\n",
    "things that run no op": f"""
        print(tf.__version__, tf.executing_eagerly())
        tf.random.set_seed(1)
        tf.keras.utils.set_random_seed(1)
        tf.get_logger().setLevel("ERROR")
        tf.keras.mixed_precision.set_global_policy("mixed_float16")
        tf.compat.v1.enable_eager_execution()
        shape = tf.TensorShape([1, 2])
        strategy = tf.distribute.get_strategy()
        visible = tf.config.list_physical_devices("GPU")
        inputs = tf.keras.Input((3,))
        layer = tf.keras.layers.Dense(3)
        {GROW.replace(chr(10), chr(10) + "        ")}
        """,
    "an op in a function that runs later": """
        def compute():
            return tf.constant(1)

        for gpu in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, True)
        compute()
        """,
    "an op in a lambda": """
        compute = lambda: tf.constant(1)
        tf.config.experimental.set_memory_growth(gpu, True)
        """,
    "an op that may not run": """
        if flag:
            x = tf.constant(1)
        y = tf.constant(1) if flag else None
        z = flag and tf.constant(1)
        w = [tf.constant(i) for i in values]
        for i in values:
            x = tf.constant(i)
        while more():
            x = tf.constant(1)
        try:
            x = tf.constant(1)
        except ValueError:
            pass
        tf.config.experimental.set_memory_growth(gpu, True)
        """,
    "an op that builds a graph": """
        with tf.Graph().as_default():
            x = tf.constant(1)
        tf.config.experimental.set_memory_growth(gpu, True)
        """,
    "growth in a graph's context": """
        with tf.Graph().as_default():
            x = tf.constant(1)
            tf.config.experimental.set_memory_growth(gpu, True)
        """,
    "graph code": """
        tf.compat.v1.disable_eager_execution()
        x = tf.constant(1)
        tf.config.experimental.set_memory_growth(gpu, True)
        """,
    "growth that was set before as well": """
        tf.config.experimental.set_memory_growth(gpu, True)
        x = tf.constant(1)
        tf.config.experimental.set_memory_growth(gpu, True)
        """,
    "growth turned off": """
        x = tf.constant(1)
        tf.config.experimental.set_memory_growth(gpu, False)
        """,
    "a function that one caller runs first": """
        def grow():
            tf.config.experimental.set_memory_growth(gpu, True)
        grow()
        x = tf.constant(1)
        grow()
        """,
    "a function that its caller runs first": """
        def grow():
            tf.config.experimental.set_memory_growth(gpu, True)
        def main():
            grow()
            x = tf.constant(1)
            grow()
        main()
        """,
    "a function that nobody here calls": """
        def grow():
            tf.config.experimental.set_memory_growth(gpu, True)
        x = tf.constant(1)
        """,
    "ops of the other branch": """
        if train:
            x = tf.constant(1)
        else:
            tf.config.experimental.set_memory_growth(gpu, True)
        """,
    "a class's methods": """
        class Model:
            def run(self):
                return tf.constant(1)
        tf.config.experimental.set_memory_growth(gpu, True)
        """,
    "a generator that is not run": """
        def batches():
            x = tf.constant(1)
            yield x
        source = batches()
        tf.config.experimental.set_memory_growth(gpu, True)
        """,
    "a listing of the logical devices behind it": """
        gpus = tf.config.list_physical_devices("GPU")
        if gpus:
            try:
                for gpu in gpus:
                    tf.config.experimental.set_memory_growth(gpu, True)
                logical = tf.config.list_logical_devices("GPU")
                print(len(gpus), len(logical))
            except RuntimeError as error:
                print(error)
        """,
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_says_nothing_of(source: str) -> None:
    assert flagged(CODE, module(source)) == []


FLAGGED = {
    "after an op": """
        x = tf.constant(1)
        tf.config.experimental.set_memory_growth(gpu, True)  # <-
        """,
    "after a variable, in a loop and a condition": """
        x = tf.Variable(1.0)
        gpus = tf.config.list_physical_devices("GPU")
        if gpus:
            try:
                for gpu in gpus:
                    tf.config.experimental.set_memory_growth(gpu, enable=True)  # <-
            except RuntimeError as error:
                print(error)
        """,
    "after a dataset": """
        dataset = tf.data.Dataset.from_tensor_slices(x).batch(32)
        tf.config.experimental.set_memory_growth(gpu, True)  # <-
        """,
    "after a strategy": """
        strategy = tf.distribute.MirroredStrategy()
        tf.config.experimental.set_memory_growth(gpu, True)  # <-
        """,
    "after the logical devices were listed": """
        print(tf.config.list_logical_devices())
        tf.config.experimental.set_memory_growth(gpu, True)  # <-
        """,
    "after a model was loaded": """
        model = tf.keras.models.load_model("model.keras")
        tf.config.experimental.set_memory_growth(gpu, True)  # <-
        """,
    "after a compiled function": """
        @tf.function
        def f():
            return 1
        f()
        tf.config.experimental.set_memory_growth(gpu, True)  # <-
        """,
    "after an op on a device": """
        with tf.device("/GPU:0"):
            x = tf.matmul(a, b)
        tf.config.experimental.set_memory_growth(gpu, True)  # <-
        """,
    "after a function that runs an op": """
        def make():
            if debug:
                print("make")
            return helper()
        def helper():
            return tf.random.normal((3, 3))
        x = make()
        tf.config.experimental.set_memory_growth(gpu, True)  # <-
        """,
    "a limit": """
        x = tf.constant(1)
        limit = tf.config.LogicalDeviceConfiguration(memory_limit=1024)
        tf.config.set_logical_device_configuration(gpu, [limit])  # <-
        """,
    "a virtual device": """
        x = tf.constant(1)
        limit = tf.config.experimental.VirtualDeviceConfiguration(memory_limit=1024)
        tf.config.experimental.set_virtual_device_configuration(gpu, [limit])  # <-
        """,
    "in a function whose caller runs an op": """
        def grow(gpus):
            for gpu in gpus:
                tf.config.experimental.set_memory_growth(gpu, True)  # <-
        def main():
            x = tf.constant(1)
            grow(tf.config.list_physical_devices("GPU"))
        if __name__ == "__main__":
            main()
        """,
    "in a function below an op of the module": """
        EPSILON = tf.constant(1e-7)
        def main():
            tf.config.experimental.set_memory_growth(gpu, True)  # <-
        if __name__ == "__main__":
            main()
        """,
    "in a function that nobody here calls, below an op of the module": """
        EPSILON = tf.constant(1e-7)
        def main():
            tf.config.experimental.set_memory_growth(gpu, True)  # <-
        """,
    "in the same branch": """
        if train:
            x = tf.constant(1)
            if gpus:
                tf.config.experimental.set_memory_growth(gpu, True)  # <-
        """,
}


@pytest.mark.parametrize("source", FLAGGED.values(), ids=FLAGGED.keys())
def test_flags(source: str) -> None:
    text = module(source)
    marked = [row for row, line in enumerate(text.splitlines(), 1) if line.endswith("# <-")]
    assert flagged(CODE, text) == marked != []


def test_names_what_has_run_before() -> None:
    (finding,) = findings(
        CODE, module("x = tf.Variable(1)\ntf.config.experimental.set_memory_growth(gpu, True)\n")
    )
    assert finding.message.startswith("`tf.Variable` has already run")


FIXES = {
    "a loop, with its comment": (
        """
        import numpy as np

        # Some weights.
        weights = tf.constant([0.2, 0.8])
        bias = 1

        # Take only what is needed.
        for gpu in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, True)

        print(weights)
        """,
        """
        import numpy as np

        # Take only what is needed.
        for gpu in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, True)

        # Some weights.
        weights = tf.constant([0.2, 0.8])
        bias = 1

        print(weights)
        """,
    ),
    "with what it needs": (
        """
        def main():
            strategy = tf.distribute.MirroredStrategy()
            print(strategy)
            gpus = tf.config.list_physical_devices("GPU")
            name = "x"
            if gpus:
                try:
                    for gpu in gpus:
                        tf.config.experimental.set_memory_growth(gpu, True)
                except RuntimeError as error:
                    print(error)
            train(strategy)
        """,
        """
        def main():
            gpus = tf.config.list_physical_devices("GPU")
            if gpus:
                try:
                    for gpu in gpus:
                        tf.config.experimental.set_memory_growth(gpu, True)
                except RuntimeError as error:
                    print(error)

            strategy = tf.distribute.MirroredStrategy()
            print(strategy)
            name = "x"
            train(strategy)
        """,
    ),
    "a line at the end": (
        """
        gpu = tf.config.list_physical_devices("GPU")[0]
        with tf.device("/CPU:0"):
            x = tf.constant(1)
        tf.config.experimental.set_memory_growth(gpu, True)
        """,
        """
        gpu = tf.config.list_physical_devices("GPU")[0]
        tf.config.experimental.set_memory_growth(gpu, True)
        with tf.device("/CPU:0"):
            x = tf.constant(1)
        """,
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES.keys())
def test_moves_it_above_the_first_op(before: str, after: str) -> None:
    assert fixed(CODE, module(before)) == module(after)


def test_nothing_is_found_once_it_was_moved() -> None:
    for before, _ in FIXES.values():
        assert flagged(CODE, fixed(CODE, module(before))) == []


def test_the_fix_is_unsafe() -> None:
    (finding,) = findings(CODE, module(FIXES["a line at the end"][0]))
    assert finding.fix is not None
    assert not finding.fix.safe


REFUSED = {
    "they are in different functions (line 2)": """
        EPSILON = tf.constant(1e-7)
        def main():
            tf.config.experimental.set_memory_growth(gpu, True)
        """,
    "it needs what that statement computes (line 2)": """
        gpus = tf.config.list_logical_devices("GPU")
        tf.config.experimental.set_memory_growth(gpus[0], True)
        """,
    "it shares its line with other statements (line 2)": """
        x = tf.constant(1); tf.config.experimental.set_memory_growth(gpu, True)
        """,
    "the code in between depends on it (line 3)": """
        x = tf.constant(1)
        print(gpu)
        gpu = tf.config.list_physical_devices("GPU")[0]
        tf.config.experimental.set_memory_growth(gpu, True)
        """,
    "its statement does other things, too (line 5)": """
        x = tf.constant(1)
        if __name__ == "__main__":
            tf.config.experimental.set_memory_growth(gpu, True)
            train()
        """,
    "its statement does other things, too (line 3)": """
        x = tf.constant(1)
        gpu = choose_gpu()
        tf.config.experimental.set_memory_growth(gpu, True)
        """,
}


@pytest.mark.parametrize(("reason", "source"), REFUSED.items(), ids=REFUSED.keys())
def test_says_why_it_does_not_move_it(reason: str, source: str) -> None:
    assert notes(CODE, module(source)) == [f"no fix: {reason}"]
