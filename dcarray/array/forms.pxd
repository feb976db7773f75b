cimport cython

from .. cimport native
from ..lazy.graph cimport Expr, Form, Value
from ..lazy.models cimport lying, moved, views_of
from ..lazy.record cimport form_of, written_one
from .state cimport ArrayState

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
cdef dict _models

@cython.locals(name=tuple, model=Form, form=Form)
cpdef Form worked_out(op, operands, key, bint named)

cdef bint _is_aligned(ArrayState x, view) except -1
