"""OpenCL C."""

from __future__ import annotations

import dataclasses

from ..errors import UnsupportedError
from .dialect import ELEMENTARY, Dialect

__all__ = ["NVIDIA", "OPENCL"]

_PREAMBLE = """\
#pragma OPENCL FP_CONTRACT OFF
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
/* PoCL's exponential is infinite a little too early. */
double dc_exp(double x) {
  double y = exp(x > 709.0 ? x - 1.0 : x);
  return x > 709.0 ? y * 2.718281828459045 : y;
}
#endif
#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#endif
/* PoCL's does not reach 1. */
float dc_tanh(float x) {
  return fabs(x) > 10.0f ? copysign(1.0f, x) : tanh(x);
}
float dc_round_to_half(float x) {
  ushort bits[1];
  vstore_half_rte(x, 0, (half *)bits);
  return vload_half(0, (half *)bits);
}
"""

_NAMES = {
    "add": "add",
    "minimum": "min",
    "maximum": "max",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
    "exchange": "xchg",
}
_BITS = {"f4": "uint", "f8": "ulong"}
_CHANGED = {
    "add": "old + value",
    "minimum": "(value < old || value != value) ? value : old",
    "maximum": "(value > old || value != value) ? value : old",
    "exchange": "value",
}


def _atomic(operation: str, code: str, kind: str, is_shared: bool) -> tuple[str, str]:
    space = "__local" if is_shared else "__global"
    wide = code[1] == "8"
    prefix = "atom_" if wide else "atomic_"
    if code in ("i4", "u4", "i8", "u8"):
        if operation == "compare_exchange":
            return "", f"{prefix}cmpxchg"
        return "", f"{prefix}{_NAMES[operation]}"
    if code not in _BITS or (operation not in _CHANGED and operation[0] != "c"):
        raise UnsupportedError(f"OpenCL has no atomic {operation} of {kind}")
    bits = _BITS[code]
    function = f"dc_{operation}_{kind}{space}"
    pointer = f"volatile {space} {kind} *place"
    exchange = f"{prefix}cmpxchg((volatile {space} {bits} *)place, before"
    if operation == "compare_exchange":
        text = f"""\
{kind} {function}({pointer}, {kind} expected, {kind} value) {{
  {bits} before = as_{bits}(expected);
  return as_{kind}({exchange}, as_{bits}(value)));
}}
"""
    else:
        text = f"""\
{kind} {function}({pointer}, {kind} value) {{
  {bits} found = *(volatile {space} {bits} *)place;
  while (true) {{
    {bits} before = found;
    {kind} old = as_{kind}(before);
    {kind} changed = {_CHANGED[operation]};
    found = {exchange}, as_{bits}(changed));
    if (found == before) return old;
  }}
}}
"""
    return text, function


OPENCL = Dialect(
    name="opencl",
    types={
        "b1": "uchar",
        "i1": "char",
        "u1": "uchar",
        "i2": "short",
        "u2": "ushort",
        "i4": "int",
        "u4": "uint",
        "i8": "long",
        "u8": "ulong",
        "f2": "half",
        "f4": "float",
        "f8": "double",
    },
    functions={
        **ELEMENTARY,
        "exp:f8": "dc_exp({0})",
        "tanh:f4": "dc_tanh({0})",
        "popcount": "popcount({0})",
        "float_to_bits:f4": "as_uint({0})",
        "float_to_bits:f8": "as_ulong({0})",
        "bits_to_float:u4": "as_float({0})",
        "bits_to_float:u8": "as_double({0})",
        "ldexp": "ldexp({0}, (int)clamp((long)({1}), -5000L, 5000L))",
        "round_to_half": "dc_round_to_half({0})",
        "load_half": "vload_half({index}, {name})",
        "store_half": "vstore_half_rte({0}, {index}, {name});",
    },
    places={
        "global_id": "get_global_id({axis})",
        "local_id": "get_local_id({axis})",
        "group_id": "get_group_id({axis})",
        "global_size": "get_global_size({axis})",
        "local_size": "get_local_size({axis})",
        "group_count": "get_num_groups({axis})",
    },
    header="__kernel void",
    array="__global {const}{type} *{restrict}{name}",
    number="{type} {name}",
    shared="__local {type} {name}[{size}];",
    barrier="barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    atomic=_atomic,
    preamble=_PREAMBLE,
    restrict="restrict ",
    suffixes={"f4": "f", "u4": "u", "i8": "L", "u8": "UL"},
)
"""OpenCL C 1.2, with doubles and 64-bit atomics where the device has them."""

_LANES = """\
/* Instructions of PTX, for all lanes of a warp at once. */
uint dc_lane(uint value, uint lane) {
  uint found;
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;"
               : "=r"(found) : "r"(value), "r"(lane));
  return found;
}
uint dc_votes(bool condition) {
  uint found;
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; "
               "vote.sync.ballot.b32 %0, p, 0xffffffff; }"
               : "=r"(found) : "r"((uint)condition));
  return found;
}
"""

NVIDIA = dataclasses.replace(
    OPENCL,
    functions={
        **OPENCL.functions,
        "lane_value:i4": "((int)dc_lane((uint){0}, {1}))",
        "lane_value:u4": "dc_lane({0}, {1})",
        "lane_value:f4": "as_float(dc_lane(as_uint({0}), {1}))",
        "lane_votes:b1": "dc_votes({0})",
    },
    preamble=_PREAMBLE + _LANES,
)
"""OpenCL C as NVIDIA's compiler takes it, which has assembly within it.  OpenCL itself
does not say which work items are the lanes of a subgroup."""
