"""What the texts share: types of elements, how they are read, and groups' sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....render.cuda import CUDA
from ....render.dialect import code_of

__all__ = ["LAST", "TYPES", "head", "is_known"]

DType = np.dtype[Any]

TYPES = {code: kind for code, kind in CUDA.types.items() if code != "b1"} | {
    "b1": "unsigned char"
}
"""C's types by code."""


def is_known(*dtypes: DType) -> bool:
    """Whether the texts have these dtypes: all but complex numbers and those that
    NumPy does not have."""
    return all(x.kind in "biuf" and code_of(x) in TYPES for x in dtypes)


def head(**dtypes: DType) -> str:
    """Names of types, and for each ``load_NAME`` and ``store_NAME``.

    ``NAME`` is the type in memory, ``NAME_value`` that of a variable: a float where
    memory has a half.
    """
    lines = [CUDA.preamble, _VECTOR]
    for name, dtype in dtypes.items():
        code = code_of(dtype)
        kind = TYPES[code]
        value = {"f2": "float", "b1": "bool"}.get(code, kind)
        load = {"f2": "dc_from_half(x)", "b1": "x != 0"}.get(code, "x")
        store = {"f2": "dc_to_half(x)"}.get(code, f"({kind})x")
        lines.append(
            f"typedef {kind} {name};\ntypedef {value} {name}_value;\n"
            f"__device__ inline {value} load_{name}({kind} x) {{ return {load}; }}\n"
            f"__device__ inline {kind} store_{name}({value} x) {{ return {store}; }}"
        )
    return "\n".join(lines) + "\n"


_VECTOR = """\
template <typename T> struct alignas(4 * sizeof(T)) Four { T at[4]; };
template <> struct alignas(16) Four<double> { double at[4]; };
template <> struct alignas(16) Four<long long> { long long at[4]; };
template <> struct alignas(16) Four<unsigned long long> { unsigned long long at[4]; };
"""


LAST = """\
/* Whether this group is the last one of so many that come here.  The count is 0 again
   after that. */
__device__ inline bool is_last(unsigned *count, long long parts) {
  __shared__ bool found;
  __syncthreads();
  if (!threadIdx.x) {
    __threadfence();
    found = atomicInc(count, (unsigned)parts - 1) == (unsigned)parts - 1;
    __threadfence();
  }
  __syncthreads();
  return found;
}
"""
"""A function that says who is the last one, given a count of `Raw.counts`."""
