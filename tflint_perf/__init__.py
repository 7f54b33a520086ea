"""Find, explain and fix what makes TensorFlow training scripts slow.

For programs: `check_source` gives the findings in a text, `settings_of` the settings for it.
"""

from pathlib import Path

from tflint_perf.version import __version__

__all__ = ["__version__", "check_source", "settings_of"]

_around = Path(__file__).resolve().parent.parent
if (_around / "pyproject.toml").is_file():
    # A checkout that is not installed: `rules` and `fixtures` lie beside this folder.
    __path__.append(str(_around))

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tflint_perf.cli.alone import check_source, settings_of


def __getattr__(name: str) -> object:
    """Import what programs use when they use it: the command line starts with this file too."""
    if name in ("check_source", "settings_of"):
        from tflint_perf.cli import alone

        return getattr(alone, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
