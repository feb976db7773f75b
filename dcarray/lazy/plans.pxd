
cdef class Plan:
    cdef object __weakref__
    cdef public object inner_axis, pattern, program, reduced, shape, usual
    cdef public tuple leaves, outputs, sources
    cdef public dict ready
