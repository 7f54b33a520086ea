"""Many files: which there are, what they import, who calls whom, what earlier runs found, and who does the work.

`linting.lint_files(paths, settings)` goes through them. `modules` follows names from file to file, `linked` is what the others
say to one file, `cache` keeps what was found, and `pool` and `cluster` spread the work over processes and machines.
"""
