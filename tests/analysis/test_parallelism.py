"""Where several files are read, and where TensorFlow may not run stages in parallel by itself."""

from __future__ import annotations

import pytest

from tests.analysis.support import here, model_of

# An expression, and whether it surely gives several file names.
FILES = [
    ("['a', 'b']", True),
    ("['a']", False),
    ("'a'", False),
    ("[f for f in x]", True),
    ("tf.io.gfile.glob('*')", True),
    ("sorted(tf.io.gfile.glob('*'))", True),
    ("path.glob('*')", True),
    ("tf.io.gfile.glob('*')[:3]", True),
    ("tf.io.gfile.glob('*')[0]", False),
    ("['a', 'b'] + more", True),
    ("tf.data.Dataset.list_files('*').shuffle(9)", True),
    ("tf.data.Dataset.list_files('*').map(f)", False),
    ("tf.data.Dataset.from_tensor_slices(['a', 'b'])", True),
    ("tf.data.Dataset.from_tensor_slices(x)", False),
    ("x", False),
    ("f(x)", False),
]


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize(("files", "several"), FILES)
def test_several_files_are_lists_matches_and_datasets_of_names(
    files: str, several: bool, named: bool
) -> None:
    model = model_of(f"files = {files}\nhere(files)" if named else f"here({files})")
    assert model.parallelism.are_several_files(here(model).args[0].value) is several


OPTIONS = [
    ("options.experimental_optimization.map_parallelization = False", True),
    ("options.autotune.enabled = False", True),
    ("options.experimental_optimization.apply_default_optimizations = False", True),
    ("options.autotune.enabled = True", False),
    ("options.threading.private_threadpool_size = 1", False),
    ("other.autotune.enabled = False", False),
    ("enabled = False", False),
]


@pytest.mark.parametrize(("line", "off"), OPTIONS)
def test_options_switch_parallel_maps_off_for_their_pipeline_only(line: str, off: bool) -> None:
    model = model_of(
        f"options = tf.data.Options()\n{line}\ntf.data.Dataset.range(9).map(f).with_options(options)\n"
        "tf.data.Dataset.range(9).map(g)\n"
    )
    calls = model.calls_named("map")
    assert [model.parallelism.is_off(call) for call in calls] == [off, False]
