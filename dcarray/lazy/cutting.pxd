cimport cython

from .counting cimport within_bounds
from .execute cimport evaluate
from .graph cimport Expr, Value

cpdef keep_within_bounds(Value value)

cdef list _before_last_round(Value value)

@cython.locals(expr=Expr, inner=Expr, found=dict, stack=list)
cdef list _exprs_below(Value value)
