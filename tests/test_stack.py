"""Room for long chains of calls."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from tflint_perf.stack import on_deep_stack


def deep(calls: int) -> int:
    return 1 + deep(calls - 1) if calls else 0


def test_functions_may_call_each_other_deeper_than_usual_and_the_limit_comes_back() -> None:
    usual = sys.getrecursionlimit()
    assert on_deep_stack(lambda: deep(30_000)) == 30_000
    assert sys.getrecursionlimit() == usual


def test_the_end_of_one_thread_leaves_the_others_their_depth() -> None:
    usual = sys.getrecursionlimit()
    begun, ended = Event(), Event()
    with ThreadPoolExecutor() as pool:
        first = pool.submit(on_deep_stack, lambda: begun.wait(30))

        def second() -> int:
            begun.set()
            ended.wait(30)
            return deep(30_000)

        last = pool.submit(on_deep_stack, second)
        assert first.result()
        ended.set()
        assert last.result() == 30_000
    assert sys.getrecursionlimit() == usual
