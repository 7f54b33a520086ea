"""What one pass over a libcst tree learns about a TensorFlow script."""
