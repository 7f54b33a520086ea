"""`python -m tflint_perf` is the same as `tflint-perf`."""

import os
import sys

# Python puts the current folder first: what lies there is to be read, not imported.
if sys.path and os.path.realpath(sys.path[0]) == os.path.realpath("."):
    del sys.path[0]

from tflint_perf.start import main

if __name__ == "__main__":
    main()
