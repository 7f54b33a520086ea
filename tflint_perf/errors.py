"""What can go wrong with one file. Each message is one line."""

from __future__ import annotations


class SourceError(Exception):
    """No Python text can be had from a file. The message begins with the file's name and the place."""


class EditError(Exception):
    """Edits that can't be made in a file as it is."""


class ChangedError(OSError):
    """A file is not any more what was read from it, so it is left alone."""
