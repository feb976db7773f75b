cimport cython

from ..lazy.choosing cimport choose
from ..lazy.graph cimport Binding, Value
from .state cimport ArrayState, showing

@cython.locals(binding=Binding, bound=Binding, value=Value, truths=Value, found=Value)
cpdef masked(ArrayState x, ArrayState mask)
