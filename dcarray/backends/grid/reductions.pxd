cimport cython

from .geometry cimport Axes, collapsed, counted, is_wide
from .launch cimport Launch

cdef class Parts:
    cdef public Launch first, last
    cdef public object nbytes
    cpdef once(self, backend, list memories, scalars, list offsets=*)

@cython.locals(
    offsets=list, rows=list, gone=list, stay=list, reduced=Axes, kept=Axes, steps=tuple,
    first=Axes, rest=Axes, inner=Axes, begin=Launch, last=Launch,
)
cpdef Parts in_parts(backend, program, tuple shape, places)

@cython.locals(numbers=list)
cdef Launch _launch(
    program, items, Axes kept, Axes reduced, offsets, dtype, tile, parts
)
cdef _tile(Axes kept, Axes reduced, layout)
cdef _fastest(Axes axes)

@cython.locals(strides=list)
cdef Axes _picked(shape, rows, list axes)
