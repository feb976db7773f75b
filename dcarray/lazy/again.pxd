cimport cython

from .. cimport native
from ..config cimport current
from .found cimport Found, found_of
from .graph cimport Expr, Form, Value

cdef class Pattern:
    cdef public object head, plan, settings
    cdef public tuple apart, forms
    cdef public bytes codes, counts, leaves, numbers, parents, places

@cython.locals(pattern=Pattern)
cpdef Found matched(Form form, Value root, head, bint is_stored)

@cython.locals(
    forms=tuple, codes=bytes, counts=bytes, parents=bytes, places=bytes, firsts=bytes,
    count=Py_ssize_t, k=Py_ssize_t, at=Py_ssize_t, code=cython.uint, values=list,
    leaves=list, scalars=list, readers=list, apart=tuple, value=Value, expr=Expr,
)
cdef Found _compared(Pattern pattern, Value root, bint is_stored)

@cython.locals(expr=Expr)
cdef _operand(Value value, Py_ssize_t place)

@cython.locals(at=Py_ssize_t)
cdef bint _differ(list things, bytes pairs) except -1

cdef object _PENDING
cdef unsigned int _LEAF, _NUMBER
