cimport cython

from .. cimport native
from .graph cimport Expr, Form, Value, expr_of, value_of
from .locking cimport Lock
from .models cimport lying, moved, views_of


@cython.locals(key=tuple)
cpdef Form form_of(op, kinds, signature=*, order=*)

@cython.locals(name=tuple, model=Form)
cdef Form _form_like(op, kinds, signature, order)

@cython.locals(given=list, dtypes=tuple, place=Py_ssize_t)
cpdef tuple converted(Form form, sources)

@cython.locals(expr=Expr)
cpdef tuple written(Form form, tuple sources, device, int errstate, tuple place)

@cython.locals(expr=Expr, value=Value)
cpdef Value written_one(Form form, tuple sources, device, int errstate, tuple place)

@cython.locals(
    form=Form, sources=tuple, nodes=cython.longlong, held=cython.longlong,
    first=cython.longlong, widest=cython.longlong, nbytes=cython.longlong, read=Value,
    source=Expr, readers=list, count=Py_ssize_t, index=Py_ssize_t,
)
cdef _link(Expr expr, tuple results)

cdef dict _forms, _models

cdef long long _serial

cpdef as_scalar(number, dtype)

@cython.locals(last=tuple)
cpdef scalar_for(Form form, number, Py_ssize_t place)
cdef Lock _lock
