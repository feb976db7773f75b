cimport cython

from ..backends.buffer cimport Buffer, device_buffer
from ..backends.gate cimport Gate
from .graph cimport Value
from .known cimport Found

cdef class Ready:
    cdef public object backend, device, start
    cdef public list sizes

    @cython.locals(
        memories=list, buffers=list, now=double, value=Value, buffer=Buffer, valid=set,
        copies=dict, sizes=list, place=Py_ssize_t,
    )
    cpdef list run(self, Found found, into=*)

cdef Gate _gate
cdef object _monotonic
