"""Maxima and sums over windows of planes that lie in one piece, and their gradients.

Windows are known when a text is compiled: loops over them are unrolled, and an item
keeps what neighbouring windows share in registers.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .common import head

__all__ = ["PAIR", "THREADS", "gradient_text", "maxima_gradient_text", "window_text"]

DType = np.dtype[Any]
Pair = tuple[int, int]

THREADS = 256
PAIR = 2
"""Results of a row that an item computes."""


def _windows(kernel: Pair, stride: Pair, low: Pair) -> str:
    (k, m), (s, t), (p, q) = kernel, stride, low
    return (
        f"constexpr int KERNEL_0 = {k}, KERNEL_1 = {m}, STEP_0 = {s}, STEP_1 = {t}, "
        f"LOW_0 = {p}, LOW_1 = {q};\n"
    )


def _wide(dtype: DType) -> str:
    if dtype.kind == "f":
        return "double" if dtype.char == "d" else "float"
    return "source_value"


@cache
def window_text(dtype: DType, what: str, kernel: Pair, stride: Pair, low: Pair) -> str:
    """The text of ``windows``.

    Parameters
    ----------
    dtype : dtype
    what : str
        "max", "indexed" (maxima and their places in the plane) or "sum".
    kernel, stride, low : pair of int
        Sizes and steps of windows, and how far the first one begins before the plane.

    Returns
    -------
    str
        Parameters of ``windows`` are the planes, the results, places, and: rows and
        columns of a plane, those of a result, how many items there are, and where the
        planes begin.
    """
    return (
        head(source=dtype)
        + f"typedef {_wide(dtype)} wide;\n"
        + f"constexpr bool SUM = {int(what == 'sum')}, "
        + f"INDEXED = {int(what == 'indexed')};\n"
        + _windows(kernel, stride, low)
        + _ORDER
        + _WINDOWS
    )


@cache
def gradient_text(dtype: DType, kernel: Pair, stride: Pair, low: Pair) -> str:
    """The text of ``spread``, the adjoint of sums: the gradient, the result, and: rows
    and columns of the gradient's planes, those of the result's, how many items there
    are, and where the gradient begins."""
    return (
        head(source=dtype)
        + f"typedef {_wide(dtype)} wide;\n"
        + _windows(kernel, stride, low)
        + _SPREAD
    )


@cache
def maxima_gradient_text(dtype: DType, kernel: Pair, stride: Pair, low: Pair) -> str:
    """The text of ``returned``, the adjoint of maxima: the planes, the gradient, the
    result, and: rows and columns of planes, those of the gradient, how many items there
    are, and where the planes and the gradient begin."""
    return (
        head(source=dtype)
        + f"typedef {_wide(dtype)} wide;\n"
        + _windows(kernel, stride, low)
        + _ORDER
        + _RETURNED
    )


_ORDER = """\
/* Whether an element takes the place of the largest one before it. */
__device__ inline bool is_larger(source_value x, source_value best) {
  return !(x <= best) && best == best;
}
"""

_WINDOWS = """\
constexpr int PAIR = 2, SPAN = STEP_1 * (PAIR - 1) + KERNEL_1;

extern "C" __global__ void __launch_bounds__(256) windows(
    const source *__restrict__ x, source *__restrict__ out,
    long long *__restrict__ places, long long rows, long long columns, long long high,
    long long wide_of, long long items, long long offset) {
  long long item = blockIdx.x * 256ll + threadIdx.x;
  if (item >= items) return;
  unsigned pairs = (unsigned)(wide_of + PAIR - 1) / PAIR, number = (unsigned)item;
  unsigned line = number / pairs, first = (number - line * pairs) * PAIR;
  unsigned plane = line / (unsigned)high;
  int row_0 = (int)(line - plane * (unsigned)high) * STEP_0 - LOW_0;
  int column_0 = (int)first * STEP_1 - LOW_1;
  int height = (int)rows, width = (int)columns;
  x += offset + plane * (rows * columns);
  wide sum[PAIR];
  source_value best[PAIR];
  int place[PAIR];
#pragma unroll
  for (int n = 0; n < PAIR; n++) { sum[n] = 0; place[n] = -1; best[n] = 0; }
#pragma unroll
  for (int i = 0; i < KERNEL_0; i++) {
    int row = row_0 + i;
    if (row < 0 || row >= height) continue;
    source_value v[SPAN];
#pragma unroll
    for (int c = 0; c < SPAN; c++) {
      int column = column_0 + c;
      bool is_there = column >= 0 && column < width;
      v[c] = is_there ? load_source(x[row * width + column]) : (source_value)0;
    }
#pragma unroll
    for (int n = 0; n < PAIR; n++)
#pragma unroll
      for (int j = 0; j < KERNEL_1; j++) {
        int column = column_0 + n * STEP_1 + j;
        source_value own = v[n * STEP_1 + j];
        if (SUM) {
          sum[n] += (wide)own;
        } else if (column >= 0 && column < width
                   && (place[n] < 0 || is_larger(own, best[n]))) {
          best[n] = own;
          place[n] = row * width + column;
        }
      }
  }
  long long to = line * wide_of + first;
#pragma unroll
  for (int n = 0; n < PAIR; n++)
    if (first + n < wide_of) {
      out[to + n] = store_source(SUM ? (source_value)sum[n] : best[n]);
      if (INDEXED) places[to + n] = place[n];
    }
}
"""

_SPREAD = """\
constexpr int PAIR = 2;

