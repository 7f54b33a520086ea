"""What a program computes and shows: run in this process, from the same beginning each time, and told as text."""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import logging
import os
import random
import re
import shutil
import sys
import tempfile
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

# Of the program's own names, those that hold plain values are compared; a name that a fix adds is none of them.
_DEEPEST = 4
_LONGEST = 200
# What is another in each run, whatever the program does: addresses, numbers of functions, places in files.
_VARYING = (
    (re.compile(r"0x[0-9a-f]+"), "0x"),
    (re.compile(r"(__(?:inference|forward|backward)_\w+?)_\d+"), r"\1"),
    (re.compile(r"\bline \d+"), "line"),
    (re.compile(r"[^\s\"'(]*program\.py:\d+"), "program.py"),
    (re.compile(r"(Dataset):\d+( transformation with iterator: )[\w:\[\]]+"), r"\1\2"),
    (re.compile(r"(passed to )\w*?(Map|Interleave)(?:V\d)?Dataset(?:V\d)?\b"), r"\1\2Dataset"),
)


class Seen(NamedTuple):
    """What a run of a program gave: what it printed, what its names hold, and the error that ended it."""

    out: str
    err: str
    names: dict[str, str]
    error: str


class Runner:
    """Runs programs in this process, which has TensorFlow imported; each begins as if it were the first."""

    def __init__(self) -> None:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
        import numpy as np
        import tensorflow as tf

        logging.getLogger("tensorflow").setLevel(logging.ERROR)
        _read_no_more_than_asked(tf)
        self._tf, self._np = tf, np
        tf.keras.backend.clear_session()
        tf.constant(0.0)
        # What is here before the programs is theirs to use, not to change.
        spaces = [tf, np, np.random, tf.data, tf.keras, tf.keras.losses, sys.modules["builtins"]]
        self._kept = [(space, dict(vars(space))) for space in spaces]
        self._modules = set(sys.modules)
        self._environment = dict(os.environ)
        self._errors = np.geterr()
        self._home = Path.cwd()
        gc.collect()
        gc.freeze()

    def run(self, text: str, *, old_names: bool = False) -> Seen:
        """Run a program in a new folder, and say what came of it; `old_names` brings back what TensorFlow removed."""
        folder = Path(tempfile.mkdtemp(prefix="hunt"))
        try:
            self._reset()
            os.chdir(folder)
            with self._old_precision() if old_names else contextlib.nullcontext():
                seen = self._run(text)
        finally:
            self._give_back()  # what comes now may need it
            os.chdir(self._home)
            shutil.rmtree(folder, ignore_errors=True)
        return Seen(*(_plain(part, folder) for part in seen))

    def _run(self, text: str) -> Seen:
        module = types.ModuleType("__main__")
        module.__dict__["__file__"] = "program.py"
        mine, sys.modules["__main__"] = sys.modules["__main__"], module
        error = ""
        try:
            code = compile(text, "program.py", "exec")
            with _caught(1) as out, _caught(2) as err:
                try:
                    exec(code, module.__dict__)
                except BaseException as raised:
                    error = f"{type(raised).__name__}: {raised}"
                    raised.__traceback__ = None
                for thread in threading.enumerate():
                    if isinstance(thread, threading.Timer):
                        thread.cancel()
        finally:
            sys.modules["__main__"] = mine
        names = {
            name: told
            for name, value in module.__dict__.items()
            if not name.startswith("_") and (told := self.tell(value))
        }
        module.__dict__.clear()
        return Seen(out(), err(), names, error)

    @contextlib.contextmanager
    def _old_precision(self) -> Iterator[None]:
        """`tf.keras.mixed_precision.experimental`, as it was before TensorFlow 2.9."""
        today = self._tf.keras.mixed_precision
        imported = importlib.import_module("tensorflow.keras.mixed_precision")
        old = types.ModuleType("tensorflow.keras.mixed_precision.experimental")
        for name in ("Policy", "LossScaleOptimizer", "global_policy"):
            setattr(old, name, getattr(today, name))
        old.set_policy = today.set_global_policy  # type: ignore[attr-defined]
        today.experimental = imported.experimental = old  # type: ignore[attr-defined]
        sys.modules[old.__name__] = old
        try:
            yield
        finally:
            for module in {id(today): today, id(imported): imported}.values():
                del module.experimental
            del sys.modules[old.__name__]

    def _give_back(self) -> None:
        """Give modules what they had before a program wrote into them."""
        for space, kept in self._kept:
            now = vars(space)
            # Builtins among them, which nothing here may call before they are back.
            for name in {**now}:
                if name not in kept:
                    del now[name]
            for name in kept:
                if name not in now or now[name] is not kept[name]:
                    now[name] = kept[name]

    def _reset(self) -> None:
        tf, np = self._tf, self._np
        self._give_back()
        for name in [name for name, module in list(sys.modules.items()) if name not in self._modules]:
            if (getattr(sys.modules[name], "__file__", "") or "").startswith(tempfile.gettempdir()):
                del sys.modules[name]
        os.environ.clear()
        os.environ.update(self._environment)
        gc.enable()
        gc.collect()
        tf.config.run_functions_eagerly(False)
        tf.debugging.disable_check_numerics()
        tf.keras.backend.clear_session()
        tf.keras.mixed_precision.set_global_policy("float32")
        tf.keras.backend.set_floatx("float32")
        tf.compat.v1.reset_default_graph()
        tf.random.set_seed(1)
        np.random.seed(1)
        random.seed(1)
        np.seterr(**self._errors)
        np.seterrcall(None)
        np.set_printoptions(**_PRINTING)
        warnings.resetwarnings()
        warnings.simplefilter("ignore")
        logging.getLogger().handlers.clear()

    def tell(self, value: Any, depth: int = 0) -> str:
        """A plain value as text, bit by bit; nothing for functions, datasets, models and the like."""
        tf, np = self._tf, self._np
        match value:
            case None | bool() | int() | str() | bytes() | complex():
                return repr(value)
            case float():
                return value.hex() if value == value else "nan"
            case np.ndarray() | np.generic():
                if value.dtype == object:
                    return self._several("array", value.ravel().tolist(), depth)
                return f"{value.dtype}{value.shape} {np.ascontiguousarray(value).tobytes().hex()}"
            case tf.Variable():
                return "variable " + self.tell(value.numpy())
            case tf.Tensor() if hasattr(value, "numpy"):
                return "tensor " + self.tell(value.numpy())
            case list() | tuple():
                return self._several(type(value).__name__, value, depth)
            case dict():
                return self._several("dict", list(value.items()), depth)
        return "" if depth == 0 else type(value).__name__.replace("_", "")

    def _several(self, kind: str, values: Any, depth: int) -> str:
        if depth >= _DEEPEST:
            return kind
        return f"{kind}[{', '.join(self.tell(value, depth + 1) for value in values[:_LONGEST])}]"


