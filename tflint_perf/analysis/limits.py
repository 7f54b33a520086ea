"""How far values are followed: whoever searches stops here, since what is further away is seldom what a reader means, and takes
time."""

from __future__ import annotations

# Through functions that call functions, and callers of callers.
CALLS_DEEP = 5
# Through names that stand for names, sides of operators and parts of containers.
NAMES_DEEP = 12
# What one expression may stand for: with more, nothing is known of it.
ALTERNATIVES = 8
# Ways from one function to another.
MANY_WAYS = 100
# Places in all, where one search goes both ways.
MANY_PLACES = 1600
# Questions of one circle, all of which lead back to each other, that are asked anew.
MANY_ASKED_ANEW = 200
# What a name stands for, by what others stand for: as deep as Python's own stack allows.
DEFINITIONS_DEEP = 150
