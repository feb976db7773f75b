from .. cimport native

cpdef capture()
cdef object _variable, _last_state, _last_mask, _last_filters, _last_head
cdef Py_ssize_t _last_length
cdef bint _escalates
