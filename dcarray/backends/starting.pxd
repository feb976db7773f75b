cimport cython

cdef class Allocator:
    cdef public object backend
    cpdef allocate(self, nbytes)

cdef class Starter:
    cdef public object usual
    cpdef start(self, list memories, scalars)

cdef class InParts(Starter):
    cdef public Allocator allocator
    cdef public Starter first, last
    cdef public object nbytes
    @cython.locals(given=list)
    cpdef start(self, list memories, scalars)
