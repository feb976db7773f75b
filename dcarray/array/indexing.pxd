cimport cython

from .. cimport native
from ..config cimport current
from .kept cimport copied, sliced
from .keys cimport hosted, is_basic, is_simple
from .masks cimport masked
from .operands cimport wrap
from .state cimport ArrayState, host_sibling, settled, writable
from .storing cimport stored_on_host
from .updating cimport assigned

@cython.locals(view=ArrayState)
cpdef get_item(ArrayState x, key)
cdef _element(ArrayState x, ArrayState view)
@cython.locals(other=ArrayState, simple=bint, same=bint)
cpdef set_item(ArrayState x, key, value)
