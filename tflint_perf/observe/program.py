"""Runs the user's program as Python would run it, with the observer in place, and writes down what was seen.

Started as `python program.py settings.json` by the Python that the program is for.
"""

from __future__ import annotations

import atexit
import builtins
import importlib.machinery
import importlib.util
import json
import linecache
import os
import signal
import sys
import threading
import traceback
from contextlib import suppress
from time import perf_counter
from types import CodeType, ModuleType, TracebackType
from typing import Any, NoReturn

_HERE = os.path.dirname(os.path.abspath(__file__))


class Observation:
    """One program, from its start to what is written about it."""

    def __init__(self, settings: dict[str, Any]) -> None:
        from tflint_perf.observe.hooks import Hooks, watch_files, watch_garbage
        from tflint_perf.observe.learned import Learned
        from tflint_perf.observe.patching import Finder, each_after_the_other
        from tflint_perf.observe.sources import Finder as ProbedFinder
        from tflint_perf.observe.sources import Probes
        from tflint_perf.observe.stacklevel import leave_out_the_observer
        from tflint_perf.observe.timers import Timers
        from tflint_perf.observe.training_hooks import TrainedHooks
        from tflint_perf.observe.user_code import Places
        from tflint_perf.observe.watcher import Watcher

        self.settings = settings
        self.began = perf_counter()
        self.pid = os.getpid()
        self.written = False
        places = Places(settings["root"])
        self.watcher = Watcher(
            places,
            steps=settings["steps"],
            seconds=settings["seconds"],
            details=settings["details"],
            optimizers=settings["optimizers"],
            began=self.began,
        )
        self.watcher.end_now = self._end_now
        learning = settings.get("learning")
        self.learned = (
            Learned(
                learning["out"], learning["seed"], learning["nudge"], learning["eagerly"], learning["drawn"]
            )
            if learning
            else None
        )
        step = settings.get("step")
        self.probes = Probes(settings["probes"], tuple(step) if step else None)
        self.probes.install(self._told)
        hooks = dict(Hooks(self.watcher, self.learned).by_module())
        if self.learned is not None:
            self.learned.begin()
            self.watcher.after_step.append(self.learned.after_step)
            # Innermost: what marks steps looks at the frame that calls it.
            hooks = each_after_the_other(TrainedHooks(self.learned).by_module(), hooks)
            hooks["numpy"] = self.learned.hook_numpy
            hooks["tensorflow.python.ops.gen_random_ops"] = self.learned.hook_orders
            hooks["tensorflow.python.eager.polymorphic_function.eager_function_run"] = (
                self.learned.hook_functions
            )
        hooks["tensorflow.python.autograph.impl.api"] = self.probes.hook_autograph
        leave_out_the_observer()
        sys.meta_path[:0] = [Finder(hooks), ProbedFinder(self.probes)]
        if settings["details"]:
            timers = Timers(self.watcher)
            self.watcher.before_close.append(timers.install)
            watch_garbage(self.watcher)
            watch_files(self.watcher)
        if settings.get("writable"):
            _allow_writing_below(settings["writable"], os.path.dirname(settings["out"]))
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._leave_alone)

    def _leave_alone(self) -> None:
        """In a process that the program has forked."""
        self.watcher.forked = True
        self.watcher.looks.end()

    def _told(self) -> None:
        self.watcher.mark("told", "told", sys._getframe(1))

    def run(self) -> NoReturn:
        """Run the program, write what was seen, and leave as the program would."""
        from tflint_perf.observe.watcher import Stop

        code, how = 0, "end"
        died: BaseException | None = None
        try:
            _run_program(self.settings, self.probes)
        except Stop:
            how = self.watcher.stopped_by or "steps"
        except SystemExit as leave:
            how, code = ("exit", _exit_code(leave))
        except BaseException as error:
            how, code, died = "error", 1, error
        self._wait_for_threads(how)
        if os.getpid() != self.pid:
            # A fork that has come back to here: it leaves as it would.
            if died is not None:
                _show(died)
            _leave(code)
        if how in ("steps", "seconds"):
            self._end_now(how)
        if died is not None:
            _show(died)
        self._write(how, code, died)
        if isinstance(died, KeyboardInterrupt):
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            _flush()
            os.kill(os.getpid(), signal.SIGINT)
        _leave(code)

    def _wait_for_threads(self, how: str) -> None:
        """A program ends when its threads have ended; they may be those that train."""
        if how == "end" and os.getpid() == self.pid:
            for thread in threading.enumerate():
                if thread is not threading.current_thread() and not thread.daemon:
                    thread.join()

    def _end_now(self, how: str) -> NoReturn:
        """Write, and end: what still runs in threads and processes of the program's is not waited for."""
        self._write(how, 0, None)
        processes = sys.modules.get("multiprocessing")
        if processes is not None:
            for child in processes.active_children():
                child.terminate()
        atexit.unregister(self._at_exit)
        with suppress(Exception):
            atexit._run_exitfuncs()
        _flush()
        os._exit(0)

    def _at_exit(self) -> None:
        self._write("end", 0, None)

    def _write(self, how: str, code: int, error: BaseException | None) -> None:
        if self.written or os.getpid() != self.pid:
            return
        self.written = True
        watcher = self.watcher
        watcher.ended = how
        watcher.looks.end()
        watcher.profile.stop()
        with suppress(Exception):  # of a TensorFlow that is being taken down
            watcher.last_sample()
        learned = False
        if self.learned is not None and watcher.steps:
            learned = self.learned.write(
                of_whole_steps=watcher.stopped_by == "steps" and not watcher.steps_are_updates
            )
        document = self._document(how, code, error)
        document["learned"] = learned
        out = self.settings["out"]
        with open(out + ".part", "w", encoding="utf-8") as file:
            json.dump(document, file)
        os.replace(out + ".part", out)

    def _document(self, how: str, code: int, error: BaseException | None) -> dict[str, Any]:
        from tflint_perf.observe.timers import cost_of_a_timer
        from tflint_perf.observe.watcher import MODES

        watcher, ledger = self.watcher, self.watcher.ledger
        loop, active = watcher.loop_in_graph or watcher.clock.loop(), watcher.clock.active()
        best = max(active, key=lambda source: source.count, default=None)
        return {
            "how": how,
            "code": code,
            "error": _one_line(error) if error is not None else None,
            "wall": perf_counter() - self.began,
            "versions": _versions(),
            "device": _device(),
            "tensorflow": "tensorflow" in sys.modules,
            "kind": "keras" if watcher.clock.is_in_library() else watcher.clock.kind,
            "loop": loop,
            "update": best.update if best is not None else None,
            "notes": list(watcher.notes),
            "others": watcher.others,
            "optimizers": watcher.clock.optimizers,
            "modes": MODES,
            "first_step": watcher.first_step,
            "steps": watcher.steps,
            "work": watcher.work,
            "memory": watcher.memory,
            "samples": watcher.samples,
            "holders": watcher.holders,
            "close": {
                "steps": ledger.steps,
                "by_step": ledger.by_step,
                "entries": [[*key, count] for key, count in ledger.entries.items()],
                "timer": cost_of_a_timer(watcher, on=True) if ledger.steps else 0.0,
                "idle": cost_of_a_timer(watcher, on=False) if ledger.steps else 0.0,
                "events": [[*key, *found] for key, found in ledger.events.items()],
            },
            "looks": {
                "seconds": watcher.looks.seconds,
                "squares": watcher.looks.squares,
                "lines": [[rows, seconds] for rows, seconds in watcher.looks.lines.items()],
                "kinds": watcher.looks.kinds,
            },
            "between": {
                "times": watcher.between,
                "lines": [[rows, seconds] for rows, seconds in watcher.looks.between.items()],
            },
            "profile": {"seconds": watcher.profile.seconds, "events": watcher.profile.events},
            "ever": [[*key, *found] for key, found in watcher.ever.items()],
            "traces": watcher.traces,
            "reached": self.probes.reached(),
        }


