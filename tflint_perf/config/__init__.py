"""What a run is asked for: configuration files, the keys that they may have, and the settings that come of them.

`keys` is the table of all keys, `reading` finds and checks files, `resolve` joins them with the command line, `selection` makes
sets of codes of what people write, `settings` holds the result. `discover` says which files belong to which settings, and
`files` finds them and writes one without ever losing it.
"""
