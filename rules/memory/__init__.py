"""Memory: tensors, tapes, graphs and models that are kept, and memory that TensorFlow takes of a GPU."""
