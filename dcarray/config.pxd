from . cimport native

cdef object _active

cpdef current()
