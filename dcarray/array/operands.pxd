cimport cython

from ..config cimport limits
from .state cimport ArrayState, of_host

cpdef wrap(cls, result, device=*)

@cython.locals(common=tuple, shape=tuple, changed=bint, count=object)
cpdef bint spreads(operands, Py_ssize_t limit) except -1

@cython.locals(lengths=list, place=Py_ssize_t)
cdef tuple _broadcast(tuple a, tuple b)

cdef object _ndarray, _generic, _asarray
