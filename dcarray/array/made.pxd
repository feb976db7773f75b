cimport cython

from ..backends.buffer cimport Buffer, device_buffer
from ..backends.gate cimport Gate
from ..backends.starting cimport Allocator
from ..lazy.callers cimport user_place
from ..lazy.execute cimport evaluate
from ..lazy.graph cimport Form, Value, value_of
from ..lazy.record cimport written_one
from .kept cimport copied, number_for
from .state cimport ArrayState, showing

cdef class Empty:
    cdef public object device, nbytes, view
    cdef public Allocator allocator

cdef dict _empty, _filled, _called
cdef Gate _gate

cpdef tuple name_of(shape, dtype, device)

@cython.locals(found=Empty, buffer=Buffer)
cpdef empty(cls, tuple name)

@cython.locals(lies=Empty, found=tuple, form=Form, value=Value, source=ArrayState)
cpdef filled(cls, tuple name, number, device)
