cimport cython

from .. cimport native
from ..backends.buffer cimport Buffer
from ..lazy.callers cimport user_place
from ..lazy.cutting cimport keep_within_bounds
from ..lazy.errstate cimport capture
from ..lazy.graph cimport Binding, Expr, Form, Value
from ..lazy.record cimport converted, scalar_for, written, written_one
from ..config cimport current
from .forms cimport element_of, form_on_device
from .immediate cimport at_once
from .state cimport ArrayState, known, showing

@cython.locals(
    sources=list, key=list, array=ArrayState, binding=Binding, value=Value,
    buffer=Buffer, form=Form, named=bint, forms=dict, element=tuple,
    numbers=tuple, mask=int,
)
cdef _quickly(op, tuple operands, target=*)

cpdef Value updated_on_host(op, ArrayState x, other)

cdef bint _fits(view, ArrayState x) except -1

@cython.locals(array=ArrayState)
cdef bint _are_aligned(tuple operands)

cdef tuple _with_numbers(tuple operands)

cpdef record_on_device(op, ArrayState x, other)
cpdef Value updated_on_device(op, ArrayState x, other)

@cython.locals(value=Value, made=Value, form=Form, buffer=Buffer, mask=int)
cdef _function_on_device(op, ArrayState x, tuple operands)

@cython.locals(array=ArrayState, element=tuple)
cdef bint _learned(op, ArrayState x, other) except -1

@cython.locals(
    first=Value, second=Value, form=Form, right=ArrayState, buffer=Buffer, element=tuple,
    mask=int,
)
cdef Value _written_on_device(op, ArrayState x, other, int way)

cdef _recorded(cls, Form form, tuple sources, device, int mask, tuple place)

@cython.locals(expr=Expr)
cdef _shown(cls, Value value)

cdef int _FORWARD, _REFLECTED, _IN_PLACE

cdef class Function:
    cdef public object arrays, numpy, row
    cdef public Py_ssize_t nin

cdef _with_out(Function function, tuple operands, dict keywords)
