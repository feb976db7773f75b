cimport cython

from .. cimport native, native_arrays
from ..config cimport Limits, limits
from .immediate cimport small, wrapped
from .quick cimport record_on_device, updated_on_device, updated_on_host
from .state cimport ArrayState, settled, writable
from .updating cimport update

cdef class Way:
    cdef public object function, op, ufunc

cdef object _matmul

@cython.locals(force=Limits, size=Py_ssize_t, limit=Py_ssize_t)
cpdef forward(ArrayState x, Way way, other)
@cython.locals(force=Limits, size=Py_ssize_t, limit=Py_ssize_t)
cpdef reflected(ArrayState x, Way way, other)
cpdef unary(ArrayState x, Way way)
@cython.locals(size=Py_ssize_t, limit=Py_ssize_t)
cpdef in_place(ArrayState x, Way way, other)
@cython.locals(y=ArrayState, first=Py_ssize_t, second=Py_ssize_t)
cpdef product(ArrayState x, other)
cpdef compare(ArrayState x, Way way, other)
