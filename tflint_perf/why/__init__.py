"""Why there is a finding at a row, or none: the questions that a rule asked there, the answers, and what those rest on.

    tflint-perf check --why CODE:train.py:12

A rule asks the model, and each answer rests on others. Here the rule alone is asked again, on a model that knows nothing
yet, while every question is recorded (`recording`), with the names that matched a pattern of the analysis (`matching`).
Of the tree that this gives, the questions about the row are chosen, and of what they rest on what decided (`choosing`);
all become sentences with code and rows (`wording`), shown as text or as JSON (`telling`). `answering` does one after the
other. Nothing of this is imported by a run that does not ask.
"""
