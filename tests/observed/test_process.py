"""A program behaves under the observer as it does without: what it prints, how it ends, what it finds around it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tflint_perf.measured.record import Spot
from tflint_perf.observed.process import NotWatchedError, Seen, watch
from tflint_perf.observed.request import Request

pytestmark = pytest.mark.slow

# Programs without TensorFlow: the observer is there all the same, and waits for it. `main.py` is run.
PROGRAMS = {
    "what it is given": """\
        import sys
        print(sys.argv, __name__, __file__, __spec__, __package__, sys.path[0])
        print(sys.modules["__main__"].__dict__ is globals(), __builtins__ is __import__("builtins"))
        """,
    "arguments": """\
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--epochs", type=int, default=1)
        parser.add_argument("rest", nargs="*")
        print(parser.parse_args(), parser.prog)
        """,
    "wrong arguments": """\
        import argparse
        argparse.ArgumentParser().parse_args(["--wrong"])
        """,
    "an exit code": "import sys\nprint('so far')\nsys.exit(7)\n",
    "an exit with a text": "import sys\nsys.exit('nothing to train')\n",
    "an exit with nothing": "raise SystemExit\n",
    "an exception": """\
        def step(number):
            if number == 50:
                raise ValueError("diverged")

        def main():
            for number in range(100):
                step(number)

        if __name__ == "__main__":
            main()
        """,
    "an exception of an exception": """\
        try:
            {}["a"]
        except KeyError as error:
            raise RuntimeError("no such key") from error
        """,
    "a syntax error": "def step(:\n    pass\n",
    "an import that fails": "import tensorfow_that_is_not_there\n",
    "a module of its own": """\
        from helper import value
        import helper
        print(value, helper.__file__)
        """,
    "a relative path": """\
        from pathlib import Path
        print(Path("data.txt").read_text(), Path.cwd())
        """,
    "threads": """\
        import os, threading
        main_is_done = threading.Event()
        def work():
            main_is_done.wait()
            os.write(1, b"worker\n")
        for number in range(3):
            threading.Thread(target=work).start()
        print("main ends", flush=True)
        main_is_done.set()
        """,
    "processes that are forked": """\
        import multiprocessing
        def square(number):
            return number * number
        if __name__ == "__main__":
            with multiprocessing.get_context("fork").Pool(2) as pool:
                print(pool.map(square, range(5)))
        """,
    "processes that are spawned": """\
        import multiprocessing
        def square(number):
            return number * number
        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(2) as pool:
                print(pool.map(square, range(5)))
        """,
    "a fork by hand": """\
        import os, sys
        child = os.fork()
        if child == 0:
            print("in the child", flush=True)
            sys.exit(3)
        print("ended with", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
    "a tracing function": """\
        import sys
        seen = []
        def tracer(frame, event, argument):
            if frame.f_code.co_name == "step":
                seen.append((event, frame.f_lineno))
            return tracer
        def step():
            return 1
        sys.settrace(tracer)
        step()
        sys.settrace(None)
        print(seen)
        """,
    "what is to be done at the end": """\
        import atexit
        atexit.register(print, "at last")
        print("first")
        """,
    "a handler of signals": """\
        import os, signal
        signal.signal(signal.SIGUSR1, lambda number, frame: print("got", number))
        os.kill(os.getpid(), signal.SIGUSR1)
        print("and on")
        """,
    "pickling what it defines": """\
        import pickle
        class Batch:
            def __init__(self, size):
                self.size = size
        print(pickle.loads(pickle.dumps(Batch(3))).size, Batch.__module__)
        """,
    "where its code comes from": """\
        import inspect
        def step(number):
            return number + 1
        print(inspect.getsource(step), inspect.getsourcefile(step))
        """,
    "garbage and files": """\
        import gc
        print(gc.collect() >= 0, open("data.txt").read(), gc.isenabled())
        with open("out.txt", "w") as file:
            file.write("x")
        """,
    "a hook for exceptions": """\
        import sys
        sys.excepthook = lambda kind, value, found: print("caught", kind.__name__, found.tb_lineno)
        raise ValueError("no")
        """,
    "standard error": "import sys\nprint('out')\nprint('err', file=sys.stderr)\n",
}


def _plainly(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
    )


def _watched(folder: Path, *arguments: str, **more: object) -> Seen:
    return watch(Request(arguments, folder=folder, quiet=True, timeout=120, **more))  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text("value = 42\n")
    (tmp_path / "data.txt").write_text("some data")
    return tmp_path


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_behaves_as_without(folder: Path, program: str) -> None:
    (folder / "main.py").write_text(textwrap.dedent(program))
    plain = _plainly(folder, "main.py", "--epochs", "3", "more")
    seen = _watched(folder, "main.py", "--epochs", "3", "more")
    assert (seen.stdout, seen.stderr, seen.code) == (plain.stdout, plain.stderr, plain.returncode)


def test_probes_change_nothing(folder: Path) -> None:
    (folder / "main.py").write_text(textwrap.dedent(PROGRAMS["an exception"]))
    plain = _plainly(folder, "main.py")
    probes = tuple(Spot("main.py", row) for row in (1, 2, 3, 5, 6, 7, 9, 10))
    seen = _watched(folder, "main.py", probes=probes)
    assert (seen.stdout, seen.stderr, seen.code) == (plain.stdout, plain.stderr, plain.returncode)
    assert [spot.row for spot in seen.record.reached] == [1, 2, 3, 5, 6, 7, 9, 10]


