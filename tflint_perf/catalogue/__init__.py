"""The catalogue: which rules there are, here and in plugins, what they say of themselves, and what was measured of them.

`catalogue()` gives a `RuleInfo` by code without running a rule's file; `registry` runs those that a text needs; `evidence`
is what experiments found, and decides with the claim whether a rule is on.
"""
