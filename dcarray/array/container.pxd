from .indexing cimport get_item, set_item
from .state cimport ArrayState

cdef class Container(ArrayState):
    pass
