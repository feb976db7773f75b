cimport cython

from .. cimport native
from ..backends.buffer cimport Buffer, device_buffer
from ..backends.gate cimport Gate
from ..backends.residents cimport moment
from .execute cimport evaluate
from .graph cimport Value, value_of

cpdef Value multiply(Value x, shown, Value y, seen)
cpdef Value take(Value x, shown, Value places, seen)

@cython.locals(one=Buffer, other=Buffer)
cdef Value _done(backend, work, Value x, Value y, kinds, number, lies, view)

@cython.locals(copies=dict)
cdef _memory(Buffer buffer, backend)

cdef _plain(length, dtype)

cdef dict _views

cdef Gate _gate
cdef object _STORED
