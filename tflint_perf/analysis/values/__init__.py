"""What expressions give: kinds of values, followed through assignments, attributes, calls and other files.

*Kind*: "dataset", "tensor", "model", "array", … or "unknown", which makes rules silent. *Outside*: what other files say.
*Alternatives*: the objects, functions or classes that a value is one of, where branches or callers give different ones.

    infer.value(node).kind
    infer.value(node).alternatives  # of `Photos() if args.photos else Scans()`, both
    infer.bindings_reaching(name)  # the assignments whose value the name may have here
    infer.integers.most(node)  # the greatest integer that it may be
    source(infer, loop.iterable)  # what a loop goes over, behind `enumerate`, `zip` and progress bars (`iterables`)
    written_out(infer, node)  # the items of a sequence that stands in the source (`written`)
    made_by(infer, binding)  # the new container that it gives to its name (`new_containers`)
"""
