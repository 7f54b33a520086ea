"""Rules read without running them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tflint_perf import rules
from tflint_perf.catalogue.declared import NotDeclaredError, declared_rules
from tflint_perf.catalogue.registry import all_rules
from tflint_perf.rule import Claim, Rule

ATTRIBUTES = (
    "code",
    "name",
    "triggers",
    "needs",
    "fixes",
    "bold",
    "yields_to",
    "claim",
    "always_on",
    "opt_in",
)
RULE = '''
class Slow(Rule):
    """A summary.

    ## Example

    def train(): ...
    """

    code = "TFP999"
    name = "slow"
    triggers = {triggers}
    claim = Claim("traces", least=2.0, kind="growth")

    def check(self, model):
        code = "not this"
'''


def told(rule: type[Rule]) -> list[object]:
    """All that a rule says of itself; its docstring as it is shown, since Python 3.13 takes its indentation off."""
    return [*(getattr(rule, name) for name in ATTRIBUTES), rule.summary(), rule.explanation()]


def test_reading_a_rule_gives_what_running_it_gives() -> None:
    read = {rule.code: told(rule) for rule in declared_rules(rules.__path__)}
    run = {code: told(rule) for code, rule in all_rules().items()}
    assert read == run


def test_what_a_rule_leaves_out_is_the_default(tmp_path: Path) -> None:
    (tmp_path / "tfp999_slow.py").write_text(RULE.format(triggers="('a', 'b')"))
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "slowness.py").write_text("DEEPEST = 3")
    (rule,) = declared_rules([str(tmp_path)])
    assert (rule.code, rule.triggers, rule.fixes, rule.always_on) == ("TFP999", ("a", "b"), "none", False)
    assert (rule.claim, rule.opt_in) == (Claim("traces", 2.0, "growth"), False)
    assert rule.summary() == "A summary."


@pytest.mark.parametrize(
    "text", [RULE.format(triggers="TRIGGERS"), "", RULE.format(triggers="()") * 2, "class X(Rule):\n"]
)
def test_a_file_of_another_form_is_not_guessed_at(tmp_path: Path, text: str) -> None:
    (tmp_path / "tfp999_slow.py").write_text(text)
    with pytest.raises(NotDeclaredError):
        declared_rules([str(tmp_path)])


def test_rules_are_selected_and_explained_without_libcst() -> None:
    program = "import sys; from tflint_perf.catalogue.rules import catalogue; catalogue(); sys.exit('libcst' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_program_that_only_names_other_modules_is_linted_without_libcst(tmp_path: Path) -> None:
    # Its loop may train what it imports, so the modules of the project are looked at: as text.
    (tmp_path / "helper.py").write_text("def say(word):\n    print(word)\n")
    (tmp_path / "program.py").write_text(
        "import sys\nimport helper\n\nif __name__ == '__main__':\n    helper.say(sys.argv[0])\n"
    )
    program = (
        "import sys; from tflint_perf.start import main\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    sys.exit(end.code or 'libcst' in sys.modules)"
    )
    arguments = ["check", "--isolated", "--no-cache", "--select=ALL", "program.py"]
    done = subprocess.run([sys.executable, "-c", program, *arguments], check=False, cwd=tmp_path)
    assert done.returncode == 0
