cimport cython

from ..backends.buffer cimport Buffer, device_buffer
from .found cimport Found
from .graph cimport Expr, Value
from .plans cimport Plan
from .ready cimport Ready

cdef class HostAnywhere(Ready):
    cdef public object executable
    cdef public dict launches

    @cython.locals(
        plan=Plan, roots=list, addresses=list, strides=list, buffers=list, value=Value,
        buffer=Buffer, place=Py_ssize_t, watch=cython.longlong, expr=Expr,
    )
    cpdef list run(self, Found found, into=*)

    cdef _launch(self, Plan plan, key, target)

cdef Buffer _room(backend, long long nbytes)

cdef object _MISSING, _now
cdef long long SMALL
