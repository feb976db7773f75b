cimport cython

from ... cimport native
from ...config cimport current

cdef class Way:
    cdef public object bound
    cdef public tuple aliased
    cdef public bytes frame, numbers
    cdef public list scalars
    cdef public long long entry, place, scratch, stop, work

cdef class Prepared:
    cdef object _executable, _shape
    cdef Py_ssize_t _inputs
    cdef list _masks
    cdef tuple _strides
    cdef dict _ways

    @cython.locals(
        count=Py_ssize_t, place=Py_ssize_t, other=Py_ssize_t, masks=list, way=Way,
        address=cython.longlong, reached=cython.longlong, work=cython.longlong,
        shared=object,
    )
    cpdef start(self, list addresses, scalars, watch, arrays)

cdef class PreparedAlone(Prepared):
    cdef object _alone
    cdef list _given, _numbers
    cdef tuple _places, _slots
    cdef Way _way

    @cython.locals(way=Way, work=cython.longlong, reached=cython.longlong)
    cpdef start(self, list addresses, scalars, watch, arrays)

    @cython.locals(
        count=Py_ssize_t, slot=Py_ssize_t, place=Py_ssize_t, masks=list,
        address=cython.longlong,
    )
    cpdef list _operands(self, list addresses, scalars, watch)

@cython.locals(place=Py_ssize_t)
cdef bint _are_same(list before, now) except -1

cdef _lay(Way way, scalars)
