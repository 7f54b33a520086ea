"""Who decides how much memory TensorFlow takes of a GPU."""

from __future__ import annotations

import libcst as cst
import pytest
from tflint_perf.rules.memory.gpu_memory import GpuMemory

from tflint_perf.analysis.model import Model

HEAD = "import os\nimport tensorflow as tf\n"


@pytest.mark.parametrize(
    ("code", "settled"),
    [
        ("tf.config.experimental.set_memory_growth(gpu, True)", True),
        ("tf.config.experimental.set_memory_growth(gpu, enable=False)", False),
        ("tf.config.set_logical_device_configuration(gpu, limits)", True),
        ("tf.compat.v1.ConfigProto(gpu_options=options)", True),
        ("config.gpu_options.allow_growth = True", True),
        ('os.environ["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"', True),
        ('os.environ["TF_GPU_ALLOCATOR"] = "cuda_malloc_async"', True),
        ("from tools import limit_gpu_memory\nlimit_gpu_memory()", True),
        ("from numba import cuda\ncuda.current_context()", False),
        ("model.select_device(0)", True),
        ("print('the gpu is left alone')", False),
    ],
)
def test_a_file_or_a_helper_whose_text_is_not_at_hand_settles_it(code: str, settled: bool) -> None:
    source = f"{HEAD}{code}\n"
    assert Model(cst.parse_module(source), source).own(GpuMemory).is_settled is settled
