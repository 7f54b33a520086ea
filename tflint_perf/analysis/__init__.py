"""What is known of a script: rooms, each of which asks only those that stand below it in this list.

`model` is the front, with the questions that a rule may ask and what each part is made of; `links` says what a file tells
the others; `rewriting`, what moving, tracing or staging code would break; `pipelines`, what becomes of datasets;
`training`, what a program does as it trains; `execution`, which code runs where and how often; `values`, what expressions
give; `conventions`, what users call things; `python`, the tree with its scopes and names; `apis`, what libraries' functions
are and do; `limits`, how far values are followed.

    model = Model(cst.parse_module(text), text)
    for call in model.calls_to("tf.data.Dataset.map"):
        model.value(call).kind  # "dataset"
"""
