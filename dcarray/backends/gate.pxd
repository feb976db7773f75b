cdef class Gate:
    cdef public object _changed
    cdef public list _inside
    cdef public bint _closed
    cpdef enter(self)
    cpdef leave(self)
