cimport cython

from ..config cimport current

cdef class Pool:
    cdef dict __dict__
    cdef object __weakref__
    cdef public object _lock, _clear
    cdef public dict _idle, _fewest, _sizes
    cdef public long long _held, _returned, _hits
    cdef public object _latest

    @cython.locals(left=Py_ssize_t)
    cpdef tuple rent(self, nbytes)
    cpdef give_back(self, block, size, large=*, settings=*)
