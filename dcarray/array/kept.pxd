cimport cython

from ..lazy.callers cimport user_place
from ..lazy.cutting cimport keep_within_bounds
from ..lazy.graph cimport Form, Value
from ..lazy.record cimport written_one
from .state cimport ArrayState, showing

cpdef ArrayState sliced(ArrayState x, key)
cpdef part_of(ArrayState x, key)
cdef _view_of(ArrayState x, key)

@cython.locals(name=list)
cdef tuple _named(ArrayState x, key)
cpdef ArrayState number_for(cls, number, dtype)

@cython.locals(form=Form, source=Value)
cpdef copied(ArrayState view)

@cython.locals(form=Form, source=Value, value=Value)
cpdef copied_densely(ArrayState x)

cdef dict _parts, _given, _copies, _dense
