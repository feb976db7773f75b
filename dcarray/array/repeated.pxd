cimport cython

from ..backends.buffer cimport Buffer
from ..config cimport current
from ..lazy.cutting cimport keep_within_bounds
from ..lazy.execute cimport evaluate
from ..lazy.graph cimport Binding, Value
from ..lazy.tape cimport Tape
from .state cimport ArrayState, showing

@cython.locals(
    key=list, values=list, arrays=list, array=ArrayState, binding=Binding, value=Value,
    other=Value, buffer=Buffer, place=Py_ssize_t, tape=Tape,
)
cdef _again(function, tuple arguments, dict keywords)

@cython.locals(key=list)
cdef bint _name(x, list key) except -1

cdef object _SAME, _NAMES
