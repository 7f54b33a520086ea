"""From bytes to Python text and back: encodings, notebooks and their cells, magics, comments, positions, syntax.

`Source.from_bytes(data, "train.py")` has the `text` that is linted; `source.apply(edits)` gives the source with the edits, which
`encode()` writes as the file was: its encoding, line ends and, in a notebook, all but the lines that changed.
"""
