"""Elements where bools are true, elements at indices, and places in ordered axes.

As `ops.kernels.choosing`, but with sums of warps and with bools read sixteen at once.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .common import head

__all__ = [
    "BITS",
    "THREADS",
    "TILE",
    "WORDS",
    "mask_text",
    "search_text",
    "steady_text",
    "take_text",
]

DType = np.dtype[Any]

THREADS = 256
TILE = 4096
"""Bools that a group takes."""

WORDS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "uint2"} | {
    16: "uint4"
}
"""What stands for elements of so many bytes."""

PLACES = {
    "i1": "signed char",
    "u1": "unsigned char",
    "i2": "short",
    "u2": "unsigned short",
    "i4": "int",
    "u4": "unsigned int",
    "i8": "long long",
}
"""What stands for indices, by kind and size of their dtype."""


@cache
def mask_text(size: int) -> str:
    """The text of ``count_tiles``, ``add_counts``, ``choose``, which copies elements
    of so many bytes, or without bytes stores places, and ``put_chosen``.

    ``count_tiles``: bools, words, how many bools.  ``add_counts``: the same words, how
    many tiles; the words are the sum of all counts, those before each tile, and at
    first the counts behind them.  ``choose``: bools, these words, the array, the
    result, how many bools, and where the array begins.  ``put_chosen``, the other way
    round: bools, these words, values side by side, the array, how many bools, and where
    the array and the values begin.
    """
    kind = WORDS.get(size, "long long")
    value = "x[base + kept[k]]" if size else "base + kept[k]"
    return f"typedef {kind} element;\n" + BITS + _MASKS.replace("VALUE", value)


@cache
def take_text(size: int, code: str, mode: str) -> str:
    """The text of ``take``: the array, indices, the result, two words (whether an index
    is out of bounds, and one that is), and: how many indices there are, the length of
    the axis, elements of ``size`` bytes behind one step, elements of a whole axis, how
    many axes there are, and where the array and the indices begin.

    ``code`` is that of the indices in `PLACES`.
    """
    return (
        f"typedef {WORDS[size]} element;\n"
        + f"typedef {PLACES[code]} place;\n"
        + _TAKE.replace("CHECK", _CHECKS[mode])
    )


@cache
def search_text(dtype: DType, right: bool) -> str:
    """The text of ``search``: an ordered array, values, their places, and: how many
    there are in the array and of values, and where both begin."""
    ahead = "!is_less(own, there)" if right else "is_less(there, own)"
    return head(source=dtype) + _SEARCH.replace("AHEAD", ahead)


@cache
def steady_text(dtype: DType) -> str:
    """The text of ``steady``: floats, the same with every NaN as a radix sort has it
    last, and how many there are."""
    return head(source=dtype) + _STEADY


_STEADY = """\
extern "C" __global__ void __launch_bounds__(256) steady(
    const source *__restrict__ x, source *__restrict__ out, long long size) {
  long long at = (blockIdx.x * 256ll + threadIdx.x) * 4;
  if (at + 4 <= size) {
    Four<source> read = *(const Four<source> *)(x + at);
#pragma unroll
    for (int k = 0; k < 4; k++)
      if (read.at[k] != read.at[k]) read.at[k] = (source)NAN;
    *(Four<source> *)(out + at) = read;
  } else {
    for (long long k = at; k < size; k++) out[k] = x[k] != x[k] ? (source)NAN : x[k];
  }
}
"""

BITS = """\
constexpr int THREADS = 256, TILE = 4096;
typedef unsigned int word;

/* The true ones of a lane's sixteen bools, as sixteen bits. */
__device__ inline word bits_of(const unsigned char *mask, long long first,
                               long long size) {
  word found = 0;
  if (first + 16 <= size) {
    uint4 read = *(const uint4 *)(mask + first);
    const word four[4] = {read.x, read.y, read.z, read.w};
#pragma unroll
    for (int k = 0; k < 4; k++) {
      word ones = __vsetne4(four[k], 0);
      found |= ((ones * 0x10204080u) >> 28) << (4 * k);
    }
  } else {
    for (int k = 0; k < 16 && first + k < size; k++)
      found |= (word)(mask[first + k] != 0) << k;
  }
  return found;
}
"""
"""How a thread reads sixteen bools."""

_MASKS = """\
extern "C" __global__ void __launch_bounds__(THREADS) count_tiles(
    const unsigned char *__restrict__ mask, long long *sums, long long size) {
  __shared__ int parts[THREADS / 32];
  int *counts = (int *)(sums + 1 + gridDim.x);
  long long first = blockIdx.x * (long long)TILE + threadIdx.x * 16;
  int count = __popc(bits_of(mask, first, size));
  for (int step = 16; step; step /= 2)
    count += __shfl_xor_sync(0xffffffffu, count, step);
  if (!(threadIdx.x & 31)) parts[threadIdx.x / 32] = count;
  __syncthreads();
  if (threadIdx.x) return;
  for (int k = 1; k < THREADS / 32; k++) count += parts[k];
  counts[blockIdx.x] = count;
}

__device__ inline long long up_to(long long value) {
  int lane = threadIdx.x & 31;
  for (int step = 1; step < 32; step *= 2) {
    long long other = __shfl_up_sync(0xffffffffu, value, step);
    if (lane >= step) value += other;
  }
  return value;
}

