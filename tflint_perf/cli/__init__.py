"""What `check` does, and what only a person at a terminal asks for: `--write-baseline`, `--add-noqa`, `--watch`, pages.

`options` has its options, and `run` is one run of it, from the arguments to the exit code. The commands are in `commands.py`.
"""
