"""What docs/ci.md shows works as it stands there, and is what the schemas of its readers ask for."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import jsonschema
import pytest
import yaml
from junitparser import JUnitXml

from tests.commandline import BROKEN, CLEAN, GC_FINDING, SLOW, CommandLine
from tests.test_report_formats import GITLAB, RDJSON
from tests.workflow import Job, bash, document

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
ACTION = document((ROOT / "action.yml").read_text(encoding="utf-8"))
PROGRAM = Path(sys.executable).parent / "tflint-perf"
REVIEWDOG = '#!/bin/sh\necho "$@" > arguments\ncat > report.json\n'


def snippets(heading: str, language: str = "yaml") -> list[str]:
    """The code in one language below a heading of the page."""
    section = PAGE.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


WORKFLOWS = snippets("GitHub Actions")
GITLAB_WHOLE, GITLAB_CHANGES = snippets("GitLab CI")


def run(folder: Path, lines: Iterable[str], **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the lines of a script with this project's command on the path."""
    script = folder / "script.sh"
    script.write_text("\n".join(lines))
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    return bash(script, folder, {"PATH": path} | variables)


def gitlab_job(text: str) -> list[str]:
    (job,) = document(text).values()
    return list(job["script"])


@pytest.mark.parametrize(
    ("schema", "texts"),
    [
        ("github-actions", [(ROOT / "action.yml").read_text(encoding="utf-8")]),
        ("github-workflows", WORKFLOWS),
        ("gitlab-ci", [GITLAB_WHOLE, GITLAB_CHANGES]),
    ],
)
def test_what_others_read_is_as_their_schema_says(tmp_path: Path, schema: str, texts: list[str]) -> None:
    files = [tmp_path / f"{number}.yml" for number, _ in enumerate(texts)]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_the_table_has_the_inputs_of_the_action() -> None:
    assert re.findall(r"(?m)^\| `([\w-]+)` \|", PAGE) == list(ACTION["inputs"])


def test_every_workflow_gives_the_action_inputs_that_it_has() -> None:
    steps = [step for text in WORKFLOWS for job in document(text)["jobs"].values() for step in job["steps"]]
    ours = [step for step in steps if "/tflint-perf@" in step.get("uses", "")]
    assert len(ours) == len(WORKFLOWS) - 1
    assert all(set(step["with"]) <= set(ACTION["inputs"]) for step in ours)


def of_action(text: str, job: Job) -> subprocess.CompletedProcess[str]:
    """Run the action as a workflow uses it, with what is installed here."""
    (about,) = document(text)["jobs"].values()
    (step,) = [step for step in about["steps"] if "/tflint-perf@" in step.get("uses", "")]
    given = {name: job.filled(value, {}) for name, value in step["with"].items()}
    defaults = {name: about["default"] for name, about in ACTION["inputs"].items()}
    job.outputs["steps.install.outputs.program"] = str(PROGRAM)
    return job.step(ACTION["runs"]["steps"][1], defaults | given)


@pytest.fixture
def job(tflint_perf: CommandLine, tmp_path_factory: pytest.TempPathFactory) -> Job:
    """A job of GitHub in the folder of the command line."""
    return Job(tflint_perf.folder, tmp_path_factory.mktemp("temporary"))


def test_the_first_workflow_lints_what_it_names(tflint_perf: CommandLine, job: Job) -> None:
    for name in ("train.py", "scripts/more.py", "other.py"):
        tflint_perf.write(name, SLOW)
    done = of_action(WORKFLOWS[0], job)
    assert (done.returncode, done.stderr) == (1, "")
    assert set(re.findall(r",file=(.*?),", done.stdout)) == {"train.py", "scripts/more.py"}


def test_the_workflow_for_code_scanning_writes_what_it_uploads(tflint_perf: CommandLine, job: Job) -> None:
    tflint_perf.write("train.py", SLOW)
    assert of_action(WORKFLOWS[1], job).returncode == 1
    (about,) = document(WORKFLOWS[1])["jobs"].values()
    report = json.loads((tflint_perf.folder / about["steps"][-1]["with"]["sarif_file"]).read_text())
    assert {result["ruleId"] for result in report["runs"][0]["results"]} == {"TFP101", "TFP406"}


def test_the_workflow_for_changes_shows_no_more(
    tflint_perf: CommandLine, job: Job, repository: Callable[..., str]
) -> None:
    repository("update-ref", "refs/remotes/origin/main", "main")
    tflint_perf.write("new.py", SLOW)
    job.outputs["github.base_ref"] = "main"
    done = of_action(WORKFLOWS[2], job)
    assert (done.returncode, done.stderr) == (1, "")
    assert set(re.findall(r",file=(.*?),", done.stdout)) == {"new.py"}


