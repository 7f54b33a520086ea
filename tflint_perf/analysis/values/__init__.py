"""What expressions give: kinds of values, followed through assignments, attributes, calls and other files.

*Kind*: "dataset", "tensor", "model", "array", … or "unknown", which makes rules silent. *Outside*: what other files say.

    infer.value(node).kind
    infer.bindings_reaching(name)  # the assignments whose value the name may have here
"""
