cimport cython

from .. cimport native
from .graph cimport Expr, Form, Value

@cython.locals(value=Value, reader=Value, readers=list)
cpdef Py_ssize_t next_along(
    Value root, Py_ssize_t place, list values, list counts, Py_ssize_t most,
    Py_ssize_t room, list stack,
)

@cython.locals(expr=Expr, form=Form, source=Value, place=Py_ssize_t)
cdef bint _goes_along(Value value, Value root, bint may_grow, Py_ssize_t room)

cpdef bint is_part(seen, view)

cdef object _PENDING, _STORED
