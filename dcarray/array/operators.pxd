cimport cython

from .. cimport native
from ..config cimport Limits, limits
from .container cimport Container
from .immediate cimport small, wrapped
from .quick cimport record_on_device, updated_on_device, updated_on_host
from .state cimport ArrayState, settled, writable
from .updating cimport update

@cython.locals(force=Limits, size=Py_ssize_t, limit=Py_ssize_t)
cdef _forward(ArrayState x, op, function, other)
@cython.locals(force=Limits, size=Py_ssize_t, limit=Py_ssize_t)
cdef _reflected(ArrayState x, op, function, other)
cdef _unary(ArrayState x, op, function)
@cython.locals(size=Py_ssize_t, limit=Py_ssize_t)
cdef _in_place(ArrayState x, op, function, other)
@cython.locals(y=ArrayState)
cdef _product(ArrayState x, other)
cdef _compare(ArrayState x, op, function, other)
cdef _power(ArrayState x, other, bint in_place=*)

cdef class Operators(Container):
    pass
