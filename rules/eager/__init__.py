"""Eager mode: steps, loops and models that Python drives op by op where a graph could."""
