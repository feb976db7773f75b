cdef class Template:
    cdef object __weakref__
    cdef public object program
    cdef public tuple sources
    cdef public dict ready

cdef class Plan:
    cdef object __weakref__
    cdef public object inner_axis, pattern, program, reduced, shape, template, usual
    cdef public tuple leaves, outputs, sources
    cdef public dict ready
    cdef public bint is_kept

cpdef Plan placed(template, shape, tuple leaves, tuple outputs, inner_axis, reduced)
cpdef spread(view, shape)
