"""The product of an array and a number, in its own memory."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .common import head

__all__ = ["SCALED", "THREADS", "scale_text"]

THREADS = 256
SCALED = 4 * THREADS
"""Elements that a group takes."""


@cache
def scale_text(dtype: np.dtype[Any]) -> str:
    """The text of ``scale``: a dense array, its size and the factor."""
    return head(real=dtype) + _TEXT


_TEXT = """\
extern "C" __global__ void scale(real *x, long long size, double factor) {
  const real by = (real)factor;
  const long long first = 4 * (blockIdx.x * (long long)blockDim.x + threadIdx.x);
  if (first + 4 <= size) {
    Four<real> four = *(const Four<real> *)(x + first);
#pragma unroll
    for (int k = 0; k < 4; k++) four.at[k] *= by;
    *(Four<real> *)(x + first) = four;
  } else {
    for (long long k = first; k < size; k++) x[k] *= by;
  }
}
"""