extern "C" __global__ void __launch_bounds__(256) spread(
    const source *__restrict__ g, source *__restrict__ out, long long rows,
    long long columns, long long high, long long wide_of, long long items,
    long long offset) {
  long long item = blockIdx.x * 256ll + threadIdx.x;
  if (item >= items) return;
  unsigned pairs = (unsigned)(wide_of + PAIR - 1) / PAIR, number = (unsigned)item;
  unsigned line = number / pairs, first = (number - line * pairs) * PAIR;
  unsigned plane = line / (unsigned)high;
  int row = (int)(line - plane * (unsigned)high) + LOW_0;
  g += offset + plane * (rows * columns);
  wide sum[PAIR];
#pragma unroll
  for (int n = 0; n < PAIR; n++) sum[n] = 0;
  constexpr int DOWN = (KERNEL_0 + STEP_0 - 1) / STEP_0;
  constexpr int ACROSS = (KERNEL_1 + STEP_1 - 1) / STEP_1;
#pragma unroll
  for (int i = DOWN - 1; i >= 0; i--) {
    int from = row / STEP_0 - i;
    if (from < 0 || from >= rows || row - from * STEP_0 >= KERNEL_0) continue;
#pragma unroll
    for (int n = 0; n < PAIR; n++) {
      int column = (int)first + n + LOW_1;
#pragma unroll
      for (int j = ACROSS - 1; j >= 0; j--) {
        int at = column / STEP_1 - j;
        if (at >= 0 && at < columns && column - at * STEP_1 < KERNEL_1)
          sum[n] += (wide)load_source(g[from * (int)columns + at]);
      }
    }
  }
  long long to = line * wide_of + first;
#pragma unroll
  for (int n = 0; n < PAIR; n++)
    if (first + n < wide_of) out[to + n] = store_source((source_value)sum[n]);
}
"""

_RETURNED = """\
/* Divided and rounded down, or up. */
__device__ constexpr int floor_of(int x, int y) {
  return x >= 0 ? x / y : -((y - 1 - x) / y);
}
__device__ constexpr int ceil_of(int x, int y) { return -floor_of(-x, y); }
/* The windows that meet a block of STEP_0 x STEP_1 positions: FROM_0 from its own one
   on, SOME_0 of them. */
constexpr int FROM_0 = ceil_of(LOW_0 - KERNEL_0 + 1, STEP_0);
constexpr int FROM_1 = ceil_of(LOW_1 - KERNEL_1 + 1, STEP_1);
constexpr int SOME_0 = floor_of(STEP_0 - 1 + LOW_0, STEP_0) - FROM_0 + 1;
constexpr int SOME_1 = floor_of(STEP_1 - 1 + LOW_1, STEP_1) - FROM_1 + 1;
constexpr int TALL = (SOME_0 - 1) * STEP_0 + KERNEL_0;
constexpr int BROAD = (SOME_1 - 1) * STEP_1 + KERNEL_1;

struct alignas(2 * sizeof(source)) Two { source at[2]; };

/* The block at (block_0, block_1) of a plane; all windows that meet it are inside, or
   may not be. */
