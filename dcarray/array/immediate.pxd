cimport cython

from ..config cimport limits
from .operands cimport spreads, wrap
from .state cimport ArrayState, of_host, settled, writable

cdef object _ndarray

@cython.locals(
    hosts=list, array=ArrayState, foreign=bint, count=double, limit=Py_ssize_t,
    size=Py_ssize_t,
)
cpdef at_once(cls, function, tuple operands, out=*)

cdef _at_once_into(ArrayState out, function, list hosts, device, Py_ssize_t limit)

@cython.locals(y=ArrayState, length=Py_ssize_t, count=double)
cpdef small(ArrayState x, a, Py_ssize_t size, other, Py_ssize_t limit)

cpdef wrapped(ArrayState x, result)
