"""Reductions whose state is more than a number, read once: the place of the largest
element, mean and variance.

An item takes sixteen elements into its state at a time.  Groups go along rows, or down
columns that lie side by side, each over one part; the last group that is done with a
part of a result merges the states of all of them.  All is merged in an order that
depends on sizes alone.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .common import LAST, head

__all__ = [
    "STATE",
    "THREADS",
    "across",
    "mean_text",
    "place_text",
    "variance_text",
]

DType = np.dtype[Any]

THREADS = 256
STATE = 32
"""Bytes at most, of what is known about a part."""


def across(source: DType) -> int:
    """Columns that a group takes side by side: 4 bytes for each of 32 items."""
    return 32 * max(1, 4 // source.itemsize)


@cache
def place_text(source: DType, largest: bool) -> str:
    """The text for places: ``rows`` and ``columns``; see `_KERNELS`."""
    worse = "<=" if largest else ">="
    return (
        head(source=source, target=np.dtype(np.int64))
        + _PLACE % worse
        + LAST
        + _KERNELS
    )


@cache
def variance_text(source: DType, target: DType) -> str:
    """The text for variances: its ``number`` is what sums of squares are divided by,
    and its ``root`` says that the root is wanted."""
    return _typed(source, target) + _VARIANCE + LAST + _KERNELS


@cache
def mean_text(source: DType, target: DType) -> str:
    """The text for means: its ``number`` is what sums are divided by."""
    return _typed(source, target) + _MEAN + LAST + _KERNELS


def _typed(source: DType, target: DType) -> str:
    sums = "double" if target.char == "d" else "float"
    return head(source=source, target=target) + f"typedef {sums} sum_type;\n"


_PLACE = """\
struct State { source_value best; long long place; };
__device__ inline State start() {
  State s; s.best = source_value(); s.place = -1; return s;
}
/* Whether y comes before x, wherever they are; nothing comes before a NaN. */
__device__ inline bool is_better(source_value y, source_value x) {
  return !(y %s x) && x == x;
}
template <int most, bool all>
__device__ inline void take(State &s, const source_value *v, long long first,
                            long long step, long long group, int count) {
  if (s.place < 0) { s.best = v[0]; s.place = first; }
  int found = -1;
#pragma unroll
  for (int k = 0; k < most; k++)
    if ((all || k < count) && is_better(v[k], s.best)) { s.best = v[k]; found = k; }
  if (found >= 0) s.place = first + (found / 4) * group + (found & 3) * step;
}
__device__ inline void merge(State &s, const State &t) {
  if (t.place < 0) return;
  if (s.place < 0 || is_better(t.best, s.best)
      || (!is_better(s.best, t.best) && t.place < s.place)) s = t;
}
__device__ inline target_value result(const State &s, double number, bool root) {
  return s.place;
}
"""

_MEAN = """\
struct State { sum_type sum; };
__device__ inline State start() { State s; s.sum = 0; return s; }
__device__ inline void merge(State &s, const State &t) { s.sum += t.sum; }
template <int most, bool all>
__device__ inline void take(State &s, const source_value *v, long long first,
                            long long step, long long group, int count) {
  sum_type sum = 0;
#pragma unroll
  for (int k = 0; k < most; k++) if (all || k < count) sum += (sum_type)v[k];
  s.sum += sum;
}
__device__ inline target_value result(const State &s, double number, bool root) {
  return (target_value)(s.sum / (sum_type)number);
}
"""

_VARIANCE = """\
struct State { sum_type count, mean, squares; };
__device__ inline State start() { State s; s.count = s.mean = s.squares = 0; return s; }
__device__ inline float ratio(float x, float y) { return __fdividef(x, y); }
__device__ inline double ratio(double x, double y) { return x / y; }
/* Apart is multiplied last by itself: its square may be too large. */
__device__ inline void merge(State &s, const State &t) {
  sum_type count = s.count + t.count;
  if (t.count == 0) return;
  sum_type apart = t.mean - s.mean, share = ratio(t.count, count);
  s.mean = fma(apart, share, s.mean);
  s.squares += fma(apart * (s.count * share), apart, t.squares);
  s.count = count;
}
template <int most, bool all>
__device__ inline void take(State &s, const source_value *v, long long first,
                            long long step, long long group, int count) {
  sum_type sum = 0, squares = 0;
#pragma unroll
  for (int k = 0; k < most; k++) if (all || k < count) sum += (sum_type)v[k];
  State t;
  t.count = all ? most : count;
  t.mean = all ? sum * ((sum_type)1 / most) : sum / t.count;
#pragma unroll
  for (int k = 0; k < most; k++) {
    sum_type apart = (sum_type)v[k] - t.mean;
    if (all || k < count) squares = fma(apart, apart, squares);
  }
  t.squares = squares;
  merge(s, t);
}
__device__ inline target_value result(const State &s, double number, bool root) {
  sum_type found = s.squares / (sum_type)number;
  return (target_value)(root ? sqrt(found) : found);
}
"""

_KERNELS = """\
constexpr int THREADS = 256, HIGH = THREADS / 32;
constexpr int SIDE = sizeof(source) < 4 ? 4 / sizeof(source) : 1, ACROSS = 32 * SIDE;
struct alignas(SIDE * sizeof(source)) Side { source at[SIDE]; };
union Words { State state; int at[sizeof(State) / 4]; };

