# Compiled without types of its own: closures.
cimport cython
