cimport cython

from .. cimport native

from .residents cimport enter, moment

@cython.freelist(64)
cdef class Buffer:
    cdef object __weakref__
    cdef public object root, _sharer, home, pair
    cdef public dict _copies
    cdef public set _valid
    cdef public object start, users
    cdef public long long nbytes
    cdef public double last_used
    cpdef _put(self, device, memory)

@cython.locals(buffer=Buffer)
cdef Buffer _buffer(nbytes)

@cython.locals(buffer=Buffer)
cpdef Buffer device_buffer(device, memory, nbytes)
