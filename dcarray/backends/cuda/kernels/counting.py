"""Histograms: the ends of an array in one pass, and the elements between edges.

Each group counts in memory of its own and adds what it has to the counts of all.  Where
few bins are wanted its warps have several such memories, so that they seldom meet.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ....render.dialect import code_of
from .common import LAST, TYPES, head

__all__ = ["MOST_BINS", "THREADS", "TILE", "ends_text", "histogram_text"]

DType = np.dtype[Any]

THREADS = 256
TILE = 1024
"""Elements that a group takes at a time."""

MOST_BINS = 4096
"""Bins for which groups have memory of their own; more are counted in that of all."""


@cache
def ends_text(source: DType) -> str:
    """The text of ``ends``: an array, its smallest and its largest element, twice as
    many of each group, a count of `Raw.counts`, how many elements there are, and where
    the array begins.  Where one is NaN both are."""
    return head(source=source) + LAST + _ENDS


@cache
def histogram_text(
    source: DType, edge: DType, compared: DType, weight: DType | None
) -> str:
    """The text of ``histogram``: an array, edges, weights, the sums, and: how many
    elements and bins there are, where the array and the weights begin, and bins for one
    unit of the array's numbers: 0 where the bins are not of one width.

    Parameters
    ----------
    source, edge : dtype
        Of the array and of the edges.
    compared : dtype
        In which elements and edges are compared.
    weight : dtype, optional
        Of weights, which become sums of float64; without them elements are counted in
        int64.
    """
    names = {"source": source, "edge": edge, "weight": weight or source}
    value = "float" if compared.char == "e" else TYPES[code_of(compared)]
    kinds = ("double", "double") if weight else ("unsigned int", "unsigned long long")
    return (
        head(**names)
        + f"typedef {value} compared;\n"
        + f"typedef {kinds[0]} part;\ntypedef {kinds[1]} total;\n"
        + f"constexpr int MOST_BINS = {MOST_BINS};\n"
        + _HISTOGRAM.replace("AMOUNT", "load_weight(w[k])" if weight else "1")
    )


_ENDS = """\
constexpr int THREADS = 256;
struct Ends { source_value low, high; };

__device__ inline void take(Ends &ends, source_value low, source_value high) {
  if (low < ends.low || low != low) ends.low = low;
  if (high > ends.high || high != high) ends.high = high;
}

/* The ends of those of all threads, for the first one. */
__device__ inline Ends merged(Ends own) {
  __shared__ source_value lows[THREADS], highs[THREADS];
  __syncthreads();
  lows[threadIdx.x] = own.low;
  highs[threadIdx.x] = own.high;
  for (int step = THREADS / 2; step; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) {
      take(own, lows[threadIdx.x + step], highs[threadIdx.x + step]);
      lows[threadIdx.x] = own.low;
      highs[threadIdx.x] = own.high;
    }
  }
  return own;
}

extern "C" __global__ void __launch_bounds__(THREADS) ends(
    const source *__restrict__ x, source *out, source *parts, unsigned *count,
    long long size, long long offset) {
  x += offset;
  Ends own;
  own.low = own.high = load_source(x[0]);
  long long stride = gridDim.x * (long long)THREADS;
  long long k = blockIdx.x * (long long)THREADS + threadIdx.x;
  for (; k + 3 * stride < size; k += 4 * stride) {
    source_value read[4];
#pragma unroll
    for (int j = 0; j < 4; j++) read[j] = load_source(x[k + j * stride]);
#pragma unroll
    for (int j = 0; j < 4; j++) take(own, read[j], read[j]);
  }
  for (; k < size; k += stride) {
    source_value read = load_source(x[k]);
    take(own, read, read);
  }
  own = merged(own);
  if (!threadIdx.x) {
    parts[2 * blockIdx.x] = store_source(own.low);
    parts[2 * blockIdx.x + 1] = store_source(own.high);
  }
  if (!is_last(count, gridDim.x)) return;
  for (int part = threadIdx.x; part < gridDim.x; part += THREADS)
    take(own, load_source(parts[2 * part]), load_source(parts[2 * part + 1]));
  own = merged(own);
  if (!threadIdx.x) {
    out[0] = store_source(own.low);
    out[1] = store_source(own.high);
  }
}
"""

_HISTOGRAM = """\
constexpr int THREADS = 256, TILE = 1024;

/* The bin of an element; -1 for those outside and for NaN.  What lies on the last edge
   is inside.  A place found by arithmetic is moved until the edges agree. */
__device__ inline int bin_of(compared x, const edge *__restrict__ edges, int bins,
                             compared first, compared last, double scale) {
  if (!(x >= first && x <= last)) return -1;
  if (scale > 0) {
    int found = (int)(((double)x - (double)first) * scale);
    found = found < 0 ? 0 : found < bins ? found : bins - 1;
    while (found > 0 && x < (compared)load_edge(edges[found])) found--;
    while (found < bins - 1 && x >= (compared)load_edge(edges[found + 1])) found++;
    return found;
  }
  int low = 0, high = bins;  /* of the bins, the last one that begins at or before x */
  while (high - low > 1) {
    int middle = low + (high - low) / 2;
    if ((compared)load_edge(edges[middle]) <= x) low = middle;
    else high = middle;
  }
  return low;
}

extern "C" __global__ void __launch_bounds__(THREADS) histogram(
    const source *__restrict__ x, const edge *__restrict__ edges,
    const weight *__restrict__ w, total *sums, long long size, long long bins,
    long long offset, long long start, double scale) {
  __shared__ part own[MOST_BINS];
  x += offset;
  w += start;
  compared first = (compared)load_edge(edges[0]);
  compared last = (compared)load_edge(edges[bins]);
  bool is_shared = bins <= MOST_BINS;
  int copies = bins > MOST_BINS / 2 ? 1 : min((int)(MOST_BINS / bins), THREADS / 32);
  int held = is_shared ? copies * (int)bins : 0;
  for (int k = threadIdx.x; k < held; k += THREADS) own[k] = 0;
  __syncthreads();
  part *mine = own + (threadIdx.x / 32) % copies * (int)bins;
  long long stride = gridDim.x * (long long)TILE;
  for (long long tile = blockIdx.x * (long long)TILE; tile < size; tile += stride) {
    source_value read[TILE / THREADS];
#pragma unroll
    for (int j = 0; j < TILE / THREADS; j++) {
      long long k = tile + j * THREADS + threadIdx.x;
      read[j] = load_source(x[k < size ? k : 0]);
    }
#pragma unroll
    for (int j = 0; j < TILE / THREADS; j++) {
      long long k = tile + j * THREADS + threadIdx.x;
      if (k >= size) break;
      int bin = bin_of((compared)read[j], edges, (int)bins, first, last, scale);
      if (bin < 0) continue;
      if (is_shared) atomicAdd(mine + bin, (part)AMOUNT);
      else atomicAdd(sums + bin, (total)AMOUNT);
    }
  }
  __syncthreads();
  for (int k = threadIdx.x; k < held / copies; k += THREADS) {
    total found = 0;
    for (int copy = 0; copy < copies; copy++) found += own[copy * (int)bins + k];
    if (found != 0) atomicAdd(sums + k, found);
  }
}
"""
