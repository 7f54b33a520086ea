"""One source to findings, and to a fixed source: screen, parse, ask the rules, suppress, fix.

`check.check_source(source, settings)` gives the findings, `fix.fix_source(source, settings)` makes the fixes. `registry` finds the
rules that are installed, `catalogue` what is to be shown of them, `evidence` and `cost` what experiments say.
"""
