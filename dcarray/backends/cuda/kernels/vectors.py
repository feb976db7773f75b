"""Products of a matrix and a vector, which take as long as reading the matrix, and of
two short vectors.

Sums are in float32, or float64, in an order that depends on sizes alone.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .common import LAST, head

__all__ = ["ABREAST", "AT_ONCE", "TEAM_ROWS", "THREADS", "TURN", "vector_text"]

DType = np.dtype[Any]

THREADS = 256
AT_ONCE = 2
"""Rows that a group multiplies along."""

TEAM_ROWS = 4
"""Rows that each team of a group multiplies along, where rows are short."""

ABREAST = 32
"""Columns that a group multiplies down."""

TURN = THREADS // ABREAST * 16
"""Rows that such a group takes at a time."""


@cache
def vector_text(dtype: DType) -> str:
    """The text of ``along``, ``short_rows``, ``down`` and ``dot``.

    ``along``: the matrix, whose rows lie side by side, the vector, the result, and: how
    many rows, their length, how far they lie apart, where the matrix and the vector
    begin, and whether four elements can be read at once.  ``short_rows``: the same, and
    how many threads share a row, a power of two up to 32.  ``down``, for the sums of
    columns: the same, sums of parts, counts, and: rows, columns, how far rows lie
    apart, both beginnings, rows of a part.  ``dot``, by one group: both vectors, the
    result, their length, and for each where it begins and how far elements lie apart.
    """
    sums = "double" if dtype.char == "d" else "float"
    return head(source=dtype) + f"typedef {sums} sum_type;\n" + LAST + _TEXT


_TEXT = """\
constexpr int THREADS = 256, ROWS = 2, HIGH = THREADS / 32;

extern "C" __global__ void __launch_bounds__(THREADS) along(
    const source *__restrict__ x, const source *__restrict__ vector,
    source *__restrict__ out, long long rows, long long length, long long row_step,
    long long offset, long long begin, long long fours) {
  __shared__ sum_type tree[ROWS][HIGH];
  long long first = blockIdx.x * (long long)ROWS;
  vector += begin;
  const source *from[ROWS];
  sum_type sums[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    from[r] = x + offset + min(first + r, rows - 1) * row_step;
    sums[r] = 0;
  }
  if (fours) {
#pragma unroll 4
    for (long long at = threadIdx.x * 4; at < length; at += THREADS * 4) {
      Four<source> factor = *(const Four<source> *)(vector + at), read[ROWS];
#pragma unroll
      for (int r = 0; r < ROWS; r++) read[r] = *(const Four<source> *)(from[r] + at);
#pragma unroll
      for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int k = 0; k < 4; k++)
          sums[r] = fma((sum_type)load_source(read[r].at[k]),
                        (sum_type)load_source(factor.at[k]), sums[r]);
    }
  } else {
#pragma unroll 4
    for (long long at = threadIdx.x; at < length; at += THREADS) {
      sum_type factor = load_source(vector[at]);
#pragma unroll
      for (int r = 0; r < ROWS; r++)
        sums[r] = fma((sum_type)load_source(from[r][at]), factor, sums[r]);
    }
  }
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    for (int step = 16; step; step /= 2)
      sums[r] += __shfl_xor_sync(0xffffffffu, sums[r], step);
    if (!(threadIdx.x & 31)) tree[r][threadIdx.x / 32] = sums[r];
  }
  __syncthreads();
  if (threadIdx.x >= ROWS || first + threadIdx.x >= rows) return;
  sum_type all = tree[threadIdx.x][0];
  for (int k = 1; k < HIGH; k++) all += tree[threadIdx.x][k];
  out[first + threadIdx.x] = store_source((source_value)all);
}

constexpr int TEAM_ROWS = 4;

