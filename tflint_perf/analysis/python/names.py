"""Qualified names: what `tf.function`, `keras.Model` or a short name for them means, through every import form."""

from __future__ import annotations

import builtins
import re
import sys
from functools import cached_property, lru_cache
from typing import TypeGuard

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has, is_listed, library
from tflint_perf.analysis.python.scopes import Binding, Function, Scope
from tflint_perf.analysis.python.walk import Walk

# Keras's classes that version 2 gives at its top as well; functions of version 1 have small letters there.
_KERAS_AT_TOP = re.compile(r"(metrics|losses|optimizers)\.([A-Z]|schedules\.)")

# What nobody calls otherwise, where another module may bring it.
_USUAL_NAMES = {"tf": "tensorflow", "np": "numpy", "keras": "keras", "cv2": "cv2", "pd": "pandas"}
_NUMPY = _USUAL_NAMES["np"]
_FRAMEWORKS = frozenset({"tf", "keras", "np"})
_BUILTINS = frozenset(dir(builtins))
# `tensorflow.python.keras.api._v2.keras`: what `tensorflow.keras` is made of.
# Keras gives what its modules of datasets hold on by a shorter name.
_MODULE_OF_DATASETS = re.compile(r"(?<=^utils\.)\w+_dataset(_utils)?\.(?=\w+_dataset_from_directory$)")
_API_OF_VERSION = re.compile(r"^_v\d\.keras(\.|$)")


@lru_cache(maxsize=4096)
def canonical(dotted: str) -> str:
    """One spelling for each name of TensorFlow and Keras.

    `tensorflow.compat.v1.data.Dataset` becomes `tf.data.Dataset`; `tensorflow.keras.Model`, `tf_keras.Model`
    and `tensorflow.python.keras.Model` become `keras.Model`, as does `tf.keras.Model`. Other names stay as they are.
    """
    head, _, rest = dotted.partition(".")
    if head in ("keras", "tf_keras"):
        for inner in ("src.", "api.", "_tf_keras.keras.", "engine.", "training."):
            rest = rest.removeprefix(inner)
        rest = _MODULE_OF_DATASETS.sub("", _API_OF_VERSION.sub("", rest))
        return f"keras.{rest}" if rest else "keras"
    if head not in ("tensorflow", "tensorflow_core", "tf"):
        return "np" if dotted == "numpy" else f"np.{rest}" if head == "numpy" else dotted
    for inner in ("_api.", "compat."):
        rest = rest.removeprefix(inner)
    for inner in ("v1.", "v2."):
        rest = rest.removeprefix(inner)
    if rest in ("compat", "v1", "v2", ""):
        return "tf"
    bare = rest.removeprefix("python.").removeprefix("contrib.")
    if bare == "keras" or bare.startswith("keras."):
        return canonical(bare)
    if _KERAS_AT_TOP.match(rest):
        return f"keras.{rest}"
    name = f"tf.{rest}"
    return fact(name, "is") or name


def _meant(imported: str) -> str:
    """`tensorflow` for `base.tf`, which another module of the project has imported."""
    module, _, name = imported.rpartition(".")
    whole = _USUAL_NAMES.get(name)
    # What another library computes with may go by `np` as well: JAX's, say.
    if whole is None or whole == _NUMPY or not module or canonical(module).partition(".")[0] in _FRAMEWORKS:
        return imported
    return whole


def _star_target(modules: list[str], name: str) -> str | None:
    """Which of the star-imported TensorFlow and Keras `modules` the bare `name` comes from."""
    if len(modules) == 1:
        return f"{modules[0]}.{name}"
    wanted = next((of for of in ("models", "optimizers") if has(f"keras.{of}.{name}", "by-star")), "layers")
    for module in modules:
        if module.rsplit(".", 1)[-1] == wanted and name[:1].isupper():
            return f"{module}.{name}"
    return None


