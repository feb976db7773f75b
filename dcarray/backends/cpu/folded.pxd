cimport cython

from ... cimport native
from ...config cimport current

cdef class Folded:
    cdef public object bound, executable, identity, order, pool, settings, shape
    cdef public tuple strides
    cdef public bytes frame
    cdef public bint is_silent
    cdef public Py_ssize_t inputs
    cdef public long long entry, place, scratch, stop

    @cython.locals(numbers=bytes, reached=cython.longlong)
    cpdef start(self, list addresses, arrays, scalars, reduced, long long watch)
