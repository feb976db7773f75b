cdef class Allocator:
    cdef public object backend
    cpdef allocate(self, nbytes)

cdef class Starter:
    cdef public object usual
    cpdef start(self, list memories, scalars)
