cimport cython

from .. cimport native
from ..lazy.graph cimport Expr, Form, Value
from ..lazy.models cimport lying, moved, views_of
from ..lazy.record cimport form_of
from .state cimport ArrayState

@cython.locals(place=Py_ssize_t, recent=tuple, form=Form, found=Form)
cpdef Form form_on_device(op, first, second, device)

@cython.locals(expr=Expr, form=Form, source=Value)
cpdef tuple element_of(Value value, view)

cdef object _STORED
cdef list _recent
cdef dict _models

@cython.locals(name=tuple, model=Form, form=Form)
cpdef Form worked_out(op, operands, key, bint named)

cdef bint _is_aligned(ArrayState x, view) except -1
