cimport cython

from ..config cimport current
from .kept cimport copied, sliced
from .operands cimport wrap
from .state cimport ArrayState, host_sibling, settled, writable
from .storing cimport stored_on_host
from .updating cimport assigned

@cython.locals(view=ArrayState)
cpdef get_item(ArrayState x, key)
cdef _element(ArrayState x, ArrayState view)
@cython.locals(index=ArrayState, items=list, place=Py_ssize_t)
cdef _hosted(ArrayState x, key)
@cython.locals(other=ArrayState, simple=bint, same=bint)
cpdef set_item(ArrayState x, key, value)
cdef bint _is_basic(key) except -1
cdef bint _is_simple(key)
