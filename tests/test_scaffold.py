"""What a new rule begins with: well-formed, and failing its tests until it is filled in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tflint_perf.cli.scaffold import scaffold, with_evidence
from tflint_perf.config.reading import toml_of

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
# Lets the tests that were written find the rule that was, as one of an installed package.
CONFTEST = """
import site, sys
sys.path.append({folder!r})
site.getsitepackages = lambda: [{folder!r}]
site.ENABLE_USER_SITE = False
"""


def write(folder: Path, code: str = "ACM101", name: str = "some-slow-thing", *more: str) -> Result:
    rules = folder / "acme_rules"
    for made in (rules / "fixtures", folder / "tests", folder / "acme-1.0.dist-info"):
        made.mkdir(parents=True, exist_ok=True)
    (rules / "__init__.py").touch()
    (folder / "acme-1.0.dist-info" / "entry_points.txt").write_text(
        "[tflint_perf.rules]\nacme = acme_rules\n"
    )
    options = [f"--rules={rules}", f"--fixtures={rules / 'fixtures'}", f"--tests={folder / 'tests'}"]
    return CliRunner().invoke(scaffold, [code, name, *options, *more])


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scaffold")
    assert write(folder).exit_code == 0
    return folder


def run(*command: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False
    )


def test_it_writes_a_rule_a_pair_and_a_test(written: Path) -> None:
    files = {path.relative_to(written).as_posix() for path in written.rglob("*.py")}
    assert files - {"acme_rules/__init__.py"} == {
        "acme_rules/acm101_some_slow_thing.py",
        "acme_rules/fixtures/ACM101/slow.py",
        "acme_rules/fixtures/ACM101/fast.py",
        "tests/test_acm101.py",
    }


EVIDENCE = (ROOT / "tflint_perf" / "observed" / "evidence.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("code", ["TFP000", "TFP450", "TFP998"])
def test_what_a_run_sees_of_a_rule_is_added_in_the_order_of_the_codes(code: str) -> None:
    before, after = toml_of(EVIDENCE), toml_of(with_evidence(EVIDENCE, code))
    assert list(after["rules"]) == sorted([*before["rules"], code])
    assert after["rules"].pop(code)["unseen"].startswith("TODO")
    assert after == before


def test_what_a_run_sees_is_said_of_this_tools_own_rules_alone(tmp_path: Path) -> None:
    own = tmp_path / "evidence.toml"
    own.write_text("[rules.TFP101]\nunseen = 'it is not seen'\n")
    assert write(tmp_path, "ACM102", "one", f"--evidence={own}").exit_code == 0
    assert "ACM102" not in own.read_text()
    assert write(tmp_path, "TFP998", "another", f"--evidence={own}").output.splitlines()[-1] == str(own)
    assert list(toml_of(own.read_text())["rules"]) == ["TFP101", "TFP998"]


@pytest.mark.parametrize("command", ["check", "format --check"])
def test_what_it_writes_passes_ruff(written: Path, command: str) -> None:
    done = run("ruff", *command.split(), f"--config={ROOT / 'pyproject.toml'}", str(written))
    assert done.returncode == 0, done.stdout


def test_what_it_writes_passes_mypy(written: Path) -> None:
    done = run(
        "mypy",
        "--strict",
        "--follow-imports=silent",
        str(written / "acme_rules" / "acm101_some_slow_thing.py"),
    )
    assert done.returncode == 0, done.stdout


def test_the_tests_that_it_writes_fail(written: Path) -> None:
    (written / "tests" / "conftest.py").write_text(CONFTEST.format(folder=str(written)))
    done = run("pytest", "-q", "-p", "no:cacheprovider", "tests", folder=written)
    assert done.stdout.splitlines()[-1].split(" in ")[0] == "3 failed", done.stdout


@pytest.mark.parametrize(
    ("code", "name", "why"),
    [
        ("acm101", "some-thing", "capital letters and three digits"),
        ("ACM1", "some-thing", "capital letters and three digits"),
        ("ACM101", "Some_Thing", "small words with hyphens"),
        ("TFP406", "some-thing", "there is a rule TFP406 gc-in-loop already"),
        ("TFP999", "gc-in-loop", "there is a rule TFP406 gc-in-loop already"),
    ],
)
def test_it_refuses_what_can_be_no_rule(tmp_path: Path, code: str, name: str, why: str) -> None:
    done = write(tmp_path, code, name)
    assert done.exit_code == 2
    assert why in done.output


def test_it_overwrites_nothing(tmp_path: Path) -> None:
    write(tmp_path)
    rule = tmp_path / "acme_rules" / "acm101_some_slow_thing.py"
    rule.write_text("mine")
    assert "there already" in write(tmp_path).output
    assert rule.read_text() == "mine"
