cimport cython

from ..config cimport current

cdef long long _LARGE

cdef class Shelf:
    cdef public list blocks
    cdef public Py_ssize_t fewest, size

cdef class Pool:
    cdef dict __dict__
    cdef object __weakref__
    cdef public object _lock, _clear
    cdef public dict _shelves, _serving
    cdef public long long _held, _returned, _hits, _patience
    cdef public long long _latest

    @cython.locals(shelf=Shelf)
    cpdef tuple rent(self, nbytes)
    @cython.locals(shelf=Shelf)
    cpdef Shelf shelf_of(self, nbytes)
    @cython.locals(blocks=list, size=Py_ssize_t, left=Py_ssize_t)
    cpdef take(self, Shelf shelf)
    cpdef give_back(self, block, size)
    @cython.locals(size=Py_ssize_t)
    cpdef put(self, Shelf shelf, block, Py_ssize_t large=*, settings=*)