def test_the_workflow_without_the_action_works(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", SLOW)
    (about,) = document(WORKFLOWS[3])["jobs"].values()
    done = run(tflint_perf.folder, [step["run"] for step in about["steps"] if "run" in step])
    assert done.returncode == 1
    assert "::error title=tflint-perf (TFP406),file=train.py,line=14," in done.stdout


@pytest.mark.parametrize(("text", "code", "count"), [(SLOW, 1, 2), (CLEAN, 0, 0), (BROKEN, 1, 1)])
def test_the_job_of_gitlab_writes_its_report_and_fails_on_findings(
    tflint_perf: CommandLine, text: str, code: int, count: int
) -> None:
    tflint_perf.write("train.py", text)
    done = run(tflint_perf.folder, gitlab_job(GITLAB_WHOLE), CI_PROJECT_DIR=str(tflint_perf.folder))
    assert done.returncode == code, done.stderr
    assert (f"Found {count} finding" in done.stdout) is bool(count)
    (job,) = document(GITLAB_WHOLE).values()
    report = tflint_perf.folder / job["artifacts"]["reports"]["codequality"]
    issues = json.loads(report.read_text())
    jsonschema.validate(issues, GITLAB)
    assert [issue["location"]["path"] for issue in issues] == ["train.py"] * count


def test_the_job_of_gitlab_fails_with_2_where_something_could_not_be_done(tflint_perf: CommandLine) -> None:
    tflint_perf.write("tflint-perf.toml", "selekt = []\n")
    done = run(tflint_perf.folder, gitlab_job(GITLAB_WHOLE))
    assert done.returncode == 2
    assert "unknown key `selekt`" in done.stderr


def test_the_job_of_gitlab_for_changes_shows_no_more(
    tflint_perf: CommandLine, repository: Callable[..., str]
) -> None:
    tflint_perf.write("new.py", SLOW)
    base = repository("rev-parse", "main")
    done = run(tflint_perf.folder, gitlab_job(GITLAB_CHANGES), CI_MERGE_REQUEST_DIFF_BASE_SHA=base)
    assert done.returncode == 1, done.stderr
    assert "new.py:14:9" in done.stdout
    assert "train.py" not in done.stdout


def test_reviewdog_is_given_what_it_reads(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", SLOW)
    reviewdog = tflint_perf.write("bin/reviewdog", REVIEWDOG)
    reviewdog.chmod(0o755)
    (text,) = snippets("reviewdog")
    (command,) = [step["run"] for step in yaml.safe_load(text) if "run" in step]
    path = os.pathsep.join([str(reviewdog.parent), str(PROGRAM.parent), os.environ["PATH"]])
    done = run(tflint_perf.folder, [command], PATH=path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tflint_perf.folder / "arguments").read_text().startswith("-f=rdjson ")
    report = json.loads((tflint_perf.folder / "report.json").read_text())
    jsonschema.validate(report, RDJSON)
    assert len(report["diagnostics"]) == 2


def test_the_report_for_jenkins_is_read_as_junit(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", SLOW)
    (console,) = snippets("Jenkins and others", "console")
    done = run(tflint_perf.folder, [console.removeprefix("$ ")])
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    report = JUnitXml.fromstring((tflint_perf.folder / "tflint-perf.xml").read_bytes())
    assert (report.tests, report.failures) == (2, 2)


@pytest.mark.parametrize("what", ["config", "manifest"])
def test_precommit_reads_the_hooks_and_their_configuration(tmp_path: Path, what: str) -> None:
    config = tmp_path / ".pre-commit-config.yaml"
    config.write_text(snippets("pre-commit")[0].replace("<a tag or commit>", "v1.0.0"))
    file = config if what == "config" else ROOT / ".pre-commit-hooks.yaml"
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", f"validate-{what}", file],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_the_configured_hook_is_one_and_its_options_work(tflint_perf: CommandLine) -> None:
    (repo,) = document(snippets("pre-commit")[0])["repos"]
    (hook,) = repo["hooks"]
    known = {entry["id"]: entry for entry in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    tflint_perf.write("train.py", SLOW)
    arguments = known[hook["id"]]["entry"].split()[1:]
    ran = tflint_perf(*arguments, *hook["args"], "--output-format=concise", "train.py")
    assert (ran.code, ran.err) == (1, "")
    assert f"train.py:{GC_FINDING}" in ran.out


def test_the_commands_for_flake8_work(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", f"import os\n{SLOW}")
    (console,) = snippets("flake8", "console")
    commands = [line.removeprefix("$ ").partition(" #")[0].strip() for line in console.splitlines()]
    assert [command.split()[0] for command in commands] == ["pip", "flake8", "flake8", "flake8"]
    done = [run(tflint_perf.folder, [command]) for command in commands]
    assert [ran.returncode for ran in done] == [0, 1, 1, 1], [ran.stderr for ran in done]
    codes = [set(re.findall(r"(?m)^\S+: (\w+) ", ran.stdout)) for ran in done[1:]]
    assert codes == [{"F401", "TFP101", "TFP406"}, {"TFP101", "TFP406"}, {"F401"}]
