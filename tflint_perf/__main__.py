"""`python -m tflint_perf` is the same as `tflint-perf`."""

from tflint_perf.cli import main

if __name__ == "__main__":
    main()
