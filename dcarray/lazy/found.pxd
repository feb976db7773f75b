cimport cython

@cython.freelist(16)
cdef class Found:
    cdef public object leaves, scalars, stored, values
    cdef public object accumulator, plan, raised

@cython.locals(found=Found)
cpdef Found found_of(plan, leaves, scalars, stored, values)
