"""Makes notebooks."""

from __future__ import annotations

import json
from typing import Any


def cell(source: str | list[str], cell_type: str = "code", **more: Any) -> dict[str, Any]:
    code = {"execution_count": None, "outputs": []} if cell_type == "code" else {}
    return {"cell_type": cell_type, "metadata": {}, **code, "source": source, **more}


def notebook(*cells: dict[str, Any] | str, language: str | None = "python", **style: Any) -> bytes:
    metadata = {} if language is None else {"language_info": {"name": language}}
    document = {
        "cells": [cell(item.splitlines(True)) if isinstance(item, str) else item for item in cells],
        "metadata": metadata,
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return (json.dumps(document, **({"indent": 1, "ensure_ascii": False} | style)) + "\n").encode()
