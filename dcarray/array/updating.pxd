cimport cython

from ..backends.buffer cimport Buffer
from ..lazy.graph cimport Binding, Form, Value
from ..lazy.updating cimport store, store_copy
from .forms cimport element_of
from .kept cimport number_for, part_of
from .state cimport ArrayState, known

@cython.locals(target=Value, spare=Value, operand=ArrayState, bound=Binding, goes=bint)
cpdef update(ArrayState x, Value value, other)

@cython.locals(
    binding=Binding, target=Value, other=ArrayState, bound=Binding, source=Value,
    buffer=Buffer, form=Form, element=tuple,
)
cpdef bint assigned(ArrayState x, key, value) except -1

cdef dict _copies
