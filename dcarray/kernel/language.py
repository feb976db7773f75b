"""The words of the kernel language.

A kernel is written in a subset of Python: arithmetic, comparisons, ``if``, ``while``,
``for ... in range``, conditional expressions, local variables and calls of other such
functions.  Beyond that it uses the names below:

* a `Primitive` is a scalar function that every renderer spells itself.  It bears the
  name of NumPy's ufunc where there is one, and means what that ufunc does;
* a `Fact` is known from dtypes alone, while a kernel is specialised: an ``if`` over
  facts keeps one of its branches;
* a `Conversion` is a cast to a dtype found from another dtype.

All of them can also be called on NumPy values, so that a kernel runs as plain Python.
They are plain classes: dataclasses would cost 4 ms of every `import dcarray`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from .fused import fused

__all__ = [
    "Conversion",
    "Fact",
    "INFINITY",
    "LANES",
    "LN2",
    "LOG2E",
    "NAN",
    "PI",
    "PRIMITIVES",
    "Primitive",
    "Scalar",
    "absolute",
    "accumulate",
    "add",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "as_signed",
    "as_unsigned",
    "bits",
    "bits_to_float",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "cast",
    "cbrt",
    "ceil",
    "conjugate",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "dtype_of",
    "epsilon",
    "equal",
    "exp",
    "exp2",
    "expm1",
    "exponent_bits",
    "float_to_bits",
    "floor",
    "fma",
    "fmod",
    "fraction_bits",
    "greater",
    "greater_equal",
    "imag",
    "invert",
    "is_boolean",
    "is_complex",
    "is_extension",
    "is_floating",
    "is_integer",
    "is_narrow",
    "is_signed",
    "is_single",
    "is_unsigned",
    "isfinite",
    "isinf",
    "isnan",
    "lane_value",
    "lane_votes",
    "largest",
    "ldexp",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "log10",
    "log1p",
    "log2",
    "make_complex",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "plain_sqrt",
    "popcount",
    "power",
    "real",
    "right_shift",
    "rint",
    "round_to_half",
    "sin",
    "sinh",
    "smallest",
    "sqrt",
    "subtract",
    "tan",
    "tanh",
    "trunc",
    "truncate_divide",
    "truncate_remainder",
    "widen",
]

DType: TypeAlias = np.dtype[Any]
Scalar: TypeAlias = Any
"""The annotation for operands and results of functions in the kernel language."""


# -------------------------------------------------------------------- primitives
class Primitive:
    """A scalar function without a body.

    Parameters
    ----------
    name : str
        The name in `nodes.Apply`.
    numpy : callable
        Its meaning on arrays.
    arity : int
    dtype : callable or None
        Dtypes of the arguments → dtype of the result.  None when ``numpy`` is a ufunc,
        which then also says to which dtypes arguments are promoted.
    """

    __slots__ = ("arity", "dtype", "name", "numpy")

    def __init__(
        self,
        name: str,
        numpy: Callable[..., Any],
        arity: int = 1,
        dtype: Callable[..., DType] | None = None,
    ) -> None:
        self.name = name
        self.numpy = numpy
        self.arity = arity
        self.dtype = dtype

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"

    def __call__(self, *arguments: Scalar) -> Scalar:
        return self.numpy(*arguments)


def _same(*dtypes: DType) -> DType:
    """The common dtype; the result has the dtype of the arguments."""
    return np.result_type(*dtypes)


def _floating(*dtypes: DType) -> DType:
    """The common dtype, of floating-point numbers."""
    found = np.result_type(*dtypes)
    if found.kind != "f":
        raise TypeError(f"needs floating-point numbers, got {found}")
    return found


def _part(dtype: DType) -> DType:
    """The dtype of the real part of ``dtype``."""
    return np.empty(0, dtype).real.dtype


def _pair(real: DType, imag: DType) -> DType:
    """The complex dtype whose parts are ``real``."""
    return np.result_type(real, imag, np.complex64)


def _unsigned(dtype: DType) -> DType:
    """The unsigned integer as wide as ``dtype``."""
    return np.dtype(f"u{dtype.itemsize}")


def _signed(dtype: DType) -> DType:
    """The signed integer as wide as ``dtype``."""
    return np.dtype(f"i{dtype.itemsize}")


def _float(dtype: DType) -> DType:
    """The binary floating-point dtype as wide as ``dtype``."""
    return np.dtype(f"f{dtype.itemsize}")


def _truncate_divide(x: Scalar, y: Scalar) -> Scalar:
    """Integer division towards zero, as in C; of no meaning where ``y`` is 0."""
    quotient = np.floor_divide(x, y)
    inexact = np.not_equal(np.multiply(quotient, y), x)
    negative = np.not_equal(np.less(x, 0), np.less(y, 0))
    return np.add(quotient, (inexact & negative).astype(quotient.dtype))


def _make_complex(x: Scalar, y: Scalar) -> Scalar:
    """``x + iy`` without arithmetic, so that signed zeros and NaN survive."""
    real, imag = np.broadcast_arrays(x, y)
    result = np.empty(real.shape, _pair(real.dtype, imag.dtype))
    result.real = real
    result.imag = imag
    return result


def _float_to_bits(x: Scalar) -> Scalar:
    return np.asarray(x).view(_unsigned(np.asarray(x).dtype))


def _bits_to_float(x: Scalar) -> Scalar:
    return np.asarray(x).view(_float(np.asarray(x).dtype))


# Arithmetic.  On bools, add is "or" and multiply is "and" (`infer` writes them so).
add = Primitive("add", np.add, 2)
subtract = Primitive("subtract", np.subtract, 2)
multiply = Primitive("multiply", np.multiply, 2)
divide = Primitive("divide", np.divide, 2)
negative = Primitive("negative", np.negative)
absolute = Primitive("absolute", np.absolute)
fmod = Primitive("fmod", np.fmod, 2)
fma = Primitive("fma", fused, 3, _floating)  # a product and a sum, rounded once
# A sum that a loop may make in any order, in several sums at once.
accumulate = Primitive("accumulate", np.add, 2, _floating)
power = Primitive("power", np.power, 2)
sqrt = Primitive("sqrt", np.sqrt)
# The same of 0 and of 2**-100 to 2**100, where no case needs a branch.
plain_sqrt = Primitive("plain_sqrt", np.sqrt, 1, _floating)
cbrt = Primitive("cbrt", np.cbrt)

# Integer division as C has it.  The divisor is not 0, and not -1 where the dividend is
# the smallest number: the processor may trap.  An ``if`` is no protection, as both of
# its branches may be computed; replace the divisor.
truncate_divide = Primitive("truncate_divide", _truncate_divide, 2, _same)
truncate_remainder = Primitive("truncate_remainder", np.fmod, 2, _same)

# Comparisons.
equal = Primitive("equal", np.equal, 2)
not_equal = Primitive("not_equal", np.not_equal, 2)
less = Primitive("less", np.less, 2)
less_equal = Primitive("less_equal", np.less_equal, 2)
greater = Primitive("greater", np.greater, 2)
greater_equal = Primitive("greater_equal", np.greater_equal, 2)
isnan = Primitive("isnan", np.isnan)
isinf = Primitive("isinf", np.isinf)
isfinite = Primitive("isfinite", np.isfinite)

# Bits.  The count of a shift is at least 0 and less than the number of bits.
bitwise_and = Primitive("bitwise_and", np.bitwise_and, 2)
bitwise_or = Primitive("bitwise_or", np.bitwise_or, 2)
bitwise_xor = Primitive("bitwise_xor", np.bitwise_xor, 2)
invert = Primitive("invert", np.invert)
left_shift = Primitive("left_shift", np.left_shift, 2)
right_shift = Primitive("right_shift", np.right_shift, 2)
popcount = Primitive("popcount", np.bitwise_count)
float_to_bits = Primitive("float_to_bits", _float_to_bits, 1, _unsigned)
bits_to_float = Primitive("bits_to_float", _bits_to_float, 1, _float)

# Rounding and the anatomy of a floating-point number.
floor = Primitive("floor", np.floor)
ceil = Primitive("ceil", np.ceil)
trunc = Primitive("trunc", np.trunc)
rint = Primitive("rint", np.rint)
copysign = Primitive("copysign", np.copysign, 2)
nextafter = Primitive("nextafter", np.nextafter, 2)
ldexp = Primitive("ldexp", np.ldexp, 2)
# The nearest number that a float16 can hold, as a float32 (see `narrow`).
round_to_half = Primitive(
    "round_to_half", lambda x: np.float32(np.float16(x)), 1, _same
)

# Elementary functions.
exp = Primitive("exp", np.exp)
exp2 = Primitive("exp2", np.exp2)
expm1 = Primitive("expm1", np.expm1)
log = Primitive("log", np.log)
log2 = Primitive("log2", np.log2)
log10 = Primitive("log10", np.log10)
log1p = Primitive("log1p", np.log1p)
sin = Primitive("sin", np.sin)
cos = Primitive("cos", np.cos)
tan = Primitive("tan", np.tan)
arcsin = Primitive("arcsin", np.arcsin)
arccos = Primitive("arccos", np.arccos)
arctan = Primitive("arctan", np.arctan)
arctan2 = Primitive("arctan2", np.arctan2, 2)
sinh = Primitive("sinh", np.sinh)
cosh = Primitive("cosh", np.cosh)
tanh = Primitive("tanh", np.tanh)
arcsinh = Primitive("arcsinh", np.arcsinh)
arccosh = Primitive("arccosh", np.arccosh)
arctanh = Primitive("arctanh", np.arctanh)

# Work items that exchange values (see `lanes`): what another lane has, and a bit for
# each lane in which a condition holds.  Alone, an item is the only lane.
lane_value = Primitive("lane_value", lambda x, lane: x, 2, lambda x, lane: x)
lane_votes = Primitive(
    "lane_votes",
    lambda x, lane: np.left_shift(np.uint32(x), lane),
    2,
    lambda x, lane: lane,
)
LANES = frozenset((lane_value.name, lane_votes.name))
"""Primitives that take operands of several dtypes as they are, and that all lanes of a
subgroup do together."""

# Complex numbers and their parts.
real = Primitive("real", np.real, 1, _part)
imag = Primitive("imag", np.imag, 1, _part)
conjugate = Primitive("conjugate", np.conjugate)
make_complex = Primitive("make_complex", _make_complex, 2, _pair)

PRIMITIVES: dict[str, Primitive] = {
    primitive.name: primitive
    for primitive in (
        *(add, subtract, multiply, divide, negative, absolute, fmod, fma, power, sqrt),
        *(accumulate, plain_sqrt, cbrt, truncate_divide, truncate_remainder),
        *(equal, not_equal, less, less_equal, greater, greater_equal),
        *(bitwise_and, bitwise_or, bitwise_xor, invert, left_shift, right_shift),
        *(isnan, isinf, isfinite, popcount, float_to_bits, bits_to_float),
        *(floor, ceil, trunc, rint, copysign, nextafter, ldexp, round_to_half),
        *(exp, exp2, expm1, log, log2, log10, log1p),
        *(sin, cos, tan, arcsin, arccos, arctan, arctan2),
        *(sinh, cosh, tanh, arcsinh, arccosh, arctanh),
        *(real, imag, conjugate, make_complex, lane_value, lane_votes),
    )
}


# ------------------------------------------------------------------------- facts
class Fact:
    """Something that is known from a dtype: a Python bool, int or float, or a dtype."""

    __slots__ = ("name", "rule")

    def __init__(self, name: str, rule: Callable[[DType], Any]) -> None:
        self.name = name
        self.rule = rule

    def __repr__(self) -> str:
        return f"<fact {self.name}>"

    def __call__(self, value: Scalar) -> Any:
        return self.rule(np.asarray(value).dtype)


def is_extension(dtype: DType) -> bool:
    """Whether ``dtype`` is bfloat16, a float8 or another dtype of ml_dtypes."""
    return dtype.kind == "V" and dtype.type.__module__.startswith("ml_dtypes")


def _is_floating(dtype: DType) -> bool:
    return dtype.kind == "f" or is_extension(dtype)


def _is_narrow(dtype: DType) -> bool:
    return _is_floating(dtype) and dtype.itemsize < 4


def _largest(dtype: DType) -> int | float:
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).max)
    return float(np.finfo(dtype).max)


def _smallest(dtype: DType) -> int | float:
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).min)
    return float(np.finfo(dtype).min)


def _exponent_bits(dtype: DType) -> int:
    return int(np.finfo(dtype).iexp)


def _fraction_bits(dtype: DType) -> int:
    return int(np.finfo(dtype).nmant)


is_boolean = Fact("is_boolean", lambda dtype: dtype.kind == "b")
is_signed = Fact("is_signed", lambda dtype: dtype.kind == "i")
is_unsigned = Fact("is_unsigned", lambda dtype: dtype.kind == "u")
is_integer = Fact("is_integer", lambda dtype: dtype.kind in "iu")
is_floating = Fact("is_floating", _is_floating)
is_complex = Fact("is_complex", lambda dtype: dtype.kind == "c")
is_narrow = Fact("is_narrow", _is_narrow)
is_single = Fact("is_single", lambda dtype: dtype == np.float32)
bits = Fact("bits", lambda dtype: 8 * dtype.itemsize)
largest = Fact("largest", _largest)
smallest = Fact("smallest", _smallest)
exponent_bits = Fact("exponent_bits", _exponent_bits)
fraction_bits = Fact("fraction_bits", _fraction_bits)
dtype_of = Fact("dtype_of", lambda dtype: dtype)
epsilon = Fact("epsilon", lambda dtype: float(np.finfo(dtype).eps))


# ------------------------------------------------------------------- conversions
class Conversion:
    """A cast of the first argument to ``rule(dtype of the last argument)``."""

    __slots__ = ("arity", "name", "rule")

    def __init__(
        self, name: str, rule: Callable[[DType], DType], arity: int = 1
    ) -> None:
        self.name = name
        self.rule = rule
        self.arity = arity

    def __repr__(self) -> str:
        return f"<conversion {self.name}>"

    def __call__(self, *arguments: Scalar) -> Scalar:
        dtype = self.rule(np.asarray(arguments[-1]).dtype)
        return np.asarray(arguments[0]).astype(dtype)


def _widened(dtype: DType) -> DType:
    return np.dtype(np.float32) if _is_narrow(dtype) else dtype


cast = Conversion("cast", lambda dtype: dtype, 2)
widen = Conversion("widen", _widened)
as_unsigned = Conversion("as_unsigned", _unsigned)
as_signed = Conversion("as_signed", _signed)

INFINITY = math.inf
NAN = math.nan
PI = math.pi
LN2 = math.log(2.0)
LOG2E = math.log2(math.e)
