cimport cython

from .. cimport native
from ..backends.buffer cimport Buffer, device_buffer
from ..backends.gate cimport Gate
from .execute cimport evaluate
from .graph cimport Value, value_of

@cython.locals(chosen=Buffer, source=Buffer)
cpdef Value choose(Value x, Value mask, shown)

cdef Gate _gate
cdef object _STORED
