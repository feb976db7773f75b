cimport cython

cdef class Axes:
    cdef public tuple lengths, strides
    cdef public object size

@cython.locals(axes=list, joined=list, steps=list, before=list)
cpdef Axes collapsed(lengths, strides, order)

@cython.locals(one=Axes, lengths=tuple, strides=tuple, row=tuple, place=Py_ssize_t, axis=Py_ssize_t)
cpdef bint is_wide(offsets, axes) except -1

@cython.locals(offsets=list, rows=list, row=list, size=cython.longlong, begin=cython.longlong, stride=cython.longlong, rest=cython.longlong)
cpdef tuple counted(places)

@cython.locals(last=Py_ssize_t, k=Py_ssize_t, row=tuple)
cpdef turned_leaves(Axes axes, Py_ssize_t leaves)

@cython.locals(row=tuple, dense=list, k=Py_ssize_t)
cpdef runs(Axes axes, offsets, sizes, nbytes)
