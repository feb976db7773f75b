cimport cython

from .. cimport native_arrays
from ..config cimport limits
from .operands cimport spreads, wrap
from .state cimport ArrayState, of_host, settled, writable

cdef object _ndarray, _float64, _float32, _int64
cdef frozenset _scalars
cdef dict _floats64, _floats32, _whole64, _whole_floats64, _whole_floats32

@cython.locals(table=dict)
cpdef constant(dtype, number)

cdef _convert(list hosts)

@cython.locals(
    hosts=list, array=ArrayState, foreign=bint, number=bint, count=double, limit=Py_ssize_t,
    size=Py_ssize_t,
)
cpdef at_once(cls, function, tuple operands, out=*)

@cython.locals(array=ArrayState)
cdef _alone(cls, function, x)

cdef _at_once_into(ArrayState out, function, list hosts, device, Py_ssize_t limit)

@cython.locals(y=ArrayState, length=Py_ssize_t, count=double)
cpdef small(op, ArrayState x, a, Py_ssize_t size, other, Py_ssize_t limit)

cpdef wrapped(ArrayState x, result)

cpdef number_first(ArrayState x, ufunc, number)
