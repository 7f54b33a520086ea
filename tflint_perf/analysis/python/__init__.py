"""A script as Python sees it: one walk over the tree, its scopes, what names are bound to, and in which order code runs.

Nothing here knows TensorFlow, but for `names`, which spells `tensorflow` and `keras` in one way: `tf.function` is the same
through every form of import. *Binding*: what gives a name its value. *Block*: statements that run one after the other.

    walk = Walk(module)
    Names(walk).qualified(walk.calls["Dense"][0].func)  # "keras.layers.Dense"
"""
