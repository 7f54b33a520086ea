"""The beliefs: each has an experiment, and the page says of each what was measured."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.verify.synthetic import document, not_measurable, result, run
from tflint_perf.catalogue.evidence import evidence_of, read_evidence
from tflint_perf.catalogue.rules import catalogue
from tflint_perf.verify.beliefs import all_beliefs, read_articles
from tflint_perf.verify.beliefs_page import page
from tflint_perf.verify.experiment import belief_experiments

ROOT = Path(__file__).parent.parent
BELIEFS = ROOT / "fixtures" / "beliefs"
NAMES = sorted(path.parent.name for path in BELIEFS.glob("*/slow.py"))
ARTICLES = read_articles(BELIEFS)

each_belief = pytest.mark.parametrize("name", NAMES)


def lines(**results: object) -> list[str]:
    measured = {name.replace("_", "-"): found for name, found in results.items()}
    on_record = {name: (one,) for name, one in evidence_of(document(measured)).items()}
    return list(page(all_beliefs(), on_record, ARTICLES, {}))


def section(text: list[str], name: str) -> str:
    """What the page says of one belief."""
    return "\n".join(text).split(f'<a id="{name}"></a>')[1].split("<a id=")[0]


def test_every_folder_with_scripts_is_a_belief() -> None:
    assert list(all_beliefs()) == NAMES == [one.name for one in belief_experiments((), BELIEFS)]


@each_belief
def test_a_belief_is_told_explained_and_sourced(name: str) -> None:
    belief = all_beliefs()[name]
    assert belief.says.endswith(".")
    assert belief.why.endswith(".")
    assert set(belief.articles) <= set(ARTICLES.titles)
    assert belief.articles
    assert tuple(belief.places) == belief.articles
    assert all(belief.places.values())
    assert belief.sources
    assert all(address.startswith("https://") for _, address in belief.sources)


@each_belief
def test_both_scripts_train_step_by_step_on_the_same_task(name: str) -> None:
    slow, fast = (ast.parse((BELIEFS / name / script).read_text()) for script in ("slow.py", "fast.py"))
    assert ast.get_docstring(slow) == ast.get_docstring(fast) is not None
    assert ast.dump(slow) != ast.dump(fast)
    for tree in (slow, fast):
        (train,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "train")
        assert [argument.arg for argument in train.args.args] == ["steps"]
        assert sum(isinstance(node, ast.Yield) for node in ast.walk(train)) == 1


def test_every_article_has_a_belief() -> None:
    assert {number for belief in all_beliefs().values() for number in belief.articles} == set(ARTICLES.titles)


def test_claims_that_are_left_to_a_rule_name_one() -> None:
    assert set(ARTICLES.rules) <= set(catalogue())


def test_the_page_says_of_each_belief_whether_it_was_measured() -> None:
    text = lines()
    for name in NAMES:
        assert "**Measured**: not measured yet." in section(text, name)


def test_the_page_sets_the_figures_beside_the_belief() -> None:
    grown = result(
        run(0.02, growth=1.01), run(0.001), value=1.01, kind="growth", least=1.2, verdict="refuted"
    )
    text = lines(eager_loop_grows_graph=grown)
    assert "1.01× (0.959 to 1.06) on CPU | refuted on CPU |" in next(
        line for line in text if line.startswith("| [An eager")
    )
    assert (
        "**Measured**: **refuted** on CPU (synthetic) with TensorFlow 9.8.7, 2030-01-02: "
        "1.01× (0.959 to 1.06); slow 1.0×, fast 1.0×." in section(text, "eager-loop-grows-graph")
    )
    assert "not measured" in section(text, "nan-slows-steps")


def test_the_page_says_why_a_belief_could_not_be_measured() -> None:
    said = section(lines(mixed_precision_saves_time=not_measurable()), "mixed-precision-saves-time")
    assert "not measurable on CPU (synthetic) with TensorFlow 9.8.7, 2030-01-02: needs a GPU" in said


def test_the_scripts_that_the_page_links_are_there() -> None:
    links = re.findall(r"\]\((\.\.[^)]+)\)", "\n".join(lines()))
    assert len(links) == 2 * len(NAMES)
    assert all((ROOT / "docs" / link).is_file() for link in links)


def test_the_page_in_the_project_tells_what_is_on_record() -> None:
    on_record = read_evidence(BELIEFS / "evidence")
    rules = read_evidence(ROOT / "fixtures" / "evidence")
    made = "\n".join(page(all_beliefs(), on_record, ARTICLES, rules)) + "\n"
    assert (ROOT / "docs" / "beliefs.md").read_text(encoding="utf-8") == made


def test_what_only_a_gpu_can_show_is_not_called_refuted() -> None:
    refuted = result(value=1.0, kind="growth", least=1.2, verdict="refuted")
    text = lines(fragmentation_slows_steps=refuted, eager_loop_grows_graph=refuted)
    row, other = (
        next(line for line in text if line.startswith(f"| [{title}")) for title in ("Fragm", "An eager")
    )
    assert row.endswith("| refuted on CPU<br>not measured on a GPU |")
    assert other.endswith("| refuted on CPU |")
    assert "**Not measured** on a GPU: The articles speak of" in section(text, "fragmentation-slows-steps")


def test_what_was_not_measured_says_where_it_is_said_and_why() -> None:
    assert ARTICLES.not_measured
    text = lines()
    for said, places, why in ARTICLES.not_measured:
        assert places[:3] in ARTICLES.titles
        assert f"| {said} | {places} | {why} |" in text


def test_snippets_that_fail_are_told() -> None:
    assert (
        "- 003, example 3: raises `AttributeError`: a tensor in a compiled function has no `numpy()`"
        in lines()
    )
