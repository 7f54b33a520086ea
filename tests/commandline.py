"""Runs the command line in this process."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tflint_perf.commands import run

# Two findings, TFP101 and TFP406, both with unsafe fixes; of the second, `SAFE` says that it is a safe one.
SLOW = """\
import gc

import tensorflow as tf

gc.set_threshold(50_000)


def train(model, dataset, optimizer):
    for images, labels in dataset:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(images) - labels))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        gc.collect()
"""

SAFE = "--config=extend-safe-fixes = ['TFP406']"
FIXED = SLOW.replace("        gc.collect()\n", "")
GC_FINDING = "14:9: TFP406 "
# One finding, whose fix is safe by itself, and what that makes of it.
RENAMED = 'import tensorflow as tf\n\ntf.keras.mixed_precision.experimental.set_policy("mixed_float16")\n'
RENAMED_FIXED = RENAMED.replace("experimental.set_policy", "set_global_policy")
CLEAN = "import tensorflow as tf\n\nprint(tf.__version__)\n"
BROKEN = "import tensorflow as tf\nimport gc\ndef f(:\n    gc.collect()\n"


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The command line with a scratch folder as the current one and no colours."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch

    def __call__(self, *arguments: str, stdin: bytes = b"") -> Ran:
        streams = [io.TextIOWrapper(io.BytesIO(data), encoding="utf-8") for data in (stdin, b"", b"")]
        with self.monkeypatch.context() as patch:
            for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
                patch.setattr(f"sys.{name}", stream)
            code = run(list(arguments))
        return Ran(code, *(text_of(stream) for stream in streams[1:]))

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def found(self, *arguments: str) -> Sequence[str]:
        """`path: CODE` of each finding."""
        lines = self(*arguments, "--output-format=concise", "--quiet").out.splitlines()
        return [f"{line.split(':')[0]}: {line.split(': ', 1)[1].split()[0].rstrip(':')}" for line in lines]


def text_of(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()
