cimport cython

from .. cimport native
from ..lazy.graph cimport Binding, Value, binding_of
from ..lazy.host_views cimport host_view

cdef class ArrayState:
    cdef object __weakref__
    cdef public object _device, _host, _view
    cdef public Binding _binding
    cdef public bint _locked
    @cython.locals(binding=Binding, value=Value, view=ArrayState)
    cpdef _seen(self, shown)
    @cython.locals(binding=Binding, value=Value)
    cpdef Binding _bind(self, bint shared=*)
    @cython.locals(binding=Binding, value=Value)
    cpdef _before_write(self)
    @cython.locals(binding=Binding)
    cpdef _writable_array(self)

@cython.locals(x=ArrayState)
cpdef of_host(cls, array, device)


@cython.locals(array=ArrayState)
cpdef showing(cls, Value value)

@cython.locals(binding=Binding, value=Value)
cpdef settled(ArrayState x)

@cython.locals(binding=Binding, value=Value)
cpdef Value known(ArrayState x)

@cython.locals(binding=Binding)
cpdef writable(ArrayState x)

@cython.locals(binding=Binding, view=ArrayState, hosts=list)
cpdef host_sibling(ArrayState x, array)
