"""One source to findings, and to a fixed source: screen, parse, ask the rules, suppress, fix.

`check.check_source(source, settings)` gives the findings, `fix.fix_source(source, settings)` makes the fixes. `suppress` and
`baseline` take away what people do not want to hear of, `left_open` says which findings depend on callers in other files.
"""