def _run_program(settings: dict[str, Any], probes: Any) -> None:
    main = ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    sys.argv[:] = [settings["argv0"], *settings["arguments"]]
    if settings["form"] == "module":
        sys.path[0] = os.getcwd()
        name, module_code, spec = _module(settings["target"], probes)
        sys.argv[0] = name
        main.__dict__.update(__file__=name, __spec__=spec, __package__=spec.parent, __loader__=spec.loader)
        exec(module_code, main.__dict__)
        return
    path = settings["target"]
    sys.path[0] = os.path.dirname(os.path.realpath(path))
    if settings["form"] == "notebook":
        sys.path[0] = os.getcwd()
        main.__dict__["get_ipython"] = lambda: None
        for name, text in settings["cells"]:
            lines = [line + "\n" for line in text.split("\n")]
            linecache.cache[name] = (len(text), None, lines, name)
        for name, text in settings["cells"]:
            exec(probes.compile(text, name), main.__dict__)
        return
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    main.__dict__.update(__file__=path, __loader__=loader, __spec__=None, __package__=None, __cached__=None)
    with open(path, "rb") as file:
        source = file.read()
    code: CodeType | None = (
        probes.compile(source, os.path.realpath(path)) if probes.asks_about(os.path.realpath(path)) else None
    )
    exec(code or compile(source, path, "exec", dont_inherit=True), main.__dict__)


def _module(name: str, probes: Any) -> tuple[str, CodeType, Any]:
    """The code of a module that is run as `python -m` runs it."""
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = importlib.util.find_spec(name + ".__main__")
    if spec is None or spec.origin is None:
        raise SystemExit(f"{sys.executable}: No module named {name}")
    with open(spec.origin, "rb") as file:
        source = file.read()
    real = os.path.realpath(spec.origin)
    code = probes.compile(source, real) if probes.asks_about(real) else None
    return spec.origin, code or compile(source, spec.origin, "exec", dont_inherit=True), spec