template <bool inside>
__device__ inline void block(
    const source *__restrict__ x, const source *__restrict__ g,
    source *__restrict__ out, int height, int width, int high, int wide_of,
    int block_0, int block_1) {
  int window_0 = block_0 + FROM_0, window_1 = block_1 + FROM_1;
  int row_0 = window_0 * STEP_0 - LOW_0, column_0 = window_1 * STEP_1 - LOW_1;
  source_value v[TALL][BROAD];
#pragma unroll
  for (int i = 0; i < TALL; i++)
#pragma unroll
    for (int j = 0; j < BROAD; j++) {
      int row = row_0 + i, column = column_0 + j;
      bool is_there = inside
          || (row >= 0 && row < height && column >= 0 && column < width);
      v[i][j] = is_there ? load_source(x[row * width + column]) : (source_value)0;
    }
  wide sums[STEP_0][STEP_1];
#pragma unroll
  for (int i = 0; i < STEP_0; i++)
#pragma unroll
    for (int j = 0; j < STEP_1; j++) sums[i][j] = 0;
#pragma unroll
  for (int a = 0; a < SOME_0; a++)
#pragma unroll
    for (int b = 0; b < SOME_1; b++) {
      int own_0 = window_0 + a, own_1 = window_1 + b, place = -1;
      if (!inside && (own_0 < 0 || own_0 >= high || own_1 < 0 || own_1 >= wide_of))
        continue;
      source_value best = 0;
#pragma unroll
      for (int i = 0; i < KERNEL_0; i++)
#pragma unroll
        for (int j = 0; j < KERNEL_1; j++) {
          int tall = a * STEP_0 + i, broad = b * STEP_1 + j;
          int row = row_0 + tall, column = column_0 + broad;
          bool is_there = inside
              || (row >= 0 && row < height && column >= 0 && column < width);
          if (is_there && (place < 0 || is_larger(v[tall][broad], best))) {
            best = v[tall][broad];
            place = tall * BROAD + broad;
          }
        }
      wide share = (wide)load_source(g[own_0 * wide_of + own_1]);
#pragma unroll
      for (int i = 0; i < STEP_0; i++)
#pragma unroll
        for (int j = 0; j < STEP_1; j++) {
          /* Where the block's own positions lie among those that were read. */
          int tall = i + LOW_0 - FROM_0 * STEP_0, broad = j + LOW_1 - FROM_1 * STEP_1;
          bool was_read = tall < TALL && broad < BROAD;
          if (was_read && place == tall * BROAD + broad) sums[i][j] += share;
        }
    }
  if (inside && STEP_1 == 2 && !(width & 1)) {
#pragma unroll
    for (int i = 0; i < STEP_0; i++) {
      Two found;
      found.at[0] = store_source((source_value)sums[i][0]);
      found.at[1] = store_source((source_value)sums[i][STEP_1 - 1]);
      *(Two *)(out + (block_0 * STEP_0 + i) * width + block_1 * STEP_1) = found;
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < STEP_0; i++)
#pragma unroll
    for (int j = 0; j < STEP_1; j++) {
      int row = block_0 * STEP_0 + i, column = block_1 * STEP_1 + j;
      if (inside || (row < height && column < width))
        out[row * width + column] = store_source((source_value)sums[i][j]);
    }
}

extern "C" __global__ void __launch_bounds__(256) returned(
    const source *__restrict__ x, const source *__restrict__ g,
    source *__restrict__ out, long long rows, long long columns, long long high,
    long long wide_of, long long items, long long offset, long long begin) {
  long long item = blockIdx.x * 256ll + threadIdx.x;
  if (item >= items) return;
  int height = (int)rows, width = (int)columns;
  unsigned across = (unsigned)(width + STEP_1 - 1) / STEP_1;
  unsigned down = (unsigned)(height + STEP_0 - 1) / STEP_0;
  unsigned line = (unsigned)item / across;
  unsigned plane = line / down;
  int block_1 = (int)((unsigned)item - line * across);
  int block_0 = (int)(line - plane * down);
  x += offset + plane * (rows * columns);
  out += plane * (rows * columns);
  g += begin + plane * (high * wide_of);
  int window_0 = block_0 + FROM_0, window_1 = block_1 + FROM_1;
  int row = window_0 * STEP_0 - LOW_0, column = window_1 * STEP_1 - LOW_1;
  bool inside = window_0 >= 0 && window_1 >= 0 && row >= 0 && column >= 0
      && window_0 + SOME_0 <= high && window_1 + SOME_1 <= wide_of
      && row + TALL <= height && column + BROAD <= width
      && (block_0 + 1) * STEP_0 <= height && (block_1 + 1) * STEP_1 <= width;
  if (inside)
    block<true>(x, g, out, height, width, (int)high, (int)wide_of, block_0, block_1);
  else
    block<false>(x, g, out, height, width, (int)high, (int)wide_of, block_0, block_1);
}
"""
