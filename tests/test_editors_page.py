"""What docs/editors.md shows for editors works in them as it stands there, where they are installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commandline import FIXED, SLOW
from tflint_perf.server.preferences import Preferences, preferences
from tflint_perf.version import __version__

pytestmark = pytest.mark.slow

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
EXTENSION = ROOT / "editors" / "vscode"
# Waits for the findings, makes all safe fixes by what the page says, and saves.
NEOVIM = """
vim.wait(30000, function() return #vim.diagnostic.get(0) == 2 end, 50)
{fix_all}
vim.wait(30000, function() return vim.bo.modified end, 50)
vim.cmd("wa")
vim.cmd("qa!")
"""
EMACS = """
(package-initialize)
(load-file "init.el")
(find-file "train.py")
(run-hooks 'post-command-hook)
(let ((left 300))
  (while (and (> left 0) (< (length (flymake-diagnostics)) 2))
    (setq left (1- left))
    (accept-process-output nil 0.1)))
(setq eglot-confirm-server-initiated-edits nil)
(eglot-code-actions (point-min) (point-max) "source.fixAll.tflint-perf" t)
(let ((left 100))
  (while (and (> left 0) (not (buffer-modified-p)))
    (setq left (1- left))
    (accept-process-output nil 0.1)))
(save-buffer)
"""


def snippets(heading: str, language: str) -> list[str]:
    """The code in one language below a heading of the page."""
    section = PAGE.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


def run(folder: Path, *command: str) -> None:
    """Run an editor in a folder with a slow script, so that it finds this project's command."""
    (folder / "train.py").write_text(SLOW)
    (folder / "pyproject.toml").touch()
    home = folder / "home"
    home.mkdir()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "HOME": str(home), "XDG_STATE_HOME": str(home)}
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True, timeout=600)


def has_neovim() -> bool:
    program = shutil.which("nvim")
    if program is None:
        return False
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"v(\d+)\.(\d+)", shown)
    return version is not None and (int(version[1]), int(version[2])) >= (0, 11)


def has_eglot() -> bool:
    program = shutil.which("emacs")
    if program is None:
        return False
    ask = '(progn (package-initialize) (kill-emacs (if (locate-library "eglot") 0 1)))'
    return (
        subprocess.run([program, "--batch", "--eval", ask], capture_output=True, check=False).returncode == 0
    )


@pytest.mark.skipif(not has_neovim(), reason="Neovim 0.11 or later is not installed")
def test_neovim_fixes_a_script_with_what_the_page_says(tmp_path: Path) -> None:
    init, fix_all = snippets("Neovim", "lua")
    (tmp_path / "init.lua").write_text(init)
    (tmp_path / "session.lua").write_text(NEOVIM.format(fix_all=fix_all))
    run(tmp_path, "nvim", "--headless", "-u", "init.lua", "train.py", "-c", "luafile session.lua")
    assert (tmp_path / "train.py").read_text() == FIXED


@pytest.mark.skipif(not has_eglot(), reason="Emacs with Eglot is not installed")
def test_emacs_fixes_a_script_with_what_the_page_says(tmp_path: Path) -> None:
    (init,) = snippets("Emacs", "elisp")
    (tmp_path / "init.el").write_text(init)
    (tmp_path / "session.el").write_text(EMACS)
    run(tmp_path, "emacs", "--batch", "-l", "session.el")
    assert (tmp_path / "train.py").read_text() == FIXED


def test_configurations_that_were_not_tried_say_so_and_are_well_formed() -> None:
    for heading in ("Helix", "Zed", "PyCharm"):
        assert f"\n## {heading}\n\nNot tried." in PAGE
    for heading in ("VS Code", "Zed"):
        for snippet in snippets(heading, "json"):
            assert "tflint-perf" in json.dumps(json.loads(snippet))
    (helix,) = map(tomllib.loads, snippets("Helix", "toml"))
    assert helix["language-server"]["tflint-perf"] == {"command": "tflint-perf", "args": ["server"]}


def test_the_extension_has_the_projects_version_and_pinned_packages_alone() -> None:
    manifest = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    assert manifest["version"] == __version__
    assert "dependencies" not in manifest  # all that it needs is built into one file
    for name, version in manifest["devDependencies"].items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), name


def test_the_extensions_settings_are_the_servers_with_those_of_how_it_is_started() -> None:
    manifest = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    properties = manifest["contributes"]["configuration"]["properties"]
    defaults = {key.removeprefix("tflint-perf."): about["default"] for key, about in properties.items()}
    started = {key: defaults.pop(key) for key in ("path", "arguments", "trace.server")}
    assert started == {"path": "", "arguments": [], "trace.server": "off"}
    assert preferences(defaults) == Preferences(syntax_errors=False)
    section = PAGE.split("\n## Settings\n", 1)[1].split("\n## ", 1)[0]
    assert set(re.findall(r"^\| `(\w+)`", section, re.MULTILINE)) == {*defaults, "measured"}
    read_me = (EXTENSION / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([\w.-]+)`", read_me, re.MULTILINE)) == set(properties)
    for command in manifest["contributes"]["commands"]:
        assert f"**{command['title']}**" in PAGE
        assert f"**{command['title']}**" in read_me
