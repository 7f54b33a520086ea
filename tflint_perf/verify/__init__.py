"""Runs the rules' experiments and judges them. Nothing here is imported by linting, and only `child` and `probes`
run in the process that imports TensorFlow.
"""
