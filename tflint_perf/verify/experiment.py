"""What can be run: the experiments of the rules, those of the beliefs, and a user's own two scripts."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from tflint_perf.catalogue.rules import catalogue
from tflint_perf.config.selection import codes_of
from tflint_perf.problems import ConfigError
from tflint_perf.rule import Claim, Metric
from tflint_perf.verify.own_script import refuse_no_experiment
from tflint_perf.verify.sizes import Size, read_sizes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

BELIEF = "belief.toml"
_SETS_ENVIRONMENT = re.compile(r"\benviron\b|\bputenv\b")


@dataclass(frozen=True, slots=True)
class Experiment:
    """Two scripts and what is claimed of them. `title` is a few words for people; `own` marks a user's pair.

    `sizes` are those that it can be run at, none where the scripts are all there is; `size` is the one to be run.
    """

    name: str
    title: str
    slow: Path
    fast: Path
    claim: Claim
    own: bool = False
    sizes: tuple[Size, ...] = ()
    size: Size | None = None

    @property
    def evidence(self) -> Path:
        """Where its results are kept: beside the experiments of the same package, or of a user's own, beside ours."""
        return (fixtures() if self.own else self.slow.parent.parent) / "evidence"

    def script(self, side: str) -> Path:
        return self.slow if side == "slow" else self.fast

    def imports_may_come_first(self) -> bool:
        """Whether TensorFlow may be imported before the scripts run; not where one sets the environment for it."""
        texts = [script.read_text(encoding="utf-8") for script in (self.slow, self.fast)]
        return not self.own and not any(_SETS_ENVIRONMENT.search(text) for text in texts)


def fixtures() -> Path:
    """The folder of the experiments."""
    return Path(importlib.import_module("tflint_perf.fixtures").__path__[0])


def rule_experiments(selectors: Iterable[str], folder: Path) -> tuple[list[Experiment], list[str]]:
    """The experiments of the rules that are selected (all, if none is), and what is missing, line by line.

    Raises:
        ConfigError: a selector fits no rule.
    """
    rules = catalogue()
    chosen = [codes_of(selector, rules, "verify") for selector in selectors]
    codes = frozenset().union(*chosen) if chosen else frozenset(rules)
    found, missing = [], []
    for code in sorted(codes):
        rule, claim = rules[code], rules[code].claim
        own = rule.plugin.fixtures if rule.plugin is not None else folder
        slow, fast = (own / code / name for name in ("slow.py", "fast.py"))
        if claim is not None and slow.is_file() and fast.is_file():
            found.append(Experiment(code, rule.name, slow, fast, claim, sizes=read_sizes(own / code)))
        elif claim is not None:
            missing.append(f"{code}: no experiment: {own / code} lacks slow.py or fast.py")
    return found, missing


def belief_experiments(names: Iterable[str], folder: Path) -> list[Experiment]:
    """The experiments in the folders of `folder` that have a `belief.toml`; those named, if any is.

    Raises:
        ConfigError: there is none of that name, or its file is not as it must be.
    """
    from tflint_perf.problems import nearest

    known = {file.parent.name: file for file in sorted(folder.glob(f"*/{BELIEF}"))}
    for name in names:
        if name not in known:
            raise ConfigError(f"unknown belief `{name}`{nearest(name, known)}", "verify --beliefs")
    return [_belief(known[name]) for name in known if name in names or not names]


def _belief(file: Path) -> Experiment:
    try:
        text = tomllib.loads(file.read_text(encoding="utf-8"))
        claim = claim_of(text["claim"])
        title = str(text["title"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"not a belief: {error}", str(file)) from error
    folder = file.parent
    return Experiment(folder.name, title, folder / "slow.py", folder / "fast.py", claim)


def claim_of(table: Mapping[str, Any]) -> Claim:
    """A claim from its fields.

    Raises:
        ValueError: its metric is unknown. TypeError: a field is.
    """
    claim = Claim(**table)
    if claim.metric not in get_args(Metric):
        raise ValueError(f"unknown metric `{claim.metric}`")
    return claim


def own_experiment(before: Path, after: Path, claim: Claim) -> Experiment:
    """A user's pair: `before.py` against `after.py`.

    Raises:
        ConfigError: one of them is not there, or surely cannot be asked for steps.
    """
    for script in (before, after):
        if not script.is_file():
            raise ConfigError("no such file", str(script))
    for script in (before, after):
        refuse_no_experiment(script)
    name = f"{before.stem} → {after.stem}"
    return Experiment(name, "", before.resolve(), after.resolve(), claim, own=True)