/* The states of a group, merged by its first item. */
__device__ inline State of_group(State s) {
  __shared__ State tree[HIGH];
#pragma unroll
  for (int apart = 16; apart; apart /= 2) {
    Words own, other;
    own.state = s;
#pragma unroll
    for (int k = 0; k < sizeof(State) / 4; k++)
      other.at[k] = __shfl_xor_sync(0xffffffffu, own.at[k], apart);
    merge(s, other.state);
  }
  if (!(threadIdx.x & 31)) tree[threadIdx.x / 32] = s;
  __syncthreads();
  if (!threadIdx.x)
    for (int k = 1; k < HIGH; k++) merge(s, tree[k]);
  return s;
}

/* Rows of elements side by side: group (row, part), whose parts take turns. */
extern "C" __global__ void __launch_bounds__(THREADS, sizeof(source) <= 4 ? 6 : 1) rows(
    const source *__restrict__ x, target *out, State *states, unsigned *counts,
    long long length, long long row_step, long long offset, long long parts,
    long long vector, double number, long long root) {
  long long row = blockIdx.x / parts, own = blockIdx.x - row * parts, stop = length;
  x += offset + row * row_step;
  State s = start();
  for (long long at = own * THREADS * 16 + threadIdx.x * 4; at < stop;
       at += parts * THREADS * 16) {
    source_value v[16];
    if (vector && at + THREADS * 12 + 4 <= stop) {
      Four<source> read[4];
#pragma unroll
      for (int k = 0; k < 4; k++)
        read[k] = *(const Four<source> *)(x + at + k * (THREADS * 4));
#pragma unroll
      for (int k = 0; k < 16; k++) v[k] = load_source(read[k / 4].at[k & 3]);
      take<16, true>(s, v, at, 1, THREADS * 4, 16);
    } else {
      for (int k = 0; k < 4; k++) {
        long long from = at + k * (THREADS * 4);
        if (from >= stop) break;
        if (vector && from + 4 <= stop) {
          Four<source> read = *(const Four<source> *)(x + from);
#pragma unroll
          for (int j = 0; j < 4; j++) v[j] = load_source(read.at[j]);
          take<4, true>(s, v, from, 1, 0, 4);
        } else {
#pragma unroll
          for (int j = 0; j < 4; j++) v[j] = load_source(x[min(from + j, stop - 1)]);
          take<4, false>(s, v, from, 1, 0, (int)min(4ll, stop - from));
        }
      }
    }
  }
  s = of_group(s);
  if (parts > 1) {
    if (!threadIdx.x) states[blockIdx.x] = s;
    if (!is_last(counts + row, parts)) return;
    states += row * parts;
    s = start();
#pragma unroll 4
    for (long long k = threadIdx.x; k < parts; k += THREADS) merge(s, states[k]);
    s = of_group(s);
  }
  if (!threadIdx.x) out[row] = store_target(result(s, number, root));
}

