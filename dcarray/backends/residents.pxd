from .. cimport native

cdef dict on_devices
cdef Py_ssize_t _limit

cpdef enter(buffer)
