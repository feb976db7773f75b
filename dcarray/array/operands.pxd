cimport cython

from ..config cimport current
from .state cimport ArrayState, of_host

cpdef wrap(cls, result, device=*)
cdef object _ndarray, _generic
