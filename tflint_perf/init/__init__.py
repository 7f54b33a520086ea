"""`tflint-perf init`: a first configuration, after a look at the project."""
