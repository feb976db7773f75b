"""Universal functions: one line for each."""

from __future__ import annotations

import numpy as np

from ..ops.contraction import MATMUL, MATVEC, VECDOT, VECMAT
from .ufunc import Contraction, UFunc

__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "conj",
    "conjugate",
    "copysign",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "divide",
    "divmod",
    "equal",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "float_power",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frexp",
    "gcd",
    "greater",
    "greater_equal",
    "heaviside",
    "hypot",
    "invert",
    "isfinite",
    "isinf",
    "isnan",
    "isnat",
    "lcm",
    "ldexp",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "matvec",
    "maximum",
    "minimum",
    "mod",
    "modf",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "power",
    "rad2deg",
    "radians",
    "reciprocal",
    "remainder",
    "right_shift",
    "rint",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "spacing",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "true_divide",
    "trunc",
    "vecdot",
    "vecmat",
]

absolute = UFunc(np.absolute, "Absolute value.")
add = UFunc(np.add, "Sum of two arrays.")
arccos = UFunc(np.arccos, "Inverse cosine, in radians.")
arccosh = UFunc(np.arccosh, "Inverse hyperbolic cosine.")
arcsin = UFunc(np.arcsin, "Inverse sine, in radians.")
arcsinh = UFunc(np.arcsinh, "Inverse hyperbolic sine.")
arctan = UFunc(np.arctan, "Inverse tangent, in radians.")
arctan2 = UFunc(
    np.arctan2, "Angle of the point (x2, x1), in radians and with its quadrant."
)
arctanh = UFunc(np.arctanh, "Inverse hyperbolic tangent.")
bitwise_and = UFunc(np.bitwise_and, "Bits that are set in both operands.")
bitwise_count = UFunc(np.bitwise_count, "Number of bits set in the absolute value.")
bitwise_or = UFunc(np.bitwise_or, "Bits that are set in either operand.")
bitwise_xor = UFunc(np.bitwise_xor, "Bits that are set in exactly one operand.")
cbrt = UFunc(np.cbrt, "Cube root.")
ceil = UFunc(np.ceil, "Least integer that is not below the operand.")
conjugate = UFunc(np.conjugate, "Complex conjugate.")
copysign = UFunc(
    np.copysign, "Magnitude of the first operand with the sign of the second."
)
cos = UFunc(np.cos, "Cosine of an angle in radians.")
cosh = UFunc(np.cosh, "Hyperbolic cosine.")
deg2rad = UFunc(np.deg2rad, "Degrees to radians.")
degrees = UFunc(np.degrees, "Radians to degrees.")
divide = UFunc(np.divide, "True quotient.")
divmod = UFunc(np.divmod, "Floor quotient and remainder at once.")
equal = UFunc(np.equal, "Whether the operands are equal.")
exp = UFunc(np.exp, "e to the power of the operand.")
exp2 = UFunc(np.exp2, "2 to the power of the operand.")
expm1 = UFunc(np.expm1, "exp(x) - 1, exact also near 0.")
fabs = UFunc(np.fabs, "Absolute value of real numbers, as floating-point.")
float_power = UFunc(np.float_power, "Power, computed in at least double precision.")
floor = UFunc(np.floor, "Greatest integer that is not above the operand.")
floor_divide = UFunc(
    np.floor_divide, "Greatest integer that is not above the quotient."
)
fmax = UFunc(np.fmax, "The larger operand; a NaN loses.")
fmin = UFunc(np.fmin, "The smaller operand; a NaN loses.")
fmod = UFunc(np.fmod, "Remainder with the sign of the dividend, as in C.")
frexp = UFunc(np.frexp, "Mantissa in [0.5, 1) and exponent of 2.")
gcd = UFunc(np.gcd, "Greatest common divisor.")
greater = UFunc(np.greater, "Whether the first operand is greater.")
greater_equal = UFunc(
    np.greater_equal, "Whether the first operand is greater or equal."
)
heaviside = UFunc(
    np.heaviside, "0 below zero, 1 above, and the second operand at zero."
)
hypot = UFunc(np.hypot, "Hypotenuse of a right triangle with these legs.")
invert = UFunc(np.invert, "All bits flipped; logical not of booleans.")
isfinite = UFunc(np.isfinite, "Whether it is neither infinite nor NaN.")
isinf = UFunc(np.isinf, "Whether it is infinite.")
isnan = UFunc(np.isnan, "Whether it is NaN.")
isnat = UFunc(np.isnat, "Whether a date or a duration is NaT.")
lcm = UFunc(np.lcm, "Least common multiple.")
ldexp = UFunc(np.ldexp, "x1 times 2 to the power of x2.")
left_shift = UFunc(np.left_shift, "Bits moved to the left.")
less = UFunc(np.less, "Whether the first operand is less.")
less_equal = UFunc(np.less_equal, "Whether the first operand is less or equal.")
log = UFunc(np.log, "Natural logarithm.")
log10 = UFunc(np.log10, "Logarithm to base 10.")
log1p = UFunc(np.log1p, "log(1 + x), exact also near 0.")
log2 = UFunc(np.log2, "Logarithm to base 2.")
logaddexp = UFunc(np.logaddexp, "log(exp(x1) + exp(x2)) without overflow.")
logaddexp2 = UFunc(np.logaddexp2, "log2(2**x1 + 2**x2) without overflow.")
logical_and = UFunc(np.logical_and, "Whether both operands are true.")
logical_not = UFunc(np.logical_not, "Whether the operand is false.")
logical_or = UFunc(np.logical_or, "Whether either operand is true.")
logical_xor = UFunc(np.logical_xor, "Whether exactly one operand is true.")
maximum = UFunc(np.maximum, "The larger operand; a NaN wins.")
minimum = UFunc(np.minimum, "The smaller operand; a NaN wins.")
modf = UFunc(np.modf, "Fractional and integral part, both with the operand's sign.")
multiply = UFunc(np.multiply, "Product of two arrays.")
negative = UFunc(np.negative, "The operand with the opposite sign.")
nextafter = UFunc(
    np.nextafter, "The next floating-point number towards the second operand."
)
not_equal = UFunc(np.not_equal, "Whether the operands differ.")
positive = UFunc(np.positive, "The operand itself, as a new array.")
power = UFunc(np.power, "The first operand to the power of the second.")
rad2deg = UFunc(np.rad2deg, "Radians to degrees.")
radians = UFunc(np.radians, "Degrees to radians.")
reciprocal = UFunc(np.reciprocal, "1 / x.")
remainder = UFunc(np.remainder, "Remainder with the sign of the divisor, as in Python.")
right_shift = UFunc(np.right_shift, "Bits moved to the right.")
rint = UFunc(np.rint, "Nearest integer; halves go to the even one.")
sign = UFunc(np.sign, "-1, 0 or 1; of a complex number, the number over its magnitude.")
signbit = UFunc(np.signbit, "Whether the sign bit is set.")
sin = UFunc(np.sin, "Sine of an angle in radians.")
sinh = UFunc(np.sinh, "Hyperbolic sine.")
spacing = UFunc(np.spacing, "Distance to the nearest other floating-point number.")
sqrt = UFunc(np.sqrt, "Square root that is not negative.")
square = UFunc(np.square, "x times x.")
subtract = UFunc(np.subtract, "Difference of two arrays.")
tan = UFunc(np.tan, "Tangent of an angle in radians.")
tanh = UFunc(np.tanh, "Hyperbolic tangent.")
trunc = UFunc(np.trunc, "Nearest integer towards zero.")

matmul = Contraction(np.matmul, MATMUL, "Matrix product over the last two axes.")
matvec = Contraction(
    MATVEC.numpy, MATVEC, "Product of matrices and vectors over the last axes."
)
vecmat = Contraction(
    VECMAT.numpy,
    VECMAT,
    "Product of conjugated vectors and matrices over the last axes.",
)
vecdot = Contraction(np.vecdot, VECDOT, "Inner product of vectors along the last axis.")

# The same functions by other names, those of the standard among them.
abs = absolute
acos = arccos
acosh = arccosh
asin = arcsin
asinh = arcsinh
atan = arctan
atan2 = arctan2
atanh = arctanh
bitwise_invert = invert
bitwise_left_shift = left_shift
bitwise_not = invert
bitwise_right_shift = right_shift
conj = conjugate
mod = remainder
pow = power
true_divide = divide
