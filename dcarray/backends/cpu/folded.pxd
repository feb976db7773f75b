cimport cython

from ... cimport native
from ...config cimport current

cdef class Way:
    cdef public object bound, identity, settings
    cdef public bytes frame
    cdef public bint is_silent
    cdef public long long entry, place, scratch, stop

    cpdef take(self, bound, long long entry, long long stop, identity)

cdef class Folded:
    cdef public object executable, order, pool, shape
    cdef public tuple strides
    cdef public Way way
    cdef public Py_ssize_t inputs

    @cython.locals(way=Way)
    cpdef Way _way(self, reduced, settings)

    @cython.locals(way=Way, numbers=bytes, reached=cython.longlong)
    cpdef start(self, list addresses, arrays, scalars, reduced, long long watch)
