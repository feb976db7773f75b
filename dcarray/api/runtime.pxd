cimport cython

from ..array.state cimport ArrayState
from ..lazy.graph cimport Binding
