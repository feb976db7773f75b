cimport cython

from .. cimport native
from ..config cimport current
from .graph cimport Value
from .found cimport Found
from .host_ready cimport is_host_alone
from .locking cimport Lock
from .plans cimport Plan
from .ready cimport Ready

@cython.locals(value=Value)
cpdef begin(values)

@cython.locals(found=Found, plan=Plan, ready=Ready, value=Value, buffers=list, place=Py_ssize_t, known=tuple)
cpdef run(group, device, into=*, accumulator=*)

cdef object _RUNNING, _STORED
cdef tuple _known
cdef Py_ssize_t _waiting
cdef Lock _lock
