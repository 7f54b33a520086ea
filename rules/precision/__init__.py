"""Precision and what else is set for a whole run: data types, switches, logging, results that nobody gets."""
