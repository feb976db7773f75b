cimport cython

from ..config cimport current
from .operands cimport wrap
from .state cimport ArrayState

cpdef get_item(ArrayState x, key)
@cython.locals(other=ArrayState)
cpdef set_item(ArrayState x, key, value)
cdef bint _is_simple(key)
