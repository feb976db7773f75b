"""Running sums in one pass.

A block takes a tile: it publishes the tile's total, waits for the totals of the tiles
before it in its window and for the sum of all windows before, and stores.  The last
tile of a window publishes that sum for the next one.  Blocks take tiles in order, so
that those waited for have begun; and all is added in an order that does not depend on
who was first: the same bits in every run.

After Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back",
2016, who add up whatever is there already.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .common import head

__all__ = ["COMBINE", "THREADS", "WINDOW", "scan_text", "tile", "words_of"]

DType = np.dtype[Any]

THREADS = 256
WINDOW = 1024
"""Tiles of a window."""

COMBINE = {
    "cumulative_sum": "x + y",
    "cumulative_prod": "x * y",
    "cumulative_min": "(x < y || x != x) ? x : y",
    "cumulative_max": "(x > y || x != x) ? x : y",
}
"""How two elements are combined, by the name of the row."""


def words_of(sums: DType) -> int:
    """Words of 8 bytes in which a total is published."""
    return 1 if sums.itemsize <= 4 else 2


def tile(target: DType) -> int:
    """Elements of a tile: as many as leave room for four groups on a unit."""
    return 8192 if target.itemsize <= 4 else 4096


@cache
def scan_text(name: str, source: DType, target: DType) -> str:
    """The text of ``scan``.

    Parameters are the array, the result, the state (words that are 0: a counter, the
    totals of tiles, the sums before windows), and: the length of a row, how far rows
    lie apart and the offset of the first one, tiles and windows of a row, and whether
    four elements can be read and written at once.
    """
    sums = np.dtype(np.float32) if target.char == "e" else target
    start = _start(name, sums)
    return (
        head(source=source, target=target)
        + f"typedef {'float' if sums.char == 'f' else 'target_value'} sum_type;\n"
        + f"__device__ inline sum_type start() {{ return {start}; }}\n"
        + "__device__ inline sum_type combined(sum_type x, sum_type y) "
        + f"{{ return {COMBINE[name]}; }}\n"
        + f"constexpr int THREADS = {THREADS}, TILE = {tile(target)}, "
        + f"WINDOW = {WINDOW}, PAUSE = 100, WORDS = {words_of(sums)};\n"
        + _TEXT
    )


def _start(name: str, sums: DType) -> str:
    if name == "cumulative_sum":
        return "(sum_type)-0.0" if sums.kind == "f" else "0"
    if name == "cumulative_prod":
        return "1"
    low = name == "cumulative_max"
    if sums.kind == "f":
        return "-INFINITY" if low else "INFINITY"
    limits = np.iinfo(sums)
    if not low:
        return f"{limits.max}{'ull' if sums.kind == 'u' else 'll'}"
    return f"(-{limits.max}ll - 1)" if sums.kind == "i" else "0"


_TEXT = """\
typedef unsigned long long word;
union Bits { word whole; sum_type value; };

__device__ inline void publish(word *place, sum_type value) {
  Bits bits;
  bits.whole = 0;
  bits.value = value;
  volatile word *target = place;
  target[0] = (1ull << 32) | (bits.whole & 0xffffffffull);
  if (WORDS == 2) target[1] = (1ull << 32) | (bits.whole >> 32);
}

__device__ inline sum_type published(word *place) {
  volatile word *source = place;
  Bits bits;
  word found;
  while (!((found = source[0]) >> 32)) __nanosleep(PAUSE);
  bits.whole = found & 0xffffffffull;
  if (WORDS == 2) {
    while (!((found = source[1]) >> 32)) __nanosleep(PAUSE);
    bits.whole |= found << 32;
  }
  return bits.value;
}

/* The values of the lanes up to this one, combined. */
__device__ inline sum_type up_to(sum_type value, int lane) {
  for (int step = 1; step < 32; step *= 2) {
    sum_type other = __shfl_up_sync(0xffffffffu, value, step);
    if (lane >= step) value = combined(other, value);
  }
  return value;
}