class Names:
    """Answers what a name or dotted expression stands for."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._known: dict[cst.CSTNode, str | None] = {}
        self._mentions: dict[str, dict[Scope | None, list[cst.Name]]] = {}
        self._mentions_in: dict[str, dict[Function | None, list[cst.Name]]] = {}
        self.stars = [
            binding.imported[:-2]
            for binding in walk.top.bindings.get("*", ())
            if canonical(binding.imported[:-2]).split(".")[0] in ("tf", "keras")
        ]
        self._scoped = {node.__class__ for node in walk.scopes}
        self._scopes = dict(walk.scope_of)
        # Modules of other kinds that are imported whole; "." and ".." end in their dot.
        self.stars_outside = [
            binding.imported.removesuffix("*")
            for binding in walk.top.bindings.get("*", ())
            if binding.imported.removesuffix(".*") not in self.stars
        ]

    def scope_of(self, node: cst.CSTNode) -> Scope:
        """The innermost scope in which `node` stands (a default or decorator stands outside its function)."""
        known = self._scopes.get(node)
        if known is None:
            known = self._scopes[node] = self._scope_around(node)
        return known

    def _scope_around(self, node: cst.CSTNode) -> Scope:
        parents, scopes = self._walk.parents, self._walk.scopes
        child: cst.CSTNode | None = None
        current: cst.CSTNode | None = node
        while current is not None:
            if current.__class__ in self._scoped and current is not node:
                scope = scopes.get(current)
                if scope is not None and not self._outside(current, child):
                    return scope
            child, current = current, parents.get(current)
        return self._walk.top

    @staticmethod
    def _outside(holder: cst.CSTNode, child: cst.CSTNode | None) -> bool:
        """Whether `child` of a function or class belongs to the scope around it: decorators, defaults, bases."""
        if isinstance(holder, cst.FunctionDef | cst.ClassDef | cst.Lambda):
            return child is not holder.body
        if isinstance(holder, cst.Module):
            return False
        # The first iterable of a comprehension is evaluated outside; nobody's answer depends on it.
        return False

    def lookup(self, name: str, scope: Scope | None) -> tuple[Scope, list[Binding]] | None:
        """The scope in which `name` is bound, seen from `scope`, and its bindings there."""
        first = True
        while scope is not None:
            bindings = scope.bindings.get(name)
            if bindings is not None and (first or scope.kind != "class"):
                return scope, bindings
            first = first and scope.kind == "comprehension"
            scope = scope.parent
        return None

    def home(self, node: cst.Name) -> Scope | None:
        """The scope in which what a name stands for is bound; None where it is not bound in the file."""
        found = self.lookup(node.value, self.scope_of(node))
        return found[0] if found is not None else None

    def mentions(self, name: str, home: Scope | None) -> list[cst.Name]:
        """Every place where a name stands for what it is bound to in a scope, in the order of the text."""
        known = self._mentions.get(name)
        if known is None:
            known = self._mentions[name] = {}
            for node in self._walk.names.get(name, ()):
                known.setdefault(self.home(node), []).append(node)
        return known.get(home, [])

    def mentions_in(self, function: Function | None, name: str) -> list[cst.Name]:
        """Every place in a function, or outside all, where a name stands, in the order of the text."""
        known = self._mentions_in.get(name)
        if known is None:
            known = self._mentions_in[name] = {}
            for node in self._walk.names.get(name, ()):
                known.setdefault(self.scope_of(node).function, []).append(node)
        return known.get(function, [])

    def dotted(self, node: cst.CSTNode) -> str | None:
        """The full name as imported, `tensorflow.compat.v1.Session`; None for anything but imported names."""
        try:
            return self._known[node]
        except KeyError:
            pass
        self._known[node] = None  # a name that is assigned to itself ends here
        self._known[node] = result = self._dotted(node)
        return result

    def qualified(self, node: cst.CSTNode) -> str:
        """The canonical name of an imported thing, `tf.function`; "" when `node` is none."""
        dotted = self.dotted(node)
        return canonical(dotted) if dotted else ""

    def _dotted(self, node: cst.CSTNode) -> str | None:
        if isinstance(node, cst.Attribute):
            base = self.dotted(node.value) or self._module_by_star(node)
            return f"{base}.{node.attr.value}" if base else None
        if not isinstance(node, cst.Name):
            return None
        found = self.lookup(node.value, self.scope_of(node))
        if found is None:
            if self.stars_outside and node.value in _USUAL_NAMES:
                return _USUAL_NAMES[node.value]
            if self.stars and node.value not in _BUILTINS:
                return _star_target(self.stars, node.value)
            return None
        return self._of_bindings(
            [b for b in found[1] if b.kind != "class" or not self._is_base(node, b.node)]
        )

    def is_call_that(self, node: cst.CSTNode | None, *words: str) -> TypeGuard[cst.Call]:
        """Whether `node` calls a function of a library that the API tables mark as one of `words`."""
        return isinstance(node, cst.Call) and has(self.qualified(node.func), *words)

    def is_builtin(self, node: cst.CSTNode | None) -> bool:
        """Whether a name is bound nowhere in the file, as that of a built-in function is."""
        return isinstance(node, cst.Name) and self.lookup(node.value, self.scope_of(node)) is None

    def may_be_of_others(self, node: cst.CSTNode) -> bool:
        """Whether the star import of another file may bring a name as well as that of TensorFlow or Keras: no row names
        such a function."""
        if not isinstance(node, cst.Name) or not (self.stars and self.stars_outside):
            return False
        return self.is_builtin(node) and not is_listed(self.qualified(node))

    def _module_by_star(self, node: cst.Attribute) -> str | None:
        """The module of Python that a star import of another file brings, by what is asked of it: `random.sample`."""
        module = node.value
        # A library has modules of its own by the names of Python's: NumPy's `random`.
        of_libraries = any(library(canonical(f"{star}x")) for star in self.stars_outside)
        if not self.stars_outside or of_libraries or not isinstance(module, cst.Name):
            return None
        if module.value not in sys.stdlib_module_names or not is_listed(f"{module.value}.{node.attr.value}"):
            return None
        return module.value if self.is_builtin(module) else None

    def _is_base(self, node: cst.Name, klass: cst.CSTNode) -> bool:
        """Whether a name is a base of a class, which has no name yet then: `class Model(Model)`."""
        argument = self._walk.parents.get(node)
        return argument is not None and self._walk.parents.get(argument) is klass

    def _of_bindings(self, bindings: list[Binding]) -> str | None:
        imports = [_meant(binding.imported) for binding in bindings if binding.kind == "import"]
        if imports:
            ours = [name for name in imports if canonical(name).split(".")[0] in ("tf", "keras")]
            if len(imports) == len(bindings) or all(
                binding.kind == "import" or (binding.value is not None and _is_none(binding.value))
                for binding in bindings
            ):
                # One import behind another in the same block hides it; of a `try`, the first is meant.
                hides = all(binding.at.block is bindings[0].at.block for binding in bindings)
                return ours[0] if ours else imports[-1 if hides else 0]
            return None
        if len(bindings) != 1:
            return None
        # A short name for a long one: `Dense = tf.keras.layers.Dense`.
        binding = bindings[0]
        if (
            binding.kind == "assign"
            and binding.path == ()
            and isinstance(binding.value, cst.Attribute | cst.Name)
        ):
            return self.dotted(binding.value)
        return None

    @cached_property
    def _imported_at_top(self) -> list[tuple[str, str]]:
        """The names that stand for one import each at the top level of the module, with what that is."""
        return [
            (bound, canonical(_meant(bindings[0].imported)))
            for bound, bindings in self._walk.top.bindings.items()
            if bindings[0].kind == "import" and len({binding.imported for binding in bindings}) == 1
        ]

    def _is_hidden(self, name: str) -> bool:
        """Whether an import at the top of the module has its name from something else in a part of the file."""
        imported = self._walk.top.bindings[name][0].imported
        return any(
            binding.imported != imported
            for scope in self._walk.scopes.values()
            for binding in scope.bindings.get(name, ())
        )

    @cached_property
    def function_with(self) -> dict[cst.CSTNode, Function]:
        """The functions by their parameters."""
        return {
            param: function for function in self._walk.functions.values() for param in function.parameters
        }

    @cached_property
    def _homes(self) -> dict[Binding, Scope]:
        return {
            binding: scope
            for scope in self._walk.scopes.values()
            for bindings in scope.bindings.values()
            for binding in bindings
        }

    def mentions_bound(self, binding: Binding) -> list[cst.Name]:
        """Every place where a name stands for what a binding, among others, may give it."""
        home = self._homes.get(binding)
        return self.mentions(binding.name, home) if home is not None else []

    @cached_property
    def _bound_anywhere(self) -> frozenset[str]:
        return frozenset(name for scope in self._walk.scopes.values() for name in scope.bindings)

    def is_used(self, name: str) -> bool:
        """Whether the file mentions or binds a name anywhere."""
        return name in self._walk.names or name in self._bound_anywhere

    def may_import_as(self, name: str) -> bool:
        """Whether TensorFlow may be imported by a name: it is new, or stands for TensorFlow wherever it is bound."""
        bound = [binding for scope in self._walk.scopes.values() for binding in scope.bindings.get(name, ())]
        is_tensorflow = [
            binding.kind == "import" and canonical(_meant(binding.imported)) == "tf" for binding in bound
        ]
        return all(is_tensorflow) and (bool(bound) or name not in self._walk.names)

    def spelled(self, name: str) -> str | None:
        """How this file can say `tensorflow.<name>` (`name` like "data.AUTOTUNE"), None where it can't.

        Only imports at the top level of the module count, since a fix may stand anywhere below them.
        """
        full = canonical(f"tensorflow.{name}")
        for bound, imported in self._imported_at_top:
            if bound != "*" and self._is_hidden(bound):
                continue
            if imported == full:
                return bound
            if imported == "tf" and bound != "*":
                return f"{bound}.{name}"
            if full.startswith(imported + ".") and imported != "tf":
                return f"{bound}.{full[len(imported) + 1 :]}"
        if "tensorflow" in self.stars:
            return name
        brought = self._brought("tensorflow")
        return f"{brought}.{name}" if brought else None

    def _brought(self, package: str) -> str:
        """What the file calls a package that a star import of another file brings; "" where none does."""
        bound = {name for scope in self._walk.scopes.values() for name in scope.bindings}
        usual = (name for name, whole in _USUAL_NAMES.items() if whole == package and name not in bound)
        return next((name for name in usual if self.stars_outside and name in self._walk.names), "")


def _is_none(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Name) and node.value == "None"
