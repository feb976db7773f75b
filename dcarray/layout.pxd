cimport cython

@cython.freelist(64)
cdef class Layout:
    cdef public object offset, shape, strides
    cdef public bint plain
