"""Rules of other packages: found, used like the project's own, and kept from doing harm."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent

import pytest

from tests.forked import linters
from tflint_perf.rule import Claim
from tflint_perf.verify.experiment import Experiment

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "docs" / "example-plugin"
SLOW = EXAMPLE / "acme_rules" / "fixtures" / "ACM101" / "slow.py"
FAST = SLOW.with_name("fast.py")
# A run of the tool that takes a folder of the test's for the one that packages are installed into.
RUN = """
import site, sys
del sys.path[0]
folder = sys.argv.pop(1)
sys.path.append(folder)
site.getsitepackages = lambda: [folder]
site.ENABLE_USER_SITE = False
from tflint_perf.commands import main
main()
"""
RULE = '''
"""A rule."""

from collections.abc import Iterator

from tflint_perf.analysis.model import Model
from tflint_perf.rule import Report, Rule
{top}

class Found(Rule):
    """A call of a function."""

    code = "{code}"
    name = "{name}"
    triggers = ("found(",)

    def check(self, model: Model) -> Iterator[Report]:
        for call in model.calls_named("found"):
            {body}
'''
FOUND = 'yield Report(call, "found; lose it")'
SCRIPT = "import tensorflow as tf\n\nfound()\n"


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    out: list[str]
    err: list[str]


def run(command: list[str | Path], folder: Path, **environment: str) -> Done:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=bare_environment() | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done_by(done)


def bare_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TFLINT"))}


def done_by(done: subprocess.CompletedProcess[str]) -> Done:
    return Done(done.returncode, done.stdout.splitlines(), done.stderr.splitlines())


@dataclass(frozen=True, slots=True)
class Site:
    """A folder of installed packages, and one to work in."""

    folder: Path
    here: Path

    def install(self, name: str, files: Mapping[str, str], package: str = "") -> None:
        """Install a package of rules; without files, only what says that there is one."""
        package = package or f"{name}_rules"
        about = self.folder / f"{name}-1.0.dist-info"
        about.mkdir(parents=True)
        (about / "entry_points.txt").write_text(
            f"[tflint_perf.rules]\n{name} = {package}\n", encoding="utf-8"
        )
        write_package(self.folder, package, files)

    def __call__(self, *arguments: str) -> Done:
        """Run `tflint-perf` in the folder to work in."""
        program = self.folder / "run.py"
        program.write_text(RUN, encoding="utf-8")
        command = (str(program), str(self.folder), *arguments)
        return done_by(linters().run(*command, folder=self.here, variables=bare_environment()))

    def check(self, *arguments: str) -> Done:
        return self("check", "--isolated", "--output-format=concise", "--quiet", *arguments)


def write_package(folder: Path, package: str, files: Mapping[str, str]) -> None:
    for file, text in files.items():
        path = folder.joinpath(*package.split("."), file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        (path.parent / "__init__.py").touch()


def rule(code: str = "ACM101", name: str = "found", body: str = FOUND, top: str = "") -> str:
    return RULE.format(code=code, name=name, body=body, top=top)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = Site(tmp_path / "site", tmp_path / "here")
    made.folder.mkdir()
    made.here.mkdir()
    (made.here / "train.py").write_text(SCRIPT)
    return made


def codes(done: Done) -> list[str]:
    """The codes of a concise report."""
    return [line.split()[1] for line in done.out]


# The example, built and installed


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has the example's wheel installed, and besides what this one has."""
    scratch = tmp_path_factory.mktemp("plugin")
    sources, environment = scratch / "sources", scratch / "environment"
    # A copy, because setuptools leaves a build folder behind.
    shutil.copytree(EXAMPLE, sources, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    python = environment / "bin" / "python"
    for command in (
        [sys.executable, "-m", "build", "--wheel", "--outdir", scratch, sources],
        [sys.executable, "-m", "venv", "--without-pip", environment],
        [sys.executable, "-m", "pip", "--python", environment, "install", "--quiet", "--no-deps",
         scratch / "acme_rules-1.0-py3-none-any.whl"],
    ):  # fmt: skip
        done = run(command, scratch)
        assert done.code == 0, "\n".join(done.err)
    (folder,) = environment.glob("lib/python*/site-packages")
    here = sysconfig.get_path("purelib")
    (folder / "test.pth").write_text(f"import site; site.addsitedir({here!r})\n")
    return python


def tflint_perf(python: Path, folder: Path, *arguments: str) -> Done:
    return run([python, "-m", "tflint_perf", *arguments], folder)


def test_a_rule_of_the_example_has_its_page(installed: Path, tmp_path: Path) -> None:
    done = tflint_perf(installed, tmp_path, "rule", "ACM101")
    assert (done.code, done.err) == (0, [])
    assert done.out[0] == "sleep-per-step (ACM101)"


def test_a_rule_of_the_example_is_on_and_fixes(installed: Path, tmp_path: Path) -> None:
    shutil.copy(SLOW, tmp_path / "train.py")
    done = tflint_perf(installed, tmp_path, "check", "--isolated", "--output-format=concise", "--quiet")
    assert (done.code, codes(done), done.err) == (1, ["ACM101"], [])
    assert tflint_perf(installed, tmp_path, "check", "--isolated", "--fix").code == 0
    assert (tmp_path / "train.py").read_text() == FAST.read_text()


@pytest.mark.skipif(find_spec("tensorflow") is None, reason="TensorFlow is not installed")
def test_an_experiment_of_the_example_runs(installed: Path, tmp_path: Path) -> None:
    done = tflint_perf(installed, tmp_path, "verify", "--quick", "ACM101")
    assert (done.code, done.err) == (0, [])
    assert any("ACM101" in line and "agrees" in line for line in done.out)


def test_what_an_experiment_shows_is_kept_beside_it() -> None:
    experiment = Experiment("ACM101", "sleep-per-step", SLOW, FAST, Claim("step time", 2.0))
    assert experiment.evidence == EXAMPLE / "acme_rules" / "fixtures" / "evidence"


# Like the project's own


def test_its_rules_are_selected_by_code_prefix_and_name(site: Site) -> None:
    site.install("acme", {"acm101.py": rule()})
    for selector in ("ACM101", "ACM", "found", "ALL"):
        assert codes(site.check(f"--select={selector}")) == ["ACM101"]
    assert codes(site.check("--ignore=ACM")) == []
    assert codes(site.check("--per-file-ignores=train.py:ACM101")) == []


def test_its_rules_can_be_configured(site: Site) -> None:
    site.install("acme", {"acm101.py": rule(), "acm102.py": rule("ACM102", "found-too")})
    config = site.here / "tflint-perf.toml"
    config.write_text(
        'select = ["ACM"]\nignore = ["found-too"]\nper-file-ignores = { "lib/*" = ["ACM101"] }\n'
    )
    (site.here / "lib").mkdir()
    (site.here / "lib" / "train.py").write_text(SCRIPT)
    assert [line.split(":")[0] for line in site("check", "--output-format=concise", "--quiet").out] == [
        "train.py"
    ]


def test_its_findings_can_be_suppressed(site: Site) -> None:
    site.install("acme", {"acm101.py": rule()})
    (site.here / "train.py").write_text(
        "import tensorflow as tf\n\nfound()  # noqa: ACM101\nlost()  # noqa: ACM101\nlost()  # noqa: ACM999\n"
    )
    assert [line.split()[:2] for line in site.check().out] == [
        ["train.py:4:9:", "TFP001"],
        ["train.py:5:17:", "TFP002"],
    ]


def test_codes_of_a_package_that_is_not_installed_are_another_tools(site: Site) -> None:
    (site.here / "train.py").write_text("import tensorflow as tf\n\nlost()  # noqa: ACM101\n")
    assert site.check().out == []


def test_a_rule_whose_attributes_must_be_run_to_be_known_works_too(site: Site) -> None:
    text = (
        rule().replace('("found(",)', "WORDS").replace("class Found", 'WORDS = ("found(",)\n\n\nclass Found')
    )
    site.install("acme", {"acm101.py": text})
    assert codes(site.check()) == ["ACM101"]


def test_files_with_an_underscore_in_front_hold_no_rules(site: Site) -> None:
    site.install(
        "acme", {"acm101.py": rule(top="from acme_rules._words import WORDS"), "_words.py": "WORDS = ()\n"}
    )
    assert (codes(site.check()), site.check().err) == (["ACM101"], [])


def test_a_package_may_lie_in_another(site: Site) -> None:
    site.install("acme", {"acm101.py": rule()}, package="acme.lint.rules")
    assert codes(site.check()) == ["ACM101"]


def test_its_evidence_decides_over_its_own_rules_alone(site: Site) -> None:
    text = (
        rule()
        .replace("triggers", 'claim = Claim("step time", least=2.0)\n    triggers')
        .replace("import Report", "import Claim, Report")
    )
    evidence = """
        {"date": "2030-01-02", "device": {"kind": "cpu", "name": "CPU"}, "versions": {},
         "results": {"ACM101": {"verdict": "refuted"}, "TFP101": {"verdict": "refuted"}}}
        """
    site.install("acme", {"acm101.py": text, "fixtures/evidence/cpu.json": evidence})
    assert codes(site.check()) == []
    assert codes(site.check("--select=ACM101")) == ["ACM101"]
    assert '"verdict": "refuted"' not in "\n".join(site("rule", "TFP101", "--output-format=json").out)


def test_its_rules_work_in_several_processes(site: Site) -> None:
    site.install("acme", {"acm101.py": rule()})
    for number in range(40):
        (site.here / f"train{number}.py").write_text(SCRIPT)
    done = site.check("--jobs=2")
    assert (done.code, len(done.out), done.err) == (1, 41, [])


# What is wrong with one


def broken(site: Site, file: str, text: str) -> str:
    """The one line that is said of a file that a package has beside a rule that is well, whose finding is there."""
    site.install("acme", {"acm101.py": rule(), file: text})
    (site.here / "other.py").write_text(SCRIPT)
    done = site.check()
    assert [line.partition(":")[0] for line in done.out] == ["other.py", "train.py"]
    assert (done.code, len(done.err)) == (2, 1), done.err
    return done.err[0].removeprefix("tflint-perf: plugin `acme`: ")


BROKEN = {
    "a module that is not there": (
        rule("ACM102", "other", top="import nowhere"),
        "acm102.py: ModuleNotFoundError: No module named 'nowhere'; its rules are left out",
    ),
    "a program that ends": (
        rule("ACM102", "other", top="raise SystemExit(3)"),
        "acm102.py: SystemExit: 3; its rules are left out",
    ),
    "bad syntax": ("class X(:\n", "acm102.py: SyntaxError: "),
    "no code": (
        rule("ACM102", "other").replace("code = ", "kode = "),
        "acm102.py: AttributeError: ",
    ),
    "a code of this tool": (
        rule("TFP999", "other"),
        "TFP999: codes that begin with TFP are this tool's own; the rule is left out",
    ),
    "a code of another form": (
        rule("acm-102", "other"),
        "a code is capital letters and digits, not 'acm-102'; the rule is left out",
    ),
    "a code twice": (
        rule("ACM101", "other"),
        "ACM101: there is another rule with this code; the rule is left out",
    ),
    "a name twice": (
        rule("ACM102", "found"),
        "ACM102: the name 'found' is taken or not valid; the rule is left out",
    ),
    "triggers of another type": (
        rule("ACM102", "other").replace('("found(",)', '"found("'),
        "ACM102: `triggers`, `needs`, `fixes` or `claim` is not valid; the rule is left out",
    ),
    "a rule that fails": (
        rule("ACM102", "other", body="raise ValueError('no')\n            yield"),
        "ACM102: ValueError: no (acm102.py:19); left out of other.py",
    ),
    "a rule that reports nonsense": (
        rule("ACM102", "other", body="yield Report(None, 'x')"),
        "ACM102: ",
    ),
    "a fix that fails": (
        rule("ACM102", "other", body="yield Report(call, 'x; y', lambda edit: edit.nothing())"),
        "ACM102: AttributeError: 'Editor' object has no attribute 'nothing' (acm102.py:19); left out of other.py",
    ),
}


@pytest.mark.parametrize(("text", "line"), BROKEN.values(), ids=list(BROKEN))
def test_what_is_wrong_with_a_rule_is_one_line_and_the_rest_runs(site: Site, text: str, line: str) -> None:
    assert broken(site, "acm102.py", text).startswith(line)


def test_a_package_that_is_not_there_is_one_line(site: Site) -> None:
    site.install("acme", {})
    done = site.check("--select=TFP406")
    assert (done.code, done.err) == (
        2,
        ["tflint-perf: plugin `acme`: there is no package `acme_rules`; it has no rules"],
    )


def test_why_a_rule_is_unknown_is_said_beside(site: Site) -> None:
    site.install("acme", {"acm101.py": "class X(:\n"})
    done = site.check("--select=ACM101")
    assert done.code == 2
    assert any("plugin `acme`: acm101.py: SyntaxError" in line for line in done.err)
    assert any("unknown rule `ACM101`" in line for line in done.err)


def test_the_pages_of_the_other_rules_are_there(site: Site) -> None:
    site.install("acme", {"acm101.py": "class X(:\n"})
    done = site("rule", "TFP101")
    assert (done.code, len(done.err)) == (2, 1)
    assert done.out[0] == "eager-train-step (TFP101)"


# Never from the folder that is linted

MARK = "from pathlib import Path\nPath(__file__).with_name('was-run').touch()\n"


def plant(folder: Path, package: str = "evil_rules") -> Path:
    """A package of rules in a folder, as if installed there; the file that is there once it has run."""
    Site(folder, folder).install("evil", {"evl101.py": MARK + rule("EVL101", "evil")}, package)
    (folder / package / "__init__.py").write_text(MARK)
    return folder / package / "was-run"


@pytest.mark.parametrize("path", ["", ".", "here"])
def test_nothing_is_loaded_from_the_current_folder(site: Site, path: str) -> None:
    mark = plant(site.here)
    where = {"": {}, ".": {"PYTHONPATH": "."}, "here": {"PYTHONPATH": str(site.here)}}[path]
    done = run(
        [sys.executable, "-m", "tflint_perf", "check", "--isolated", "--select=ALL"], site.here, **where
    )
    assert (done.code, done.err) == (0, [])
    assert not mark.exists()


def test_the_current_folder_does_not_hide_what_is_installed(site: Site) -> None:
    site.install("acme", {"acm101.py": rule()})
    mark = plant(site.here, "acme_rules")
    # Python itself looks in the current folder first.
    program = RUN.replace("del sys.path[0]", "")
    done = run(
        [sys.executable, "-c", program, site.folder, "check", "--isolated", "--output-format=concise", "-q"],
        site.here,
    )
    assert (codes(done), done.err) == (["ACM101"], [])
    assert not mark.exists()


def test_a_module_in_the_current_folder_does_not_stand_in_for_one_we_need(site: Site) -> None:
    (site.here / "click.py").write_text(MARK)
    done = run([sys.executable, "-m", "tflint_perf", "--version"], site.here)
    assert (done.code, done.err) == (0, [])
    assert not (site.here / "was-run").exists()


def test_an_editable_install_may_lie_in_the_current_folder(site: Site) -> None:
    site.install("acme", {})
    write_package(site.here, "acme_rules", {"acm101.py": rule()})
    (site.folder / "acme.pth").write_text(f"{site.here}\n")
    program = RUN.replace("sys.path.append(folder)", "site.addsitedir(folder)")
    done = run(
        [
            sys.executable,
            "-c",
            program,
            site.folder,
            "check",
            "--isolated",
            "--output-format=concise",
            "-q",
        ],
        site.here,
    )
    assert (codes(done), done.err) == (["ACM101"], [])
