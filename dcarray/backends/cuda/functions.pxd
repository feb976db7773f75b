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
    cpdef start(self, list memories, scalars)
    cpdef bint begin(self, list memories, list numbers, tuple sizes) except -1
    @cython.locals(block=Block, given=list, stream=cython.ulonglong, streams=Streams, found=int)
    cpdef bint _began(
        self, list memories, scalars, tuple sizes, bytes sides
    ) except -1

cdef dict _sides
