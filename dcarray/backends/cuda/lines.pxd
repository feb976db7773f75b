cimport cython

from ..starting cimport Allocator
from .functions cimport Launcher

cdef class Lines:
    cdef public object _backend, _raw
    cdef public Allocator _allocator
    cdef public dict _launchers
    @cython.locals(launcher=Launcher)
    cpdef dot(self, x, y, dtype, Py_ssize_t count, tuple lies)
    @cython.locals(launcher=Launcher)
    cpdef pick(self, x, places, tuple kinds, Py_ssize_t count, tuple lies)
