from .. cimport native
from ..config cimport limits
from .container cimport Container
from .state cimport ArrayState, writable
from .ways cimport Way, compare, forward, in_place, product, reflected, unary

cdef Way _ABSOLUTE, _ADD, _AND, _DIVMOD, _EQ, _FLOORDIV, _GE, _GT
cdef Way _IADD, _IAND, _IFLOORDIV, _ILSHIFT, _IMOD, _IMUL, _INVERT, _IOR
cdef Way _IPOW, _IRSHIFT, _ISUB, _ITRUEDIV, _IXOR, _LE, _LSHIFT, _LT
cdef Way _MOD, _MUL, _NE, _NEG, _OR, _POS, _POWER, _RSHIFT
cdef Way _SUB, _TRUEDIV, _XOR

cdef _power(ArrayState x, other, bint into=*)

cdef class Operators(Container):
    pass
