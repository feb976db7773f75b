cimport cython

from ..lazy.execute cimport write
from ..lazy.graph cimport Binding, Value
from .kept cimport part_of
from .state cimport ArrayState

@cython.locals(other=Binding, source=Value, target=Value)
cpdef bint stored_on_host(ArrayState x, key, ArrayState value) except -1
