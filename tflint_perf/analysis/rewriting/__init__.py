"""What moving, repeating or dropping an evaluation may change: the one place that says whether a fix is safe.

A fix is safe when everything that it moves is *known* to give the same wherever it is evaluated, and to do nothing
else. Known are literals, names bound to values that can't change, and arrays and tensors that nobody else holds; ops
that compute and draw nothing; functions made of those. That nothing was *seen* to change a value proves nothing: an
alias, an object's method, another file, a callback may do it out of sight. So each question here is answered by a
`Doubt`, the first thing that is not known, or by None.

    for epoch in range(3):
        dataset = tf.data.Dataset.from_tensor_slices(x).batch(2)

is known to build the same dataset three times if `x = np.arange(6)` and `x` is only read in the file; it is not if `x`
is a parameter, is put into a list, or is handed to a function that may keep it.
"""

from tflint_perf.analysis.rewriting.doubts import Doubt

__all__ = ["Doubt"]
