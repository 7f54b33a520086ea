"""Lists, dicts and arrays that one iteration makes, fills and gives on, and where they are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.conventions import names_nothing
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.python.scopes import Binding
from tflint_perf.analysis.python.syntax import is_name
from tflint_perf.analysis.values.caller import Fate
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.followed import is_appended_to, is_filled, is_put_into, is_written
from tflint_perf.analysis.values.infer import Inference


class OwnContainers:
    """Answers where what is put into a container turns up again, if that container is the iteration's own."""

    def __init__(self, infer: Inference, calls: CallGraph, loops: Loops) -> None:
        self._infer = infer
        self._calls = calls
        self._loops = loops
        self._walk = infer.walk

    def reads(self, binding: Binding) -> Iterable[cst.Name]:
        """Where the value that a binding gives to a name is read."""
        for node in self._infer.names.mentions_bound(binding):
            is_other = node is not binding.node and not is_written(self._walk, node)
            if is_other and binding in self._infer.bindings(node):
                yield node

    def is_never_read(self, name: cst.Name) -> bool:
        """Whether a function gives a value a name, and nothing reads it by that before it has another, where the name does
        not say so: `_`, `unused`."""
        home = self._infer.names.home(name)
        if home is None or home.function is None or names_nothing(name.value):
            return False
        given = [binding for binding in home.bindings[name.value] if binding.node is name]
        read = any(True for binding in given for _ in self.reads(binding))
        return not read and not self._walk.calls.get("locals")

    def reads_after_append(self, call: cst.Call) -> list[cst.Name] | None:
        """Where a list is read that a function makes, fills and returns, and that `call` puts something into."""
        if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "append":
            return None
        holder = call.func.value
        binding = self._only_binding(holder, ("list",))
        if binding is None or self._calls.function_at(call) is None or not isinstance(holder, cst.Name):
            return None
        reads = [read for read in self.reads(binding) if not is_appended_to(self._walk, read)]
        returned = all(map(self._is_returned, reads))
        made_anew = self._loops.step_loop(binding.node) is self._loops.step_loop(call)
        return reads if reads and returned and made_anew else None

    def fate_in_list(self, call: cst.Call) -> Fate | None:
        """What becomes of what `call` puts into a list, where all that reads the list does one thing with it."""
        if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "append":
            return None
        if self._is_only_reduced(call):
            return "summed"
        if self._is_only_brought_back(call.func.value):
            return "returned"
        return "unused" if self._is_never_looked_into(call) else None

    def fate_in_longer(self, name: cst.Name) -> Fate:
        """What becomes of what `scores += …` adds to a list: a sum or mean is made of all that it holds, or the program needs
        it item by item."""
        mentions = self._infer.names.mentions(name.value, self._infer.names.home(name))
        reads = [
            each for each in mentions if not is_written(self._walk, each) and not is_filled(self._walk, each)
        ]
        return "summed" if self._are_reduced(reads) else "needed"

    def _is_only_brought_back(self, holder: cst.BaseExpression) -> bool:
        """Whether the list `holder` becomes a tensor of the device, and nothing else."""
        binding = self._only_binding(holder, ("list",))
        if binding is None or not isinstance(holder, cst.Name):
            return False
        reads = [read for read in self.reads(binding) if not is_appended_to(self._walk, read)]
        takers = [self._taker(read) for read in reads]
        return bool(takers) and all(
            call is not None
            and self._infer.names.is_call_that(call, "makes-tensor", "stacks-tensors", "casts")
            and not self._is_asked_for_its_array(call)
            for call in takers
        )

    def _is_asked_for_its_array(self, call: cst.Call) -> bool:
        """Whether what `call` makes only leads to an array: `tf.stack(losses).numpy()`."""
        asked = self._walk.parents.get(call)
        return isinstance(asked, cst.Attribute) and asked.attr.value == "numpy"

    def _is_never_looked_into(self, call: cst.Call) -> bool:
        """Whether `call` puts something into a list, or one in a dict, that nothing reads.

        One that a module makes may be read by others, unless the module is the program itself.
        """
        holder = _holder(call)
        binding = self._only_binding(holder, ("list", "dict"))
        if binding is None or not isinstance(holder, cst.Name):
            return False
        if binding.at.block.function is None and not self._is_run_here(call):
            return False
        mentions = self._infer.names.mentions(holder.value, self._infer.names.scope_of(binding.node))
        filled = all(is_written(self._walk, node) or is_filled(self._walk, node) for node in mentions)
        return filled and not self._walk.calls.get("locals")

    def _is_run_here(self, node: cst.CSTNode) -> bool:
        """Whether the module itself runs `node`: outside functions, or in one that it calls."""
        function = self._calls.function_at(node)
        sites = self._calls.sites(function) if function is not None else []
        return function is None or any(self._calls.function_at(site) is None for site in sites)

    def _is_returned(self, read: cst.Name) -> bool:
        """Whether a function returns the list `read`, by itself, as part of a tuple or in another list."""
        parent = self._walk.parents.get(read)
        while isinstance(parent, cst.Element | cst.Tuple | cst.BinaryOperation):
            parent = self._walk.parents.get(parent)
        return isinstance(parent, cst.Return)

    def _is_only_reduced(self, call: cst.Call) -> bool:
        """Whether all that reads the list that `call` puts something into, or the dict it is in, makes a sum or mean of it."""
        holder = _holder(call)
        binding = self._only_binding(holder, ("list", "dict"))
        if binding is None or not isinstance(holder, cst.Name):
            return False
        reads = [read for read in self.reads(binding) if not is_filled(self._walk, read)]
        return self._are_reduced(reads)

    def _are_reduced(self, reads: Sequence[cst.BaseExpression]) -> bool:
        return any(map(self._is_reduced, reads)) and all(
            self._is_reduced(read) or self._is_counted(read) for read in reads
        )

    def _is_reduced(self, read: cst.BaseExpression) -> bool:
        """Whether the list `read` goes into a sum or a mean: `tf.reduce_mean(losses)`, `sum(losses)`,
        `sum(history["loss"])`, `sum(v) for v in history.values()`."""
        taken = self._walk.parents.get(read)
        if isinstance(taken, cst.Subscript) and taken.value is read:
            return self._is_reduced(taken)
        if lists := self._lists_of(read):
            return self._are_reduced(lists)
        call = self._taker(read)
        name = self._infer.names.qualified(call.func) if call is not None else ""
        if call is None or has(name, "reduces") or is_name(call.func, "sum"):
            return call is not None
        return has(name, "makes-tensor", "stacks-tensors", "casts") and self._is_reduced(call)

    def _is_counted(self, read: cst.BaseExpression) -> bool:
        """Whether the list `read` is only asked for its length: `len(losses)`, also as the condition of a mean:
        `sum(losses) / len(losses) if losses else 0`."""
        parent = self._walk.parents.get(read)
        if isinstance(parent, cst.Subscript) and parent.value is read:
            return self._is_counted(parent)
        if isinstance(parent, cst.IfExp | cst.If) and parent.test is read:
            return True
        call = self._taker(read)
        return call is not None and is_name(call.func, "len")

    def _taker(self, read: cst.BaseExpression) -> cst.Call | None:
        """The call that takes something as its first argument."""
        arg = self._walk.parents.get(read)
        call = self._walk.parents.get(arg) if isinstance(arg, cst.Arg) else None
        return call if isinstance(call, cst.Call) and call.args[0] is arg else None

    def _lists_of(self, read: cst.BaseExpression) -> list[cst.Name]:
        """Where a loop over `history.items()` or `history.values()` reads the lists of that dict."""
        attribute = self._walk.parents.get(read)
        if not isinstance(attribute, cst.Attribute) or attribute.attr.value not in ("items", "values"):
            return []
        loop = self._walk.parents.get(self._walk.parents[attribute])
        if not isinstance(loop, cst.For | cst.CompFor):
            return []
        name: cst.BaseExpression = loop.target
        if attribute.attr.value == "items" and isinstance(name, cst.Tuple) and len(name.elements) == 2:
            name = name.elements[1].value
        if not isinstance(name, cst.Name):
            return []
        found = self._infer.names.mentions(name.value, self._infer.names.scope_of(name))
        return [node for node in found if node is not name]

    def reads_after_put(self, target: cst.BaseExpression) -> list[cst.Name] | None:
        """Where a dict or an array is read that each iteration makes anew, and that an assignment puts something into."""
        holder = target
        while isinstance(holder, cst.Subscript):
            holder = holder.value
        binding = self._only_binding(holder, ("dict", "array")) if holder is not target else None
        if binding is None or not isinstance(holder, cst.Name):
            return None
        loop, function = self._loops.step_loop(target), self._calls.function_at(target)
        made_anew = self._loops.step_loop(binding.node) is loop and binding.at.block.function is function
        reads = [read for read in self.reads(binding) if not is_put_into(self._walk, read)]
        return reads if made_anew and reads else None

    def _only_binding(self, holder: cst.BaseExpression, kinds: tuple[str, ...]) -> Binding | None:
        """The one assignment that gives a name its value, if that is of one of these kinds."""
        bindings = self._infer.bindings(holder)
        if len(bindings) != 1:
            return None
        value = bindings[0].value
        if value is not None and bindings[0].path:
            value = holder  # a part of it: `losses, rates = [], []`
        return bindings[0] if value is not None and self._infer.value(value).kind in kinds else None


def _holder(call: cst.Call) -> cst.BaseExpression:
    """What a list is, or is in, that `call` appends to: `history` of `history["loss"].append(x)`."""
    holder = call.func.value if isinstance(call.func, cst.Attribute) else call.func
    while isinstance(holder, cst.Subscript):
        holder = holder.value
    return holder
