"""Whose process this is."""

from __future__ import annotations

# True once the command has begun: nobody else in the process counts on how libcst's nodes are hashed.
is_ours = False
