cimport cython

from .. cimport native
from ..backends.buffer cimport Buffer, device_buffer
from ..backends.gate cimport Gate
from ..backends.residents cimport moment
from .callers cimport user_place
from .errstate cimport capture
from .execute cimport evaluate
from .graph cimport Form, Value, value_of
from .record cimport written

cdef class Written:
    cdef public Form form
    cdef public tuple places, sources

cdef class Called:
    cdef public object backend, name, start, tries
    cdef public list operands
    cdef public dict options
    cdef public tuple places, results, views

cdef class Tape:
    cdef public object device, is_single, label, settings
    cdef public list results, steps

    @cython.locals(record=Written, sources=list, place=Py_ssize_t, number=Py_ssize_t)
    cpdef bint run(self, list values) except -1
    @cython.locals(
        memories=list, number=Py_ssize_t, value=Value, buffer=Buffer, copies=dict,
        place=Py_ssize_t, now=double,
    )
    cpdef bint _call(self, Called step, list values) except -1

cdef Gate _gate
cdef object _STORED
