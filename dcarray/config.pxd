cdef object _active

cpdef current()
