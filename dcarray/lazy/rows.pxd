cimport cython

from ..backends.buffer cimport Buffer, device_buffer
from ..backends.gate cimport Gate
from .execute cimport evaluate
from .graph cimport Value, value_of

cpdef Value multiply(Value x, shown, Value y, seen)
cpdef Value take(Value x, shown, Value places, seen)

@cython.locals(one=Buffer, other=Buffer)
cdef Value _done(backend, work, Value x, Value y, kinds, number, lies, shape)

cdef Gate _gate
cdef object _STORED
