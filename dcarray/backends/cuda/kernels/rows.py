"""Functions of rows that lie in one piece: a group keeps its row in registers, so that
memory is read once and written once."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .common import head

__all__ = ["LONGEST", "layout_of", "row_text"]

DType = np.dtype[Any]

LONGEST = 1 << 15
"""Elements of a row at most."""


def layout_of(length: int) -> tuple[int, int]:
    """Threads of a group, and how many times four elements each of them takes."""
    fours = -(-length // 4)
    each = 1
    while each < 4 and fours > each * 64:
        each *= 2
    if fours > each * 512:
        each *= 2
    threads = -(-fours // each)
    return -(-threads // 32) * 32, each


@cache
def row_text(name: str, dtype: DType, threads: int, each: int, extras: int) -> str:
    """The text of ``row``.

    Parameters
    ----------
    name : str
        "softmax", "log_softmax", "layer_norm" or "rms_norm".
    dtype : dtype
    threads, each : int
        As of `layout_of`.
    extras : int
        1 for weights, 2 for a bias, or both added up.

    Returns
    -------
    str
        Parameters of ``row`` are the array, the result, weights and bias, and: the
        length of a row, how far rows lie apart in the array, where it begins, whether
        four elements can be read and written at once, and epsilon.
    """
    sums = "double" if dtype.char == "d" else "float"
    # As many as leave registers for the row and for what it becomes.
    at_once = 1536 if each <= 4 else 1024
    groups = at_once // threads if sums == "float" else 1
    return (
        head(source=dtype)
        + f"typedef {sums} real;\n"
        + f"constexpr int THREADS = {threads}, EACH = {each}, GROUPS = {groups};\n"
        + f"constexpr bool WEIGHTS = {extras & 1}, BIAS = {extras >> 1};\n"
        + f"#define NOTHING {'-INFINITY' if 'softmax' in name else '0'}\n"
        + _HEAD
        + _BODIES[name]
        + _END
    )


_HEAD = """\
__device__ inline real add(real x, real y) { return x + y; }
__device__ inline real larger(real x, real y) { return x > y ? x : y; }

template <real (*combined)(real, real)>
__device__ inline real of_group(real value, real *spare) {
#pragma unroll
  for (int step = 16; step; step /= 2)
    value = combined(value, __shfl_xor_sync(0xffffffffu, value, step));
  constexpr int WARPS = THREADS / 32;
  if (WARPS == 1) return value;
  if (!(threadIdx.x & 31)) spare[threadIdx.x / 32] = value;
  __syncthreads();
  if (WARPS & (WARPS - 1)) {
    value = spare[0];
#pragma unroll
    for (int k = 1; k < WARPS; k++) value = combined(value, spare[k]);
  } else {
    value = spare[threadIdx.x & (WARPS - 1)];
#pragma unroll
    for (int step = WARPS / 2; step; step /= 2)
      value = combined(value, __shfl_xor_sync(0xffffffffu, value, step));
  }
  return value;
}

/* Four elements of which at least one is there. */
template <bool whole>
__device__ inline void four(const source *__restrict__ x, int at, int length,
                            real *found) {
  if (whole) {
    Four<source> read = *(const Four<source> *)(x + at);
#pragma unroll
    for (int j = 0; j < 4; j++) found[j] = (real)load_source(read.at[j]);
  } else {
#pragma unroll
    for (int j = 0; j < 4; j++)
      found[j] = (real)load_source(x[min(at + j, length - 1)]);
  }
}

template <bool whole>
__device__ inline void run(const source *__restrict__ x, source *__restrict__ out,
                           const source *__restrict__ weights,
                           const source *__restrict__ bias, int length, real epsilon) {
  __shared__ real spare[2][32];
  real v[EACH * 4];
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    int at = (k * THREADS + threadIdx.x) * 4;
    if (whole) {
      if (at < length) {
        Four<source> read = *(const Four<source> *)(x + at);
#pragma unroll
        for (int j = 0; j < 4; j++) v[k * 4 + j] = (real)load_source(read.at[j]);
      } else {
#pragma unroll
        for (int j = 0; j < 4; j++) v[k * 4 + j] = NOTHING;
      }
    } else {
#pragma unroll
      for (int j = 0; j < 4; j++)
        v[k * 4 + j] = at + j < length ? (real)load_source(x[at + j]) : NOTHING;
    }
  }
"""

_SOFTMAX = """\
  real top = NOTHING, sum = 0;
#pragma unroll
  for (int k = 0; k < EACH * 4; k++) top = larger(v[k], top);
  top = of_group<larger>(top, spare[0]);
#pragma unroll
  for (int k = 0; k < EACH * 4; k++) {
    LOOP
  }
  sum = of_group<add>(sum, spare[1]);
  AFTER
#pragma unroll
  for (int k = 0; k < EACH * 4; k++) v[k] = RESULT;
"""

_NORM = """\
  real count = (real)length, sum = 0, mean = 0;
  MEAN
#pragma unroll
  for (int k = 0; k < EACH * 4; k++) {
    int at = (k / 4 * THREADS + threadIdx.x) * 4 + (k & 3);
    v[k] -= mean;
    if (at < length) sum += v[k] * v[k];
  }
  sum = of_group<add>(sum, spare[1]);
  real factor = 1 / sqrt(sum / count + epsilon);
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    int at = (k * THREADS + threadIdx.x) * 4;
    if (at >= length) break;
    real w[4], b[4];
    if (WEIGHTS) four<whole>(weights, at, length, w);
    if (BIAS) four<whole>(bias, at, length, b);
#pragma unroll
    for (int j = 0; j < 4; j++) {
      v[k * 4 + j] *= factor;
      if (WEIGHTS) v[k * 4 + j] *= w[j];
      if (BIAS) v[k * 4 + j] += b[j];
    }
  }
"""

_MEAN = """\
#pragma unroll
  for (int k = 0; k < EACH * 4; k++) mean += v[k];
  mean = of_group<add>(mean, spare[0]) / count;
"""

_BODIES = {
    "softmax": _SOFTMAX.replace("LOOP", "v[k] = exp(v[k] - top); sum += v[k];")
    .replace("AFTER", "")
    .replace("RESULT", "v[k] / sum"),
    "log_softmax": _SOFTMAX.replace("LOOP", "v[k] -= top; sum += exp(v[k]);")
    .replace("AFTER", "sum = log(sum);")
    .replace("RESULT", "v[k] - sum"),
    "layer_norm": _NORM.replace("MEAN", _MEAN),
    "rms_norm": _NORM.replace("MEAN", ""),
}
_END = """\
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    int at = (k * THREADS + threadIdx.x) * 4;
    if (whole) {
      if (at < length) {
        Four<source> written;
#pragma unroll
        for (int j = 0; j < 4; j++)
          written.at[j] = store_source((source_value)v[k * 4 + j]);
        *(Four<source> *)(out + at) = written;
      }
    } else {
#pragma unroll
      for (int j = 0; j < 4; j++)
        if (at + j < length) out[at + j] = store_source((source_value)v[k * 4 + j]);
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, GROUPS) row(
    const source *__restrict__ x, source *__restrict__ out,
    const source *__restrict__ weights, const source *__restrict__ bias,
    long long length, long long row_step, long long offset, long long vector,
    double epsilon) {
  x += offset + blockIdx.x * row_step;
  out += blockIdx.x * length;
  if (vector) run<true>(x, out, weights, bias, (int)length, (real)epsilon);
  else run<false>(x, out, weights, bias, (int)length, (real)epsilon);
}
"""
