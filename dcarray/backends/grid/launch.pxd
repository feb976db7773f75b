cimport cython

cdef class Launch:
    cdef public object kernel
    cdef public tuple grid, group, units
    cdef public list numbers
    cdef public Py_ssize_t at
    @cython.locals(numbers=list, units=tuple, at=Py_ssize_t, place=Py_ssize_t, offset=cython.longlong)
    cpdef once(self, backend, list memories, scalars, list offsets=*)
