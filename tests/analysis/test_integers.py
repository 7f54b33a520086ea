"""Which integers expressions may be, how long sequences are, and which of them are written out."""

from __future__ import annotations

import libcst as cst
import pytest

from tests.analysis.support import here, model_of
from tflint_perf.analysis.values.written import written_out


def argument_here(source: str) -> tuple[object, cst.BaseExpression]:
    """The inference for a source, and the argument of its call `here(…)`."""
    model = model_of(source)
    return model.infer, here(model).args[0].value


VALUES = {
    "a literal": ("here(3)", (3,)),
    "a negative one": ("here(-3)", (-3,)),
    "a float without a fraction": ("here(1e3)", (1000,)),
    "a name": ("N = 3\nhere(N)", (3,)),
    "a name for a name": ("N = 3\nM = N\nhere(M)", (3,)),
    "one of two names": ("N, M = 3, 4\nhere(M)", (4,)),
    "a product": ("N = 5 * 2\nhere(N)", (10,)),
    "a power": ("here(2 ** 10)", (1024,)),
    "what is left": ("N = 10\nhere((N - 1) // 2 % 3)", (1,)),
    "the negative of a name": ("N = 3\nhere(-N)", (-3,)),
    "an int of a quotient": ("N = 7\nhere(int(N / 2))", (3,)),
    "a rounded quotient": ("import math\nhere(math.ceil(7 / 2))", (4,)),
    "an int of a name": ("N = 3\nhere(int(N))", (3,)),
    "the least": ("here(min(3, 4))", (3,)),
    "branches": ("if x:\n    n = 1\nelse:\n    n = 8\nhere(n)", (1, 8)),
    "a condition": ("here(1 if x else 8)", (1, 8)),
    "the length of a list": ("xs = [a, b, c]\nhere(len(xs))", (3,)),
    "the length of a part": ("few = images[:10]\nhere(len(few))", (10,)),
    "the rows of a part": ("few = images[:10]\nhere(few.shape[0])", (10,)),
    "an item": ("sizes = (64, 32)\nhere(sizes[1])", (32,)),
    "the last item": ("here([1, 2, 3][-1])", (3,)),
    "what a dict has under a key": (
        "import json\nconfig = {'folds': 5, 'rate': 0.1}\njson.dumps(config)\nconfig\nhere(config['folds'])",
        (5,),
    ),
    "an option, by its name": (
        "parser.add_argument('--num-frames', default=3)\nflags = vars(parser.parse_args())\nhere(flags['num_frames'])",
        (3,),
    ),
    "an attribute of an object": (
        "class A:\n    def __init__(self): self.n = 3\n    def f(self): here(self.n)",
        (3,),
    ),
    "an attribute of a class": ("class A:\n    n = 3\nhere(A.n)", (3,)),
    "a default": ("def f(n=3): here(n)\nf()", (3,)),
    "what callers pass": ("def f(n=3): here(n)\nf(4)\nf(5)", (4, 5)),
    "a global in a function": ("N = 3\ndef f(): here(N)", (3,)),
}
UNKNOWN = {
    "a parameter": "def f(n): here(n)",
    "a counter": "n = 0\nfor x in xs: n += 1\nhere(n)",
    "a loop's number": "for n in range(3): here(n)",
    "one branch of two": "n = 1\nif x: n = read()\nhere(n)",
    "a fraction": "here(1.5)",
    "a quotient": "here(3 / 2)",
    "a division by nothing": "here(3 // 0)",
    "too large a power": "here(10 ** 100)",
    "a name for itself": "def f():\n    n = n - 1\n    here(n)",
    "the length of a list that grows": "xs = [1]\nxs.append(2)\nhere(len(xs))",
    "an item behind the end": "here((1, 2)[2])",
    "a setting": "here(args.n)",
    "an item that is called as an option is": "parser.add_argument('--label', default=3)\nhere(batch['label'])",
    "what a dict gets from elsewhere": "config = {'n': 5}\nconfig.update(read())\nhere(config['n'])",
    "a dict that something else may change": "config = {'n': 5}\nread_into(config)\nhere(config['n'])",
    "too many alternatives": "def f(n): here(n)\n" + "\n".join(f"f({n})" for n in range(9)),
}


@pytest.mark.parametrize(("source", "expected"), VALUES.values(), ids=VALUES.keys())
def test_the_integers_are(source: str, expected: tuple[int, ...]) -> None:
    infer, node = argument_here(source)
    assert infer.integers.values(node) == expected  # type: ignore[attr-defined]


@pytest.mark.parametrize("source", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_the_integer_is_not_in_sight(source: str) -> None:
    infer, node = argument_here(source)
    assert infer.integers.values(node) == ()  # type: ignore[attr-defined]


def test_one_of_several_is_the_greatest_and_none_is_the_only_one() -> None:
    model = model_of("here(1 if x else 8)")
    node = here(model).args[0].value
    assert (model.infer.integers.most(node), model.infer.integers.only(node)) == (8, None)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("here(min(5, len(xs)))", 5),
        ("here(min(n, 5, min(m, 3)))", 3),
        ("here(min(n, m))", None),
        ("here(min(sizes))", None),
        ("here(max(5, len(xs)))", None),
        ("def min(a, b): return a + b\nhere(min(5, n))", None),
    ],
)
def test_what_is_least_is_no_more_than_what_is_known(source: str, expected: int | None) -> None:
    infer, node = argument_here(source)
    assert infer.integers.most(node) == expected  # type: ignore[attr-defined]


