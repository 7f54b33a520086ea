"""Programs that train, made by chance of pieces: half of them harmless, half with something that may fool a fix."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping

from tests.hunt import arrays, sites, surroundings

_MARK = re.compile(r"^( *)\{(\w+)\}$", re.MULTILINE)
_SKELETONS = {
    "epochs": """\
{setup}
{before}
for epoch in {epochs}:
    {outer}
    {outer_made}
    for {target} in {dataset}:
        {made}
        {begin}
        {step}
        {end}
    {outer_end}
{after}
""",
    "steps": """\
{setup}
{before}
for step in {epochs}:
    {outer}
    {made}
    {begin}
    {step}
    {end}
    {outer_end}
{after}
""",
}
_EPOCHS = ["range(2)", "range(3)", "range(3)", "range(epochs)", "[0, 1]", "enumerate([5, 6])", "range(1, 3)"]
_ODD_EPOCHS = [
    "range(0)",
    "range(len(history), 2)",
    "range(int(scale))",
    "[]",
    "seen or range(2)",
    "iter(range(2))",
    "range(size // 16)",
    "range(*[2])",
]
_SETUP = "w = tf.Variable(tf.ones([2, 1]))\nscale = 2.0\nsize = 32\nepochs = 2\nhistory = []\nkept = []\nstep_count = 0\nbest = 9.0\nloss = tf.constant(0.0)"
_SHOWN = "print(w.numpy().tolist(), float(loss), history, len(kept), step_count, scale)"


class Maker:
    """Makes the program with a number, which is the same wherever it is made."""

    def __init__(self, seed: int, number: int) -> None:
        self.random = random.Random(f"{seed} {number}")
        self._last = 0
        # Whether it has something in it that may fool a fix.
        self.is_odd = self.random.random() < 0.5

    def program(self) -> str:
        """The text of the program."""
        names = self.random.choice(
            [("x", "y"), ("images", "labels"), ("x", "y"), ("features", "targets"), ("x_train", "y_train")]
        )
        self._given = {
            "x": names[0],
            "y": names[1],
            "rows": "64",
            "cycle": str(self.random.choice([1, 2, 2, 3, 8])),
        }
        self._places: dict[str, list[str]] = {}
        kind = self.random.choice(["epochs", "epochs", "steps"])
        self._data()
        text = self._epochs() if kind == "epochs" else self._steps()
        self._besides()
        return self._whole(text)

    # What the loops hold

    def _epochs(self) -> str:
        at = self.random.random()
        dataset = "ds"
        if at < 0.35:
            dataset = self._chain()
            if self._chance(0.5):
                self._at("outer_made", self._in_statements(dataset))
                dataset = "ds"
        elif at < 0.5:
            dataset = self._fill(self.random.choice(sites.PARALLEL))
            self._at("before", f"train_ds = {dataset}")
            dataset = "train_ds"
        else:
            self._at("before", f"train_ds = {self._chain()}")
            dataset = "train_ds"
        if self._chance(0.2):
            dataset, target, self._first = f"enumerate({dataset})", "i, (xb, yb)", "xb"
        else:
            target = "xb, yb"
        inputs, targets = "xb", "yb"
        if self._chance(0.25):
            inputs = self._compiled(inputs)
        self._step(inputs, targets)
        return _SKELETONS["epochs"].replace("{dataset}", dataset).replace("{target}", target)

    def _steps(self) -> str:
        inputs, targets = "xt", "0.5"
        conversion = self._fill(self.random.choice(sites.CONVERSIONS))
        at = self.random.random()
        if at < 0.6:
            self._at("made", f"xt = {conversion}")
        elif at < 0.7:
            self._at("made", f"xt: tf.Tensor = {conversion}")
        elif at < 0.85:
            self._at(
                "before", f"xt = {self.random.choice(['tf.ones([64, 2])', 'tf.zeros([64, 2])', conversion])}"
            )
            inputs = self.random.choice(
                ["xt", "tf.constant(xt)", "tf.convert_to_tensor(xt)", "tf.cast(xt, tf.float32)"]
            )
        else:
            self._at("before", "xt = None")
            inputs = conversion
        if self._chance(0.3):
            targets = "yt"
            self._at("made", self._fill("yt = tf.constant({y})"))
        if self._chance(0.3):
            inputs = self._compiled(inputs)
        self._step(inputs, targets)
        return _SKELETONS["steps"]

    def _data(self) -> None:
        for name in ("x", "y"):
            odd = self.is_odd and self._chance(0.3)
            source = self.random.choice(arrays.ODD_SOURCES if odd else arrays.PLAIN_SOURCES)
            text = source.format(x=self._given[name], n=self._new(), rows=self._given["rows"])
            if name == "y":
                self._at("setup", text)
                self._at("setup", f"{self._given['y']} = {self._given['y']}[:, :1]")
            else:
                self._at("setup", text)

    def _chain(self) -> str:
        chain = self.random.choice(sites.SOURCES[:6] if not self.is_odd else sites.SOURCES)
        stages = [stage for stage in sites.EARLY if self.is_odd or _is_harmless(stage)]
        chain += "".join(self.random.choice(stages) for _ in range(self.random.choice([0, 0, 1, 1, 2])))
        chain += self.random.choice(sites.BATCHES)
        chain += "".join(self.random.choice(sites.LATE) for _ in range(self.random.choice([0, 0, 0, 1])))
        return self._fill(chain)

    def _in_statements(self, chain: str) -> str:
        """A chain of stages, by chance cut in two statements."""
        cut = chain.rfind(".batch(")
        if self._chance(0.4) and cut > 0:
            return f"ds = {chain[:cut]}\nds = ds{chain[cut:]}"
        return f"ds = {chain}"

    def _compiled(self, value: str) -> str:
        harmless = [made for made in sites.COMPILED if _is_harmless(made)]
        self._at("made", self.random.choice(sites.COMPILED if self.is_odd else harmless))
        return self.random.choice(sites.USES).format(v=value)

    def _step(self, value: str, target: str) -> None:
        if self._chance(0.3):
            self._at(
                self.random.choice(["made", "made", "before"]),
                f"loss_fn = {self.random.choice(sites.LOSSES)}",
            )
            loss = f"loss_fn({target} * tf.ones_like(tf.matmul({value}, w)), tf.matmul({value}, w))"
        elif self._chance(0.15):
            made = self.random.choice(sites.LOSSES)
            loss = f"{made}({target} * tf.ones_like(tf.matmul({value}, w)), tf.matmul({value}, w))"
        else:
            loss = f"tf.reduce_mean((tf.matmul({value}, w) - {target}) ** 2)"
        steps = sites.STEPS if self.is_odd else [*sites.STEPS[:3], sites.STEPS[-1]]
        step = self.random.choice(steps)
        self._at("step", step.format(tape=self.random.choice(sites.TAPES), loss=loss, v=value, t=target))

    # What stands around them

    def _besides(self) -> None:
        x = self._given["x"]
        for _ in range(self.random.choice([0, 1, 1, 2, 3])):
            if self._chance(0.5):
                place = self.random.choice(["before", "begin", "end", "outer_end", "after", "after"])
                self._at(
                    place,
                    self.random.choice(arrays.READS).format(x=self.random.choice([x, self._given["y"]])),
                )
            else:
                place, text = self.random.choice(surroundings.HARMLESS)
                self._at(place, text)
        for _ in range(self.random.choice([1, 1, 2]) if self.is_odd else 0):
            if self._chance(0.5):
                place, text = self.random.choice(surroundings.HAZARDS)
                self._at(place, text)
            else:
                self._alias_and_write()
        if self._chance(0.04):
            policy = self.random.choice(["float32", "mixed_bfloat16", "float64"])
            choice = sites.OLD_PRECISION if self.is_odd else sites.OLD_PRECISION[:4]
            self._at("setup", self.random.choice(choice).format(policy=policy))

    def _alias_and_write(self) -> None:
        """Have something else hold the array, or a view, and write to it by that, in all the ways there are."""
        x, new = self._given[self.random.choice(["x", "x", "y"])], self._new()
        target = x if self._chance(0.2) else new
        write = self.random.choice(arrays.WRITES).format(t=target)
        place = self.random.choice(surroundings.LOOP_PLACES)
        if target != x:
            alias = self.random.choice(arrays.ALIASES).format(x=x, t=new)
            self._at(self.random.choice(["before", "before", place]), alias)
        match self.random.randrange(8):
            case 0:
                self._at("before", f"def hurt():\n{_indented(write, 4)}")
                self._at(place, "hurt()")
            case 1:
                self._at("before", f"def hurt({target}):\n{_indented(write, 4)}")
                self._at(place, f"hurt({target})")
            case 2:
                self._at(place, f"if step_count >= 0:\n{_indented(write, 4)}")
            case 3:
                self._at(place, f"try:\n{_indented(write, 4)}\nexcept (TypeError, ValueError):\n    pass")
            case _:
                self._at(place, write)

    def _whole(self, skeleton: str) -> str:
        odd_epochs = self.is_odd and self._chance(0.15)
        epochs = self.random.choice(_ODD_EPOCHS if odd_epochs else _EPOCHS)
        if epochs.startswith("enumerate"):
            skeleton = skeleton.replace("for epoch in", "for epoch, _ in").replace(
                "for step in", "for step, _ in"
            )
        skeleton = skeleton.replace("{epochs}", epochs)
        self._places["setup"] = [_SETUP, *self._places.get("setup", ())]
        self._at("after", _SHOWN)
        for heads in (sites.HELPERS, sites.COMPILED_HELPERS, sites.HEAD_STEPS):
            self._need(heads, "setup", skeleton)
        body = _filled(skeleton, self._places).strip("\n")
        wrapper = self.random.choice(surroundings.WRAPPERS if self._chance(0.5) else ["{body}"])
        text = _filled(wrapper, {"body": [body]}) + "\nprint('end')\n"
        top = [head for mark, head in surroundings.HELPERS.items() if mark in text]
        top.sort(
            key=lambda head: head[0].islower() and "def" not in head[:4] and "class" not in head[:5],
            reverse=True,
        )
        text = "\n\n".join([*top, text])
        imports = [head for mark, head in surroundings.HEADS.items() if mark in text]
        if self._chance(0.1):
            imports = [line + self.random.choice(["  # noqa", "  # noqa: TFP301", ""]) for line in imports]
        return "\n".join(imports) + "\n\n" + text

    def _need(self, heads: Mapping[str, str], place: str, skeleton: str) -> None:
        for mark, head in heads.items():
            held = "\n".join([skeleton, *(line for lines in self._places.values() for line in lines)])
            if mark in held:
                self._places[place].insert(1, head.replace("{switch}", self.random.choice(sites.SWITCHES)))

    # Small things

    def _at(self, place: str, text: str) -> None:
        self._places.setdefault(place, []).append(text)

    def _fill(self, text: str) -> str:
        for name, given in self._given.items():
            text = text.replace(f"{{{name}}}", given)
        return text

    def _chance(self, share: float) -> bool:
        return self.random.random() < share

    def _new(self) -> str:
        self._last += 1
        return f"v{self._last}"


_HARMFUL = (
    "w[",
    "random",
    "print",
    "py_function",
    "Counter",
    "history",
    "seen",
    "reduce_retracing",
    "size - 32",
    "int(scale)",
    "x[0",
    "mixed",
)


def _is_harmless(text: str) -> bool:
    return not any(word in text for word in _HARMFUL)


def _filled(skeleton: str, places: Mapping[str, list[str]]) -> str:
    """A skeleton with text at its marks, which stand on lines of their own."""

    def at(found: re.Match[str]) -> str:
        return "\n".join(_indented(text, len(found[1])) for text in places.get(found[2], ()))

    lines = _MARK.sub(at, skeleton).splitlines()
    return "\n".join(line for line in lines if line.strip())


def _indented(text: str, by: int) -> str:
    return "\n".join(" " * by + line for line in text.splitlines())
