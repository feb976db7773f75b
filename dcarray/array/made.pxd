cimport cython

from ..backends.buffer cimport Buffer, device_buffer
from ..backends.gate cimport Gate
from ..backends.starting cimport Allocator
from ..lazy.execute cimport evaluate
from ..lazy.graph cimport Value, value_of
from .kept cimport copied, number_for
from .state cimport ArrayState, showing

cdef class Empty:
    cdef public object device, nbytes, view
    cdef public Allocator allocator

cdef dict _empty, _called
cdef Gate _gate

cpdef tuple name_of(shape, dtype, device)

@cython.locals(found=Empty, buffer=Buffer)
cpdef empty(cls, tuple name)

@cython.locals(lies=Empty)
cpdef filled(cls, tuple name, number)
