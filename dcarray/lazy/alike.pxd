cimport cython

from .. cimport native
from ..config cimport current
from .again cimport Pattern
from .found cimport Found, found_of
from .graph cimport Expr, Form, Value
from .plans cimport Plan, Template, placed

cdef class Kin:
    cdef public list likenesses

cdef class Likeness:
    cdef public object op, settings
    cdef public Template template
    cdef public Pattern pattern
    cdef public tuple apart, kins

@cython.locals(kin=Kin)
cdef Kin _kin_of(Form form)

@cython.locals(kin=Kin, likeness=Likeness)
cpdef Found related(Value root, Form form, ending, into)

@cython.locals(
    kins=tuple, pattern=Pattern, codes=bytes, counts=bytes, parents=bytes, places=bytes,
    firsts=bytes, count=Py_ssize_t, k=Py_ssize_t, at=Py_ssize_t, place=Py_ssize_t,
    code=Py_ssize_t, values=list, leaves=list, views=list, scalars=list, readers=list,
    value=Value, expr=Expr, form=Form, sources=tuple, seen=tuple, template=Template,
    plan=Plan, kin=Kin, last=Expr, middle=Expr,
)
cdef Found _compared(Likeness likeness, Value root, ending, into)

cdef _spread(view, shape)
cdef Expr _expr(Value value)
cdef bint _meet(list things, bytes pairs) except -1

@cython.locals(place=Py_ssize_t, entry=list)
cdef bint _is_frequent(last, first, middle) except -1
cdef bint _is_ready(Template template, Value root) except -1

@cython.locals(template=Template, plan=Plan)
cpdef Found reduction_of(Value root, view, ending)

cdef object _PENDING
cdef list _often
cdef Py_ssize_t _LEAF, _NUMBER, OFTEN
