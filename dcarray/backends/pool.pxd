cimport cython

from ..config cimport current

cdef class Shelf:
    cdef public object blocks, size
    cdef public Py_ssize_t fewest

cdef class Pool:
    cdef dict __dict__
    cdef object __weakref__
    cdef public object _lock, _clear
    cdef public dict _shelves, _serving
    cdef public long long _held, _returned, _hits, _patience
    cdef public object _latest

    @cython.locals(shelf=Shelf)
    cpdef tuple rent(self, nbytes)
    @cython.locals(left=Py_ssize_t)
    cpdef tuple rent_from(self, Shelf shelf)
    @cython.locals(shelf=Shelf)
    cpdef give_back(self, block, size, large=*, settings=*)
