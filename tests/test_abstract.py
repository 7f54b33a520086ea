"""The tree by code alone is libcst's own tree, but for white space."""

from __future__ import annotations

import dataclasses
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import libcst as cst
import pytest

from tflint_perf.abstract import abstract_module
from tflint_perf.lint.step_loop_paths import rows_of
from tflint_perf.text.source import Source

ROOT = Path(__file__).parent.parent
# What holds white space, brackets and punctuation, beside all fields whose names begin with `whitespace`.
SPACE = frozenset(
    ["async_", "bar", "colon", "comma", "comment", "default_indent", "default_newline", "default_semicolon", "dot",
     "empty_lines", "encoding", "equal", "first_colon", "first_line", "footer", "has_trailing_newline", "header",
     "indent", "lambda_", "last_line", "lbrace", "lbracket", "leading_lines", "leading_whitespace",
     "lines_after_decorators", "lpar", "newline", "posonly_ind", "rbrace", "rbracket", "rpar", "second_colon",
     "semicolon", "separator", "trailing_whitespace", "type_parameters"]
)  # fmt: skip

CODE = [
    "",
    "# a comment alone\n",
    '"""A docstring."""\n',
    "x = 1; y = 2; z = 3\n",
    "x = '''a\nb'''; y = 2\nz = 3\n",
    "a = b = c\n(a, *b), [c, d.e, f[0]] = g\n",
    "a: int = 1\nb: 'str'\nself.c: list[int] = []\n",
    "a += 1; b -= 1; c *= 1; d /= 1; e //= 1; f %= 1; g **= 1; h @= 1; i &= 1; j |= 1; k ^= 1; l <<= 1; m >>= 1\n",
    "f()\nf(a)\nf(a, *b, c, d=1, **e)\nf(a=1, *b)\nf(*a, b, c=2, *d, **e)\nf(x for x in y)\nf((yield))\n",
    "f(a,\n  b=1,\n  *c)\n",
    "x[0]; x[-1]; x[1:2]; x[:]; x[::2]; x[1:]; x[:1]; x[a, b]; x[a, ...]; x[:, None]; x[()]; x[(a, b)]; x[(a), (b)]\n",
    "x[a,]; x[(a,)]; x[(a, b), c]; x[(a), b]; x[f(a), g(b)]\n",
    "a + b - c * d / e // f % g ** h @ i & j | k ^ l << m >> n\n-a; +a; ~a; not a; -1; --1\n",
    "a and b and c; a or b or c; a and (b and c); (a or b) and c; not a in b\n",
    "a < b <= c == d != e > f >= g; a in b; a not in b; a is b; a is not b\n",
    "a if b else c\nlambda: 0\nlambda a, b=1, *c, d, e=2, **f: (a, b)\nlambda *, a: a\n",
    "()\n(a,)\na, b\n[]\n[a, *b]\n{a, *b}\n{}\n{a: b, **c, 'd': 1}\n",
    "[x for x in y]\n{x for x in y if x if y}\n{k: v for k, v in z.items()}\n(x for a in b for x in a if x)\n",
    "1; 1_000; 0xFF; 1e3; 1.5; .5; 1j; 0o7; 0b1; True; False; None; ...\n",
    "'a'; \"a\"; 'it\\'s'; '''a'''; '''a'b'''; r'\\d'; b'a'; u'a'; Rb'\\x'; ''; \"\"\"\"a\"\"\"; '\\\n'\n",
    "'a' 'b'\n('a'\n 'b'  # why\n \"c\")\nf('a' 'b', 'c')\nb'a' b'b'\nx = ('é' 'ü')\n",
    "f'{a}'; f'a{b!r:>{c}}d'; f'{{}}'; rf'\\d{a}'; 'a' f'{b}'; f'''{\na}''' 'b'; f'{x=}'\n",
    "é = 'ä'; f(é, ö=1, *ü)\nx = 'ß', y[é:1]\n",
    "x = '\\d'\n",
    "if a:\n    b\nelif c:\n    d\nelse:\n    e\n",
    "if a:\n    b\nelse:\n    if c:\n        d\n    else:\n        e\n",
    "if a: b\nelif c: d; e\nelse: f\n",
    "if a: x = '''b\nc'''; y\n",
    "if (a and\n    b):\n    c\n",
    "if a:\n\tb\n\tif c:\n\t\td\n",
    "for a, b in c:\n    d\n    break\nelse:\n    e\nfor x in 1, 2: pass\nfor a.b in c: continue\n",
    "while a:\n    b\nelse:\n    c\n",
    "with a:\n    b\nwith a as b, c as (d, e):\n    f\nwith (a as b, c):\n    d\nwith (a, b):\n    c\n",
    "try:\n    a\nexcept:\n    b\n",
    "try:\n    a\nexcept A:\n    b\nexcept (B, C) as d:\n    e\nelse:\n    f\nfinally:\n    g\n",
    "try:\n    a\nfinally: b\n",
    "def f(): pass\n",
    "def f(a, b=1, *c, d, e=2, **g): return a\ndef f(a, /, b, *, c): ...\ndef f(*, a=1): ...\ndef f(a, b=0, /): ...\n",
    "def f(a: int, *b: str, c: 'x' = 1, **d: y) -> list[int]:\n    '''Doc.'''\n    return\n",
    "@a\n@b.c(d)\ndef f():\n    yield\n    x = yield a\n    yield from b\n    return a, b\n",
    "async def f():\n    await a\n    async for b in c:\n        d\n    async with e as f:\n        g\n    [x async for x in y]\n",
    "class A: pass\nclass B(A, *d, metaclass=C, **e):\n    x = 1\n\n    def f(self): ...\n@d\nclass E(): y: int\n",
    "import a\nimport a.b.c as d, e\nfrom a import b\nfrom a.b import (c as d,\n  e)\nfrom . import a\nfrom ...a import b\n",
    "from a import *\n",
    "def f():\n    global a, b\n    nonlocal_ = 1\n    def g():\n        nonlocal nonlocal_\n",
    "raise\nraise A\nraise A from b\nassert a\nassert a, 'b'\ndel a\ndel a, b[0]\ndel (a, b)\n",
    "if (a := f()): b\nx = (y := 1, z)\n",
    "x = 1\r\nif x:\r\n    y = '''a\r\nb'''\r\n",
    "if x:\r    y\relse:\r    z\r",
    "x = (  # one\n    1\n)\n\n\n# end",
    "if a:\n    pass  # why\n    # below\nelse:  # so\n    pass\n",
    "x = a if b else \\\n    c\n",
    "print(a, file=b)\nexec('a')\n",
]
NEWER = [
    ("try:\n    a\nexcept* A as b:\n    c\n", (3, 11)),
    ("x[*a, b]\n", (3, 11)),
    ("f'{a['b']}'\n", (3, 12)),
]


