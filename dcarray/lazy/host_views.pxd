cimport cython

from ..backends.buffer cimport Buffer

@cython.locals(key=tuple)
cpdef host_view(host, Buffer buffer)

cdef dict _views
