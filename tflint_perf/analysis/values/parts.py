"""What all parts of a model have in common: each is made of the parts that its annotations name."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from tflint_perf.analysis.python.walk import Walk
    from tflint_perf.analysis.values.infer import Inference


class Part:
    """A part of a model, made of other parts: `_calls: CallGraph` in a class says that it needs the model's `calls`.

    It is a dataclass in all but name, and takes no time to define. `own` are the kinds of the last of its parts, where these
    are what a family of rules finds out for itself.
    """

    own: ClassVar[tuple[type, ...]] = ()
    needs: ClassVar[tuple[str | type, ...]]
    _infer: Inference

    def __init_subclass__(cls) -> None:
        names = [name.lstrip("_") for name in cls.__annotations__]
        cls.needs = (*names[: len(names) - len(cls.own)], *cls.own)

    def __init__(self, *parts: Any) -> None:
        for name, part in zip(type(self).__annotations__, parts, strict=True):
            setattr(self, name, part)
        self.__post_init__()

    def __post_init__(self) -> None:
        """Make what the part keeps to itself."""

    @cached_property
    def _walk(self) -> Walk:
        return self._infer.walk
