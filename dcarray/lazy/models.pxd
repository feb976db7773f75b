cimport cython

from .. cimport native
from .graph cimport Form

@cython.locals(found=list)
cpdef list lying(kinds)

cpdef tuple views_of(kinds)

@cython.locals(form=Form)
cpdef Form moved(Form model, tuple inputs)
