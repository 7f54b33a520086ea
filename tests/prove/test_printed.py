"""Whether two runs printed the same."""

from __future__ import annotations

import pytest

from tflint_perf.prove.printed import compare_printed, lines_of


def verdict(
    original: str, fixed: str, *, control: str | None = None, again: str | None = None, whole: bool = True
) -> str:
    found = compare_printed(
        [lines_of(original), lines_of(original if again is None else again)],
        lines_of(original if control is None else control),
        [lines_of(fixed)],
        whole=whole,
    )
    return found.verdict


@pytest.mark.parametrize(
    ("original", "fixed"),
    [
        ("", ""),
        ("step 1 loss 0.5123\n", "step 1 loss 0.5124\n"),  # a unit in the last place
        ("loss 0.51234567\n", "loss 0.51234569\n"),
        ("took 12.5 s\n", "took 1.5 s\n"),
        ("epoch 1, time: 3.2, loss 0.5\n", "epoch 1, time: 0.2, loss 0.5\n"),
        ("3.1 it/s\n", "99.5 it/s\n"),
        ("1200 images/sec\n", "9200 images/sec\n"),
        ("elapsed 00:01:30\n", "elapsed 00:00:07\n"),
        ("saved to /tmp/a/run/x\n", "saved to /tmp/b/run/y\n"),
        ("<Model object at 0x7f11aa>\n", "<Model object at 0x7f22bb>\n"),
        ("10/10 ━━━━━━━━ 3s 12ms/step - loss: 0.5\n", "10/10 ━━━━━━━━ 1s 2ms/step - loss: 0.5\n"),
        (
            "1/3 ━━ 2s 1s/step\n2/3 ━━━ 1s\n3/3 ━━━━ 1s 5ms/step - loss: 0.5\n",
            "3/3 ━━━━ 0s 1ms/step - loss: 0.5\n",
        ),
        ("\r10%|#\r50%|##\r100%|####| loss=0.5\n", "\r100%|####| loss=0.5\n"),
        ("1\b2\n", "2\n"),
        ("\x1b[1mloss\x1b[0m 1.0\n", "loss 1.0\n"),
        ("nan\n", "nan\n"),
        ("a\n1/1 ━━━━ 0s 54ms/step\nb\n1/1 ━━━━ 0s 20ms/step\n", "a\nb\n"),
        ("32/32 [======] - 1s 20ms/step\nb\n", "b\n"),
        ("1/1 - 0s - 54ms/step\nb\n", "b\n"),
        ("4/Unknown 1s 862ms/step\nb\n", "b\n"),
        ("Epoch 1/5\n32/32 ━━━━ 1s 3ms/step - loss: 0.5\nb\n", "b\n"),
        # The bars that are left may be those of other calls.
        ("2/2 ━━━━ 0s - loss: 0.5\n2/2 ━━━━ 0s - loss: 0.7\n", "2/2 ━━━━ 0s - loss: 0.7\n"),
        ("b\n", "1/1 ━━━━ 0s 54ms/step\nb\n"),
    ],
)
def test_these_print_the_same(original: str, fixed: str) -> None:
    assert verdict(original, fixed) == "same"


@pytest.mark.parametrize(
    ("original", "fixed"),
    [
        ("loss 0.5123\n", "loss 0.5223\n"),
        ("step 1\nstep 2\n", "step 1\n"),
        ("accuracy 90\n", "accuracy 91\n"),
        ("learning rate 0.1\n", "learning rate 0.2\n"),
        ("done\n", "failed\n"),
        ("loss 0.5\n", "loss nan\n"),
        ("10/10 ━━━━ 3s 12ms/step - loss: 0.5000\n", "10/10 ━━━━ 3s 12ms/step - loss: 0.7000\n"),
        (
            "Epoch 1/2\n4/4 [====] - 1s 3ms/step - loss: 0.5 - mae: 0.2\n",
            "4/4 [====] - 1s 3ms/step - loss: 0.5 - mae: 0.3\n",
        ),
        ("1/10 done\n", ""),  # a line of the program's that only begins like one of Keras's
        ("2/3 [the second]\n3/3 [the third]\n", ""),
        ("tf.Tensor(0.5, shape=(), dtype=float32)\n", "tf.Tensor(0.5, shape=(), dtype=float16)\n"),
    ],
)
def test_these_do_not(original: str, fixed: str) -> None:
    assert verdict(original, fixed) == "different"


def test_numbers_may_differ_as_far_as_rounding_moves_them() -> None:
    assert verdict("loss 0.5123\n", "loss 0.5200\n", control="loss 0.5133\n") == "same"
    assert verdict("loss 0.5123\n", "loss 0.5323\n", control="loss 0.5133\n") == "different"


def test_what_the_original_prints_otherwise_each_time_is_not_compared() -> None:
    assert verdict("id 17 loss 0.5\n", "id 99 loss 0.5\n", again="id 54 loss 0.5\n") == "same"
    assert verdict("id 17 loss 0.5\n", "id 99 loss 0.7\n", again="id 54 loss 0.5\n") == "different"


def test_an_original_that_prints_other_lines_each_time_tells_nothing() -> None:
    assert verdict("a\n", "a\n", again="b\n") == "unknown"


def test_where_a_run_is_stopped_its_last_lines_may_be_missing() -> None:
    original = "step 1\nstep 2\nstep 3\nstep 4\n"
    assert verdict(original, "step 1\nstep 2\nstep 3\n", whole=False) == "same"
    assert verdict(original, "step 1\nstep 9\nstep 3\n", whole=False) == "different"


def test_the_first_line_that_differs_is_told() -> None:
    found = compare_printed([["a", "b 1"], ["a", "b 1"]], ["a", "b 1"], [["a", "b 2"]], whole=True)
    assert found.why == "line 2: `b 2` instead of `b 1`"


@pytest.mark.parametrize(
    ("original", "fixed", "why"),
    [
        ("a\nb\nc\n", "a\nc\n", "2 lines instead of 3; line 2: `c` instead of `b`"),
        ("a\nb\n", "a\n", "1 line instead of 2; line 2, `b`, is missing"),
        ("a\n", "a\nb\n", "2 lines instead of 1; line 2, `b`, is new"),
        (
            "4/4 ━━━━ 1s 3ms/step - loss: 0.5\n",
            "4/4 ━━━━ 2s 3ms/step - loss: 0.7\n",
            "Keras: `loss: 0.7` instead of `loss: 0.5`",
        ),
    ],
)
def test_which_line_differs_is_told_where_their_number_does_too(original: str, fixed: str, why: str) -> None:
    found = compare_printed([lines_of(original)], lines_of(original), [lines_of(fixed)], whole=True)
    assert (found.verdict, found.why) == ("different", why)
