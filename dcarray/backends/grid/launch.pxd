cdef class Launch:
    cdef public object kernel
    cdef public tuple grid, group
    cdef public list numbers
    cpdef once(self, backend, list memories, scalars)