def difference(whole: object, made: object, path: tuple[object, ...] = ()) -> str | None:
    """Where two trees differ in their code."""
    if isinstance(whole, list | tuple) and isinstance(made, list | tuple):
        if len(whole) != len(made):
            return f"{path}: {len(whole)} and {len(made)} of them"
        for at, pair in enumerate(zip(whole, made, strict=True)):
            found = difference(*pair, (*path, at))
            if found is not None:
                return found
        return None
    if not isinstance(whole, cst.CSTNode):
        same = whole == made or (isinstance(whole, str) and "\r" in whole)
        return None if same else f"{path}: {whole!r} and {made!r}"
    if type(whole) is not type(made) and not isinstance(whole, cst.Module):
        return f"{path}: {type(whole).__name__} and {type(made).__name__}"
    for name in fields_of_code(type(whole)):
        found = difference(getattr(whole, name), getattr(made, name, "nothing"), (*path, name))
        if found is not None:
            return found
    return None


@cache
def fields_of_code(kind: type[cst.CSTNode]) -> list[str]:
    """The fields of a kind of node that hold code."""
    names = [field.name for field in dataclasses.fields(kind)]
    return [name for name in names if name not in SPACE and not name.startswith("whitespace")]


@pytest.mark.parametrize("code", CODE)
def test_the_code_is_the_same(code: str) -> None:
    made = abstract_module(code)
    assert made is not None
    assert difference(cst.parse_module(code), made) is None


@pytest.mark.parametrize(("code", "since"), NEWER)
def test_newer_code_is_the_same_where_python_knows_it(code: str, since: tuple[int, int]) -> None:
    made = abstract_module(code)
    assert (made is not None) == (sys.version_info >= since)
    assert made is None or difference(cst.parse_module(code), made) is None


def own_files() -> Iterator[Path]:
    for folder in ("tflint_perf", "rules", "fixtures"):
        yield from sorted((ROOT / folder).rglob("*.py"))


@pytest.mark.slow
def test_rows_are_those_of_the_whole_tree() -> None:
    compared = 0
    for code in [
        *CODE,
        *(file.read_text(encoding="utf-8") for file in sorted((ROOT / "fixtures").rglob("*.py"))),
    ]:
        made = abstract_module(code)
        assert made is not None
        whole = cst.parse_module(code)
        row = rows_of(whole, Source.from_bytes(code.encode(), "a.py"))
        kinds = (cst.Call, cst.For, cst.While, cst.CompFor, cst.FunctionDef)
        pairs = [pair for pair in zip(nodes(whole), nodes(made), strict=True) if isinstance(pair[0], kinds)]
        assert [row(theirs) for theirs, _ in pairs] == [made.rows.get(ours) for _, ours in pairs], code
        compared += len(pairs)
    assert compared > 1000


def nodes(tree: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes of the code, without those in f-strings, which libcst itself parses."""
    yield tree
    if isinstance(tree, cst.FormattedString):
        return
    for name in fields_of_code(type(tree)):
        value = getattr(tree, name)
        for child in value if isinstance(value, list | tuple) else [value]:
            if isinstance(child, cst.CSTNode) and not isinstance(child, cst.BaseParenthesizableWhitespace):
                yield from nodes(child)


@pytest.mark.slow
def test_the_code_of_whole_files_is_the_same() -> None:
    compared = 0
    for file in own_files():
        code = file.read_text(encoding="utf-8")
        made = abstract_module(code)
        if made is None:  # a `match`, which is left to libcst
            assert "match " in code, file
            continue
        assert difference(cst.parse_module(code), made) is None, file
        compared += 1
    assert compared > 200


@pytest.mark.parametrize(
    "code",
    [
        "x = (\n",
        "print 'a'\n",
        "match a:\n    case 1:\n        b\n",
        "def f():\n\tif a:\n        b\n",
        "x = '\0'\n",
        "(" * 500 + ")" * 500,
        "type X = int\n",
        "def f[T](a: T): ...\n",
        "class A[T]: ...\n",
    ],
)
def test_what_only_libcst_tells_is_left_to_it(code: str) -> None:
    assert abstract_module(code) is None


def test_nobody_is_warned_about_code_that_is_only_read() -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert abstract_module("x = '\\d'\nassert (1, 'a')\n1 is 1\n") is not None
    assert warned == []


def test_the_text_of_a_node_is_not_known() -> None:
    made = abstract_module("x = 1\n")
    assert made is not None
    assert made.code_for_node(made.body[0]) == "…"
    with pytest.raises(AttributeError):
        _ = made.header
