cimport cython

from .state cimport ArrayState, settled

cpdef bint is_simple(key) except -1
cpdef bint is_basic(key) except -1

@cython.locals(index=ArrayState, items=list, place=Py_ssize_t)
cpdef hosted(ArrayState x, key)

cdef object _ndarray
