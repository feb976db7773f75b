"""CUDA C++, for NVRTC and nvcc; no header is included."""

from __future__ import annotations

from ..errors import UnsupportedError
from .dialect import ELEMENTARY, Dialect

__all__ = ["CUDA", "OPTIONS"]

OPTIONS = ("--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true")
"""What a text is to be compiled with.  The first one is no default: without it a
product and a sum become one operation with one rounding, and NumPy's has two."""

_PREAMBLE = """\
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
__device__ inline float dc_from_half(unsigned short x) {
  float found;
  asm("cvt.f32.f16 %0, %1;" : "=f"(found) : "h"(x));
  return found;
}
__device__ inline unsigned short dc_to_half(float x) {
  unsigned short found;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(found) : "f"(x));
  return found;
}
// Nothing is left but the instruction where both upper halves are known to be 0; the
// compiler by itself adds to it.
__device__ inline unsigned long long dc_times(
    unsigned long long x, unsigned long long y) {
  unsigned int a = x, b = y, rest = (unsigned int)(x >> 32) * b;
  rest += a * (unsigned int)(y >> 32);
  unsigned long long found;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(found) : "r"(a), "r"(b));
  return found + ((unsigned long long)rest << 32);
}
// What sqrtf does where its operand needs no other way; correctly rounded there.
__device__ inline float dc_plain_sqrt(float x) {
  float inverse;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(fmaxf(x, 0x1p-126f)));
  float root = x * inverse;
  return fmaf(fmaf(-root, root, x), 0.5f * inverse, root);
}
"""

_NAMES = {
    "add": "atomicAdd",
    "minimum": "atomicMin",
    "maximum": "atomicMax",
    "bitwise_and": "atomicAnd",
    "bitwise_or": "atomicOr",
    "bitwise_xor": "atomicXor",
    "exchange": "atomicExch",
    "compare_exchange": "atomicCAS",
}
_SIGNED = frozenset(("minimum", "maximum"))
"""Operations that tell signed numbers of 64 bits from unsigned ones; the others are
there for unsigned ones alone."""

_BITS = {
    "f4": ("unsigned int", "__float_as_uint({})", "__uint_as_float({})"),
    "f8": (
        "unsigned long long",
        "(unsigned long long)__double_as_longlong({})",
        "__longlong_as_double((long long){})",
    ),
}
_CHANGED = {
    "minimum": "(value < old || value != value) ? value : old",
    "maximum": "(value > old || value != value) ? value : old",
    "exchange": "value",
}


def _atomic(operation: str, code: str, kind: str, is_shared: bool) -> tuple[str, str]:
    """Pointers are generic: memory that a group shares is no case of its own."""
    if code in ("i4", "u4", "u8") or (code in _BITS and operation == "add"):
        return "", _NAMES[operation]
    function = f"dc_{operation}_{code}"
    head = f"__device__ inline {kind} {function}({kind} *place, "
    if code == "i8":
        if operation in _SIGNED:
            return "", _NAMES[operation]
        cell = "unsigned long long"
        names = ["expected", "value"] if operation == "compare_exchange" else ["value"]
        declared = ", ".join(f"{kind} {name}" for name in names)
        given = ", ".join(f"({cell}){name}" for name in names)
        call = f"{_NAMES[operation]}(({cell} *)place, {given})"
        return f"{head}{declared}) {{\n  return ({kind}){call};\n}}\n", function
    if code not in _BITS or not (operation in _CHANGED or operation[0] == "c"):
        raise UnsupportedError(f"CUDA has no atomic {operation} of {kind}")
    cell, to_bits, from_bits = _BITS[code]
    swap = f"atomicCAS(({cell} *)place, before"
    if operation == "compare_exchange":
        text = f"""\
{head}{kind} expected, {kind} value) {{
  {cell} before = {to_bits.format("expected")};
  {cell} found = {swap}, {to_bits.format("value")});
  return {from_bits.format("found")};
}}
"""
    else:
        text = f"""\
{head}{kind} value) {{
  {cell} found = *(volatile {cell} *)place;
  while (true) {{
    {cell} before = found;
    {kind} old = {from_bits.format("before")};
    {kind} changed = {_CHANGED[operation]};
    found = {swap}, {to_bits.format("changed")});
    if (found == before) return old;
  }}
}}
"""
    return text, function


CUDA = Dialect(
    name="cuda",
    types={
        "b1": "unsigned char",
        "i1": "signed char",
        "u1": "unsigned char",
        "i2": "short",
        "u2": "unsigned short",
        "i4": "int",
        "u4": "unsigned int",
        "i8": "long long",
        "u8": "unsigned long long",
        "f2": "unsigned short",
        "f4": "float",
        "f8": "double",
    },
    functions={
        **ELEMENTARY,
        **{
            f"popcount:{sign}{size}": f"(({{T}})__popc((unsigned {kind})({{0}})))"
            for size, kind in ((1, "char"), (2, "short"), (4, "int"))
            for sign in "iu"
        },
        "multiply:u8": "dc_times({0}, {1})",
        "plain_sqrt:f4": "dc_plain_sqrt({0})",
        "popcount:i8": "(({T})__popcll((unsigned long long)({0})))",
        "popcount:u8": "(({T})__popcll({0}))",
        "float_to_bits:f4": "__float_as_uint({0})",
        "float_to_bits:f8": "((unsigned long long)__double_as_longlong({0}))",
        "bits_to_float:u4": "__uint_as_float({0})",
        "bits_to_float:u8": "__longlong_as_double((long long)({0}))",
        "ldexp": "ldexp({0}, (int)max(min((long long)({1}), 5000LL), -5000LL))",
        **{
            f"lane_value:{code}": "__shfl_sync(0xffffffffu, {0}, (int){1})"
            for code in ("i4", "u4", "f4")
        },
        "lane_votes:b1": "__ballot_sync(0xffffffffu, {0})",
        "round_to_half": "dc_from_half(dc_to_half({0}))",
        "load_half": "dc_from_half({name}[{index}])",
        "store_half": "{name}[{index}] = dc_to_half({0});",
    },
    places={
        "global_id": "(long long)blockIdx.{letter} * blockDim.{letter} + "
        "threadIdx.{letter}",
        "local_id": "threadIdx.{letter}",
        "group_id": "blockIdx.{letter}",
        "global_size": "(long long)gridDim.{letter} * blockDim.{letter}",
        "local_size": "blockDim.{letter}",
        "group_count": "gridDim.{letter}",
    },
    header='extern "C" __global__ void',
    array="{const}{type} *{restrict}{name}",
    number="{type} {name}",
    shared="__shared__ {type} {name}[{size}];",
    barrier="__syncthreads();",
    atomic=_atomic,
    preamble=_PREAMBLE,
    restrict="__restrict__ ",
    aligned="{name} = ({const}{type} *)__builtin_assume_aligned({name}, {bytes});",
    suffixes={"f4": "f", "u4": "u", "i8": "LL", "u8": "ULL"},
)
"""CUDA C++ of compute capability 6.0 and later; a half in memory is its bits."""