def _read_no_more_than_asked(tf: Any) -> None:
    """Have pipelines prefetch only where the program says so, as before TensorFlow 2.10, else no prefetch changes anything."""
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    dataset = tf.data.Dataset
    debugged = dataset._apply_debug_options
    dataset._apply_debug_options = lambda self: debugged(self).with_options(options)


_PRINTING = {
    "precision": 8, "threshold": 1000, "edgeitems": 3, "linewidth": 75, "suppress": False, "nanstr": "nan", "infstr": "inf",
    "sign": "-", "floatmode": "maxprec", "formatter": None, "legacy": False,
}  # fmt: skip


def differences(before: Seen, after: Seen) -> list[str]:
    """How what a program gave differs after a fix; nothing where it is the same."""
    found = []
    for what in ("out", "err", "error"):
        was, now = getattr(before, what), getattr(after, what)
        if was != now:
            found.append(f"{what}: {_first_line(was, now)}")
    # What a program had computed when an error ended it is gone with it: its prints and the error are what is left.
    for name, was in before.names.items() if not before.error else ():
        now = after.names.get(name, "nothing")
        if was != now:
            found.append(f"{name}: {was[:80]} → {now[:80]}")
    return found


def _first_line(was: str, now: str) -> str:
    """The first line that is another."""
    lines, others = was.splitlines(), now.splitlines()
    for line, other in zip(lines, others, strict=False):
        if line != other:
            return f"{line[:160]!r} → {other[:160]!r}"
    return f"{len(lines)} lines → {len(others)}: {(lines + others)[-1][:160]!r}"


def _plain(part: Any, folder: Path) -> Any:
    if not isinstance(part, str):
        return part
    part = part.replace(str(folder), "FOLDER")
    for pattern, plain in _VARYING:
        part = pattern.sub(plain, part)
    return part


@contextlib.contextmanager
def _caught(number: int) -> Iterator[Callable[[], str]]:
    """What Python and TensorFlow write to standard output or error, after the block."""
    stream = sys.stdout if number == 1 else sys.stderr
    name = "stdout" if number == 1 else "stderr"
    stream.flush()
    kept = os.dup(number)
    text = [""]
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), number)
        plain = io.TextIOWrapper(os.fdopen(os.dup(number), "wb"), encoding="utf-8", write_through=True)
        setattr(sys, name, plain)
        try:
            yield lambda: text[0]
        finally:
            with contextlib.suppress(ValueError):
                plain.flush()
                plain.close()
            setattr(sys, name, stream)
            os.dup2(kept, number)
            os.close(kept)
            file.seek(0)
            text[0] = file.read().decode("utf-8", "replace")
