cimport cython

from .. cimport native
from ..config cimport current
from .again cimport matched
from .alike cimport reduction_of, related
from .company cimport is_part, next_along
from .found cimport Found, found_of
from .graph cimport Binding, Expr, Form, Value
from .host_ready cimport is_host_alone

@cython.locals(
    expr=Expr, found=Found, inner=Expr, form=Form, value=Value, read=Value, leaves=list,
    scalars=list, values=list, counts=list, key=list, others=dict, stack=list,
    sources=tuple, views=tuple, waits=bint, mark=cython.longlong, place=Py_ssize_t,
    slot=Py_ssize_t, readers=list, outputs=list, whole=tuple, bounds=tuple,
    along=Py_ssize_t, own=Py_ssize_t, room=Py_ssize_t, anywhere=bint,
)
cpdef Found find(Value root, view, ending=*, into=*)

@cython.locals(bounds=tuple)
cdef tuple _bounds_now()

cdef Found _alone(Value root, Form form, tuple sources)
cdef object _PENDING
cdef tuple _bounds
cdef long long _walks
cdef dict _plans
