"""What a file says to the other files of its project: what it defines, what it does with what it imports, what it calls.

Made once for each file and kept in the cache; `tflint_perf.project.linked` follows the paths from file to file.
"""
