cimport cython

from .. cimport native
from ..backends.buffer cimport Buffer
from .host_views cimport host_view

cdef object _PENDING, _STORED

@cython.freelist(64)
cdef class Value:
    cdef object __weakref__
    cdef public object binding, device, dtype, error, layout, state, view
    cdef public int output
    cdef public list readers
    cdef public long long mark, slot
    cdef public Expr expr
    cdef public Buffer buffer

@cython.freelist(64)
cdef class Binding:
    cdef object __weakref__
    cdef public object _device, _root, former
    cdef public Value _value
    cdef public list hosts

cdef class Form:
    cdef public object device, inner, inner_axis, kin, op, plan, shape, signature
    cdef public tuple arrays, fits, inputs, number, outputs
    cdef public list patterns
    cdef public bint plain
    cdef public Form model

# Long chains die one by one without deep calls: a tuple is between an expression and the
# values that it reads, and tuples see to that.
@cython.freelist(64)
cdef class Expr:
    cdef public object named
    cdef public int errstate
    cdef public tuple place, results, sources
    cdef public Form form
    cdef public long long first, held, nodes, serial, widest
    cpdef count(self, long long nodes, long long held, long long widest, long long first)

@cython.locals(value=Value)
cpdef Value value_of(view, device, Expr expr=*, int output=*, Buffer buffer=*)

@cython.locals(binding=Binding)
cpdef Binding binding_of(Value value, root=*, device=*)

@cython.locals(expr=Expr)
cpdef Expr expr_of(Form form, tuple sources, int errstate, tuple place)
