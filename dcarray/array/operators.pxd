cimport cython

from ..config cimport current
from .quick cimport record_on_device, updated_on_device
from .state cimport ArrayState, of_host
from .updating cimport update

cdef _forward(ArrayState x, op, function, other)
cdef _reflected(ArrayState x, op, function, other)
cdef _unary(ArrayState x, op, function)
@cython.locals(y=ArrayState)
cdef _small(ArrayState x, a, other, limit)
cdef _wrapped(ArrayState x, result)
cdef _in_place(ArrayState x, op, function, other)
cdef _compare(ArrayState x, op, function, other)
cdef _power(ArrayState x, other, bint in_place=*)
