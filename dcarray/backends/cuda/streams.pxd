cimport cython

@cython.freelist(2)
cdef class Stream:
    cdef object __weakref__
    cdef public object _cupy, _home, capture, lane, owner, pointer

cdef class Streams:
    cdef object __weakref__
    cdef public object device
    cdef public Stream main
    cdef public bint several
    cdef public dict passed
    cdef public object _enter, _current, _made, _given, _known, _lock, _event, _dropped, _lane, _spare
