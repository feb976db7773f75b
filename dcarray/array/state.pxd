cimport cython

from ..lazy.graph cimport Binding, Value, binding_of

cdef class ArrayState:
    cdef object __weakref__
    cdef public object _device, _host, _view
    cdef public Binding _binding
    cdef public bint _locked

@cython.locals(array=ArrayState)
cpdef showing(cls, Value value)

cdef object _new
