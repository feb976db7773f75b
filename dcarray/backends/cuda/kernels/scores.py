"""Softmax of attention's scores, in their own memory."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .common import head

__all__ = ["scores_text", "threads_of"]

DType = np.dtype[Any]

MOST = 256
"""Threads of a group at most."""


def threads_of(keys: int) -> int:
    """Threads of a group, which has one query."""
    return max(32, min(MOST, -(-keys // 128) * 32))


@cache
def scores_text(dtype: DType, threads: int) -> str:
    """The text of ``scores``.

    Its parameters are the scores, the logarithms of the rows' sums, and: how many keys
    there are, how many queries, whether a query sees only the keys that do not come
    after it, and what scores are multiplied by.
    """
    return head(source=dtype) + f"constexpr int THREADS = {threads};\n" + _TEXT


_TEXT = """\
__device__ inline source larger(source x, source y) { return x > y ? x : y; }
__device__ inline source add(source x, source y) { return x + y; }

template <source (*combined)(source, source)>
__device__ inline source of_group(source value, source *spare) {
#pragma unroll
  for (int step = 16; step; step /= 2)
    value = combined(value, __shfl_xor_sync(0xffffffffu, value, step));
  constexpr int WARPS = THREADS / 32;
  if (WARPS == 1) return value;
  if (threadIdx.x % 32 == 0) spare[threadIdx.x / 32] = value;
  __syncthreads();
  value = spare[0];
#pragma unroll
  for (int k = 1; k < WARPS; k++) value = combined(value, spare[k]);
  return value;
}

extern "C" __global__ void __launch_bounds__(THREADS) scores(
    source *__restrict__ x, source *__restrict__ logs, long long keys,
    long long queries, long long causal, double factor) {
  __shared__ source spare[2][32];
  const long long row = blockIdx.x;
  const source scale = (source)factor;
  int length = (int)keys, seen = length;
  if (causal) seen = (int)min(keys, row % queries + 1);
  x += row * keys;
  source top = -INFINITY;
  for (int k = threadIdx.x; k < seen; k += THREADS) top = larger(x[k] * scale, top);
  top = of_group<larger>(top, spare[0]);
  if (top == -INFINITY) top = 0;  // nothing is to be seen
  source sum = 0;
  for (int k = threadIdx.x; k < seen; k += THREADS) sum += exp(x[k] * scale - top);
  sum = of_group<add>(sum, spare[1]);
  const bool empty = sum == 0;
  const source part = empty ? (source)0 : (source)1 / sum;
  for (int k = threadIdx.x; k < length; k += THREADS)
    x[k] = k < seen ? exp(x[k] * scale - top) * part : (source)0;
  if (threadIdx.x == 0) logs[row] = empty ? (source)INFINITY : top + log(sum);
}
"""
