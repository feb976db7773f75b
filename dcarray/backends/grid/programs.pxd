cimport cython

from .geometry cimport Axes, collapsed, counted, is_wide, runs, turned_leaves
from .launch cimport Launch
from .reductions cimport Parts, in_parts
from .shifted cimport Shifted, lying, shifted_of

cdef class GridExecutable:
    cdef public object backend, program
    cdef public dict _prepared, _shifted
    cdef public Py_ssize_t _leaves
    cdef public bint _is_short, _passed
    @cython.locals(key=tuple, shifted=Shifted)
    cpdef start(self, tuple shape, places, bint is_reduced, list memories, scalars)
    @cython.locals(axes=Axes, offsets=list, rows=list)
    cpdef Launch _laid_out(self, tuple shape, places)

@cython.locals(numbers=list, row=tuple, ndim=Py_ssize_t)
cdef Launch _in_order(backend, program, Axes axes, list offsets)

@cython.locals(numbers=list, row=tuple, ndim=Py_ssize_t)
cdef Launch _by_runs(backend, program, Axes axes, list offsets, run)

cdef tuple _WITHOUT_GAPS
