cpdef tuple user_place()
cdef bint _is_ours(dict space)
cdef object _getframe