def _show(error: BaseException) -> None:
    """The traceback that the program would have shown by itself."""
    cleaned = _without_observer(error.__traceback__)
    seen: set[int] = set()
    inner: BaseException | None = error
    while inner is not None and id(inner) not in seen:
        seen.add(id(inner))
        inner.__traceback__ = _without_observer(inner.__traceback__)
        inner = inner.__cause__ or inner.__context__
    if isinstance(error, KeyboardInterrupt) and sys.excepthook is sys.__excepthook__:
        traceback.print_exception(type(error), error, cleaned)
        return
    sys.excepthook(type(error), error, cleaned)


def _without_observer(found: TracebackType | None) -> TracebackType | None:
    kept = []
    while found is not None:
        if not os.path.abspath(found.tb_frame.f_code.co_filename).startswith(_HERE):
            kept.append(found)
        found = found.tb_next
    for outer, inner in zip(kept, [*kept[1:], None], strict=False):
        outer.tb_next = inner
    return kept[0] if kept else None


def _exit_code(leave: SystemExit) -> int:
    """As Python takes it: None is 0, a number itself, and all else is printed and 1."""
    if leave.code is None:
        return 0
    if isinstance(leave.code, int):
        return leave.code & 0xFF
    print(leave.code, file=sys.stderr)
    return 1


def _leave(code: int) -> NoReturn:
    """End as Python does: threads that are no daemons are waited for, and what `atexit` knows is run."""
    raise SystemExit(code)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()


def _one_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


def _versions() -> dict[str, str]:
    versions = {"python": sys.version.partition(" ")[0]}
    for name in ("tensorflow", "keras", "tf_keras", "numpy"):
        version = getattr(sys.modules.get(name), "__version__", None)
        if version is not None:
            versions[name] = str(version)
    return versions


def _device() -> str:
    tensorflow: Any = sys.modules.get("tensorflow")
    with suppress(Exception):  # it may not have come to life
        gpus = tensorflow.config.get_visible_devices("GPU") if tensorflow else []
        if gpus:
            names = [
                tensorflow.config.experimental.get_device_details(gpu).get("device_name", gpu.name)
                for gpu in gpus
            ]
            return " + ".join(names)
    count = os.cpu_count() or 1
    return f"CPU ({count} core{'s' * (count != 1)})"


# What changes a file or a folder by its path, and which of the arguments are paths.
_CHANGES = {
    "os.link": (1,),
    "os.mkdir": (0,),
    "os.remove": (0,),
    "os.rename": (0, 1),
    "os.rmdir": (0,),
    "os.symlink": (1,),
    "os.truncate": (0,),
    "shutil.rmtree": (0,),
}


def _allow_writing_below(*folders: str) -> None:
    """Refuse to write to what lies elsewhere, through a link as well."""
    free = (*(os.path.realpath(folder) + os.sep for folder in folders), "/dev/", "/proc/")
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

    def refuse(path: Any, real: str) -> None:
        if not (real + os.sep).startswith(free):
            raise PermissionError(13, "not to be written to while fixes are proved", os.fsdecode(path))

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
            _, mode, flags = arguments
            asked = set("wax+") & set(mode) if isinstance(mode, str) else (flags or 0) & writing
            if asked:
                refuse(arguments[0], os.path.realpath(os.fsdecode(arguments[0])))
        elif event in _CHANGES:
            for at in _CHANGES[event]:
                path = arguments[at]
                if not isinstance(path, str | bytes | os.PathLike) or _from_a_folder(event, arguments):
                    continue
                if event == "os.mkdir" and os.path.isdir(path):
                    continue  # `exist_ok`
                # What is done to a link is not done to what it leads to; only its folder counts.
                folder, name = os.path.split(os.path.abspath(os.fsdecode(path)))
                real = os.path.join(os.path.realpath(folder), name)
                refuse(path, os.path.realpath(real) if event == "os.truncate" else real)

    def _from_a_folder(event: str, arguments: tuple[Any, ...]) -> bool:
        """Whether a path counts from an open folder, as in `shutil.rmtree`, which has said so itself."""
        if event not in ("os.remove", "os.rmdir", "shutil.rmtree") or len(arguments) < 2:
            return False
        return arguments[-1] not in (-1, None)

    sys.addaudithook(audit)


def main() -> None:
    """Take the settings and begin."""
    # What the tool's package is found by comes first for the moment only: the program shall find its own.
    sys.path[0] = os.path.dirname(os.path.dirname(_HERE))
    with open(sys.argv[1], encoding="utf-8") as file:
        settings = json.load(file)
    observation = Observation(settings)
    observation.run()


if __name__ == "__main__":
    threading.current_thread()
    main()
