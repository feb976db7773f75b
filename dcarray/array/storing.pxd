cimport cython

from ..lazy.execute cimport write
from ..lazy.graph cimport Binding, Value
from ..lazy.updating cimport store
from .kept cimport part_of
from .state cimport ArrayState, known

@cython.locals(other=Binding, source=Value, target=Value)
cpdef bint stored_on_host(ArrayState x, key, ArrayState value) except -1
