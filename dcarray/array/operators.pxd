cimport cython

from ..config cimport current
from .immediate cimport small, wrapped
from .quick cimport record_on_device, updated_on_device
from .state cimport ArrayState
from .updating cimport update

cdef _forward(ArrayState x, op, function, other)
cdef _reflected(ArrayState x, op, function, other)
cdef _unary(ArrayState x, op, function)
cdef _in_place(ArrayState x, op, function, other)
cdef _compare(ArrayState x, op, function, other)
cdef _power(ArrayState x, other, bint in_place=*)
