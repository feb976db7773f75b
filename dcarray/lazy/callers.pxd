cimport cython

from .. cimport native

@cython.locals(place=tuple)
cpdef tuple user_place()
cdef bint _is_ours(dict space)
