"""The commands and their options, and what only a person at a terminal asks for: baselines, `--add-noqa`, `--watch`, pages.

`commands` names the commands, `options` those of `check`, and `run` is one run of it, from the arguments to the exit code.
"""
