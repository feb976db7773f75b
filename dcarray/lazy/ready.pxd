cimport cython

from ..backends.buffer cimport Buffer, device_buffer
from ..backends.gate cimport Gate
from ..backends.residents cimport moment
from ..backends.starting cimport Allocator, Starter
from .graph cimport Value
from .found cimport Found

cdef class Ready:
    cdef public object backend, device
    cdef public Allocator allocator
    cdef public Starter starter
    cdef public list sizes

    @cython.locals(
        memories=list, buffers=list, now=double, value=Value, buffer=Buffer, valid=set,
        copies=dict, sizes=list, place=Py_ssize_t, allocator=Allocator,
    )
    cpdef list run(self, Found found, into=*)

cdef Gate _gate
