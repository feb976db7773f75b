cimport cython

from ..config cimport current
from .state cimport ArrayState, of_host

@cython.locals(x=ArrayState)
cdef _as_array(cls, result, list given, list foreign, device)
cpdef as_arrays(cls, result, list given, list foreign, device)
cdef _made(cls, result, device)
cdef bint _is_view(result, host) except -1

cdef object _ndarray, _generic
