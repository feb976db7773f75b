from .. cimport native

cpdef int capture() except? -9
cdef object _variable, _last_state, _last_filters, _last_head
cdef int _last_mask
cdef Py_ssize_t _last_length
cdef bint _escalates
cdef dict _space
