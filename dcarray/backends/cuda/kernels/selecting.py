"""Elements where bools are true, in one launch whose count the host can wait for.

A block takes a tile, publishes how many of its bools are true, and adds up what the
tiles before it have published, back to one that says the sum of all up to itself.
Blocks take tiles in order, so that those waited for have begun.  What is published
carries the number of the launch: nothing has to be cleared in between.

After Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back",
2016.
"""

from __future__ import annotations

from functools import cache

from .choosing import BITS, WORDS

__all__ = ["COUNT_BITS", "select_text"]

COUNT_BITS = 40
"""Of a word, for a count; those above have the number of the launch."""


@cache
def select_text(size: int) -> str:
    """The text of ``select_true``, which copies elements of so many bytes, or without
    bytes stores places.

    Its parameters are bools, the array, the result, the state (words that are 0 at
    first: how many tiles are taken, and one for each), and: the number of the launch,
    the address where the host waits for the count, how many bools there are, and where
    the array begins.
    """
    kind = WORDS.get(size, "long long")
    value = "x[base + kept[at]]" if size else "base + kept[at]"
    return f"typedef {kind} element;\n" + BITS + _SELECT.replace("VALUE", value)


_SELECT = """\
typedef unsigned long long count_word;
constexpr int COUNT_BITS = 40, EACH = TILE / THREADS, BACK = 8;
constexpr count_word WHOLE = 1ull << (COUNT_BITS - 1);

__device__ inline count_word published(count_word *place) {
  volatile count_word *source = place;
  return *source;
}

__device__ inline void publish(count_word *place, count_word value) {
  volatile count_word *target = place;
  *target = value;
}

/* The sum of the counts before a tile, by a warp: each lane reads some. */
__device__ inline count_word counted_before(count_word *counts, long long tile,
                                            count_word launch) {
  int lane = threadIdx.x & 31;
  count_word before = 0;
  for (long long end = tile; end > 0; end -= BACK * 32) {
    count_word found[BACK];
    bool is_done = false;
#pragma unroll
    for (int k = 0; k < BACK; k++) {
      long long at = end - 1 - (k * 32 + lane);
      found[k] = at < 0 ? launch | WHOLE : published(counts + at);
    }
#pragma unroll
    for (int k = 0; k < BACK; k++) {
      long long at = end - 1 - (k * 32 + lane);
      while (found[k] >> COUNT_BITS != launch >> COUNT_BITS) {
        __nanosleep(20);
        found[k] = published(counts + at);
      }
      word ends = __ballot_sync(0xffffffffu, (found[k] & WHOLE) != 0);
      int last = ends ? __ffs(ends) - 1 : 31;
      if (!is_done && lane <= last) before += found[k] & (WHOLE - 1);
      is_done = is_done || ends;
    }
    if (is_done) break;
  }
  for (int step = 16; step; step /= 2)
    before += __shfl_xor_sync(0xffffffffu, before, step);
  return before;
}

extern "C" __global__ void __launch_bounds__(THREADS) select_true(
    const unsigned char *__restrict__ mask, const element *__restrict__ x,
    element *__restrict__ out, count_word *state, long long number,
    long long seen, long long size, long long offset) {
  __shared__ unsigned short kept[TILE];
  __shared__ int parts[THREADS / 32];
  __shared__ count_word taken, before_all;
  if (!threadIdx.x) {
    taken = atomicAdd(state, 1ull);
    if (taken == gridDim.x - 1) publish(state, 0);  /* for the next launch */
  }
  __syncthreads();
  long long tile = taken, base = tile * TILE;
  int lane = threadIdx.x & 31, warp = threadIdx.x / 32, first = threadIdx.x * 16;
  count_word launch = (count_word)number << COUNT_BITS, *counts = state + 1;
  x += offset;
  word bits = bits_of(mask, base + first, size);
  int own = __popc(bits), place = own;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    int other = __shfl_up_sync(0xffffffffu, place, step);
    if (lane >= step) place += other;
  }
  if (lane == 31) parts[warp] = place;
  __syncthreads();
  int count = 0;
#pragma unroll
  for (int k = 0; k < THREADS / 32; k++) {
    if (k == warp) place += count;
    count += parts[k];
  }
  if (!threadIdx.x) publish(counts + tile, launch | (tile ? 0 : WHOLE) | count);
  place -= own;
  while (bits) {
    kept[place++] = first + __ffs(bits) - 1;
    bits &= bits - 1;
  }
  __syncthreads();
  element read[EACH];  /* on their way while the counts are waited for */
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    int at = threadIdx.x + k * THREADS;
    if (at < count) read[k] = VALUE;
  }
  if (!warp) {
    count_word before = counted_before(counts, tile, launch), all = before + count;
    if (!lane) {
      before_all = before;
      if (tile) publish(counts + tile, launch | WHOLE | all);
      if (tile == gridDim.x - 1) {
        publish((count_word *)seen, launch | all);
        __threadfence_system();
      }
    }
  }
  __syncthreads();
  out += before_all;
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    int at = threadIdx.x + k * THREADS;
    if (at < count) out[at] = read[k];
  }
}
"""
