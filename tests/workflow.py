"""Runs the shell of GitHub's actions and GitLab's jobs as these do: each script by bash, what comes from outside in its environment."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.test_wheel import bare_environment

_EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")


def document(text: str) -> dict[str, Any]:
    """A YAML document; `on` is a word here, as it is for GitHub."""
    loaded: dict[Any, Any] = yaml.safe_load(text)
    return {"on" if key is True else key: value for key, value in loaded.items()}


@dataclass(frozen=True, slots=True)
class Job:
    """A job of GitHub in its workspace. `outputs` are those of the steps so far, by their full names."""

    workspace: Path
    temporary: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)

    def filled(self, text: str, inputs: Mapping[str, str]) -> str:
        """The text with its expressions in the values that they have now."""
        values = {f"inputs.{name}": value for name, value in inputs.items()} | self.outputs
        return _EXPRESSION.sub(lambda found: values[found[1]], text)

    def step(self, step: Mapping[str, Any], inputs: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Run one step that has a script."""
        assert "${{" not in step["run"], "an expression would become part of the script"
        script, output = self.temporary / "script.sh", self.temporary / "output"
        script.write_text(step["run"])
        output.write_text("")
        given = {name: self.filled(value, inputs) for name, value in step.get("env", {}).items()}
        own = {"RUNNER_TEMP": self.temporary, "GITHUB_OUTPUT": output, "GITHUB_WORKSPACE": self.workspace}
        done = bash(
            script,
            self.workspace,
            {**{name: str(value) for name, value in own.items()}, **self.variables, **given},
        )
        for line in output.read_text().splitlines():
            name, _, value = line.partition("=")
            self.outputs[f"steps.{step['id']}.outputs.{name}"] = value
        return done


def bash(script: Path, folder: Path, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a script as `shell: bash` means it."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
        cwd=folder,
        env=bare_environment() | dict(variables),
        capture_output=True,
        text=True,
        check=False,
    )
