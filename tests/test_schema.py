"""The JSON schema of the configuration: it takes what the tool takes, and refuses what the tool refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.commandline import CommandLine
from tflint_perf.catalogue.rules import catalogue
from tflint_perf.config.keys import FORMATS, KEYS, Key
from tflint_perf.config.reading import Values, check, toml_of
from tflint_perf.config.resolve import configure
from tflint_perf.problems import ConfigError

pytestmark = pytest.mark.slow

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def schema(tflint_perf: CommandLine) -> dict[str, Any]:
    """The schema as the command prints it."""
    ran = tflint_perf("config", "--output-format", "json-schema")
    assert (ran.code, ran.err) == (0, "")
    printed: dict[str, Any] = json.loads(ran.out)
    jsonschema.Draft7Validator.check_schema(printed)
    return printed


def schema_takes(schema: dict[str, Any], table: dict[str, Any]) -> bool:
    return bool(jsonschema.Draft7Validator(schema).is_valid(table))


def tool_takes(table: dict[str, Any], folder: Path) -> bool:
    try:
        check(table, {}, lambda row: "here")
        configure([Values(folder, table)], folder, catalogue())
    except ConfigError:
        return False
    return True


def test_every_key_is_in_it_with_its_description(schema: dict[str, Any]) -> None:
    described = {name: entry["description"] for name, entry in schema["properties"].items()}
    assert described == {name: key.description for name, key in KEYS.items()}
    assert schema["properties"]["output-format"]["enum"] == [*FORMATS]
    assert schema["properties"]["fix"]["default"] is False


def test_every_rule_is_in_it_by_code_and_name(schema: dict[str, Any]) -> None:
    named = set(schema["definitions"]["rule"]["enum"])
    assert set(catalogue()) | {rule.name for rule in catalogue().values()} <= named
    assert {"ALL", "TFP", "TFP4"} <= named


@pytest.mark.parametrize("key", KEYS.values(), ids=lambda key: key.name)
def test_the_example_and_the_default_of_every_key_are_valid(schema: dict[str, Any], key: Key) -> None:
    assert schema_takes(schema, toml_of(key.example))
    assert schema["properties"][key.name]["examples"] == list(toml_of(key.example).values())
    if key.default is not None:
        assert schema_takes(schema, {key.name: schema["properties"][key.name]["default"]})


@pytest.mark.parametrize(
    "table",
    [
        {},
        {"select": ["ALL", "T", "TFP4", "TFP406", "gc-in-loop"]},
        {"severity": {"TFP4": "error", "ALL": "info"}},
        {"per-file-ignores": {"a/*.py": ["TFP4"], "b": []}},
        {"exclude": []},
        {"fail-on": "error"},
        {"fail-on": "2x"},
        {"fail-on": "error, 1.5x"},
        {"docs-url": "https://example.org"},
    ],
)
def test_what_the_tool_takes_is_valid(schema: dict[str, Any], table: dict[str, Any], tmp_path: Path) -> None:
    assert tool_takes(table, tmp_path)
    assert schema_takes(schema, table)


@pytest.mark.parametrize(
    "table",
    [
        {"selct": []},
        {"select": "TFP4"},
        {"select": ["TFP4O6"]},
        {"select": ["tfp406"]},
        {"ignore": [""]},
        {"exclude": [""]},
        {"exclude": [1]},
        {"fix": 1},
        {"fix": "true"},
        {"output-format": "jsn"},
        {"fail-on": "never"},
        {"fail-on": "0.5x"},
        {"fail-on": "2"},
        {"fail-on": ["error"]},
        {"severity": {"TFP4": "fatal"}},
        {"severity": {"invalid-syntax": "info"}},
        {"per-file-ignores": {"a": "TFP4"}},
        {"per-file-ignores": ["TFP4"]},
        {"baseline": ["a.json"]},
    ],
    ids=str,
)
def test_what_the_tool_refuses_is_invalid(
    schema: dict[str, Any], table: dict[str, Any], tmp_path: Path
) -> None:
    assert not tool_takes(table, tmp_path)
    assert not schema_takes(schema, table)


def test_the_configurations_of_the_readme_are_valid(schema: dict[str, Any]) -> None:
    tables = [toml_of(block)["tool"]["tflint-perf"] for block in re.findall(r"(?s)```toml\n(.*?)```", README)]
    assert tables
    for table in tables:
        jsonschema.validate(table, schema)


def test_the_schema_is_not_of_one_key(tflint_perf: CommandLine) -> None:
    ran = tflint_perf("config", "fix", "--output-format=json-schema")
    assert (ran.code, ran.err) == (2, "tflint-perf: a JSON schema covers all keys: leave out KEY\n")
