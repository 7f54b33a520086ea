"""What a cache says is believed only as this user's key signed it."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_cache import CODES, IDLE, LOOP, SLOW, STEP, found, write
from tflint_perf.config.settings import Settings
from tflint_perf.project import cache, signing
from tflint_perf.project.cache import NAME
from tflint_perf.project.linting import lint_files

pytestmark = pytest.mark.slow

PLACE = Path(NAME)
Found = list[tuple[str, list[str]]]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    Path("pyproject.toml").touch()
    return Settings(root=tmp_path, rules=CODES, fixable=CODES)


def lint(settings: Settings, place: Path | None = PLACE) -> Found:
    return found(lint_files(sorted(Path().glob("*.py")), settings, 1, place))


def shards() -> list[Path]:
    return sorted(PLACE.rglob("*.json"))


def forged(settings: Settings) -> Iterator[str]:
    """The shards of a cache that says of each file that nothing is wrong with it, signed with the key at hand."""
    for path in shards():
        data = json.loads(path.read_bytes())
        for variants in data["files"].values():
            for entry in variants.values():
                if isinstance(entry[3], list):
                    entry[3] = [[] if isinstance(part, list) else part for part in entry[3]]
        yield json.dumps(data)


def test_a_cache_is_believed_by_who_made_it(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    write(one=SLOW)
    first = lint(settings)
    monkeypatch.setattr(cache.Cache, "keep", lambda *_: pytest.fail("it was not in the cache"))
    assert lint(settings) == first


def test_a_cache_that_a_repository_brings_changes_nothing(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(one=SLOW)
    expected = lint(settings)
    for path, text in zip(shards(), list(forged(settings)), strict=True):
        path.write_text(text)
    assert lint(settings) == expected
    # Also if its makers sign it, with a key of theirs.
    shutil.rmtree(PLACE)
    with monkeypatch.context() as theirs:
        theirs.setenv("XDG_STATE_HOME", str(settings.root / "theirs"))
        assert lint(settings) == expected
    kept = [path.read_bytes() for path in shards()]
    asked: list[str] = []
    real = cache.Cache.keep
    monkeypatch.setattr(
        cache.Cache, "keep", lambda self, file, *rest: (asked.append(file), real(self, file, *rest))
    )
    assert lint(settings) == expected
    assert asked
    assert kept


def test_an_entry_stands_for_its_own_file_alone(settings: Settings) -> None:
    write(one=SLOW, two=SLOW.replace("gc.collect()", "print(batch)"))
    expected = lint(settings)
    entries = {}
    for path in shards():
        for name, variants in json.loads(path.read_bytes())["files"].items():
            entries[name] = variants
    for path in shards():
        data = json.loads(path.read_bytes())
        for name in data["files"]:
            other = "two.py" if name == "one.py" else "one.py"
            data["files"][name] = entries.get(other, {})
        path.write_text(json.dumps(data))
    assert lint(settings) == expected


def test_a_hundred_damaged_caches_say_what_none_says(settings: Settings) -> None:
    write(loop=LOOP, step=STEP, idle=IDLE, one=SLOW)
    expected = lint(settings, None)
    assert lint(settings) == expected
    whole = {path: path.read_bytes() for path in shards()}
    assert whole
    chance = random.Random(7)
    for _ in range(100):  # `python -m tests.hunt caches` damages a thousand
        path = chance.choice(list(whole))
        data = bytearray(whole[path])
        if chance.random() < 0.2:
            del data[chance.randrange(len(data)) :]
        else:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        entries = read_entries(settings)
        path.write_bytes(whole[path])
        assert entries <= read_entries(settings)
    path = chance.choice(list(whole))
    path.write_bytes(whole[path][:-9])
    assert lint(settings) == expected


def read_entries(settings: Settings) -> set[str]:
    """All that the cache gives for the files as they are: what is not as it was is none of it."""
    from tflint_perf.project.surroundings import Surroundings

    kept = cache.Cache(PLACE, Surroundings())
    given = set()
    for path in sorted(Path().glob("*.py")):
        shard = kept._shard(str(path.absolute()))
        for file, variants in list(shard._files.items()):
            for variant in variants if isinstance(variants, dict) else ():
                entry = shard.get(file, variant)
                if entry is not None:
                    given.add(json.dumps([file, variant, entry]))
    return given


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes that forbid writing")
def test_a_key_is_for_its_user_alone(settings: Settings) -> None:
    made = signing.key()
    (file,) = (settings.root / "state" / "tflint-perf").iterdir()
    assert made == file.read_bytes()
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o666)
    signing._key_in.cache_clear()
    assert signing.key() is None  # whoever may write to it may know it


def test_a_key_that_is_cut_short_is_none(settings: Settings) -> None:
    signing.key()
    (file,) = (settings.root / "state" / "tflint-perf").iterdir()
    file.write_bytes(file.read_bytes()[:5])
    signing._key_in.cache_clear()
    assert signing.key() is None


def test_without_a_key_nothing_is_kept(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    (settings.root / "blocked").write_text("no folder")
    monkeypatch.setenv("XDG_STATE_HOME", str(settings.root / "blocked"))
    write(one=SLOW)
    assert lint(settings) == [("one.py", ["TFP406"])]
    assert shards() == []


def test_machines_that_are_given_a_key_share_a_cache(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(signing.VARIABLE, "ours")
    write(one=SLOW)
    first = lint(settings)
    monkeypatch.setenv("XDG_STATE_HOME", str(settings.root / "elsewhere"))
    monkeypatch.setattr(cache.Cache, "keep", lambda *_: pytest.fail("it was not in the cache"))
    assert lint(settings) == first
