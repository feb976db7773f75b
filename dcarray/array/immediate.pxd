cimport cython

from ..config cimport current
from .operands cimport spreads, wrap
from .state cimport ArrayState, of_host

cdef object _ndarray

@cython.locals(hosts=list, array=ArrayState, foreign=bint)
cpdef at_once(cls, function, tuple operands, out=*)

cdef _at_once_into(ArrayState out, function, list hosts, device, limit)

@cython.locals(y=ArrayState)
cpdef small(ArrayState x, a, other, limit)

cpdef wrapped(ArrayState x, result)
