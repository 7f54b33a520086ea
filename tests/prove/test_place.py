"""Copies of a project, in which a run may write what it likes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tflint_perf.problems import ConfigError
from tflint_perf.prove import place
from tflint_perf.prove.place import Project, Scratch, copy_tree, mirror, project_of, search_path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def write(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def scratch(tmp_path: Path, project: Project, **environment: str) -> Scratch:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return Scratch(project, folder, sys.executable, {"HOME": str(tmp_path / "home"), **environment})


def test_the_project_is_the_work_tree_of_git(tmp_path: Path, home: Path) -> None:
    write(tmp_path / "work" / ".git" / "HEAD")
    write(tmp_path / "work" / "scripts" / "train.py")
    found = project_of(["scripts/train.py"], tmp_path / "work", home)
    assert (found.root, found.script) == (tmp_path / "work", "scripts/train.py")


def test_without_git_it_is_where_the_program_is_run(tmp_path: Path, home: Path) -> None:
    write(tmp_path / "work" / "scripts" / "train.py")
    assert project_of(["scripts/train.py"], tmp_path / "work", home).root == tmp_path / "work"


def test_a_program_from_elsewhere_has_a_folder_of_its_own(tmp_path: Path, home: Path) -> None:
    write(tmp_path / "scripts" / "train.py")
    (tmp_path / "work").mkdir()
    assert project_of(["../scripts/train.py"], tmp_path / "work", home).root == tmp_path / "scripts"


def test_the_home_of_the_user_is_no_project(home: Path) -> None:
    write(home / "train.py")
    write(home / ".git" / "HEAD")
    with pytest.raises(ConfigError, match="is not a project folder"):
        project_of(["train.py"], home, home)
    write(home / "work" / "train.py")
    assert project_of(["work/train.py"], home, home).root == home / "work"


def test_a_module_belongs_to_the_folder_in_which_it_is_run(tmp_path: Path, home: Path) -> None:
    (tmp_path / "work").mkdir()
    found = project_of(["-m", "package.train"], tmp_path / "work", home)
    assert (found.root, found.script) == (tmp_path / "work", None)


def test_code_and_small_files_are_copied_and_caches_are_not(tmp_path: Path) -> None:
    for name in ("train.py", "data/labels.csv", ".git/HEAD", "__pycache__/a.pyc", ".venv/pyvenv.cfg"):
        write(tmp_path / "work" / name)
    assert copy_tree(tmp_path / "work", tmp_path / "copy") == []
    found = {path.relative_to(tmp_path / "copy").as_posix() for path in (tmp_path / "copy").rglob("*")}
    assert found == {"train.py", "data", "data/labels.csv"}


def test_large_files_are_there_by_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "LARGE", 10)
    write(tmp_path / "work" / "train.py")
    write(tmp_path / "work" / "weights.h5", "0123456789abc")
    assert copy_tree(tmp_path / "work", tmp_path / "copy") == ["weights.h5"]
    assert (tmp_path / "copy" / "weights.h5").readlink() == tmp_path / "work" / "weights.h5"


def test_a_folder_full_of_files_is_linked_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "MANY", 3)
    for number in range(4):
        write(tmp_path / "work" / "images" / f"{number}.png")
        write(tmp_path / "work" / "package" / f"{number}.py")
    assert copy_tree(tmp_path / "work", tmp_path / "copy") == ["images/"]
    assert (tmp_path / "copy" / "images").is_symlink()
    assert len(list((tmp_path / "copy" / "package").iterdir())) == 4


def test_a_folder_of_much_data_is_linked_file_by_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, "MUCH", 3)
    write(tmp_path / "work" / "shards" / "a.tfrecord", "abc")
    write(tmp_path / "work" / "shards" / "b.tfrecord", "abc")
    assert copy_tree(tmp_path / "work", tmp_path / "copy") == ["shards/a.tfrecord", "shards/b.tfrecord"]
    (tmp_path / "copy" / "shards" / "new").write_text("x")
    assert not (tmp_path / "work" / "shards" / "new").exists()


def test_links_lead_into_the_copy_or_to_where_they_led(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere" / "data")
    write(tmp_path / "work" / "package" / "a.py")
    (tmp_path / "work" / "inside.py").symlink_to("package/a.py")
    (tmp_path / "work" / "also").symlink_to(tmp_path / "work" / "package")
    (tmp_path / "work" / "outside").symlink_to("../elsewhere")
    copy_tree(tmp_path / "work", tmp_path / "copy")
    assert (tmp_path / "copy" / "inside.py").resolve() == tmp_path / "copy" / "package" / "a.py"
    assert (tmp_path / "copy" / "also").resolve() == tmp_path / "copy" / "package"
    assert (tmp_path / "copy" / "outside").resolve() == tmp_path / "elsewhere"


def test_what_is_too_much_for_a_project_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "_MOST", 3)
    for number in range(4):
        write(tmp_path / "work" / f"{number}.py")
    with pytest.raises(ConfigError, match="too many to copy"):
        copy_tree(tmp_path / "work", tmp_path / "copy")


def test_each_run_finds_the_project_as_it_was_but_for_what_changed(tmp_path: Path, home: Path) -> None:
    write(tmp_path / "work" / "train.py", "slow")
    write(tmp_path / "work" / "other.py", "other")
    found = scratch(tmp_path, project_of(["train.py"], tmp_path / "work", home))
    first = found.copy({"train.py": b"fast"})
    assert (first.root / "train.py").read_text() == "fast"
    (first.root / "checkpoint").write_text("x")
    (tmp_path / "work" / "other.py").write_text("edited meanwhile")
    second = found.copy({})
    assert second.root == first.root
    assert (second.root / "train.py").read_text() == "slow"
    assert (second.root / "other.py").read_text() == "other"
    assert not (second.root / "checkpoint").exists()
    assert (tmp_path / "work" / "train.py").read_text() == "slow"


def test_a_program_runs_in_the_same_folder_of_the_copy(tmp_path: Path, home: Path) -> None:
    write(tmp_path / "work" / ".git" / "HEAD")
    write(tmp_path / "work" / "scripts" / "train.py")
    found = scratch(tmp_path, project_of(["train.py"], tmp_path / "work" / "scripts", home)).copy({})
    assert found.folder == found.root / "scripts"
    assert found.program == ("train.py",)


def test_absolute_paths_into_the_project_lead_into_the_copy(tmp_path: Path, home: Path) -> None:
    script = write(tmp_path / "work" / "train.py")
    program = [
        str(script),
        "--data",
        str(tmp_path / "work" / "data"),
        f"--out={tmp_path / 'work' / 'out'}",
        "/usr/bin",
    ]
    found = scratch(tmp_path, project_of(program, tmp_path / "work", home)).copy({})
    root = found.root
    assert found.program == (f"{root}/train.py", "--data", f"{root}/data", f"--out={root}/out", "/usr/bin")


def test_run_from_elsewhere_a_program_finds_what_lies_there_and_leaves_nothing(
    tmp_path: Path, home: Path
) -> None:
    write(tmp_path / "code" / ".git" / "HEAD")
    write(tmp_path / "code" / "train.py")
    write(tmp_path / "here" / "data.csv", "1,2")
    found = scratch(tmp_path, project_of(["../code/train.py"], tmp_path / "here", home)).copy({})
    assert found.program == (str(found.root / "train.py"),)
    assert (found.folder / "data.csv").read_text() == "1,2"
    (found.folder / "new").write_text("x")
    assert names(tmp_path / "here") == ["data.csv"]


def test_what_libraries_download_stays_in_the_scratch_folder(tmp_path: Path, home: Path) -> None:
    write(home / ".keras" / "datasets" / "mnist.npz", "digits")
    write(home / ".ssh" / "key")
    write(tmp_path / "tfds" / "mnist" / "a.tfrecord")
    write(tmp_path / "work" / "train.py")
    project = project_of(["train.py"], tmp_path / "work", home)
    found = scratch(tmp_path, project, TFDS_DATA_DIR=str(tmp_path / "tfds")).copy({})
    there = Path(found.environment["HOME"])
    assert (there / ".keras" / "datasets" / "mnist.npz").read_text() == "digits"
    (there / ".keras" / "datasets" / "new.npz").write_text("x")
    assert names(home / ".keras" / "datasets") == ["mnist.npz"]
    assert (there / ".ssh").readlink() == home / ".ssh"
    (Path(found.environment["TFDS_DATA_DIR"]) / "cifar").mkdir()
    assert names(tmp_path / "tfds") == ["mnist"]
    assert (there / ".keras" / "datasets" / "new.npz").exists()  # it is not downloaded in each run
    assert found.environment["TFLINT_PERF_WRITABLE"] == str(tmp_path / "scratch")


def test_a_mirror_of_a_vast_folder_ends_somewhere(tmp_path: Path) -> None:
    for number in range(5):
        write(tmp_path / "vast" / str(number) / "deep" / "file")
    mirror(tmp_path / "vast", tmp_path / "mirror", most=7)
    assert (tmp_path / "mirror" / "0").is_dir() and not (tmp_path / "mirror" / "0").is_symlink()
    assert all((tmp_path / "mirror" / str(number) / "deep" / "file").exists() for number in range(5))
    assert any((tmp_path / "mirror" / str(number) / "deep").is_symlink() for number in range(5))


@pytest.mark.slow
def test_modules_of_an_editable_installation_are_those_of_the_copy(tmp_path: Path, home: Path) -> None:
    write(tmp_path / "work" / ".git" / "HEAD")
    write(tmp_path / "work" / "src" / "package" / "__init__.py", "WHERE = __file__")
    write(tmp_path / "work" / "train.py", "import package; print(package.WHERE)")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    (packages,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    (packages / "editable.pth").write_text(f"{tmp_path / 'work' / 'src'}\n")
    python = str(tmp_path / "venv" / "bin" / "python")
    assert tmp_path / "work" / "src" in search_path(python, tmp_path, {})
    (tmp_path / "scratch").mkdir()
    project = project_of(["train.py"], tmp_path / "work", home)
    copy = Scratch(project, tmp_path / "scratch", python, {"HOME": str(home)}).copy({})
    ran = subprocess.run(
        [python, "train.py"],
        cwd=copy.folder,
        env=dict(copy.environment),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.startswith(str(copy.root / "src"))