__device__ inline sum_type of_group(sum_type value, sum_type *spare) {
  for (int step = 16; step; step /= 2)
    value = combined(value, __shfl_xor_sync(0xffffffffu, value, step));
  if (!(threadIdx.x & 31)) spare[threadIdx.x / 32] = value;
  __syncthreads();
  value = spare[0];
  for (int k = 1; k < THREADS / 32; k++) value = combined(value, spare[k]);
  return value;
}

extern "C" __global__ void __launch_bounds__(THREADS, 4) scan(
    const source *__restrict__ x, target *__restrict__ out, word *state,
    long long length, long long row_step, long long offset, long long tiles,
    long long windows, long long vector) {
  constexpr int EACH = TILE / THREADS / 4;
  __shared__ sum_type of_warps[THREADS / 32], spare[THREADS / 32], before_all;
  __shared__ long long number_of;
  if (!threadIdx.x) number_of = atomicAdd(state, 1ull);
  __syncthreads();
  long long number = number_of, row = number / tiles, tile = number - row * tiles;
  int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
  word *totals = state + 1 + row * tiles * WORDS;
  word *sums = state + 1 + gridDim.x * (long long)WORDS + row * windows * WORDS;
  x += offset + row * row_step;
  out += row * length;
  long long first = tile * TILE + warp * (TILE / (THREADS / 32));
  sum_type found[EACH][4], ends[EACH];
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    long long at = first + (k * 32 + lane) * 4;
    if (vector && at + 4 <= length) {
      Four<source> read = *(const Four<source> *)(x + at);
#pragma unroll
      for (int j = 0; j < 4; j++)
        found[k][j] = (sum_type)(target_value)load_source(read.at[j]);
    } else {
#pragma unroll
      for (int j = 0; j < 4; j++)
        found[k][j] = at + j < length
            ? (sum_type)(target_value)load_source(x[at + j]) : start();
    }
  }
  sum_type of_warp = start();
#pragma unroll
  for (int k = 0; k < EACH; k++) {
#pragma unroll
    for (int j = 1; j < 4; j++) found[k][j] = combined(found[k][j - 1], found[k][j]);
    sum_type end = up_to(found[k][3], lane);
    sum_type below = __shfl_up_sync(0xffffffffu, end, 1);
    ends[k] = lane ? combined(of_warp, below) : of_warp;
    of_warp = combined(of_warp, __shfl_sync(0xffffffffu, end, 31));
  }
  if (!lane) of_warps[warp] = of_warp;
  __syncthreads();
  sum_type total = of_warps[0], before = start();
  for (int k = 1; k < THREADS / 32; k++) {
    if (k == warp) before = total;
    total = combined(total, of_warps[k]);
  }
  long long window = tile / WINDOW, inside = tile - window * WINDOW;
  if (!threadIdx.x && tile + 1 < tiles) publish(totals + tile * WORDS, total);
  if (tile) {
    sum_type all = start();
    word *of_window = totals + window * WINDOW * WORDS;
    for (int k = threadIdx.x; k < inside; k += THREADS)
      all = combined(all, published(of_window + k * WORDS));
    all = of_group(all, spare);
    if (!threadIdx.x) {
      if (window) all = combined(published(sums + window * WORDS), all);
      before_all = all;
      if (inside == WINDOW - 1 && tile + 1 < tiles)
        publish(sums + (window + 1) * WORDS, combined(all, total));
    }
    __syncthreads();
    before = combined(before_all, before);
  }
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    long long at = first + (k * 32 + lane) * 4;
    sum_type base = combined(before, ends[k]);
    if (vector && at + 4 <= length) {
      Four<target> written;
#pragma unroll
      for (int j = 0; j < 4; j++)
        written.at[j] = store_target((target_value)combined(base, found[k][j]));
      *(Four<target> *)(out + at) = written;
    } else {
#pragma unroll
      for (int j = 0; j < 4; j++)
        if (at + j < length)
          out[at + j] = store_target((target_value)combined(base, found[k][j]));
    }
  }
}
"""
