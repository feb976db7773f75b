"""Metal Shading Language."""

from __future__ import annotations

from ..errors import UnsupportedError
from .dialect import ELEMENTARY, Dialect

__all__ = ["METAL"]

_PREAMBLE = """\
#include <metal_stdlib>
using namespace metal;
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
"""

_PRECISE = (
    "sqrt plain_sqrt exp exp2 log log2 log10 sin cos tan sinh cosh tanh arcsin arccos "
    "arctan arcsinh arccosh arctanh arctan2 power fmod"
)
"""Functions of which Metal has a fast and a precise form."""

_LACKING = frozenset(("cbrt", "expm1", "log1p", "nextafter"))
"""nextafter is in Metal from version 3.1 on."""

_ATOMICS = {
    "add": "add",
    "minimum": "min",
    "maximum": "max",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
}
_CHANGED = {
    "add": "old + value",
    "minimum": "(value < old || value != value) ? value : old",
    "maximum": "(value > old || value != value) ? value : old",
    "exchange": "value",
}
_RELAXED = "memory_order_relaxed"


def _atomic(operation: str, code: str, kind: str, is_shared: bool) -> tuple[str, str]:
    if code not in ("i4", "u4", "f4"):
        raise UnsupportedError(f"Metal has no atomic {operation} of {kind}")
    space = "threadgroup" if is_shared else "device"
    cell = "uint" if code == "f4" else kind
    function = f"dc_{operation}_{kind}_{space}"
    place = f"volatile {space} {kind}* place"
    head = f"inline {kind} {function}({place}, "
    cast = f"(volatile {space} atomic_{cell}*)place"
    swap = "atomic_compare_exchange_weak_explicit"
    if operation == "compare_exchange":
        # A weak exchange may fail though the value is the expected one.
        text = f"""\
{head}{kind} expected, {kind} value) {{
  {cell} wanted = as_type<{cell}>(expected), found = wanted;
  while (!{swap}({cast}, &found, as_type<{cell}>(value), {_RELAXED}, {_RELAXED})) {{
    if (found != wanted) break;
  }}
  return as_type<{kind}>(found);
}}
"""
    elif code == "f4":
        if operation not in _CHANGED:
            raise UnsupportedError(f"Metal has no atomic {operation} of {kind}")
        text = f"""\
{head}{kind} value) {{
  uint found = atomic_load_explicit({cast}, {_RELAXED});
  while (true) {{
    float old = as_type<float>(found);
    uint changed = as_type<uint>({_CHANGED[operation]});
    if ({swap}({cast}, &found, changed, {_RELAXED}, {_RELAXED})) return old;
  }}
}}
"""
    else:
        verb = "exchange" if operation == "exchange" else f"fetch_{_ATOMICS[operation]}"
        text = f"""\
{head}{kind} value) {{
  return atomic_{verb}_explicit({cast}, value, {_RELAXED});
}}
"""
    return text, function


METAL = Dialect(
    name="metal",
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
    },
    functions={
        **{k: text for k, text in ELEMENTARY.items() if k not in _LACKING},
        **{name: f"precise::{ELEMENTARY[name]}" for name in _PRECISE.split()},
        "ldexp": "ldexp({0}, int(clamp(long({1}), -5000L, 5000L)))",
        "popcount": "popcount({0})",
        "float_to_bits:f4": "as_type<uint>({0})",
        "bits_to_float:u4": "as_type<float>({0})",
        **{
            f"lane_value:{code}": "simd_shuffle({0}, ushort({1}))"
            for code in ("i4", "u4", "f4")
        },
        "lane_votes:b1": "uint(simd_vote::vote_t(simd_ballot({0})))",
        "round_to_half": "float(half({0}))",
        "load_half": "float({name}[{index}])",
        "store_half": "{name}[{index}] = half({0});",
    },
    places={
        "global_id": "dc_global_id.{letter}",
        "local_id": "dc_local_id.{letter}",
        "group_id": "dc_group_id.{letter}",
        "global_size": "dc_global_size.{letter}",
        "local_size": "dc_local_size.{letter}",
        "group_count": "dc_group_count.{letter}",
    },
    header="kernel void",
    array="device {const}{type}* {name} [[buffer({position})]]",
    number="constant {type}& {name} [[buffer({position})]]",
    packed="constant {type}& {name} [[buffer({position})]]",
    extra=(
        "uint3 dc_global_id [[thread_position_in_grid]],\n"
        "    uint3 dc_local_id [[thread_position_in_threadgroup]],\n"
        "    uint3 dc_group_id [[threadgroup_position_in_grid]],\n"
        "    uint3 dc_global_size [[threads_per_grid]],\n"
        "    uint3 dc_local_size [[threads_per_threadgroup]],\n"
        "    uint3 dc_group_count [[threadgroups_per_grid]]"
    ),
    shared="threadgroup {type} {name}[{size}];",
    barrier="threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);",
    atomic=_atomic,
    preamble=_PREAMBLE,
    missing=_LACKING,
    suffixes={"f4": "f", "u4": "u", "i8": "L", "u8": "UL"},
)
"""Metal 2.4 and later; there is no double, and no atomic of 64 bits."""
