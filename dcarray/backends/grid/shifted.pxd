cimport cython

from .geometry cimport counted
from .launch cimport Launch
from .reductions cimport Parts

cdef class Shifted:
    cdef public object launch
    cdef public tuple sizes, limits
    @cython.locals(
        sizes=tuple, limits=tuple, offsets=list, place=Py_ssize_t,
        begin=cython.longlong, size=cython.longlong, offset=cython.longlong,
    )
    cpdef bint once(self, backend, places, list memories, scalars) except -1

@cython.locals(key=list)
cpdef tuple lying(tuple shape, places, bint is_reduced)

cpdef shifted_of(launch, tuple shape, places, bint is_reduced)
