cimport cython

from ..config cimport current
from .graph cimport Expr, Value

@cython.locals(expr=Expr, nodes=cython.longlong, held=cython.longlong, bounds=tuple)
cpdef bint within_bounds(Value value)

cdef tuple _bounds
