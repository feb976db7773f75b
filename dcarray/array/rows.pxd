cimport cython

from ..lazy.graph cimport Binding, Value
from ..lazy.rows cimport multiply, take
from .state cimport ArrayState, showing

@cython.locals(bound=Binding, other=Binding, first=Value, second=Value, found=Value)
cpdef multiplied(ArrayState x, ArrayState y)

@cython.locals(bound=Binding, other=Binding, value=Value, indices=Value, found=Value)
cpdef taken(ArrayState x, ArrayState places)
