"""Places that rules find something at, in pieces: datasets, conversions, steps, and what is made in loops."""

from __future__ import annotations

CONVERSIONS = [
    "tf.constant({x})", "tf.constant({x})", "tf.convert_to_tensor({x})", "tf.convert_to_tensor({x})", "tf.constant({x}, dtype=tf.float32)",
    "tf.cast({x}, tf.float32)", "tf.convert_to_tensor({x}, dtype=tf.float32)", "tf.constant({x}, name='inputs')", "tf.constant({x}, tf.float32, ({rows}, 2))",
    "tf.constant({x}[:size])", "tf.constant({x} * scale)", "tf.convert_to_tensor({x}.reshape(-1, 2))", "tf.constant(np.sqrt({x}))", "tf.constant(np.log({x}), tf.float32)",
    "tf.constant({x}.astype(np.float32))", "tf.constant({x}[1:size])", "tf.cast({x}[::2], tf.float32)", "tf.convert_to_tensor(np.float32({x}))",
    "tf.constant(np.stack([{x}, {x}], axis=1)[:, 0])", "tf.convert_to_tensor({x} / np.max({x}))", "tf.constant(np.divide(1.0, {x}), tf.float32)",
]  # fmt: skip
SOURCES = [
    "tf.data.Dataset.from_tensor_slices(({x}, {y}))", "tf.data.Dataset.from_tensor_slices(({x}, {y}))", "tf.data.Dataset.from_tensor_slices(({x}, {y}))",
    "tf.data.Dataset.zip((tf.data.Dataset.from_tensor_slices({x}), tf.data.Dataset.from_tensor_slices({y})))",
    "tf.data.Dataset.from_tensor_slices(({x}[:size], {y}[:size]))", "tf.data.Dataset.from_tensor_slices(({x} * scale, {y}))",
    "tf.data.Dataset.zip((tf.data.Dataset.from_tensor_slices({x}).shuffle(64, seed=3), tf.data.Dataset.from_tensor_slices({y})))",
    "tf.data.Dataset.from_tensors(({x}, {y})).unbatch()", "tf.data.Dataset.range({rows}).map(lambda i: (tf.ones([2]) * tf.cast(i, tf.float32), tf.ones([1])))",
    "tf.data.Dataset.from_tensor_slices((np.float32({x}), np.array({y})))", "tf.data.Dataset.from_tensor_slices((list({x}), list({y})))",
]  # fmt: skip
# Stages of single samples, then of batches.
EARLY = [
    ".map(lambda a, b: (a * scale, b))", ".map(lambda a, b: (a / 2.0, b))", ".map(halve)", ".map(halve_all)", ".filter(lambda a, b: tf.reduce_sum(a) >= -9.0)",
    ".take(size)", ".skip(2)", ".shard(2, 0)", ".repeat(2)", ".shuffle(64, seed=3)", ".shuffle(8)", ".cache()", ".concatenate(other)", ".enumerate().map(lambda i, pair: pair)",
    ".flat_map(lambda a, b: tf.data.Dataset.from_tensors((a, b)))", ".interleave(lambda a, b: tf.data.Dataset.from_tensors((a, b)), cycle_length=2)",
    ".map(lambda a, b: (a * w[0], b))", ".map(lambda a, b: (a + tf.random.normal([2]), b))", ".map(print_it)", ".map(lambda a, b: (tf.py_function(count_it, [a], tf.float32), b))",
    ".map(lambda a, b: (tf.image.random_brightness(a[None, :, None], 0.2)[0, :, 0], b))", ".shuffle(64, seed=3, reshuffle_each_iteration=False)", ".map(halve, deterministic=True)",
    ".concatenate(mixed)", ".take(0)", ".map(lambda a, b: (tf.debugging.check_numerics(a, 'bad'), b))", ".map(lambda a, b: (tf.reshape(a, [2]), b), name='reshape')", ".window(2).flat_map(lambda a, b: tf.data.Dataset.zip((a, b)))",
    ".take(int(np.sum([1, 1])) * 16)", ".map(Counter())", ".map(lambda a, b: (a, b * len(history)))", ".shuffle(np.random.randint(4, 9))", ".skip(len(history))", ".map(lambda a, b, k=len(history): (a, b + float(k)))",
]  # fmt: skip
BATCHES = [
    ".batch(16)",
    ".batch(16)",
    ".batch(size // 2)",
    ".batch(size)",
    ".batch(16, drop_remainder=True)",
    ".padded_batch(16)",
    ".batch(24)",
]
LATE = [
    ".map(lambda a, b: (a * 2.0, b))", ".map(halve)", ".prefetch(1)", ".take(2)", ".repeat(2)", ".cache()", ".shuffle(2, seed=4)", ".skip(1)", ".with_options(options)",
    ".map(lambda a, b: (tf.sort(a, axis=0), b))", ".filter(lambda a, b: True)", ".unbatch().batch(8)", ".repeat().take(3)", ".map(halve).with_options(options)",
]  # fmt: skip
HELPERS = {
    "halve_all": "def halve_all(a, b):\n    a = halve(a, b)[0]\n    return a, b",
    "halve": "def halve(a, b):\n    a = tf.cast(a, tf.float32) * 0.5\n    return a, b",
    "print_it": "def print_it(a, b):\n    tf.print('element', tf.shape(a))\n    return a, b",
    "count_it": "def count_it(a):\n    seen.append(1)\n    return a + float(len(seen))",
    "other": "other = tf.data.Dataset.from_tensor_slices((np.zeros((4, 2), np.float32), np.zeros((4, 1), np.float32)))",
    "mixed": "mixed = tf.data.Dataset.from_tensor_slices((np.ones((6, 2), np.float32), np.ones((6, 1), np.float32))).shuffle(6, seed=5)",
    "options": "options = tf.data.Options()\noptions.{switch} = False",
}
SWITCHES = ["autotune.enabled", "experimental_optimization.map_parallelization", "deterministic"]
# A whole pipeline whose map, or interleave, may run in parallel.
PARALLEL = [
    "tf.data.Dataset.from_tensor_slices(({x}, {y})).map(halve).batch(16).with_options(options).prefetch(1)",
    "tf.data.Dataset.from_tensor_slices(({x}, {y})).map(lambda a, b: (tf.nn.relu(a), b)).batch(16).with_options(options)",
    "tf.data.Dataset.from_tensor_slices(({x}, {y})).shuffle(9, seed=2).map(halve).batch(16).with_options(options)",
    "tf.data.Dataset.zip((tf.data.Dataset.from_tensor_slices({x}).shuffle(64, seed=3), tf.data.Dataset.from_tensor_slices({y}))).repeat(2).map(halve).batch(32).with_options(options)",
    "tf.data.Dataset.from_tensor_slices(({x}, {y})).shuffle(64, seed=3).cache().map(halve).batch(16).with_options(options)",
    "tf.data.Dataset.range(4).interleave(lambda n: tf.data.Dataset.range(n + 1), cycle_length={cycle}).map(lambda n: (tf.ones([2]) * tf.cast(n, tf.float32), tf.ones([1]))).batch(4)",
    "tf.data.Dataset.range(5).interleave(lambda n: tf.data.Dataset.from_tensors(n), cycle_length={cycle}, block_length=2).map(lambda n: (tf.ones([2]) * tf.cast(n, tf.float32), tf.ones([1]))).batch(2).prefetch(1)",
    "tf.data.Dataset.range(6).shuffle(6, seed=2).interleave(lambda n: tf.data.Dataset.range(n), cycle_length={cycle}).map(lambda n: (tf.ones([2]) * tf.cast(n, tf.float32), tf.ones([1]))).batch(4)",
    "tf.data.Dataset.range(4).interleave(lambda n: tf.data.Dataset.from_tensor_slices(tf.stack([n, n + 1])), cycle_length={cycle}).map(lambda n: (tf.ones([2]) * tf.cast(n, tf.float32), tf.ones([1]))).batch(4)",
    "tf.data.Dataset.range(4).interleave(lambda n: mixed, cycle_length={cycle}).batch(4)",
]  # fmt: skip
COMPILED = [
    "@tf.function\ndef compiled(v):\n    return v * scale",
    "@tf.function\ndef compiled(v):\n    v = tf.cast(v, tf.float32)\n    return tf.nn.relu(v) + 1.0",
    "@tf.function\ndef compiled(v, k=2.0):\n    return v * k",
    "compiled = tf.function(lambda v: v * 2.0 + scale)",
    "compiled = tf.function(shift)",
    "@tf.function(reduce_retracing=True)\ndef compiled(v):\n    return v / v.shape[0]",
    "@tf.function\ndef compiled(v):\n    return v * v.shape[0]",
    "@tf.function\ndef compiled(v, n=len(history)):\n    return v * float(n)",
    "@tf.function\ndef compiled(v, n=1 / (size - 32)):\n    return v * n",
    "@tf.function\ndef compiled(v: int(scale)):\n    return v * 2.0",
    "@tf.function\ndef compiled(v: seen.append('note')):\n    return v * 2.0",
    "@tf.function(jit_compile=bool(seen.append(1)))\ndef compiled(v):\n    return v * 2.0",
    "@tf.function\ndef compiled(v):\n    return v * w[0, 0]",
    "@tf.function\ndef compiled(v):\n    print('traced')\n    return v",
    "@tf.function\ndef compiled(v):\n    return v + tf.random.normal([])",
    "@tf.function\ndef compiled(v):\n    return v * tf.constant(x[0, 0])",
    "@tf.function\ndef compiled(v):\n    return v + tf.constant(len(history), tf.float32)",
    "@tf.function\ndef compiled(v):\n    '''Shift it.'''\n    half = v / 2.0\n    return half + tf.reduce_mean(half)",
    "compiled = tf.function(lambda v, a=float(w[0, 0]): v * a)",
]
COMPILED_HELPERS = {"shift": "def shift(v):\n    return v + 0.5"}
USES = [
    "compiled({v})",
    "compiled({v})",
    "compiled({v}) + compiled({v} * 2.0)",
    "compiled({v})[:2]",
    "compiled({v}[:1]) + compiled({v})",
]
LOSSES = [
    "tf.keras.losses.MeanSquaredError()", "tf.keras.losses.MeanAbsoluteError()", "tf.keras.losses.Huber()", "tf.keras.losses.MeanSquaredError(reduction='sum')",
    "tf.keras.losses.Huber(delta=scale)", "tf.keras.losses.LogCosh()", "tf.keras.losses.MeanSquaredError(name='error')", "tf.losses.MeanSquaredError()",
]  # fmt: skip
TAPES = [
    "tf.GradientTape()",
    "tf.GradientTape()",
    "tf.GradientTape()",
    "tf.GradientTape(persistent=True)",
    "tf.GradientTape(True)",
]
STEPS = [
    "with {tape} as tape:\n    loss = {loss}\ngradient = tape.gradient(loss, w)\nw.assign_sub(0.01 * gradient)",
    "with {tape} as tape:\n    prediction = tf.matmul({v}, w)\n    loss = {loss}\n(gradient,) = tape.gradient(loss, [w])\nw.assign_sub(gradient * 0.01)",
    "with {tape} as tape:\n    tape.watch(w)\n    loss = {loss}\ngradients = tape.gradient(loss, [w])\noptimizer.apply_gradients(zip(gradients, [w]))",
    "with {tape} as tape:\n    loss = {loss}\nif float(loss) > 0.0:\n    gradient = tape.gradient(loss, w)\n    w.assign_sub(0.01 * gradient)",
    "with {tape} as tape:\n    loss = {loss}\ngradient = tape.gradient(loss, w)\nif gradient is None:\n    gradient = tape.gradient(loss, w)\nw.assign_sub(0.01 * gradient)",
    "with {tape} as tape:\n    loss = {loss}\n    gradient = tape.gradient(loss, w)\nw.assign_sub(0.01 * gradient)",
    "with {tape} as tape:\n    loss = {loss}\noptimizer.apply_gradients([(tape.gradient(loss, w), w)])",
    "with {tape} as tape:\n    loss = {loss}\ntry:\n    gradient = tape.gradient(loss, w)\nexcept RuntimeError:\n    gradient = tf.zeros_like(w)\nw.assign_sub(0.01 * gradient)",
    "loss = train_step({v}, {t})",
]
HEAD_STEPS = {
    "train_step(": "@tf.function\ndef train_step(inputs, targets):\n    with tf.GradientTape() as tape:\n        loss = tf.reduce_mean((tf.matmul(inputs, w) - targets) ** 2)\n"
    "    w.assign_sub(0.01 * tape.gradient(loss, w))\n    return loss",
    "optimizer": "optimizer = tf.keras.optimizers.SGD(0.05)",
    "metric": "metric = tf.keras.metrics.Mean()",
}
OLD_PRECISION = [
    "tf.keras.mixed_precision.experimental.set_policy('{policy}')",
    "policy = tf.keras.mixed_precision.experimental.Policy('{policy}')\ntf.keras.mixed_precision.experimental.set_policy(policy)",
    "from tensorflow.keras.mixed_precision import experimental as mixed\nmixed.set_policy('{policy}')",
    "print('before')\ntf.keras.mixed_precision.experimental.set_policy('{policy}')\nprint(tf.keras.mixed_precision.experimental.global_policy().name)",
    "def set_up():\n    tf.keras.mixed_precision.experimental.set_policy('{policy}')\nset_up()",
    "def set_up():\n    tf.keras.mixed_precision.experimental.set_policy('{policy}')\nwith contextlib.suppress(AttributeError, ImportError):\n    set_up()",
    "def set_up():\n    tf.keras.mixed_precision.experimental.set_policy('{policy}')\nthread = threading.Thread(target=set_up)\nthread.start()\nthread.join()",
    "if scale:\n    tf.keras.mixed_precision.experimental.set_policy('{policy}')",
    "class Quiet:\n    def __enter__(self):\n        return self\n    def __exit__(self, *error):\n        return True\ndef set_up():\n    tf.keras.mixed_precision.experimental.set_policy('{policy}')\nwith Quiet():\n    set_up()",
]
