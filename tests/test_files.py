"""Which files are found, and that writing one never loses it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tflint_perf.config import files
from tflint_perf.config.files import ChangedError, find_files, replace_file, settings_for
from tflint_perf.config.keys import DEFAULT_EXCLUDE
from tflint_perf.config.settings import Settings

ROOT = os.geteuid() == 0 if hasattr(os, "geteuid") else False


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.chdir(tmp_path)
    return Settings(root=tmp_path, rules=frozenset({"TFP101", "TFP404"}), exclude=DEFAULT_EXCLUDE)


def make(*names: str) -> None:
    for name in names:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")


def names(folder: str = ".") -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def found(settings: Settings, *arguments: str) -> list[str]:
    result = find_files(arguments or (".",), settings)
    assert result.failures == ()
    return [path.as_posix() for path in result.files]


def test_scripts_and_notebooks_are_found_sorted_and_once(settings: Settings) -> None:
    make("b.py", "a/c.py", "a/n.ipynb", "a/data.txt", "a-b.py", "Makefile")
    expected = ["a/c.py", "a/n.ipynb", "a-b.py", "b.py"]
    assert found(settings) == expected
    assert found(settings, "b.py", "a", ".", "./b.py", "a/../b.py", str(Path("b.py").absolute())) == expected


def test_a_path_is_shown_as_it_was_given(settings: Settings) -> None:
    make("a/b.py")
    assert found(settings, "./a") == ["a/b.py"]
    assert found(settings, str(Path("a").absolute())) == [Path("a/b.py").absolute().as_posix()]


@pytest.mark.parametrize(
    "folder", [".git", ".venv", "venv", "node_modules", "build", "dist", "site-packages"]
)
def test_a_folder_excluded_by_default_is_linted_only_when_named(settings: Settings, folder: str) -> None:
    make(f"{folder}/a.py", f"lib/{folder}/a.py", "lib/a.py")
    assert found(settings) == ["lib/a.py"]
    assert found(settings, folder) == [f"{folder}/a.py"]
    assert found(settings, f"{folder}/a.py") == [f"{folder}/a.py"]
    forced = replace(settings, force_exclude=True)
    assert found(forced, folder, f"{folder}/a.py", f"lib/{folder}/a.py", "lib/a.py") == ["lib/a.py"]


def test_an_environment_is_skipped_whatever_it_is_called(settings: Settings) -> None:
    make("tf-env/pyvenv.cfg", "tf-env/lib/b.txt", "tf-env/a.py", "a.py")
    assert found(settings) == ["a.py"]
    assert found(settings, "tf-env") == ["tf-env/a.py"]


def test_a_project_that_holds_the_configuration_of_an_environment_alone_is_none(settings: Settings) -> None:
    make("work/pyvenv.cfg", "work/a.py")
    assert found(settings) == ["work/a.py"]


EXCLUDES: list[tuple[tuple[str, ...], list[str]]] = [
    (("a",), ["b/c.py", "b/d.py"]),
    (("/a",), ["b/a/e.py", "b/c.py", "b/d.py"]),
    (("b/c.py",), ["a/x.py", "b/a/e.py", "b/d.py"]),
    (("*.py", "!x.py"), ["a/x.py"]),
    (("c.*",), ["a/x.py", "b/a/e.py", "b/d.py"]),
    (("b/*", "!b/d.py"), ["a/x.py", "b/d.py"]),
]


@pytest.mark.parametrize(("patterns", "expected"), EXCLUDES)
def test_exclude_reads_patterns_as_git_does(
    settings: Settings, patterns: tuple[str, ...], expected: list[str]
) -> None:
    make("a/x.py", "b/a/e.py", "b/c.py", "b/d.py")
    excluding = replace(settings, exclude=patterns)
    assert found(excluding) == expected
    everything = ["a/x.py", "b/a/e.py", "b/c.py", "b/d.py"]
    assert found(replace(excluding, force_exclude=True), *everything) == expected
    assert found(excluding, *everything) == everything


def test_include_says_what_is_found_in_folders(settings: Settings) -> None:
    make("a.py", "b.pyw", "src/c.py", "script")
    assert found(replace(settings, include=("*.pyw",))) == ["b.pyw"]
    assert found(replace(settings, include=("src/**/*.py",))) == ["src/c.py"]
    assert found(settings, "script", "b.pyw") == ["b.pyw", "script"]


IGNORES: list[tuple[dict[str, str], list[str]]] = [
    ({".gitignore": "a.py\n"}, ["p/b.py", "p/q/c.py"]),
    ({".gitignore": "q/"}, ["a.py", "p/a.py", "p/b.py"]),
    ({".gitignore": "/a.py"}, ["p/a.py", "p/b.py", "p/q/a.py", "p/q/c.py"]),
    ({".gitignore": "*.py\n", "p/.gitignore": "!b.py\n"}, ["p/b.py"]),
    ({".gitignore": "p/*\n!p/b.py\n"}, ["a.py", "p/b.py"]),
    ({"p/.gitignore": "/q\n"}, ["a.py", "p/a.py", "p/b.py"]),
    ({"p/q/.gitignore": "*\n!c.py\n"}, ["a.py", "p/a.py", "p/b.py", "p/q/c.py"]),
    ({".gitignore": "# all\n\n\\#x\n"}, ["a.py", "p/a.py", "p/b.py", "p/q/a.py", "p/q/c.py"]),
    ({".git/info/exclude": "a.py\n"}, ["p/b.py", "p/q/c.py"]),
    ({".gitignore": "!\na.py\n"}, ["p/b.py", "p/q/c.py"]),  # a pattern that git can't read either
]


@pytest.mark.parametrize(("ignores", "expected"), IGNORES)
def test_what_git_ignores_is_skipped(
    settings: Settings, ignores: dict[str, str], expected: list[str]
) -> None:
    everything = ["a.py", "p/a.py", "p/b.py", "p/q/a.py", "p/q/c.py"]
    make(".git/HEAD", *everything, *ignores)
    for name, text in ignores.items():
        Path(name).write_text(text)
    assert found(settings) == expected
    assert found(replace(settings, respect_gitignore=False)) == everything
    assert found(settings, *everything) == everything


def test_gitignore_counts_from_the_repository_down_to_the_named_folder(settings: Settings) -> None:
    make(".git/HEAD", "p/q/a.py", "p/q/b.py", "p/q/c.py")
    Path(".gitignore").write_text("a.py\n")
    Path("p/.gitignore").write_text("/q/b.py\n")
    assert found(settings, "p/q") == ["p/q/c.py"]


def test_a_repository_s_root_ends_what_counts(settings: Settings) -> None:
    make("r/.git/HEAD", "r/a.py")
    Path(".gitignore").write_text("a.py\n")
    assert found(settings, "r") == ["r/a.py"]


def test_an_ignored_folder_is_linted_when_named(settings: Settings) -> None:
    make(".git/HEAD", "out/a.py", "out/gen/b.py")
    Path(".gitignore").write_text("out/\n")
    assert found(settings) == []
    assert found(settings, "out") == found(settings, "out/gen", "out") == ["out/a.py", "out/gen/b.py"]


TESTS = ["conftest.py", "p/test_a.py", "p/a_test.py", "p/tests/b.py", "p/tests/q/test_c.py"]
NO_TESTS = ["p/attest.py", "p/test.py", "p/testing/a.py"]


def test_test_files_are_linted_only_when_asked_for(settings: Settings) -> None:
    make(*TESTS, *NO_TESTS)
    assert found(settings) == NO_TESTS
    assert found(replace(settings, include_tests=True)) == sorted(TESTS + NO_TESTS)
    assert found(settings, *TESTS) == sorted(TESTS)
    assert found(settings, "p/tests") == found(settings, "p/tests/q", "p/tests") == TESTS[3:]


def test_named_test_files_are_skipped_under_force_exclude(settings: Settings) -> None:
    make(*TESTS, *NO_TESTS)
    forced = replace(settings, force_exclude=True)
    assert found(forced, *TESTS, *NO_TESTS, "p/tests", "p/tests/q") == NO_TESTS
    assert found(replace(forced, include_tests=True), *TESTS, "p/tests") == sorted(TESTS)


def test_tests_above_the_root_don_t_count(settings: Settings) -> None:
    make("tests/project/test_a.py", "tests/project/b.py")
    inside = replace(settings, root=settings.root / "tests" / "project")
    assert found(inside, "tests/project") == ["tests/project/b.py"]


def test_missing_paths_are_told_and_the_others_linted(settings: Settings) -> None:
    make("a.py")
    result = find_files(["no.py", "a.py", "no/such"], settings)
    assert result.files == (Path("a.py"),)
    assert result.failures == ("no.py: no such file or folder", "no/such: no such file or folder")


def test_a_folder_without_permission_is_told_and_the_others_linted(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    make("locked/a.py", "b.py", "c/d.py")
    real = os.scandir

    def scandir(path: str) -> object:  # the superuser may read everything, so the refusal is played
        if path.rstrip("/").endswith("locked"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(files.os, "scandir", scandir)
    result = find_files(["."], settings)
    assert [path.as_posix() for path in result.files] == ["b.py", "c/d.py"]
    assert result.failures == ("locked: permission denied",)


def test_links_in_a_circle_end_and_each_file_is_found_once(settings: Settings) -> None:
    make("a/b.py", "a/c.py")
    Path("a/up").symlink_to("..")
    Path("a/self").symlink_to("self")
    Path("a/same.py").symlink_to("b.py")
    assert found(settings) == ["a/b.py", "a/c.py"]
    assert found(settings, "a/same.py") == ["a/same.py"]
    assert found(settings, "a/up/a") == ["a/up/a/b.py", "a/up/a/c.py"]


def test_links_that_lead_nowhere_are_told(settings: Settings) -> None:
    make("a.py")
    Path("gone.py").symlink_to("no-such")
    Path("loop.py").symlink_to("loop.py")
    Path(".#a.py").symlink_to("someone@host.1234")  # Emacs's lock
    result = find_files(["."], settings)
    assert result.files == (Path("a.py"),)
    assert sorted(result.failures) == [
        "gone.py: a broken symbolic link",
        "loop.py: symbolic links that form a loop",
    ]


def test_a_link_to_a_file_elsewhere_is_linted(settings: Settings) -> None:
    make("out/a.py", "in/b.py")
    Path("in/a.py").symlink_to("../out/a.py")
    assert found(settings, "in") == ["in/a.py", "in/b.py"]
    assert found(settings, "in", "out") == ["in/b.py", "out/a.py"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes in folders")
def test_what_is_no_file_is_told_when_named_and_skipped_else(settings: Settings) -> None:
    os.mkfifo("pipe.py")
    assert found(settings) == []
    assert find_files(["pipe.py"], settings).failures == ("pipe.py: not a file",)


def test_an_empty_folder_has_no_files_and_no_failure(settings: Settings) -> None:
    assert found(settings) == []


PER_FILE: list[tuple[str, str, bool]] = [
    ("a.py", "a.py", True),
    ("a.py", "sub/a.py", True),
    ("/a.py", "sub/a.py", False),
    ("sub/*", "sub/a.py", True),
    ("sub/", "sub/deep/a.py", True),
    ("sub", "sub/deep/a.py", True),
    ("*.ipynb", "a.py", False),
    ("!sub/**", "a.py", True),
    ("!sub/**", "sub/a.py", False),
]


@pytest.mark.parametrize(("pattern", "path", "ignored"), PER_FILE)
def test_per_file_ignores_take_rules_away(settings: Settings, pattern: str, path: str, ignored: bool) -> None:
    ignoring = replace(settings, per_file_ignores=((pattern, frozenset({"TFP404"})),))
    expected = frozenset({"TFP101"}) if ignored else settings.rules
    assert settings_for(path, ignoring).rules == expected
    assert settings_for(Path(path).absolute(), ignoring).rules == expected


def test_without_per_file_ignores_settings_stay_the_same_object(settings: Settings) -> None:
    assert settings_for("a.py", settings) is settings


def test_a_file_is_replaced_and_keeps_its_mode(settings: Settings) -> None:
    path = Path("a.py")
    path.write_bytes(b"old")
    path.chmod(0o751)
    replace_file(path, b"old", b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o751
    assert names() == ["a.py"]


def test_of_a_link_the_target_is_replaced(settings: Settings) -> None:
    make("real/a.py")
    Path("a.py").symlink_to("real/a.py")
    replace_file("a.py", b"", b"new")
    assert Path("a.py").is_symlink()
    assert Path("real/a.py").read_bytes() == b"new"
    assert names("real") == ["a.py"]


@pytest.mark.skipif(not ROOT, reason="only the superuser may give a file to another owner")
def test_the_owner_stays(settings: Settings) -> None:
    make("a.py")
    os.chown("a.py", 12345, 23456)
    replace_file("a.py", b"", b"new")
    status = Path("a.py").stat()
    assert (status.st_uid, status.st_gid) == (12345, 23456)


def test_a_file_that_changed_is_left_alone(settings: Settings) -> None:
    path = Path("a.py")
    path.write_bytes(b"theirs")
    with pytest.raises(ChangedError, match="changed while it was linted"):
        replace_file(path, b"old", b"new")
    assert path.read_bytes() == b"theirs"
    assert names() == ["a.py"]


def test_a_read_only_file_is_left_alone(settings: Settings) -> None:
    path = Path("a.py")
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(PermissionError, match="read-only"):
        replace_file(path, b"old", b"new")
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
def test_a_failure_on_the_way_leaves_the_file_and_nothing_else(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = Path("a.py")
    path.write_bytes(b"old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os if step == "fsync" else Path, step, fail)
    with pytest.raises(OSError, match="No space left"):
        replace_file(path, b"old", b"new")
    assert path.read_bytes() == b"old"
    assert names() == ["a.py"]


def test_a_vanished_file_is_not_made_again(settings: Settings) -> None:
    with pytest.raises(FileNotFoundError):
        replace_file("gone.py", b"old", b"new")
    assert names() == []


def test_a_search_asks_for_no_real_path_of_each_file(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(*(f"p{number % 7}/m{number}.py" for number in range(200)))
    asked: list[object] = []
    real: Callable[..., str] = os.path.realpath
    monkeypatch.setattr(files.os.path, "realpath", lambda path: asked.append(path) or real(path))
    assert len(found(settings)) == 200
    assert len(asked) <= 2
