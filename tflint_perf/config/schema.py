"""The JSON schema of the configuration, for editors: made from the table of keys and the rules that are installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tflint_perf.catalogue.rules import RuleInfo
from tflint_perf.config.failing import EXAMPLES, PATTERN
from tflint_perf.config.keys import FORMATS, KEYS, SEVERITIES, Key
from tflint_perf.config.reading import toml_of
from tflint_perf.config.selection import ALL

# The draft that editors and the schema store read.
_DRAFT = "http://json-schema.org/draft-07/schema#"
_RULE = {"$ref": "#/definitions/rule"}
_SEVERITY = {"$ref": "#/definitions/severity"}
_RULES = {"type": "array", "items": _RULE}


def config_schema(rules: Mapping[str, RuleInfo]) -> dict[str, Any]:
    """The schema of the table `[tool.tflint-perf]`, and of a `tflint-perf.toml`: it takes what the tool takes."""
    return {
        "$schema": _DRAFT,
        "title": "tflint-perf",
        "description": "The configuration of tflint-perf, a linter of TensorFlow training code.",
        "type": "object",
        "additionalProperties": False,
        "properties": {name: _property(key) for name, key in KEYS.items()},
        "definitions": {
            "rule": {
                "description": "A rule's code or a prefix of it, a rule's name, or ALL.",
                "enum": _selectors(rules),
            },
            "severity": {"description": "From the most severe to the least.", "enum": list(SEVERITIES)},
        },
    }


def _property(key: Key) -> dict[str, Any]:
    described: dict[str, Any] = {"description": key.description, **_type(key)}
    if key.default is not None:
        described["default"] = toml_of(f"value = {key.default}")["value"]
    return described | {"examples": [toml_of(key.example)[key.name]]}


def _type(key: Key) -> dict[str, Any]:
    match key.type:
        case "bool":
            return {"type": "boolean"}
        case "str":
            return {"type": "string"}
        case "format":
            return {"enum": list(FORMATS)}
        case "fail on":
            # Editors offer what is listed and take what fits the pattern.
            return {"anyOf": [{"enum": list(EXAMPLES)}, {"type": "string", "pattern": PATTERN}]}
        case "list[str]":
            return {"type": "array", "items": {"type": "string", "minLength": 1}}
        case "list[rule]":
            return _RULES
        case "dict[str, list[rule]]":
            return {"type": "object", "additionalProperties": _RULES}
        case "dict[rule, severity]":
            return {"type": "object", "propertyNames": _RULE, "additionalProperties": _SEVERITY}


def _selectors(rules: Mapping[str, RuleInfo]) -> list[str]:
    """All that stands for rules: `ALL`, then beginnings of codes, codes and names."""
    codes = {code[:length] for code in rules for length in range(1, len(code) + 1)}
    return [ALL, *sorted(codes), *sorted(rule.name for rule in rules.values())]
