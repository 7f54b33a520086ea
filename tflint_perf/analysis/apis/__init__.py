"""What the functions and classes of TensorFlow, Keras, NumPy and others are and do, by qualified name.

Facts about libraries, and no code of a user: which kind of value a call gives, which ops only compute, which draw random
numbers, which methods Keras compiles.

    kind_of_call("tf.reduce_mean")  # "tensor"
"""
