cimport cython

from .callers cimport user_place
from .graph cimport Value
from .known cimport Found, find
from .obstacles cimport obstacles
from .running cimport begin, run

@cython.locals(value=Value)
cpdef evaluate(values)

@cython.locals(value=Value, stack=list, first=list)
cdef _evaluate(Value wanted)

cpdef write(target, source)

cdef object _PENDING, _STORED