extern "C" __global__ void __launch_bounds__(1024) add_counts(
    long long *__restrict__ sums, long long size) {
  __shared__ long long parts[32];
  const int *__restrict__ counts = (const int *)(sums + 1 + size);
  long long each = (size + 1023) / 1024;
  long long first = min(threadIdx.x * each, size), stop = min(first + each, size);
  long long own = 0;
#pragma unroll 8
  for (long long k = first; k < stop; k++) own += counts[k];
  long long before = up_to(own);
  if ((threadIdx.x & 31) == 31) parts[threadIdx.x / 32] = before;
  __syncthreads();
  if (threadIdx.x < 32) parts[threadIdx.x] = up_to(parts[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x >= 32) before += parts[threadIdx.x / 32 - 1];
  if (threadIdx.x == 1023) sums[0] = before;
  before -= own;
  for (long long k = first; k < stop; k++) {
    sums[1 + k] = before;
    before += counts[k];
  }
}

/* The places of the true ones among a tile's bools, from the first of them on; returns
   their number. */
__device__ inline int kept_of(const unsigned char *mask, long long base, long long size,
                              unsigned short *kept, int *parts) {
  int lane = threadIdx.x & 31, warp = threadIdx.x / 32, first = threadIdx.x * 16;
  word bits = bits_of(mask, base + first, size);
  int own = __popc(bits), at = own;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    int other = __shfl_up_sync(0xffffffffu, at, step);
    if (lane >= step) at += other;
  }
  if (lane == 31) parts[warp] = at;
  __syncthreads();
  int count = 0;
#pragma unroll
  for (int k = 0; k < THREADS / 32; k++) {
    if (k == warp) at += count;
    count += parts[k];
  }
  at -= own;
  while (bits) {
    kept[at++] = first + __ffs(bits) - 1;
    bits &= bits - 1;
  }
  __syncthreads();
  return count;
}

extern "C" __global__ void __launch_bounds__(THREADS) choose(
    const unsigned char *__restrict__ mask, const long long *__restrict__ sums,
    const element *__restrict__ x, element *__restrict__ out, long long size,
    long long offset) {
  __shared__ unsigned short kept[TILE];
  __shared__ int parts[THREADS / 32];
  long long base = blockIdx.x * (long long)TILE;
  int count = kept_of(mask, base, size, kept, parts);
  out += sums[1 + blockIdx.x];
  x += offset;
#pragma unroll 4
  for (int k = threadIdx.x; k < count; k += THREADS) out[k] = VALUE;
}

extern "C" __global__ void __launch_bounds__(THREADS) put_chosen(
    const unsigned char *__restrict__ mask, const long long *__restrict__ sums,
    const element *__restrict__ x, element *__restrict__ out, long long size,
    long long offset, long long begin) {
  __shared__ unsigned short kept[TILE];
  __shared__ int parts[THREADS / 32];
  long long base = blockIdx.x * (long long)TILE;
  int count = kept_of(mask, base, size, kept, parts);
  x += begin + sums[1 + blockIdx.x];
  out += offset + base;
#pragma unroll 4
  for (int k = threadIdx.x; k < count; k += THREADS) out[kept[k]] = x[k];
}
"""

_CHECKS = {
    "raise": """\
  long long found = given < 0 ? given + length : given;
  if ((unsigned long long)found < (unsigned long long)length) return found;
  wrong[1] = given;
  wrong[0] = 1;
  return 0;
""",
    "wrap": """\
  if ((unsigned long long)given < (unsigned long long)length) return given;
  given %= length;
  return given < 0 ? given + length : given;
""",
    "clip": "  return given < 0 ? 0 : given >= length ? length - 1 : given;\n",
}

_TAKE = """\
__device__ inline long long checked(long long given, long long length,
                                    long long *wrong) {
CHECK}

extern "C" __global__ void __launch_bounds__(256) take(
    const element *__restrict__ x, const place *__restrict__ places,
    element *__restrict__ out, long long *__restrict__ wrong, long long count,
    long long length, long long inner, long long axis, long long outer,
    long long offset, long long begin) {
  long long all = outer * count * inner, stride = gridDim.x * 1024ll;
  x += offset;
  places += begin;
  for (long long first = blockIdx.x * 1024ll + threadIdx.x; first < all;
       first += stride) {
    long long given[4], from[4];
    element read[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
      long long at = min(first + k * 256, all - 1);
      if (inner == 1 && outer == 1) {
        given[k] = places[at];
        from[k] = 0;
      } else {
        long long row, before;
        if (all < 0x7fffffff) {
          row = (unsigned)at / (unsigned)inner;
          before = (unsigned)row / (unsigned)count;
        } else {
          row = at / inner;
          before = row / count;
        }
        given[k] = places[row - before * count];
        from[k] = before * axis + at - row * inner;
      }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) from[k] += checked(given[k], length, wrong) * inner;
#pragma unroll
    for (int k = 0; k < 4; k++) read[k] = x[from[k]];
#pragma unroll
    for (int k = 0; k < 4; k++)
      if (first + k * 256 < all) out[first + k * 256] = read[k];
  }
}
"""

_SEARCH = """\
__device__ inline bool is_less(source_value x, source_value y) {
  return x < y || (y != y && x == x);
}
extern "C" __global__ void __launch_bounds__(256) search(
    const source *__restrict__ x, const source *__restrict__ values, long long *out,
    long long size, long long count, long long offset, long long from) {
  x += offset;
  values += from;
  for (long long k = blockIdx.x * 256ll + threadIdx.x; k < count;
       k += (long long)gridDim.x * 256) {
    source_value own = load_source(values[k]);
    long long first = 0, stop = size;
    while (first < stop) {
      long long middle = (first + stop) >> 1;
      source_value there = load_source(x[middle]);
      if (AHEAD) first = middle + 1; else stop = middle;
    }
    out[k] = first;
  }
}
"""
