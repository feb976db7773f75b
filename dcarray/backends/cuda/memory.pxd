cimport cython

from ..pool cimport Pool, Shelf
from ..starting cimport Allocator
from .streams cimport Stream, Streams

@cython.freelist(16)
cdef class Block:
    cdef object __weakref__
    cdef public Pool _home
    cdef public Streams _streams
    cdef public Shelf _shelf
    cdef public object pointer
    cdef public unsigned long long nbytes
    cdef public tuple readers
    cdef public Stream writer
@cython.locals(block=Block)
cpdef Block block_of(Pool home, nbytes, Stream writer, Shelf shelf=*)

cdef object _is_ending

cdef class DeviceAllocator(Allocator):
    cdef public Pool pool
    cdef public Streams streams

cdef class Room:
    cdef public Allocator _allocator
    cdef public Block _block
    @cython.locals(block=Block)
    cpdef at_least(self, unsigned long long nbytes)
