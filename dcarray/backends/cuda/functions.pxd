cimport cython

from ... cimport native
from ..starting cimport Starter
from .memory cimport Block
from .streams cimport Streams

cdef class Launcher(Starter):
    cdef public object backend, function, handle
    cdef public unsigned long long entry
    cdef public bint is_only
    cdef public list last
    cdef public bytes codes, sides, tail
    cdef public tuple sizes
    cdef public Streams streams
    @cython.locals(block=Block, given=list, stream=cython.ulonglong, streams=Streams, found=int)
    cpdef start(self, list memories, scalars)
