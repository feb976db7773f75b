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

    cpdef list run(self, Found found, into=*)
    cpdef _start(self, Found found, list memories)

    @cython.locals(
        memories=list, buffers=list, now=double, value=Value, buffer=Buffer, valid=set,
        copies=dict, place=Py_ssize_t, allocator=Allocator,
    )
    cpdef list _run(self, Found found, into, list sizes)

cdef class Anywhere(Ready):
    cdef public object executable

cdef Gate _gate
