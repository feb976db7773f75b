cimport cython

from ..backends.buffer cimport Buffer, device_buffer
from .graph cimport Expr, Value
from .found cimport Found
from .ready cimport Ready

cpdef bint is_host_alone(device)

cdef class HostReady(Ready):
    cdef public object plan, prepared
    cdef public list offsets, places

    @cython.locals(
        roots=list, addresses=list, buffers=list, value=Value, buffer=Buffer,
        place=Py_ssize_t, watch=cython.longlong, expr=Expr,
    )
    cpdef list run(self, Found found, into=*)

cdef object _now
