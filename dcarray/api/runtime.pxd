cimport cython

from ..array.state cimport ArrayState
from ..lazy cimport execute
from ..lazy.graph cimport Binding

@cython.locals(array=ArrayState, binding=Binding, stack=list, values=list)
cdef _evaluate(tuple arrays)
