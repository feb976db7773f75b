cimport cython

from .. cimport native
from ..lazy.graph cimport Expr, Form, Value
from ..lazy.record cimport written_one

@cython.locals(place=Py_ssize_t, recent=tuple, form=Form, found=Form)
cpdef Form form_on_device(op, first, second, device)

@cython.locals(expr=Expr, form=Form, source=Value)
cpdef tuple element_of(Value value, view)

@cython.locals(
    expr=Expr, form=Form, kinds=list, sources=list, place=Py_ssize_t, read=Value,
    found=tuple, made=Value,
)
cdef tuple _spread(Value value, view, other)

@cython.locals(found=tuple, form=Form)
cpdef tuple spread_beside(op, Value first, shown, Value second, view)

cdef _repeated(seen, tuple shape)

cdef object _STORED
cdef dict _repetitions
cdef list _recent
