cimport cython

from .. cimport native
from .callers cimport user_place
from .graph cimport Binding, Value
from .found cimport Found
from .known cimport find
from .locking cimport Lock
from .obstacles cimport obstacles
from .running cimport begin, run

@cython.locals(value=Value)
cpdef evaluate(values)

@cython.locals(stack=list, first=list)
cdef _evaluate(Value wanted)

@cython.locals(binding=Binding, first=list)
cdef list _evaluated(Value value)
cpdef write(target, source)

cdef object _PENDING, _STORED
cdef Lock _lock
