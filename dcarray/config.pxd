cimport cython

from . cimport native

cdef object _active

cpdef current()

cdef class Limits:
    cdef public object settings
    cdef public Py_ssize_t small, whole
    cdef public bint auto, numbers

cdef Limits _limits

@cython.locals(found=Limits)
cpdef Limits limits()