def test_a_module_is_run_as_python_does(folder: Path) -> None:
    package = folder / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "train.py").write_text(
        "import sys\nfrom . import other\nprint(sys.argv, __name__, __package__, other.x)\n"
    )
    (package / "other.py").write_text("x = 5\n")
    plain = _plainly(folder, "-m", "pack.train", "a", "-b")
    seen = _watched(folder, "-m", "pack.train", "a", "-b")
    assert (seen.stdout, seen.stderr, seen.code) == (plain.stdout, plain.stderr, plain.returncode)


def test_a_program_in_another_folder_finds_its_own(folder: Path) -> None:
    inner = folder / "scripts"
    inner.mkdir()
    (inner / "main.py").write_text("import beside\nprint(beside.x, open('data.txt').read())\n")
    (inner / "beside.py").write_text("x = 1\n")
    plain = _plainly(folder, "scripts/main.py")
    seen = _watched(folder, "scripts/main.py")
    assert (seen.stdout, seen.code) == (plain.stdout, plain.returncode) == ("1 some data\n", 0)


ENDLESS = """\
import atexit

atexit.register(print, "at last")


def train():
    number = 0
    while True:
        number += 1


try:
    train()
finally:
    print("put in order")
"""


def test_an_endless_loop_of_steps_is_stopped(folder: Path) -> None:
    (folder / "main.py").write_text(ENDLESS)
    seen = _watched(folder, "main.py", step=Spot("main.py", 8), steps=100, details=False)
    assert (seen.record.ended, seen.code, seen.record.steps.count) == ("steps", 0, 100)
    assert seen.stdout == "put in order\nat last\n"
    assert seen.record.steps.loop == Spot("main.py", 8)


def test_a_program_that_does_not_let_itself_be_stopped_is_ended(folder: Path) -> None:
    (folder / "main.py").write_text(
        "def train():\n    while True:\n        try:\n            step()\n        except BaseException:\n            pass\n\n\n"
        "def step():\n    value = 1\n\n\ntrain()\n"
    )
    seen = _watched(folder, "main.py", step=Spot("main.py", 10), steps=20, details=False)
    assert (seen.record.ended, seen.code) == ("steps", 0)


def test_a_loop_without_steps_is_given_up_after_the_timeout(folder: Path) -> None:
    (folder / "main.py").write_text("while True:\n    pass\n")
    with pytest.raises(NotWatchedError, match="took more than 2 s"):
        watch(Request(("main.py",), folder=folder, quiet=True, timeout=2))


def test_a_death_by_a_signal_is_told_as_a_shell_tells_it(folder: Path) -> None:
    (folder / "main.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    seen = _watched(folder, "main.py")
    assert (seen.code, seen.record.ended) == (128 + signal.SIGKILL, "signal")


def test_signals_reach_the_program(folder: Path) -> None:
    (folder / "main.py").write_text(
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('saving', flush=True), sys.exit(5)))\n"
        "print('ready', flush=True)\ntime.sleep(60)\n"
    )
    watching = (
        "import sys\nfrom tflint_perf.observed.process import watch\n"
        "from tflint_perf.observed.request import Request\nsys.exit(watch(Request(('main.py',))).code)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", watching], cwd=folder, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    os.kill(process.pid, signal.SIGTERM)
    assert process.stdout.read() == "saving\n"
    assert process.wait(60) == 5


@pytest.mark.parametrize(
    ("program", "why"),
    [(("absent.py",), "no such file: absent.py"), (("-m",), "-m needs the name of a module")],
)
def test_what_cannot_be_run_is_told(folder: Path, program: tuple[str, ...], why: str) -> None:
    with pytest.raises(NotWatchedError, match=why):
        watch(Request(program, folder=folder))


def test_a_python_that_is_not_there_is_told(folder: Path) -> None:
    (folder / "main.py").write_text("")
    with pytest.raises(NotWatchedError, match="does not start"):
        watch(Request(("main.py",), folder=folder, python=str(folder / "python")))


def test_a_notebook_is_run_cell_by_cell(folder: Path) -> None:
    import nbformat.v4 as v4

    cells = [
        v4.new_markdown_cell("# Training"),
        v4.new_code_cell("%matplotlib inline\nx = 1\n!pip list\nprint(x)"),
        v4.new_code_cell("%%bash\nls"),
        v4.new_code_cell("for step in range(50):\n    x += 1\nprint(x)\nprint(open('data.txt').read())"),
    ]
    (folder / "train.ipynb").write_text(_as_json(cells))
    seen = _watched(folder, "train.ipynb", step=Spot("train.ipynb", 1, 4), steps=None, details=False)
    assert (seen.stdout, seen.code) == ("1\n51\nsome data\n", 0)
    assert seen.record.steps.loop == Spot("train.ipynb", 1, 4)
    assert seen.record.steps.count == 50


def _as_json(cells: list[object]) -> str:
    import nbformat

    notebook = nbformat.v4.new_notebook(cells=cells)
    text: str = nbformat.writes(notebook)
    return text


def test_what_may_not_be_written_to_is_refused(folder: Path) -> None:
    work = folder / "work"
    work.mkdir()
    (work / "linked.txt").symlink_to(folder / "data.txt")
    (work / "main.py").write_text(
        "print(open('linked.txt').read())\nopen('own.txt', 'w').write('x')\n"
        "try:\n    open('linked.txt', 'a')\nexcept PermissionError as error:\n    print(error.strerror)\n"
    )
    seen = _watched(work, "main.py", environment={"TFLINT_PERF_WRITABLE": str(work)})
    assert seen.stdout == "some data\nnot to be written to while fixes are proved\n"
    assert (folder / "data.txt").read_text() == "some data"
