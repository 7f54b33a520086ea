"""Ways to write a program otherwise: in odd layout, with comments anywhere, in blocks, with lines moved or missing.

Each takes a random number generator and a text that this Python takes, and gives another text, which it may not take.
"""

from __future__ import annotations

import ast
import keyword
import re
import tokenize
from collections.abc import Callable
from random import Random

from tests.hunt.lines import (
    bodies,
    first_row,
    in_strings,
    indent_of,
    last_row,
    own_rows,
    parsed,
    rows_of,
    tokens,
)

Mutation = Callable[[Random, str], str]

_INDENTS = (" ", "  ", "   ", "        ", "\t", "       ")
_COMMENTS = ("# why {}", "#{}", "#  é {}", "# type: ignore  # {}", "# noqa: E501 {}", "#: {} \\", "# '''{}")
_SNIPPETS = (
    "match {}:\n    case [a, *rest] if rest:\n        pass\n    case {{'k': v}} | str(v):\n        pass\n",
    "try:\n    pass\nexcept* ValueError as error:\n    print(error)\n",
    "print(f'{{f\"{{{}!r:>{{10}}}}\"}}' f'{{{}=}}')\n",
    "if (found := {}) is not None: print(found); del found\n",
    "with (\n    open('a') as a,\n    open('b') as b,  # {}\n):\n    pass\n",
    "long = [{}]\n",
    "'''A string\n  of several\nlines {}'''\n",
    "größe = {}; print(größe)\n",
    "def spare(a, /, b: int = 1, *c, d, **e) -> None: ...\n",
    "class Spare: x: int = 1; y = 2\n",
    "async def wait():\n    async with a as b: await b\n    return [x async for x in b if await x]\n",
    "spare = lambda *a, k=1, **b: (yield)\n",
    "global_ = 1 ; del global_ ;\n",
    "x = y = z = {}\n",
    "for i in range(3): pass\nelse: print(i)\n",
    "while True: break\n",
    "\\\n\\\nspare = 1\n",
)
_HEADERS = (
    "if True:",
    "if __name__ == '__main__':",
    "for _ in range(3):",
    "while step < 3:",
    "with open('log') as log:",
    "def main():",
    "async def main():",
    "class Holder:",
    "for epoch in range(10):  # {}",
    "with tf.device('/GPU:0'):",
    "with tf.Graph().as_default(), tf.Session() as sess:",
    "@decorated  # {}\ndef inner(a, b=1):",
)
_NAMES = (
    "step",
    "dataset",
    "größe",
    "x",
    "self",
    "tf",
    "np",
    "train_step",
    "iteration",
    "constant",
    "K",
    "_",
)


def mutations() -> dict[str, Mutation]:
    """All of them, by their names."""
    return {
        made.__name__: made
        for made in (
            delete_lines,
            duplicate_lines,
            swap_statements,
            reindent_file,
            reindent_block,
            join_statements,
            join_block_to_its_header,
            end_with_semicolon,
            break_line_by_backslash,
            odd_first_line,
            trailing_backslash,
            drop_last_newline,
            foreign_line_ends,
            mixed_line_ends,
            form_feeds,
            comment_behind,
            comment_above,
            comment_in_brackets,
            comments_everywhere,
            blank_lines,
            trailing_space,
            wrap_block,
            wrap_in_try,
            wrap_in_branches,
            wrap_in_match,
            wrap_file,
            insert_snippet,
            parenthesize,
            walrus,
            break_arguments,
            trailing_comma,
            rename,
            declare_encoding,
            byte_order_mark,
            long_line,
            decorate,
            annotate,
            move_function_in,
            split_import,
        )
    }


def _statement(
    random: Random, text: str, simple: bool = False
) -> tuple[list[str], ast.stmt, list[ast.stmt]] | None:
    """A statement on lines of its own, and its block."""
    rows = rows_of(text)
    found = [
        (statement, block)
        for block in bodies(parsed(text))
        for statement in block
        if own_rows(rows, statement) and not (simple and hasattr(statement, "body"))
    ]
    if not found:
        return None
    statement, block = random.choice(found)
    return rows, statement, block


def delete_lines(random: Random, text: str) -> str:
    rows = rows_of(text)
    at = random.randrange(len(rows))
    del rows[at : at + random.choice((1, 1, 1, 2, 3))]
    return "".join(rows)


def duplicate_lines(random: Random, text: str) -> str:
    if (found := _statement(random, text)) is None:
        return text
    rows, statement, _ = found
    copied = rows[first_row(statement) : last_row(statement)]
    at = random.choice((first_row(statement), last_row(statement)))
    return "".join([*rows[:at], *_closed(copied), *rows[at:]])


