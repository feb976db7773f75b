cimport cython

from .. cimport native_arrays
from ..config cimport Limits, limits
from .fallback cimport as_arrays
from .operands cimport wrap
from .state cimport ArrayState, host_sibling, of_host

cdef class Whole:
    cdef public object function, options
    cdef public bint dots, makes, spreads
    cdef public Py_ssize_t integers, most, operands, places

cdef object _cls, _ndarray, _dtype, _float64, _float32
cdef frozenset _BLAS, _NUMBERS, _PLAIN
cdef list _NOTHING

@cython.locals(
    force=Limits, most=Py_ssize_t, pairs=Py_ssize_t, given=list, hosts=list,
    array=ArrayState,
)
cdef _answer(Whole rule, tuple arguments, dict keywords)

@cython.locals(
    hosts=list, inner=list, array=ArrayState, place=Py_ssize_t, within=Py_ssize_t,
    size=Py_ssize_t,
)
cdef list _hosts(
    Whole rule, items, list given, Py_ssize_t most, Py_ssize_t operands, Py_ssize_t deepest
)

cdef _of_one(Whole rule, ArrayState x, Py_ssize_t most)
cdef _shown(Whole rule, result, ArrayState x, host)

cdef _of_shape(Whole rule, shape)

cdef _of_vectors(Whole rule, ArrayState x, ArrayState y)

cdef bint _is_plain(x) except -1
