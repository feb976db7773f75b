from .. cimport native

cdef class Lock:
    cdef public object _changed
    cdef public list _free
    cdef public long long _owner, _count, _waiting
    cpdef bint acquire(self) except -1
    cpdef release(self)
    cpdef _wait(self)
