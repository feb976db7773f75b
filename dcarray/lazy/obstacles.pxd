cimport cython

from .graph cimport Expr, Form, Value

@cython.locals(
    found=list, stack=list, seen=set, expr=Expr, form=Form, read=Value, inner=Expr
)
cpdef list obstacles(Value root)