LENGTHS = {
    "a list": ("here([a, b])", 2),
    "a name of a tuple": ("xs = (a, b, c)\nhere(xs)", 3),
    "a list, if it is there at all": ("xs, ys = None, None\nif a:\n    xs = [a]\nelif b:\n    xs = [b, c]\nhere(xs)", 2),
    "a dict": ("here({'a': 1, 'b': 2})", 2),
    "a range": ("N = 3\nhere(range(N))", 3),
    "a range by steps": ("here(range(0, 10, 3))", 4),
    "a numbered list": ("here(enumerate([a, b]))", 2),
    "the shorter of two": ("here(zip([a, b], range(9)))", 2),
    "one as long as another, side by side with what is unknown": ("here(zip([a, b], xs))", 2),
    "a part": ("from itertools import islice\nhere(islice(xs, 5))", 5),
    "a list of so many": ("here([0] * 4)", 4),
    "a list made of one": ("here([f(x) for x in (a, b)])", 2),
    "the first few": ("here(xs[:7])", 7),
    "folds": ("from sklearn.model_selection import KFold\nkf = KFold(n_splits=3)\nhere(enumerate(kf.split(x), 1))", 3),
    "folds of which none says how many": ("from sklearn.model_selection import TimeSeriesSplit\nhere(TimeSeriesSplit().split(x))", 5),
    "folds of an unknown number": ("from sklearn.model_selection import KFold\nhere(KFold(n).split(x))", None),
    "parts of a text": ("here(text.split(','))", None),
    "a star": ("here([*xs, a])", None),
    "a list that grows": ("xs = [a]\nxs.append(b)\nhere(xs)", None),
    "what is unknown": ("here(xs)", None),
    "what has no end": ("import itertools\nhere(itertools.count(5))", None),
}  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), LENGTHS.values(), ids=LENGTHS.keys())
def test_there_are_at_most(source: str, expected: int | None) -> None:
    infer, node = argument_here(source)
    assert infer.integers.length(node) == expected  # type: ignore[attr-defined]


CUT = {
    "take": ("here(ds.take(5))", 5),
    "take of an unknown dataset": ("here(stuff.take(5))", 5),
    "behind a bar and a number": ("from tqdm import tqdm\nhere(enumerate(tqdm(ds.take(5))))", 5),
    "by a name": ("N = 5\nfew = ds.take(N)\nhere(few)", 5),
    "with stages behind it": ("here(ds.take(5).map(f).batch(2))", 5),
    "islice": ("import itertools\nhere(itertools.islice(ds, 2, 9))", 9),
    "one batch of all": ("here(ds.map(f).batch(len(x)))", 1),
    "one batch of all, by its shape": ("n = x.shape[0]\nhere(ds.batch(n).prefetch(1))", 1),
    "one batch of one of several arrays": (
        "here(tf.data.Dataset.from_tensor_slices((y, x)).batch(len(x)))",
        1,
    ),
    "batches as large as other data": ("here(ds.batch(len(y)))", None),
    "batches as large as what a name stood for before": (
        "x = g()\nn = len(x)\nx = f(x)\nds = tf.data.Dataset.from_tensor_slices(x)\nhere(ds.batch(n))",
        None,
    ),
    "one batch of all, several times": ("here(ds.repeat().batch(len(x)))", None),
    "all": ("here(ds.take(-1))", None),
    "several times": ("here(ds.take(5).repeat())", None),
    "an unknown number": ("here(ds.take(n))", None),
    "a range, which nothing cuts off": ("here(range(5))", None),
}


@pytest.mark.parametrize(("source", "expected"), CUT.values(), ids=CUT.keys())
def test_a_loop_is_cut_off_after(source: str, expected: int | None) -> None:
    infer, node = argument_here("ds = tf.data.Dataset.from_tensor_slices(x)\n" + source)
    assert infer.integers.cut(node) == expected  # type: ignore[attr-defined]


WRITTEN = {
    "a list": ("here([a, b])", ["a", "b"]),
    "a set": ("here({a, b})", ["a", "b"]),
    "a name": ("xs = a, b\nhere(xs)", ["a", "b"]),
    "one of two names": ("xs, ys = [], [a]\nhere(ys)", ["a"]),
    "an attribute": (
        "class A:\n    def __init__(self): self.xs = [a]\n    def f(self): here(self.xs)",
        ["a"],
    ),
    "a copy": ("here(list((a, b)))", ["a", "b"]),
    "a bar": ("from tqdm import tqdm\nhere(tqdm([a]))", ["a"]),
    "stars": ("here([*xs])", None),
    "pairs with numbers": ("here(enumerate([a]))", None),
    "a part": ("import itertools\nhere(itertools.islice([a, b], 1))", None),
    "two ways": ("xs = [a]\nif x: xs = [b]\nhere(xs)", None),
    "what grows": ("xs = [a]\nxs.extend(ys)\nhere(xs)", None),
    "an attribute that grows": (
        "class A:\n    def __init__(self): self.xs = [a]\n    def f(self):\n        self.xs.append(b)\n        here(self.xs)",
        None,
    ),
    "a comprehension": ("here([x for x in xs])", None),
    "a name for itself": ("def f():\n    xs = xs\n    here(xs)", None),
}


@pytest.mark.parametrize(("source", "expected"), WRITTEN.values(), ids=WRITTEN.keys())
def test_the_items_that_are_written_out_are(source: str, expected: list[str] | None) -> None:
    infer, node = argument_here(source)
    items = written_out(infer, node)  # type: ignore[arg-type]
    found = [cst.Module([]).code_for_node(item) for item in items] if items is not None else None
    assert found == expected
