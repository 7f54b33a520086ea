"""The engine's own rules: what `suppress.py` reports about suppressions. They need no model and no experiment."""

from __future__ import annotations

from typing import Literal, NamedTuple


class OwnRule(NamedTuple):
    """A rule that is not a file in `rules/`: its name, its page, and which fixes it gives."""

    name: str
    summary: str
    explanation: str
    fixes: Literal["safe", "none"]


_UNUSED = """\
## What it does

Reports a suppression of this tool's rules (`# noqa: TFP1`, `# tflint-perf: ignore[TFP1]`, `file-ignore`,
`disable`) that suppresses no finding.

## Why is this bad?

The comment outlived what it was written for. It misleads whoever reads it, and hides the next finding in that place.

## Example

```python
total = loss.numpy()  # noqa: TFP4
```

Use instead:

```python
total = loss.numpy()
```

## What is left alone

A bare `# noqa`, the codes of other tools, and codes that are not enabled in this run. When there are other codes beside
the unused one, only the unused one is removed.
"""

_UNKNOWN = """\
## What it does

Reports a code of this tool's form (`TFP` and digits) in a suppression that belongs to no known rule.

## Why is this bad?

It is a typo, or a code that no longer exists: the suppression does nothing.

## Example

```python
model.predict(x)  # noqa: TFP9
```

Use instead:

```python
model.predict(x)  # noqa: TFP1
```

## What is left alone

The codes of other tools.
"""

OWN_RULES: dict[str, OwnRule] = {
    "TFP001": OwnRule("unused-suppression", "A suppression that suppresses nothing", _UNUSED, "safe"),
    "TFP002": OwnRule(
        "unknown-code-in-suppression", "A suppression that names an unknown code", _UNKNOWN, "none"
    ),
}
