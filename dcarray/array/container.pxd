from .indexing cimport get_item, set_item
from .state cimport ArrayState, host_sibling

cdef class Container(ArrayState):
    pass
