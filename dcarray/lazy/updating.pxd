cimport cython

from ..backends.buffer cimport Buffer
from .callers cimport user_place
from .execute cimport evaluate
from .graph cimport Expr, Form, Value
from .found cimport Found
from .known cimport find
from .locking cimport Lock
from .obstacles cimport obstacles
from .record cimport written_one
from .running cimport begin, run

@cython.locals(
    found=Found, first=list, buffer=Buffer, whole=bint, through=bint, form=Form
)
cpdef bint store(Value target, shown, Value source, Value spare=*) except -1

@cython.locals(value=Value)
cpdef bint store_copy(Value target, shown, Value source, Form form) except -1

@cython.locals(buffer=Buffer, expr=Expr)
cdef bint _can_go(Value target, Value source) except -1

@cython.locals(expr=Expr, readers=list, found=Found)
cdef Found _found(Value target, shown, Value source, Value spare)

@cython.locals(buffer=Buffer, views=tuple, leaf=Value, read=Buffer, place=Py_ssize_t)
cdef bint _is_read_later(Found found, Value target, shown) except -1

@cython.locals(expr=Expr)
cdef bint _is_dear(Value source) except -1

@cython.locals(expr=Expr)
cdef bint _keeps_much(Value source) except -1

@cython.locals(readers=list, reader=Value)
cdef bint _only(Value target, Value source) except -1
cdef bint _is_wanted(Value reader) except -1

@cython.locals(readers=list, waiting=list, kept=list, reader=Value, value=Value)
cdef list _waiting_for(Value target, computed)

cpdef bint touches(long long first, long long size, long long other, long long length) except -1

cdef dict _apart
cdef list _last
cdef object _gone, _PENDING, _RUNNING, _STORED

cdef Lock _lock
