from .. cimport native

cdef dict on_devices
cdef Py_ssize_t _limit
cdef double _moment

cpdef double moment() except? -1

cpdef enter(buffer)
