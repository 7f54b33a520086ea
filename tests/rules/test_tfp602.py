"""TFP602 removed-mixed-precision."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import fixed, flagged, notes

CODE = "TFP602"

SILENT = {
    "before a release that a name tells": """
        from project.compat import IS_PREV_TF_2_4_0
        if IS_PREV_TF_2_4_0:
            from tensorflow.keras.mixed_precision.experimental import LossScaleOptimizer
        else:
            from project.optimizers import LossScaleOptimizer
        """,
    "the present names": """
        import tensorflow as tf
        policy = tf.keras.mixed_precision.Policy("mixed_float16")
        tf.keras.mixed_precision.set_global_policy(policy)
        """,
    "another experimental module": """
        import tensorflow as tf
        from tensorflow.keras import mixed_precision
        tf.config.experimental.set_memory_growth(gpu, True)
        tf.data.experimental.AUTOTUNE
        """,
    "another library's module of that name": """
        from mylib.mixed_precision import experimental
        experimental.set_policy("mixed_float16")
        """,
    "a module of one's own": """
        from .mixed_precision import experimental as mixed_precision
        mixed_precision.set_policy("mixed_float16")
        """,
    "a name that is bound to something else": """
        import tensorflow as tf
        class experimental:
            mixed_precision = 1
        experimental.mixed_precision
        """,
    "the graph rewrite": """
        import tensorflow as tf
        opt = tf.train.experimental.enable_mixed_precision_graph_rewrite(opt)
        """,
    "TensorFlow 1": """
        import tensorflow as tf
        tf.compat.v1.keras.mixed_precision.experimental.set_policy("mixed_float16")
        """,
    "TensorFlow 1 under a short name": """
        import tensorflow.compat.v1 as tf
        tf.keras.mixed_precision.experimental.set_policy("mixed_float16")
        """,
    "behind a version": """
        import tensorflow as tf
        if tf.__version__ < "2.4":
            tf.keras.mixed_precision.experimental.set_policy("mixed_float16")
        """,
    "in the other branch of a version": """
        import tensorflow as tf
        if hasattr(tf.keras.mixed_precision, "set_global"):
            pass
        else:
            tf.keras.mixed_precision.experimental.set_policy("mixed_float16")
        """,
    "in a try": """
        import tensorflow as tf
        try:
            tf.keras.mixed_precision.experimental.set_policy("mixed_float16")
        except AttributeError:
            pass
        """,
    "where the import failed": """
        try:
            from tensorflow.keras.mixed_precision import Policy
        except ImportError:
            from tensorflow.keras.mixed_precision.experimental import Policy
        """,
    "beside the present name": """
        import tensorflow as tf
        def enable():
            if new:
                tf.keras.mixed_precision.set_global_policy("mixed_float16")
                return
            tf.keras.mixed_precision.experimental.set_policy("mixed_float16")
        """,
    "a string and a comment": """
        import tensorflow as tf
        print("tf.keras.mixed_precision.experimental")  # tf.keras.mixed_precision.experimental
        """,
}

FLAGGED = {
    "spelled out": """
        import tensorflow as tf
        policy = tf.keras.mixed_precision.experimental.Policy("mixed_float16")  # <-
        tf.keras.mixed_precision.experimental.set_policy(policy)
        model = build()
        opt = tf.keras.mixed_precision.experimental.LossScaleOptimizer(opt, loss_scale="dynamic")  # <-
        """,
    "imported as a module": """
        from tensorflow.keras.mixed_precision import experimental as mixed_precision
        mixed_precision.set_policy("mixed_float16")  # <-
        """,
    "names imported": """
        from tensorflow.keras.mixed_precision.experimental import set_policy  # <-
        set_policy("mixed_float16")
        """,
    "imported by a dotted name": """
        import tensorflow.keras.mixed_precision.experimental as mp
        mp.set_policy("mixed_float16")  # <-
        """,
    "from Keras itself": """
        from keras.mixed_precision import experimental
        experimental.set_policy("mixed_float16")  # <-
        """,
    "through the module above": """
        from tensorflow.keras import mixed_precision
        mixed_precision.experimental.set_policy("mixed_float16")  # <-
        """,
    "given a short name": """
        import tensorflow as tf
        mp = tf.keras.mixed_precision.experimental  # <-
        mp.set_policy("mixed_float16")
        """,
    "in a function": """
        import tensorflow as tf
        def main(args):
            if args.fp16:
                tf.keras.mixed_precision.experimental.set_policy("mixed_float16")  # <-
        """,
    "without a successor": """
        import tensorflow as tf
        tf.keras.mixed_precision.experimental.get_layer_policy(layer)  # <-
        """,
}

FIXED = {
    "spelled out": (
        """
        import tensorflow as tf
        # Compute in half precision.
        policy = tf.keras.mixed_precision.experimental.Policy("mixed_float16")
        tf.keras.mixed_precision.experimental.set_policy(policy)  # for all layers
        print(tf.keras.mixed_precision.experimental.global_policy().name)
        """,
        """
        import tensorflow as tf
        # Compute in half precision.
        policy = tf.keras.mixed_precision.Policy("mixed_float16")
        tf.keras.mixed_precision.set_global_policy(policy)  # for all layers
        print(tf.keras.mixed_precision.global_policy().name)
        """,
    ),
    "imported as a module": (
        """
        from tensorflow.keras.mixed_precision import experimental as mixed_precision
        policy = mixed_precision.Policy("mixed_float16")
        mixed_precision.set_policy(policy)
        """,
        """
        from tensorflow.keras import mixed_precision
        policy = mixed_precision.Policy("mixed_float16")
        mixed_precision.set_global_policy(policy)
        """,
    ),
    "imported as a module under another name": (
        """
        from tensorflow.keras.mixed_precision import experimental as prec
        prec.set_policy("mixed_float16")
        """,
        """
        from tensorflow.keras import mixed_precision as prec
        prec.set_global_policy("mixed_float16")
        """,
    ),
    "imported as experimental": (
        """
        from tensorflow.keras.mixed_precision import experimental
        experimental.set_policy(experimental.Policy("mixed_float16"))
        """,
        """
        from tensorflow.keras import mixed_precision
        mixed_precision.set_global_policy(mixed_precision.Policy("mixed_float16"))
        """,
    ),
    "imported as experimental where the other name is taken": (
        """
        from tensorflow.keras.mixed_precision import experimental
        def main(mixed_precision=True):
            if mixed_precision:
                experimental.set_policy("mixed_float16")
        """,
        """
        from tensorflow.keras import mixed_precision as experimental
        def main(mixed_precision=True):
            if mixed_precision:
                experimental.set_global_policy("mixed_float16")
        """,
    ),
    "names imported": (
        """
        from tensorflow.keras.mixed_precision.experimental import Policy, set_policy
        set_policy(Policy("mixed_float16"))
        """,
        """
        from tensorflow.keras.mixed_precision import Policy, set_global_policy
        set_global_policy(Policy("mixed_float16"))
        """,
    ),
    "a name imported under another": (
        """
        from tensorflow.keras.mixed_precision.experimental import set_policy as use
        use("mixed_float16")
        """,
        """
        from tensorflow.keras.mixed_precision import set_global_policy as use
        use("mixed_float16")
        """,
    ),
    "imported by a dotted name": (
        """
        import os, tensorflow.keras.mixed_precision.experimental as mp
        mp.set_policy("mixed_float16")
        """,
        """
        import os, tensorflow.keras.mixed_precision as mp
        mp.set_global_policy("mixed_float16")
        """,
    ),
    "given a short name": (
        """
        import tensorflow as tf
        mp = tf.keras.mixed_precision.experimental
        mp.set_policy("mixed_float16")
        """,
        """
        import tensorflow as tf
        mp = tf.keras.mixed_precision
        mp.set_global_policy("mixed_float16")
        """,
    ),
    "an optimizer with a dynamic loss scale": (
        """
        import tensorflow as tf
        opt = tf.keras.mixed_precision.experimental.LossScaleOptimizer(opt, loss_scale="dynamic")
        opt = tf.keras.mixed_precision.experimental.LossScaleOptimizer(tf.keras.optimizers.Adam(), "dynamic")
        """,
        """
        import tensorflow as tf
        opt = tf.keras.mixed_precision.LossScaleOptimizer(opt)
        opt = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam())
        """,
    ),
    "a policy with a dynamic loss scale": (
        """
        import tensorflow as tf
        policy = tf.keras.mixed_precision.experimental.Policy("mixed_float16", loss_scale="dynamic")
        """,
        """
        import tensorflow as tf
        policy = tf.keras.mixed_precision.Policy("mixed_float16")
        """,
    ),
    "a class that is asked for": (
        """
        import tensorflow as tf
        isinstance(optimizer, tf.keras.mixed_precision.experimental.LossScaleOptimizer)
        """,
        """
        import tensorflow as tf
        isinstance(optimizer, tf.keras.mixed_precision.LossScaleOptimizer)
        """,
    ),
}

REFUSED = {
    "its loss scale is now given in another way": """
        import tensorflow as tf
        tf.keras.mixed_precision.experimental.LossScaleOptimizer(opt, 128)
        """,
    "`get_scaled_loss` is gone, too": """
        import tensorflow as tf
        opt = tf.keras.mixed_precision.experimental.LossScaleOptimizer(opt, "dynamic")
        def step(loss):
            return opt.get_scaled_loss(loss)
        """,
    "`loss_scale` is gone, too": """
        import tensorflow as tf
        policy = tf.keras.mixed_precision.experimental.Policy("mixed_float16")
        print(policy.loss_scale)
        """,
    "`get_layer_policy` has no successor of that kind": """
        import tensorflow as tf
        tf.keras.mixed_precision.experimental.get_layer_policy(layer)
        """,
    "a star hides what is imported": """
        from tensorflow.keras.mixed_precision.experimental import *
        set_policy("mixed_float16")
        """,
    "its arguments can't be seen here": """
        import tensorflow as tf
        tf.keras.mixed_precision.experimental.Policy(*arguments)
        """,
    "it is imported together with other names": """
        from tensorflow.keras.mixed_precision import Policy, experimental
        experimental.global_policy()
        """,
}


@pytest.mark.parametrize("source", SILENT.values(), ids=list(SILENT))
def test_it_leaves_alone(source: str) -> None:
    assert flagged(CODE, source) == []


@pytest.mark.parametrize("source", FLAGGED.values(), ids=list(FLAGGED))
def test_it_flags_uses_that_stand_apart(source: str) -> None:
    rows = [row for row, line in enumerate(source.splitlines(), 1) if line.endswith("# <-")]
    assert flagged(CODE, source) == rows


@pytest.mark.parametrize(("source", "expected"), FIXED.values(), ids=list(FIXED))
def test_its_fix_gives(source: str, expected: str) -> None:
    assert fixed(CODE, source) == dedent(expected)


def test_it_refuses_to_drop_a_policys_loss_scale() -> None:
    source = """
        import tensorflow as tf
        tf.keras.mixed_precision.experimental.Policy("mixed_float16", loss_scale=128)
        """
    (note,) = notes(CODE, source)
    assert note == "no fix: its loss scale is now given in another way (line 3)"


@pytest.mark.parametrize(("reason", "source"), REFUSED.items())
def test_it_refuses_to_fix(reason: str, source: str) -> None:
    (note,) = notes(CODE, source)
    assert note.startswith(f"no fix: {reason}")


def test_each_optimizer_that_is_wrapped_is_reported() -> None:
    source = """
        from tensorflow.keras.mixed_precision import experimental as mp
        policy = mp.Policy("mixed_float16")
        mp.set_policy(policy)
        actor = mp.LossScaleOptimizer(tf.keras.optimizers.Adam(), "dynamic")
        critic = mp.LossScaleOptimizer(tf.keras.optimizers.Adam(), "dynamic")
        """
    assert flagged(CODE, source) == [3, 5, 6]
