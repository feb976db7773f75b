cimport cython

from ..config cimport current
from .graph cimport Expr, Value

@cython.locals(expr=Expr, nodes=cython.longlong, held=cython.longlong)
cpdef bint within_bounds(Value value)

cdef object _settings
cdef long long _nodes, _held
