"""Where the cache is, and `tflint-perf clean`."""

from __future__ import annotations

import os
from pathlib import Path

from tflint_perf.config.files import reason
from tflint_perf.config.reading import nearest_config
from tflint_perf.problems import ConfigError
from tflint_perf.project.cache import NAME, is_all_ours, remove_ours

VARIABLE = "TFLINT_PERF_CACHE_DIR"


def cache_folder(here: Path, named: str | None = None) -> Path:
    """The named folder, or TFLINT_PERF_CACHE_DIR, or one beside the configuration file, or in the current folder."""
    if named := named or os.environ.get(VARIABLE):
        return here / named
    config = nearest_config(here)
    return (config.parent if config else here) / NAME


def remove_cache(here: Path, named: str | None = None) -> str:
    """Remove the cache and say what was done.

    Raises:
        ConfigError: it cannot be removed, or the folder does not look like a cache of this tool.
    """
    folder = cache_folder(here, named)
    if not folder.is_dir():
        return f"No cache at {folder}"
    # A variable that names the wrong folder must not cost anyone their files.
    if not is_all_ours(folder):
        raise ConfigError(f"not removed: it is not called {NAME} and has no file of that name", str(folder))
    try:
        if folder.name == NAME:
            from shutil import rmtree  # which takes a while to import, and every run asks where the cache is

            rmtree(folder)
        else:
            remove_ours(folder)
    except OSError as error:
        raise ConfigError(f"not removed: {reason(error)}", str(folder)) from None
    return f"Removed the cache at {folder}"