def swap_statements(random: Random, text: str) -> str:
    if (found := _statement(random, text)) is None:
        return text
    rows, statement, block = found
    other = random.choice(block)
    one, two = sorted((statement, other), key=lambda it: it.lineno)
    if one is two or not own_rows(rows, other):
        return text
    first, second = rows[first_row(one) : last_row(one)], rows[first_row(two) : last_row(two)]
    between = rows[last_row(one) : first_row(two)]
    return "".join([*rows[: first_row(one)], *_closed(second), *between, *first, *rows[last_row(two) :]])


def reindent_file(random: Random, text: str) -> str:
    new, inside = random.choice(_INDENTS), in_strings(text)
    rows = rows_of(text)
    widths = {len(indent_of(row)) for row in rows if row.strip()} - {0}
    unit = min(widths, default=4)
    for index, row in enumerate(rows):
        if index not in inside and row.strip():
            depth, rest = divmod(len(indent_of(row)), unit)
            rows[index] = new * depth + " " * rest + row.lstrip(" \t\f")
    return "".join(rows)


def reindent_block(random: Random, text: str) -> str:
    rows, inside = rows_of(text), in_strings(text)
    blocks = [block for block in bodies(parsed(text)) if block[0].col_offset > 0]
    if not blocks:
        return text
    block, more = random.choice(blocks), random.choice((" ", "   ", "\t", "          "))
    for index in range(first_row(block[0]), last_row(block[-1])):
        if index not in inside and rows[index].strip():
            rows[index] = indent_of(rows[index]) + more + rows[index].lstrip(" \t\f")
    return "".join(rows)


def join_statements(random: Random, text: str) -> str:
    if (found := _statement(random, text, simple=True)) is None:
        return text
    rows, statement, block = found
    at = block.index(statement)
    if at + 1 == len(block) or hasattr(block[at + 1], "body"):
        return text
    end, start = last_row(statement), first_row(block[at + 1])
    line, behind = _without_comment(rows[end - 1], statement)
    joined = line + random.choice((";", "; ", " ; ")) + rows[start].lstrip(" \t\f")
    return "".join(
        [*rows[: end - 1], *_own_line(behind, rows[end - 1]), *rows[end:start], joined, *rows[start + 1 :]]
    )


def join_block_to_its_header(random: Random, text: str) -> str:
    rows = rows_of(text)
    blocks = [
        block
        for block in bodies(parsed(text))
        if not any(hasattr(statement, "body") for statement in block)
        and all(
            own_rows(rows, statement) and last_row(statement) - first_row(statement) == 1
            for statement in block
        )
        and first_row(block[0]) > 0
        and rows[first_row(block[0]) - 1].rstrip().endswith(":")
    ]
    if not blocks:
        return text
    block = random.choice(blocks)
    statements = [rows[first_row(statement)].strip() for statement in block]
    if any("#" in statement for statement in statements[:-1]):
        return text
    header = rows[first_row(block[0]) - 1]
    line = header.rstrip("\r\n") + " " + "; ".join(statements) + header[len(header.rstrip("\r\n")) :]
    return "".join([*rows[: first_row(block[0]) - 1], line, *rows[last_row(block[-1]) :]])


def end_with_semicolon(random: Random, text: str) -> str:
    if (found := _statement(random, text, simple=True)) is None:
        return text
    rows, statement, _ = found
    row = rows[last_row(statement) - 1].encode()
    at = statement.end_col_offset or 0
    rows[last_row(statement) - 1] = (row[:at] + random.choice((b";", b" ;")) + row[at:]).decode()
    return "".join(rows)


def break_line_by_backslash(random: Random, text: str) -> str:
    rows, inside = rows_of(text), in_strings(text)
    places = [
        (token.end, later.start)
        for token, later in zip(tokens(text), tokens(text)[1:], strict=False)
        if token.end[0] == later.start[0]
        and token.end[0] - 1 not in inside
        and later.type in (tokenize.NAME, tokenize.OP, tokenize.NUMBER)
        and token.type in (tokenize.NAME, tokenize.OP, tokenize.NUMBER)
    ]
    for end, start in sorted(random.sample(places, min(len(places), random.choice((1, 2, 5)))), reverse=True):
        row = rows[end[0] - 1]
        rows[end[0] - 1] = (
            row[: end[1]]
            + random.choice(("\\\n", " \\\n"))
            + random.choice(("", "    ", "\t", " "))
            + row[start[1] :]
        )
    return "".join(rows)


