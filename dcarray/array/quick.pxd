cimport cython

from ..backends.buffer cimport Buffer
from ..lazy.callers cimport user_place
from ..lazy.cutting cimport keep_within_bounds
from ..lazy.errstate cimport capture
from ..lazy.graph cimport Binding, Expr, Form, Value
from ..lazy.record cimport as_scalar, converted, written, written_one
from ..config cimport current
from .operands cimport wrap
from .state cimport ArrayState, of_host, showing

@cython.locals(
    sources=list, key=list, array=ArrayState, binding=Binding, value=Value,
    buffer=Buffer, form=Form, named=bint, known=dict, element=tuple,
    numbers=tuple,
)
cdef _quickly(op, tuple operands)

@cython.locals(array=ArrayState)
cdef bint _are_aligned(tuple operands)

cdef tuple _with_numbers(tuple operands)

@cython.locals(hosts=list, array=ArrayState)
cpdef at_once(cls, function, tuple operands)

cpdef record_on_device(op, ArrayState x, other)

@cython.locals(form=Form)
cpdef Value updated_on_device(op, ArrayState x, other)

@cython.locals(expr=Expr, form=Form, source=Value)
cpdef tuple element_of(Value value, view)

@cython.locals(array=ArrayState, element=tuple)
cdef tuple _learned(op, ArrayState x, other)

@cython.locals(
    first=Value, second=Value, form=Form, right=ArrayState, buffer=Buffer, element=tuple,
    binding=Binding,
)
cdef tuple _known_on_device(op, ArrayState x, other)

@cython.locals(value=Value)
cdef _recorded(cls, Form form, tuple sources, device, mask, tuple place)

cdef object _STORED
cdef dict _on_devices, _on_hosts

cdef class Function:
    cdef public object arrays, nin, numpy, row
