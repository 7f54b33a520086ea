"""Configuration files: which one counts, what stands in it, and what is said of mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tflint_perf.catalogue.rules import catalogue
from tflint_perf.config.keys import DEFAULT_EXCLUDE, KEYS, Key
from tflint_perf.config.patterns import rebase
from tflint_perf.config.reading import Values, nearest_config, parse_inline, read_config
from tflint_perf.config.required import check_version
from tflint_perf.config.resolve import Config, Configs, configure
from tflint_perf.problems import ConfigError


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def configured(folder: Path, **options: object) -> Config:
    values = {name.replace("_", "-"): value for name, value in options.items()}
    return Configs(folder, [Values(folder, values)]).of(folder)


def test_the_nearest_file_with_our_table_counts(tmp_path: Path) -> None:
    outer = write(tmp_path / "pyproject.toml", "[tool.tflint-perf]\n")
    write(tmp_path / "a/pyproject.toml", "[tool.other]\n")
    inner = write(tmp_path / "a/b/pyproject.toml", "[tool.tflint-perf]\n")
    found = [nearest_config(tmp_path / folder) for folder in (".", "a", "a/b", "a/b/c")]
    assert found == [outer, outer, inner, inner]


def test_our_own_file_goes_before_pyproject(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", "[tool.tflint-perf]\n")
    own = write(tmp_path / "tflint-perf.toml", "")
    assert nearest_config(tmp_path) == own


def test_a_broken_pyproject_of_another_project_is_passed_over(tmp_path: Path) -> None:
    outer = write(tmp_path / "tflint-perf.toml", "")
    write(tmp_path / "a/pyproject.toml", "not [ TOML")
    assert nearest_config(tmp_path / "a") == outer


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.tflint-perf]\nselect = [\n", r"pyproject.toml(:3:1)?: not TOML: "),
        ("[tool.tflint-perf]\nselect = ]\n", r"pyproject.toml:2:10: not TOML: "),
        (
            "[tool.tflint-perf]\n\nselct = []\n",
            r"pyproject.toml:3: unknown key `selct` \(did you mean `select`\?\)",
        ),
        (
            "[tool.tflint-perf]\nfix = 1\n",
            r"pyproject.toml:2: `fix` must be true or false, for example: fix = true",
        ),
        (
            "[tool.tflint-perf]\nselect = 'TFP1'\n",
            r"pyproject.toml:2: `select` must be a list of rules, for example",
        ),
        ("[tool.tflint-perf]\nexclude = [1]\n", r"pyproject.toml:2: `exclude` must be a list of texts"),
        (
            "[tool.tflint-perf.per-file-ignores]\na = 'b'\n",
            r"pyproject.toml:1: `per-file-ignores` must be a table of patterns",
        ),
        (
            "[tool.tflint-perf]\noutput-format = 'jsn'\n",
            r"pyproject.toml:2: `output-format` must be one of full, ",
        ),
        (
            "[tool.tflint-perf]\nselct = []\nfix = 1\nignroe = []\n",
            r"pyproject.toml:2: unknown key `selct` .*; pyproject.toml:3: `fix` must be true or false, for example: fix = true; "
            r"pyproject.toml:4: unknown key `ignroe` \(did you mean `ignore`\?\)",
        ),
        ("tool.tflint-perf = 1\n", r"pyproject.toml: `tool.tflint-perf` must be a table"),
        ("[tool.tflint-perf]\nselect = ['XYZ999']\n", r"pyproject.toml:2: unknown rule `XYZ999`"),
        ("[tool.tflint-perf]\nfixable = ['nope']\n", r"pyproject.toml:2: unknown rule `nope`"),
        ("[tool.tflint-perf]\nextend = 'no.toml'\n", r"pyproject.toml:2: `extend`: no such file: no.toml"),
        (
            "[tool.tflint-perf]\nextend = 'pyproject.toml'\n",
            r"pyproject.toml: `extend` leads back to this file",
        ),
        ("[tool.tflint-perf]\nrequired-version = '>=99'\n", r"pyproject.toml:2: requires tflint-perf >=99"),
        (
            "[tool.tflint-perf]\nrequired-version = 'new'\n",
            r"pyproject.toml:2: `required-version` is not a list",
        ),
    ],
)
def test_a_mistake_is_told_in_one_line_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "pyproject.toml", text)
    with pytest.raises(ConfigError, match=f"^{message}") as caught:
        configured(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_utf8_is_told(tmp_path: Path) -> None:
    (tmp_path / "tflint-perf.toml").write_bytes(b"# \xe9\n")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_config(tmp_path / "tflint-perf.toml")


def test_a_file_given_without_our_table_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no table"):
        read_config(write(tmp_path / "pyproject.toml", "[tool.other]\n"))


@pytest.mark.parametrize(
    "key", [key for key in KEYS.values() if key.name not in ("extend", "required-version")]
)
def test_the_example_of_every_key_is_accepted(key: Key, tmp_path: Path) -> None:
    values = read_config(write(tmp_path / "tflint-perf.toml", key.example + "\n"))
    assert list(values[0].values) == [key.name]


@pytest.mark.parametrize("key", [key for key in KEYS.values() if key.default is not None])
def test_the_default_of_every_key_changes_nothing(key: Key, tmp_path: Path) -> None:
    write(tmp_path / "tflint-perf.toml", f"{key.name} = {key.default}\n")
    with_default = Configs(tmp_path, []).of(tmp_path)
    without = configure([], tmp_path, catalogue())
    assert with_default.settings == without.settings
    assert with_default.output_format == without.output_format


def test_what_extends_goes_before_what_is_extended(tmp_path: Path) -> None:
    write(
        tmp_path / "base.toml",
        'select = ["TFP001"]\nexclude = ["a"]\nextend-exclude = ["b"]\nunsafe-fixes = true\n',
    )
    write(
        tmp_path / "tflint-perf.toml",
        'extend = "base.toml"\nextend-select = ["TFP002"]\nextend-exclude = ["c"]\n',
    )
    settings = configured(tmp_path).settings
    assert settings.rules == {"TFP001", "TFP002"}
    assert settings.exclude == ("a", "b", "c")
    assert settings.unsafe_fixes


def test_the_command_line_goes_before_the_file(tmp_path: Path) -> None:
    write(tmp_path / "tflint-perf.toml", 'select = ["TFP002"]\nunsafe-fixes = true\noutput-format = "json"\n')
    config = configured(tmp_path, select=["TFP001"], unsafe_fixes=False, output_format="concise")
    assert config.settings.rules == {"TFP001"}
    assert not config.settings.unsafe_fixes
    assert config.output_format == "concise"


def test_isolated_reads_no_file(tmp_path: Path) -> None:
    write(tmp_path / "tflint-perf.toml", "broken [")
    config = Configs(tmp_path, [], isolated=True).of(tmp_path)
    assert config.path is None
    assert config.settings.exclude == DEFAULT_EXCLUDE


def test_every_fix_may_be_applied_unless_said_otherwise(tmp_path: Path) -> None:
    assert configured(tmp_path).settings.fixable == set(catalogue())
    assert configured(tmp_path, fixable=["TFP001"]).settings.fixable == {"TFP001"}
    assert "TFP001" not in configured(tmp_path, unfixable=["unused-suppression"]).settings.fixable


def test_fix_only_implies_fix(tmp_path: Path) -> None:
    assert configured(tmp_path, fix_only=True).settings.fix == "apply"


def test_keys_can_be_given_inline(tmp_path: Path) -> None:
    assert parse_inline('per-file-ignores."a.py" = ["TFP001"]', tmp_path).values == {
        "per-file-ignores": {"a.py": ["TFP001"]}
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("missing.toml", "--config: no such file: missing.toml"),
        ("fix", "--config: neither a file nor `key = value`: fix"),
        ("fxi = true", "--config: unknown key `fxi` .did you mean `fix`"),
        ("fix = 'yes'", "--config: `fix` must be true or false"),
        ("extend = 'a.toml'", "--config: `extend` only has a meaning in a file"),
    ],
)
def test_mistakes_in_inline_keys_are_told(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"^{message}"):
        parse_inline(text, tmp_path)


@pytest.mark.parametrize(
    ("pattern", "base", "root", "moved"),
    [
        ("gen", "/p", "/p/a", "gen"),
        ("gen/", "/p", "/p/a", "gen/"),
        ("**/gen/x", "/p/a", "/p", "**/gen/x"),
        ("a/gen", "/p", "/p", "/a/gen"),
        ("./gen/", "/p", "/p", "/gen/"),
        ("/gen", "/p", "/p", "/gen"),
        ("gen/x.py", "/p/a", "/p", "/a/gen/x.py"),
        ("!gen/x.py", "/p/a", "/p", "!/a/gen/x.py"),
        ("gen/x.py", "/p/a[1]", "/p", r"/a\[1\]/gen/x.py"),
        ("a/gen/", "/p", "/p/a", "/gen/"),
        ("*/gen", "/p", "/p/a", "/gen"),
        ("b/gen", "/p", "/p/a", None),
        ("a/**", "/p", "/p/a/b", "/**"),
        ("/a", "/p", "/p/a/b", "/**"),
        ("../gen/x", "/p/a", "/p", "/gen/x"),
        ("x/y", "/q", "/p", None),
        ("/p/a/gen", "/p/a", "/p", "/a/gen"),
    ],
)
def test_a_pattern_means_the_same_from_another_folder(
    pattern: str, base: str, root: str, moved: str | None
) -> None:
    assert rebase(pattern, Path(base), Path(root)) == moved


@pytest.mark.parametrize(
    ("required", "met"),
    [
        (">=0.1", True),
        (">=0.1,<1", True),
        ("==0.1.0", True),
        ("0.1", True),
        ("!=0.1", False),
        ("<0.1", False),
        ("<=0.1", True),
        (">0.1", False),
        (">=0.1, <0.1", False),
    ],
)
def test_the_required_version_is_compared_by_its_numbers(required: str, met: bool) -> None:
    if met:
        check_version(required, "0.1.0", "here")
    else:
        with pytest.raises(ConfigError, match=r"but this is 0\.1\.0"):
            check_version(required, "0.1.0", "here")
