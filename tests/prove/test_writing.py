"""What a program may not do while fixes are proved: change what lies outside of the scratch folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tflint_perf.observed.process import Seen, watch
from tflint_perf.observed.request import Request

pytestmark = pytest.mark.slow


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """A scratch folder with a link to a file and to a folder of the user's, beside them."""
    (tmp_path / "mine" / "full").mkdir(parents=True)
    (tmp_path / "mine" / "data").write_text("data")
    (tmp_path / "mine" / "full" / "a").write_text("a")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    for name in ("data", "full"):
        (scratch / name).symlink_to(tmp_path / "mine" / name)
    return scratch


def ran(scratch: Path, line: str) -> Seen:
    (scratch / "program.py").write_text(f"import os, pathlib, shutil, tempfile\n{line}\n")
    environment = {"TFLINT_PERF_WRITABLE": str(scratch), "TMPDIR": str(scratch)}
    return watch(Request(("program.py",), folder=scratch, environment=environment, quiet=True, details=False))


@pytest.mark.parametrize(
    "line",
    [
        "open('../mine/data', 'w')",
        "open('data', 'a')",
        "open('full/new', 'w')",
        "pathlib.Path('data').write_text('x')",
        "os.open('data', os.O_RDWR)",
        "os.remove('full/a')",
        "os.rename('full/a', 'b')",
        "os.rename('program.py', 'full/b')",
        "os.mkdir('../mine/new')",
        "os.truncate('data', 0)",
        "shutil.rmtree('../mine')",
        "os.symlink('program.py', 'full/link')",
    ],
)
def test_this_is_refused(scratch: Path, line: str) -> None:
    seen = ran(scratch, line)
    assert "not to be written to while fixes are proved" in seen.stderr
    assert (scratch.parent / "mine" / "data").read_text() == "data"
    assert [path.name for path in (scratch.parent / "mine" / "full").iterdir()] == ["a"]


@pytest.mark.parametrize(
    "line",
    [
        "open('data').read()",
        "open('new', 'w').write('x')",
        "os.remove('data')",
        "os.makedirs('full', exist_ok=True)",
        "os.makedirs('a/b')",
        "open(os.devnull, 'w').write('x')",
        "tempfile.TemporaryFile().write(b'x')",
        "shutil.copytree('full', 'copy')",
    ],
)
def test_this_is_not(scratch: Path, line: str) -> None:
    seen = ran(scratch, line)
    assert seen.code == 0, seen.stderr
    assert (scratch.parent / "mine" / "data").read_text() == "data"


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_and_whoever_watches_it(scratch: Path, how: signal.Signals) -> None:
    (scratch / "program.py").write_text("import time\nopen('begun', 'w').close()\ntime.sleep(60)\n")
    code = (
        "import signal, sys; from tflint_perf.observed.process import watch; "
        "from tflint_perf.observed.request import Request; "
        # A shell lets what runs in its background ignore Ctrl-C.
        "signal.signal(signal.SIGINT, signal.default_int_handler); "
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(143)); "
        f"watch(Request(('program.py',), folder=__import__('pathlib').Path({str(scratch)!r}), quiet=True)); print('went on')"
    )
    watching = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not (scratch / "begun").exists():
        assert watching.poll() is None
        time.sleep(0.05)
    watching.send_signal(how)
    out, _ = watching.communicate(timeout=300)
    assert out == b""
    assert watching.returncode != 0
