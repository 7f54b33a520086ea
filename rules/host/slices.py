"""Loops that cut whole arrays into batches, written as loops over a dataset of them."""

from __future__ import annotations

import libcst as cst

from tflint_perf.edit import Edit, Editor

from .slicing import SlicingLoop

# Longer lines are broken, one stage a line.
_WIDTH = 88


def loop_over_dataset(edit: Editor, found: SlicingLoop) -> list[Edit]:
    """The edits that have the loop take its batches from a pipeline, which is made above the outermost loop around it
    that makes it from the same arrays each time."""
    names = ", ".join(part.target.value for part in found.slices)
    read = [*(part.array for part in found.slices), found.size, *([found.count] if found.count else [])]
    outer = edit.model.rebuilt.outermost_loop_around(found.loop, read)
    place = outer.node if outer is not None else found.loop
    made, stages, imports = _pipeline(edit, found, place)
    edits = [*imports, edit.replace(found.loop.target, names)]
    row = len(edit.indent(place)) + len(f"for {names} in :") + len(made) + sum(map(len, stages))
    if outer is None and row <= _WIDTH:
        edits.append(edit.replace(found.loop.iter, made + "".join(stages)))
    else:
        name = edit.fresh_name("dataset", found.loop)
        edits += [
            edit.insert_above(place, _assigned(edit, name, made, stages, len(edit.indent(place)))),
            edit.replace(found.loop.iter, name),
        ]
    edits += [edit.remove_statement(part.statement) for part in found.slices]
    return edits


def _pipeline(edit: Editor, found: SlicingLoop, place: cst.CSTNode) -> tuple[str, list[str], list[Edit]]:
    """What makes the dataset, its stages, and the imports that they need."""
    arrays = ", ".join(edit.text(part.array) for part in found.slices)
    if len(found.slices) > 1:
        arrays = f"({arrays})"
    dataset, imports = edit.spell("data.Dataset", place)
    autotune, _ = edit.spell("data.AUTOTUNE", place)
    take = [f".take({edit.text(found.count)})"] if found.count is not None else []
    stages = [
        f".batch({edit.text(found.size)})",
        *take,
        *_casts(edit, found, place),
        f".prefetch({autotune})",
    ]
    return f"{dataset}.from_tensor_slices({arrays})", stages, imports


def _assigned(edit: Editor, name: str, made: str, stages: list[str], indent: int) -> str:
    line = f"{name} = {made}{''.join(stages)}\n"
    if indent + len(line.rstrip()) <= _WIDTH:
        return line
    tab = edit.one_indent()
    return f"{name} = (\n{tab}{made}\n{''.join(f'{tab}{stage}{chr(10)}' for stage in stages)})\n"


def _casts(edit: Editor, found: SlicingLoop, place: cst.CSTNode) -> list[str]:
    """The stage that gives each batch the types that the loop asks for, if it asks for any."""
    if all(part.dtype is None for part in found.slices):
        return []
    cast, _ = edit.spell("cast", place)
    names = [part.target.value for part in found.slices]
    batches = [
        name if part.dtype is None else f"{cast}({name}, {edit.text(part.dtype)})"
        for name, part in zip(names, found.slices, strict=True)
    ]
    given = batches[0] if len(batches) == 1 else f"({', '.join(batches)})"
    return [f".map(lambda {', '.join(names)}: {given})"]