def odd_first_line(random: Random, text: str) -> str:
    """A statement's first line is a backslash alone, or begins behind a form feed: its code is indented anyhow."""
    if (found := _statement(random, text)) is None:
        return text
    rows, statement, block = found
    if random.random() < 0.5:
        statement = block[0]
    row = rows[first_row(statement)]
    indent = indent_of(row)
    odd = random.choice(("", " ", "   ", "\t", "         "))
    begun = f"{indent}\\\n{odd}" if random.random() < 0.7 else f"{odd}\f{indent}"
    rows[first_row(statement)] = begun + row[len(indent) :]
    return "".join(rows)


def trailing_backslash(random: Random, text: str) -> str:
    rows, inside = rows_of(text), in_strings(text)
    at = len(rows) - 1 if random.random() < 0.4 else random.randrange(len(rows))
    row = rows[at].rstrip("\r\n")
    if at + 1 in inside or "#" in row:
        return text
    return "".join(
        [
            *rows[:at],
            row,
            random.choice((" \\\n", "\\\n", ";\\\n")),
            random.choice(("", "\n", "  \n")),
            *rows[at + 1 :],
        ]
    )


def drop_last_newline(random: Random, text: str) -> str:
    return text.rstrip("\r\n") + random.choice(
        ("", "", "  ", "\n    ", "\n# end", "\n    # end", "\f", "\n\n\n")
    )


