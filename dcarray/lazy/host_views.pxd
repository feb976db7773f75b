cimport cython

from .. cimport native
from ..backends.buffer cimport Buffer

@cython.locals(key=tuple)
cpdef host_view(host, Buffer buffer)

cpdef host_layout(host, Buffer buffer)

cdef dict _views
