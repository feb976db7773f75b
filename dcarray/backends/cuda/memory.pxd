cimport cython

from ..pool cimport Pool
from ..starting cimport Allocator
from .streams cimport Stream, Streams

@cython.freelist(16)
cdef class Block:
    cdef object __weakref__
    cdef public Pool _home
    cdef public Streams _streams
    cdef public object _size, nbytes, pointer
    cdef public tuple readers
    cdef public Stream writer
@cython.locals(block=Block)
cpdef Block block_of(Pool home, nbytes, Stream writer, tuple rented=*)

cdef object _is_ending

cdef class DeviceAllocator(Allocator):
    cdef public Pool pool
    cdef public Streams streams
