"""Which fixes pay in the user's own training, and whether it still learns the same: both versions run in turn, in copies.

`tflint-perf prove train.py` goes through here: `session` is one such proof from its options to the exit code, `place` copies
the project, `fixes` makes any of the fixes in it, `proving` says which version runs next, `trial` is a run as plain data,
and `times`, `learning`, `printed` and `judging` say what runs show, without knowing what a process is.
"""