def foreign_line_ends(random: Random, text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", random.choice(("\r\n", "\r")))


def mixed_line_ends(random: Random, text: str) -> str:
    return "".join(
        row[:-1] + random.choice(("\r\n", "\n", "\r")) if row.endswith("\n") and row[-2:-1] != "\r" else row
        for row in rows_of(text)
    )


def form_feeds(random: Random, text: str) -> str:
    rows, inside = rows_of(text), in_strings(text)
    for at in random.sample(range(len(rows)), min(3, len(rows))):
        if at not in inside:
            rows[at] = random.choice(
                ("\f" + rows[at], "\f\n" + rows[at], indent_of(rows[at]) + "\f" + rows[at])
            )
    return "".join(rows)


def comment_behind(random: Random, text: str) -> str:
    rows = rows_of(text)
    ends = [
        token.start
        for token in tokens(text)
        if token.type in (tokenize.NEWLINE, tokenize.NL) and token.string
    ]
    for row, column in random.sample(ends, min(len(ends), random.choice((1, 3, 6)))):
        line = rows[row - 1]
        rows[row - 1] = line[:column] + random.choice(("  ", " ", "")) + _comment(random) + line[column:]
    return "".join(rows)


def comment_above(random: Random, text: str) -> str:
    rows, inside = rows_of(text), in_strings(text)
    for at in sorted(random.sample(range(len(rows)), min(len(rows), random.choice((1, 3, 6)))), reverse=True):
        if at not in inside:
            indent = random.choice((indent_of(rows[at]), indent_of(rows[at]), "", "  ", "            "))
            rows.insert(at, f"{indent}{_comment(random)}\n")
    return "".join(rows)


def comment_in_brackets(random: Random, text: str) -> str:
    rows = rows_of(text)
    opened = [
        token.end if token.string in "([{," else token.start
        for token in tokens(text)
        if token.type == tokenize.OP and token.string in ("(", "[", "{", ",", ")", "]", "}")
    ]
    for row, column in sorted(
        random.sample(opened, min(len(opened), random.choice((1, 2, 4)))), reverse=True
    ):
        line = rows[row - 1]
        rows[row - 1] = f"{line[:column]}  {_comment(random)}\n{line[column:]}"
    return "".join(rows)


def comments_everywhere(random: Random, text: str) -> str:
    rows, inside = rows_of(text), in_strings(text)
    return "".join(
        row if index in inside else f"{indent_of(row)}# {index} above\n{row}"
        for index, row in enumerate(rows)
    )


def blank_lines(random: Random, text: str) -> str:
    rows, inside = rows_of(text), in_strings(text)
    at = random.randrange(len(rows))
    if at not in inside:
        rows[at:at] = [random.choice(("\n", "    \n", "\t\n", "\f\n", " \n\n"))] * random.choice((1, 2, 4))
    return "".join(rows)


def trailing_space(random: Random, text: str) -> str:
    rows, inside = rows_of(text), in_strings(text)
    return "".join(
        row
        if index + 1 in inside or random.random() < 0.7
        else row.rstrip("\r\n") + random.choice((" ", "\t", "  \f")) + row[len(row.rstrip("\r\n")) :]
        for index, row in enumerate(rows)
    )


def wrap_block(random: Random, text: str) -> str:
    header = random.choice(_HEADERS).replace("{}", str(random.randrange(99)))
    return _wrapped(random, text, [header], [])


def wrap_in_try(random: Random, text: str) -> str:
    tails = (
        ["except Exception as error:  # caught", "    raise"],
        ["# before finally", "finally:", "    pass"],
        ["except ValueError: pass", "else:  # well", "    pass"],
    )
    return _wrapped(random, text, ["try:"], random.choice(tails))


def wrap_in_branches(random: Random, text: str) -> str:
    heads = (
        ["if a:  # first", "    pass", "# before else", "else:"],
        ["if a: pass", "elif b:"],
        ["while a:", "    break", "else:"],
    )
    return _wrapped(random, text, random.choice(heads), [])


def wrap_in_match(random: Random, text: str) -> str:
    rows = random.choice((["match a:", "    case 1:  # one"], ["match a:", "  case 1: pass", "  case _:"]))
    return _wrapped(random, text, rows, [], deeper="        ")


def wrap_file(random: Random, text: str) -> str:
    inside = in_strings(text)
    lines = [
        row if index in inside or not row.strip() else "    " + row for index, row in enumerate(rows_of(text))
    ]
    return "".join(
        [
            random.choice(("if True:\n", "def main():\n", "try:\n", "with a as b:\n", "for a in b:\n")),
            *_closed(lines),
            *random.choice(([], ["finally: pass\n"], ["main()\n"])),
        ]
    )


def insert_snippet(random: Random, text: str) -> str:
    if (found := _statement(random, text)) is None:
        return text
    rows, statement, _ = found
    at = first_row(statement)
    indent = indent_of(rows[at])
    value = random.choice(("1", "'é'", ", ".join(map(str, range(400)))))
    snippet = random.choice(_SNIPPETS).replace("{}", value).replace("{{", "{").replace("}}", "}")
    return "".join([*rows[:at], *(indent + row for row in rows_of(snippet)), *rows[at:]])


def parenthesize(random: Random, text: str) -> str:
    def written(value: str) -> str:
        gap = random.choice(("", "\n", "  # why\n"))
        return f"({gap}{value}{gap})"

    return _rewritten(random, text, written)


def walrus(random: Random, text: str) -> str:
    return _rewritten(random, text, lambda value: f"({random.choice(('found', 'x', 'größe'))} := {value})")


def break_arguments(random: Random, text: str) -> str:
    calls = [node for node in ast.walk(parsed(text)) if isinstance(node, ast.Call) and node.args]
    if not calls:
        return text
    call = random.choice(calls)
    first = random.choice(call.args)
    rows = rows_of(text)
    row = rows[first.lineno - 1].encode()
    gap = random.choice(("\n", "  # why\n", "\n        ", "\n\n# why\n    "))
    rows[first.lineno - 1] = (row[: first.col_offset] + gap.encode() + row[first.col_offset :]).decode()
    return "".join(rows)


def trailing_comma(random: Random, text: str) -> str:
    closing = [token.start for token in tokens(text) if token.string in (")", "]")]
    if not closing:
        return text
    row, column = random.choice(closing)
    rows = rows_of(text)
    line = rows[row - 1]
    rows[row - 1] = line[:column] + random.choice((",", ", ", ",  # last\n", ",\n")) + line[column:]
    return "".join(rows)


def rename(random: Random, text: str) -> str:
    names = sorted(
        {token.string for token in tokens(text) if token.type == tokenize.NAME} - set(keyword.kwlist)
    )
    if not names:
        return text
    old, new = random.choice(names), random.choice(_NAMES)
    return re.sub(rf"\b{re.escape(old)}\b", new, text)


def declare_encoding(random: Random, text: str) -> str:
    if "coding" in text:
        return text
    return (
        random.choice(
            (
                "# -*- coding: utf-8 -*-\n",
                "# coding: latin-1\n",
                "#!/usr/bin/env python\n# vim: set fileencoding=ascii :\n",
            )
        )
        + text
    )


def byte_order_mark(random: Random, text: str) -> str:
    return text if text.startswith("\ufeff") or "coding" in text else "\ufeff" + text


def long_line(random: Random, text: str) -> str:
    long = random.choice((repr("é" * 3000), " + ".join(["1"] * 900), "[" + "0, " * 2000 + "]"))
    rows = rows_of(text)
    return "".join([*rows[:-1], *_closed(rows[-1:]), f"long = {long}\n"])


def decorate(random: Random, text: str) -> str:
    if (found := _statement(random, text)) is None:
        return text
    rows, statement, _ = found
    functions = [node for node in ast.walk(parsed(text)) if isinstance(node, ast.FunctionDef)]
    if functions:
        statement = random.choice(functions)
    at = first_row(statement)
    indent = indent_of(rows[at])
    lines = [
        "@staticmethod  # {}",
        "# {} between",
        "",
        "@a.b(\n    c,  # {}\n)",
        "# @tf.function",
        "@\\\ntf.function",
    ]
    added = [indent + line.replace("{}", str(n)) + "\n" for n, line in enumerate(random.sample(lines, 2))]
    return "".join([*rows[:at], *added, *rows[at:]])


def annotate(random: Random, text: str) -> str:
    assigns = [
        node
        for node in ast.walk(parsed(text))
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    ]
    if not assigns:
        return text
    target = random.choice(assigns).targets[0]
    rows = rows_of(text)
    row = rows[target.lineno - 1].encode()
    at = target.end_col_offset or 0
    rows[target.lineno - 1] = (
        row[:at] + random.choice((b": Any", b" = y", b" = self.kept", b"[0]")) + row[at:]
    ).decode()
    return "".join(rows)


def move_function_in(random: Random, text: str) -> str:
    """A whole file becomes the body of a method, called once."""
    inside = in_strings(text)
    lines = [
        row if index in inside or not row.strip() else "        " + row
        for index, row in enumerate(rows_of(text))
    ]
    return "".join(["class Job:\n", "    def run(self):\n", *_closed(lines), "Job().run()\n"])


def split_import(random: Random, text: str) -> str:
    forms = (
        "import tensorflow as tf; import numpy as np",
        "import tensorflow",
        "import tensorflow.compat.v1 as tf",
        "from tensorflow import keras, data, function",
        "try:\n    import tensorflow as tf\nexcept ImportError: tf = None",
        "if True: import tensorflow as tf",
        "import tensorflow as \\\n    tf",
        "import os; \\\nimport tensorflow as tf",
    )
    return text.replace("import tensorflow as tf", random.choice(forms), 1)


def _comment(random: Random) -> str:
    return random.choice(_COMMENTS).replace("{}", str(random.randrange(1000)))


def _closed(rows: list[str]) -> list[str]:
    """The lines, the last of which has an end."""
    return [*rows[:-1], rows[-1] if rows[-1].endswith(("\r", "\n")) else rows[-1] + "\n"] if rows else rows


def _without_comment(row: str, statement: ast.stmt) -> tuple[str, str]:
    """A line up to the end of the statement, and the comment behind it."""
    data = row.encode()
    at = statement.end_col_offset or 0
    return data[:at].decode(), data[at:].decode().strip()


def _own_line(comment: str, row: str) -> list[str]:
    return [f"{indent_of(row)}{comment}\n"] if comment else []


def _wrapped(random: Random, text: str, head: list[str], tail: list[str], deeper: str = "") -> str:
    """Some neighbouring statements of a block under a header of their own."""
    if (found := _statement(random, text)) is None:
        return text
    rows, statement, block = found
    inside = in_strings(text)
    last = block[min(block.index(statement) + random.choice((0, 0, 1, 2, 5)), len(block) - 1)]
    if not own_rows(rows, last):
        return text
    start, end = first_row(statement), last_row(last)
    indent, deeper = indent_of(rows[start]), deeper or random.choice(("    ", "  ", "\t", "    "))
    lines = [
        row if start + index in inside or not row.strip() else indent + deeper + row.removeprefix(indent)
        for index, row in enumerate(rows[start:end])
    ]
    above = [f"{indent}{row}\n" for line in head for row in line.split("\n")]
    below = [f"{indent}{row}\n" for row in tail]
    return "".join([*rows[:start], *above, *_closed(lines), *below, *rows[end:]])


def _rewritten(random: Random, text: str, written: Callable[[str], str]) -> str:
    """An expression of the text written otherwise."""
    nodes = [
        node
        for node in ast.walk(parsed(text))
        if isinstance(node, ast.Call | ast.Name | ast.Attribute | ast.BinOp)
        and node.lineno == node.end_lineno
    ]
    if not nodes:
        return text
    node = random.choice(nodes)
    rows = rows_of(text)
    row = rows[node.lineno - 1].encode()
    value = row[node.col_offset : node.end_col_offset].decode()
    rows[node.lineno - 1] = (
        row[: node.col_offset].decode() + written(value) + row[node.end_col_offset :].decode()
    )
    return "".join(rows)
