"""Which code runs where, and how often: compiled or eager, on each step or once an epoch, behind which conditions.

*Step loop*: each iteration trains or infers once. *Epoch loop*: it holds a step loop. *Guard*: a condition that keeps a
statement from running on each step. *Gradient step*: a tape, the gradient that is asked of it, and what applies it.

    loops.kind(loop)          # "step", "epoch" or "none"
    compiled.is_compiled(node)
    is_under_tape(infer, node)  # whether a tape records it (`tapes`)
    trains_by(infer, call)      # "update", "batch", "fit" or None (`trains`)
"""
