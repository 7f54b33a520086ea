"""Acme's own rules, one a file, with their experiments in the folder `fixtures`."""