/* Sixteen elements of each column of a lane, of rows that are HIGH apart. */
template <bool all>
__device__ inline void take_down(State *s, const source *x, long long at,
                                 long long step, long long column, long long width,
                                 bool whole, int count) {
  source_value v[SIDE][16];
  const source *from = x + at * step;
#pragma unroll
  for (int k = 0; k < 16; k++) {
    const source *own = all || k < count ? from + k * (HIGH * step) : from;
    if (whole) {
      Side read = *(const Side *)(own + column);
#pragma unroll
      for (int j = 0; j < SIDE; j++) v[j][k] = load_source(read.at[j]);
    } else {
#pragma unroll
      for (int j = 0; j < SIDE; j++)
        v[j][k] = load_source(own[min(column + j, width - 1)]);
    }
  }
#pragma unroll
  for (int j = 0; j < SIDE; j++) take<16, all>(s[j], v[j], at, HIGH, HIGH * 4, count);
}

/* Columns side by side: group (columns, part), a row of the grid for each matrix. */
extern "C" __global__ void __launch_bounds__(THREADS, SIDE == 1 ? 5 : 1) columns(
    const source *__restrict__ x, target *out, State *states, unsigned *counts,
    long long length, long long step, long long offset, long long parts, long long part,
    long long width, long long outer_step, double number, long long root) {
  __shared__ State tree[HIGH][ACROSS];
  long long groups = (width + ACROSS - 1) / ACROSS;
  long long own = blockIdx.x / groups, group = blockIdx.x - own * groups;
  long long first = own * part, stop = min(first + part, length);
  int lane = threadIdx.x & 31, high = threadIdx.x / 32;
  long long column = group * ACROSS + lane * SIDE;
  x += offset + blockIdx.y * outer_step;
  State s[SIDE];
#pragma unroll
  for (int j = 0; j < SIDE; j++) s[j] = start();
  bool whole = column + SIDE <= width
      && !((step | offset | outer_step) & (SIDE - 1));
  long long at = first + high;
  for (; at + HIGH * 15 < stop; at += HIGH * 16)
    take_down<true>(s, x, at, step, column, width, whole, 16);
  if (at < stop) {
    int count = (int)((stop - at + HIGH - 1) / HIGH);
    take_down<false>(s, x, at, step, column, width, whole, count);
  }
#pragma unroll
  for (int j = 0; j < SIDE; j++) tree[high][lane * SIDE + j] = s[j];
  __syncthreads();
  column = group * ACROSS + threadIdx.x;
  long long count = gridDim.y * width, place = blockIdx.y * width + column;
  bool is_there = threadIdx.x < ACROSS && column < width;
  State all = start();
  if (is_there) {
    all = tree[0][threadIdx.x];
    for (int k = 1; k < HIGH; k++) merge(all, tree[k][threadIdx.x]);
  }
  if (parts > 1) {
    if (is_there) states[own * count + place] = all;
    if (!is_last(counts + blockIdx.y * groups + group, parts)) return;
    for (int j = lane; j < ACROSS; j += 32) {
      State merged = start();
      const State *from = states + blockIdx.y * width + group * ACROSS + j;
      if (group * ACROSS + j < width)
        for (long long k = high; k < parts; k += HIGH) merge(merged, from[k * count]);
      tree[high][j] = merged;
    }
    __syncthreads();
    if (is_there) {
      all = tree[0][threadIdx.x];
      for (int k = 1; k < HIGH; k++) merge(all, tree[k][threadIdx.x]);
    }
  }
  if (is_there) out[place] = store_target(result(all, number, root));
}
"""
