cimport cython

from ..config cimport current
from .state cimport ArrayState, of_host

cpdef wrap(cls, result, device=*)

@cython.locals(common=tuple, shape=tuple, changed=bint, count=object)
cpdef bint spreads(operands, limit) except -1

@cython.locals(lengths=list, place=Py_ssize_t)
cdef tuple _broadcast(tuple a, tuple b)

cdef object _ndarray, _generic
