"""Loops that cut whole arrays into batches, written as loops over a dataset of them."""

from __future__ import annotations

from tflint_perf.edit import Edit, Editor

from .slicing import SlicingLoop


def loop_over_dataset(edit: Editor, found: SlicingLoop) -> list[Edit]:
    """The edits that have the loop take its batches from a pipeline, which is made above the outermost loop around it
    that makes it from the same arrays each time."""
    names = ", ".join(part.target.value for part in found.slices)
    arrays = ", ".join(edit.text(part.array) for part in found.slices)
    if len(found.slices) > 1:
        arrays = f"({arrays})"
    read = [*(part.array for part in found.slices), found.size, *([found.count] if found.count else [])]
    outer = edit.model.rebuilt.outermost_loop_around(found.loop, read)
    place = outer.node if outer is not None else found.loop
    dataset, imports = edit.spell("data.Dataset", place)
    autotune, _ = edit.spell("data.AUTOTUNE", place)
    take = f".take({edit.text(found.count)})" if found.count is not None else ""
    pipeline = (
        f"{dataset}.from_tensor_slices({arrays}).batch({edit.text(found.size)}){take}.prefetch({autotune})"
    )
    edits = [*imports, edit.replace(found.loop.target, names)]
    if outer is None:
        edits.append(edit.replace(found.loop.iter, pipeline))
    else:
        name = edit.fresh_name("dataset", found.loop)
        edits += [
            edit.insert_above(outer.node, f"{name} = {pipeline}\n"),
            edit.replace(found.loop.iter, name),
        ]
    edits += [edit.remove_statement(part.statement) for part in found.slices]
    return edits