extern "C" __global__ void __launch_bounds__(THREADS) short_rows(
    const source *__restrict__ x, const source *__restrict__ vector,
    source *__restrict__ out, long long rows, long long length, long long row_step,
    long long offset, long long begin, long long fours, long long wide) {
  int team = (int)wide, teams = THREADS / team, lane = threadIdx.x & (team - 1);
  long long first = blockIdx.x * (long long)(teams * TEAM_ROWS) + threadIdx.x / team;
  vector += begin;
  const source *from[TEAM_ROWS];
  sum_type sums[TEAM_ROWS];
#pragma unroll
  for (int r = 0; r < TEAM_ROWS; r++) {
    from[r] = x + offset + min(first + r * teams, rows - 1) * row_step;
    sums[r] = 0;
  }
  if (fours) {
    for (int at = lane * 4; at < length; at += team * 4) {
      Four<source> factor = *(const Four<source> *)(vector + at), read[TEAM_ROWS];
#pragma unroll
      for (int r = 0; r < TEAM_ROWS; r++)
        read[r] = *(const Four<source> *)(from[r] + at);
#pragma unroll
      for (int r = 0; r < TEAM_ROWS; r++)
#pragma unroll
        for (int k = 0; k < 4; k++)
          sums[r] = fma((sum_type)load_source(read[r].at[k]),
                        (sum_type)load_source(factor.at[k]), sums[r]);
    }
  } else {
    for (int at = lane; at < length; at += team) {
      sum_type factor = load_source(vector[at]);
#pragma unroll
      for (int r = 0; r < TEAM_ROWS; r++)
        sums[r] = fma((sum_type)load_source(from[r][at]), factor, sums[r]);
    }
  }
#pragma unroll
  for (int r = 0; r < TEAM_ROWS; r++) {
    for (int step = team / 2; step; step /= 2)
      sums[r] += __shfl_xor_sync(0xffffffffu, sums[r], step);
    long long row = first + r * teams;
    if (!lane && row < rows) out[row] = store_source((source_value)sums[r]);
  }
}

constexpr int AT_ONCE = sizeof(sum_type) == 4 ? 5 : 1;

extern "C" __global__ void __launch_bounds__(THREADS, AT_ONCE) down(
    const source *__restrict__ x, const source *__restrict__ vector,
    source *__restrict__ out, sum_type *sums, unsigned *counts, long long rows,
    long long columns, long long row_step, long long offset, long long begin,
    long long part) {
  __shared__ sum_type tree[HIGH][32];
  long long groups = (columns + 31) / 32;
  long long own = blockIdx.x / groups, group = blockIdx.x - own * groups;
  long long at = own * part, stop = min(at + part, rows);
  int lane = threadIdx.x & 31, high = threadIdx.x / 32;
  long long column = group * 32 + lane;
  x += offset + min(column, columns - 1);
  vector += begin;
  sum_type sum = 0;
  for (at += high; at + HIGH * 15 < stop; at += HIGH * 16) {
    const source *from = x + at * row_step;
    source read[16];
#pragma unroll
    for (int k = 0; k < 16; k++) read[k] = from[k * (HIGH * row_step)];
#pragma unroll
    for (int k = 0; k < 16; k++)
      sum = fma((sum_type)load_source(read[k]),
                (sum_type)load_source(vector[at + k * HIGH]), sum);
  }
  for (; at < stop; at += HIGH)
    sum = fma((sum_type)load_source(x[at * row_step]),
              (sum_type)load_source(vector[at]), sum);
  tree[high][lane] = sum;
  __syncthreads();
  bool is_there = !high && column < columns;
  if (is_there)
    for (int k = 1; k < HIGH; k++) sum += tree[k][lane];
  if (part < rows) {
    long long parts = (rows + part - 1) / part;
    if (is_there) sums[own * columns + column] = sum;
    if (!is_last(counts + group, parts)) return;
    sum = 0;
    if (column < columns)
#pragma unroll 8
      for (long long k = high; k < parts; k += HIGH) sum += sums[k * columns + column];
    tree[high][lane] = sum;
    __syncthreads();
    if (is_there)
      for (int k = 1; k < HIGH; k++) sum += tree[k][lane];
  }
  if (is_there) out[column] = store_source((source_value)sum);
}

extern "C" __global__ void __launch_bounds__(THREADS) dot(
    const source *__restrict__ x, const source *__restrict__ y,
    source *__restrict__ out, long long length, long long x_begin, long long x_step,
    long long y_begin, long long y_step) {
  __shared__ sum_type tree[HIGH];
  sum_type sum = 0;
  x += x_begin;
  y += y_begin;
  for (int at = threadIdx.x; at < length; at += THREADS)
    sum = fma((sum_type)load_source(x[at * x_step]),
              (sum_type)load_source(y[at * y_step]), sum);
  for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (!(threadIdx.x & 31)) tree[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x) return;
  for (int k = 1; k < HIGH; k++) sum += tree[k];
  *out = store_source((source_value)sum);
}
"""
