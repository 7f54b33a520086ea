"""TFP509 shuffle-after-decode."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.apis.facts import methods
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.pipelines.growth import OF_BYTES
from tflint_perf.analysis.pipelines.late_shuffles import BATCHES, LateShuffle
from tflint_perf.edit import Editor
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .chains import move_behind, move_in_front
from .late_caches import LateCaches
from .mapped_work import MappedWork

# These give the same wherever the shuffle stands.
_INDIFFERENT = frozenset({"map", "batch", "padded_batch", "prefetch", "with_options"})


class ShuffleAfterDecode(Rule):
    """A `shuffle` whose buffer holds decoded images, floats made of bytes, or whole batches.

    ## What it does

    Reports `shuffle` after a `map` that reads and decodes files, decodes images or makes floats of bytes, after
    a generator of images, and after `batch`.

    ## Why is this bad?

    The buffer of `shuffle` is filled before the first element comes out: everything that goes into it is computed
    first and kept in memory. A file name takes a few dozen bytes, the decoded image a thousand times as much; an
    image in floats takes four times as much as in bytes. Before the `map`, the same `shuffle` holds what is
    small, and the first batch is ready at once. What was measured is a buffer of
    images that were decoded from files, instead of one of their names; floats made of bytes and batches were not measured.

    After `batch`, the buffer holds as many batches as it would hold samples, and only the order of the batches
    changes: the samples of a batch stay together in all epochs.

    ## Example

    ```python
    dataset = tf.data.Dataset.list_files("images/*.jpg").map(decode_image).shuffle(10_000).batch(64)
    ```

    Use instead:

    ```python
    dataset = tf.data.Dataset.list_files("images/*.jpg").shuffle(10_000).map(decode_image).batch(64)
    ```

    ## What is left alone

    A `map` that keeps the size of elements or makes them smaller (images decoded from bytes and cut to less than 128
    pixels, or 96 in floats, features, statistics), and one that can't be seen completely. A buffer of at most 40 elements, and one
    that mixes what `concatenate` has put together. A `shuffle` of samples
    after `cache`: in front of it, it would give one order for good. Batches of what its loader shuffles, as
    `image_dataset_from_directory` does, and one batch of all samples. One after a `batch` that makes sequences, which
    are batched again later. A generator whose elements `take` and `skip` split into several datasets.
    One whose order a `cache` behind it keeps for all epochs: TFP510 has that moved. Datasets that nothing reads, or of which only a few elements are looked at.

    ## Sources

    - TensorFlow guide, [Better performance with the tf.data API, *Reducing memory
      footprint*](https://www.tensorflow.org/guide/data_performance#reducing_memory_footprint)
    - TensorFlow API, [`tf.data.Dataset.shuffle`](https://www.tensorflow.org/api_docs/python/tf/data/Dataset#shuffle)
    """

    code = "TFP509"
    name = "shuffle-after-decode"
    triggers = (".shuffle(",)
    needs = (
        ".map(",
        "batch",
        "from_directory",
        "from_generator",
        "ataset",
        "fit(",
    )  # or another file makes it
    fixes = "unsafe"
    any_backend = True
    claim = Claim(
        "host memory",
        least=2.0,
        at="for a buffer of 2,048 decoded images of 128 × 128 × 3 in float32 instead of their JPEG bytes",
    )

    def check(self, model: Model) -> Iterator[Report]:
        for shuffle in model.calls_named("shuffle"):
            late = model.late_shuffles.of(shuffle)
            if late is None or model.decided.never_runs(shuffle) or _is_kept_by_late_cache(model, shuffle):
                continue
            yield Report(
                shuffle,
                _message(late),
                partial(_shuffle_first, late),
                # The experiment holds decoded images, one by one.
                as_measured=late.how not in (BATCHES, OF_BYTES)
                and not any(stage.name in ("batch", "padded_batch") for stage in late.stages)
                and model.own(MappedWork).decodes_images(late.stages[0]),
            )


def _is_kept_by_late_cache(model: Model, shuffle: cst.Call) -> bool:
    """Whether a cache behind keeps the order of the first epoch: what is to be moved is the cache, as TFP510 says."""
    late_caches = model.own(LateCaches)
    behind = model.successors.behind(shuffle)
    found = (late_caches.of(stage.call) for stage in behind if stage.name == "cache")
    return any(late is not None and late.stages[0].call is shuffle for late in found)


def _message(late: LateShuffle) -> str:
    first = late.stages[0]
    # In front of `take` and `skip`, a shuffle would give them other elements each time.
    cut = any(stage.name in ("take", "skip") for stage in late.stages[1:-1])
    if late.how == BATCHES:
        remedy = "batch behind it" if cut else "shuffle first"
        return f"`shuffle` after `batch` holds whole batches and keeps their samples together; {remedy}"
    if first.origin is not None:
        return f"the dataset comes from code where a `map` {late.how}, so the `shuffle` buffer holds the results; shuffle there"
    if first.name == "from_generator":
        return f"the generator {late.how}, and the `shuffle` buffer holds them; shuffle its inputs instead"
    remedy = "map behind it" if cut else "shuffle first"
    return f"the `map` before `shuffle` {late.how}, so the buffer holds the results; {remedy}"


def _shuffle_first(late: LateShuffle, edit: Editor) -> Repair | Refusal:
    large, *between, shuffle = late.stages
    if large.origin is not None:
        return Refusal("it is made in another file")
    if large.name not in ("map", "batch", "padded_batch"):
        return Refusal("the source itself gives such elements", large.call)
    for stage in late.stages[:-1]:
        if len(edit.model.successors.directly_behind(stage.call)) > 1:
            return Refusal(f"the result of `{stage.name}` is used in several places", stage.call)
    names = {stage.name for stage in between}
    if names <= _INDIFFERENT:
        edits = move_in_front(edit, shuffle.call, large.call)
        moved = f"Move the `shuffle` before `{large.name}`"
    elif names <= methods("Dataset", "keeps-elements") - {"cache"}:
        edits = move_behind(edit, large.call, shuffle.call)
        moved = f"Move the `{large.name}` after `shuffle`"
    else:
        other = next(stage for stage in between if stage.name not in _INDIFFERENT)
        return Refusal(f"`{other.name}` is between them", other.call)
    return (
        edits
        if isinstance(edits, Refusal)
        else Repair(moved, edits, safe=False, may_change="the order of the elements")
    )
