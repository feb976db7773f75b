cimport cython

from .. cimport native
from ..lazy.graph cimport Expr, Form, Value

@cython.locals(place=Py_ssize_t, recent=tuple, form=Form, found=Form)
cpdef Form form_on_device(op, first, second, device)

@cython.locals(expr=Expr, form=Form, source=Value)
cpdef tuple element_of(Value value, view)

cdef object _STORED
cdef list _recent
