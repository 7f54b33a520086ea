"""The hunt for a fix that changes a program: generated TensorFlow programs that are run, and mutated files that are not.

python -m tests.hunt programs --count 10000
python -m tests.hunt mutated --count 10000 --sources ~/code
"""
