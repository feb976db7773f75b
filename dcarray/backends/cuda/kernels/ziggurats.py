"""Normal numbers of PCG64's stream as NumPy's ziggurat makes them, in one pass.

A group takes a tile of words.  Most words make a number alone; some open a trial that
takes further words, and which ones do depends on those before.  A group tries all words
of its tile that may open one, and some before the tile, as if each did; then goes
through them in order and drops those that an earlier trial took.  How many numbers the
tiles before it made it learns as in `scanning`; with that, whether the words before its
tile told it the truth about the tile's beginning.  Where they did not, which takes a
chain of trials as long as all of them, the caller is told so.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

__all__ = ["BEFORE", "HEAD", "THREADS", "TILE", "groups_of", "normal_text"]

DType = np.dtype[Any]

THREADS = 256
TILE = 4096
"""Pieces of a tile: words, or halves of them where numbers are short."""

BEFORE = 64
"""Pieces before a tile that tell how it begins."""

HEAD = 3
"""Words of the progress before those of tiles: a counter, whether something is wrong,
and where the last number ends."""


def groups_of(dtype: DType) -> int:
    """Groups that a unit of the device has room for; they go on to the next tile."""
    return 6 if dtype.itemsize == 4 else 4


@cache
def normal_text(dtype: DType, edge: float) -> str:
    """The text of ``pcg`` and ``normal``.

    ``pcg``, the states before all tiles: leaps of 1, 2, 4 ... words (each a factor and
    what is added, high and low), the states, and: how many there are, words of a tile,
    rows of leaps, and the first state.  ``normal``: the ziggurat's factors, limits and
    heights, leaps of 1, 2, 3 ... words, states, numbers, the progress (words that are
    0), and: how many numbers, how many tiles, the piece that is held, and whether there
    is one.
    """
    short = dtype.itemsize == 4
    return (
        f"typedef {'float' if short else 'double'} real;\n"
        f"typedef unsigned {'int' if short else 'long long'} piece;\n"
        f"constexpr int PARTS = {2 if short else 1}, GROUPS = {groups_of(dtype)};\n"
        f"constexpr piece MASK = {'0x7fffff' if short else '0xfffffffffffffull'};\n"
        f"constexpr real EDGE = (real){edge!r}, INVERSE = (real){1 / edge!r};\n"
        "__device__ inline real fraction(piece x) "
        + (
            "{ return (float)(x >> 8) * 0x1p-24f; }\n"
            if short
            else "{ return (double)(x >> 11) * 0x1p-53; }\n"
        )
        + _TEXT
    )


_TEXT = """\
typedef unsigned long long word;
constexpr int THREADS = 256, TILE = 4096, BEFORE = 64, HEAD = 3, MOST = 256;
constexpr int ROWS = TILE / THREADS / PARTS, WARPS = THREADS / 32;
constexpr word COUNT = (1ull << 48) - 1;

struct State { word high, low; };
struct Leap { State factor, plus; };

__device__ inline State after(State s, const Leap &leap) {
  State found;
  word low = s.low * leap.factor.low;
  found.high = __umul64hi(s.low, leap.factor.low) + s.high * leap.factor.low
      + s.low * leap.factor.high;
  found.low = low + leap.plus.low;
  found.high += leap.plus.high + (found.low < low);
  return found;
}

__device__ inline word word_of(State s) {
  unsigned turn = (unsigned)(s.high >> 58);
  word mixed = s.high ^ s.low;
  return mixed >> turn | mixed << ((64 - turn) & 63);
}

extern "C" __global__ void __launch_bounds__(256) pcg(
    const Leap *__restrict__ leaps, State *__restrict__ states, long long tiles,
    long long words, long long rows, long long high, long long low) {
  long long tile = blockIdx.x * 256ll + threadIdx.x;
  if (tile >= tiles) return;
  State s;
  s.high = (word)high;
  s.low = (word)low;
  word rest = (word)(tile * words);
  for (int k = 0; k < rows; k++)
    if (rest >> k & 1) s = after(s, leaps[k]);
  states[tile] = s;
}

/* A word that may open a trial, and what comes of it if it does. */
struct Slow { State state; word own; int place; };
struct Trial { real value; int place, end, known; bool made; };

struct Stream {
  State state;
  word own;
  int part;
  __device__ piece next(const Leap &leap) {
    if (PARTS == 2 && !part) {
      part = 1;
      return (piece)(own >> 32);
    }
    state = after(state, leap);
    own = word_of(state);
    part = 0;
    return (piece)own;
  }
};

__device__ inline piece part_of(word x, int part) {
  return (piece)(part ? x >> 32 : x);
}

__device__ inline Trial tried(const Slow &slow, const real *factors,
                              const real *heights, const Leap &leap) {
  Stream stream;
  stream.state = slow.state;
  stream.own = slow.own;
  stream.part = slow.place & (PARTS - 1);
  piece first = part_of(stream.own, stream.part);
  int layer = (int)(first & 255);
  piece size = first >> 9 & MASK;
  Trial found;
  found.place = slow.place;
  int length = 2;
  if (layer) {
    real x = (real)size * factors[layer];
    if (first >> 8 & 1) x = -x;
    real height = (heights[layer - 1] - heights[layer])
        * fraction(stream.next(leap)) + heights[layer];
    found.made = (double)height < exp(-0.5 * (double)x * (double)x);
    found.value = x;
  } else {
    length = 1;
    real apart, room;
    do {
      apart = -INVERSE * log1p(-fraction(stream.next(leap)));
      room = -log1p(-fraction(stream.next(leap)));
      length += 2;
    } while (!(room + room > apart * apart));
    found.value = size >> 8 & 1 ? -(EDGE + apart) : EDGE + apart;
    found.made = true;
  }
  found.end = slow.place + length;
  return found;
}

extern "C" __global__ void __launch_bounds__(THREADS, GROUPS) normal(
    const real *__restrict__ given_factors, const piece *__restrict__ given_limits,
    const real *__restrict__ given_heights, const Leap *__restrict__ leaps,
    const State *__restrict__ states, real *__restrict__ out, word *progress,
    long long size, long long tiles, long long held, long long first) {
  __shared__ real factors[256], heights[256];
  __shared__ piece limits[256];
  __shared__ unsigned masks[PARTS][ROWS * WARPS];
  __shared__ int before[ROWS * WARPS], some, doubtful, begins, ends;
  __shared__ unsigned taken[(BEFORE + TILE) / 32];
  __shared__ int doubts[MOST];
  __shared__ long long sums_of[WARPS];
  __shared__ bool whole_of[WARPS];
  __shared__ long long tile_of;
  __shared__ int total_of;
  __shared__ Slow slow[MOST];
  __shared__ Trial trials[MOST];
  int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  unsigned below = (1u << lane) - 1;
  for (int k = threadIdx.x; k < 256; k += THREADS) {
    factors[k] = given_factors[k];
    limits[k] = given_limits[k];
    heights[k] = given_heights[k];
  }
  const Leap one = leaps[0], far = leaps[THREADS - 1];
  volatile word *counts = progress + HEAD;
  const Leap own_leap = leaps[BEFORE / PARTS + threadIdx.x];
  for (;;) {
    if (!threadIdx.x) {
      tile_of = (long long)atomicAdd(progress, 1ull);
      some = doubtful = begins = ends = 0;
    }
    for (int k = threadIdx.x; k < (BEFORE + TILE) / 32; k += THREADS) taken[k] = 0;
    __syncthreads();
    long long tile = tile_of;
    if (tile >= tiles) return;
    State start = states[tile];
    if (tile && threadIdx.x < BEFORE / PARTS) {
      Slow found;
      found.state = after(start, leaps[threadIdx.x]);
      found.own = word_of(found.state);
      for (int part = 0; part < PARTS; part++) {
        piece x = part_of(found.own, part);
        if ((x >> 9 & MASK) < limits[x & 255]) continue;
        found.place = (int)threadIdx.x * PARTS + part - BEFORE;
        int slot = atomicAdd(&some, 1);
        if (slot < MOST) slow[slot] = found;
      }
    }
    State s = after(start, own_leap);
    real found[ROWS][PARTS];
    unsigned fast = 0;
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
      word own = word_of(s);
      if (!row && first && !tile && !threadIdx.x) own = (word)held << 32;
#pragma unroll
      for (int part = 0; part < PARTS; part++) {
        piece x = part_of(own, part), n = x >> 9 & MASK;
        int layer = (int)(x & 255);
        real value = (real)n * factors[layer];
        found[row][part] = x >> 8 & 1 ? -value : value;
        bool is_fast = n < limits[layer];
        if (is_fast) {
          fast |= 1u << (row * PARTS + part);
        } else {
          int slot = atomicAdd(&some, 1);
          if (slot < MOST) {
            slow[slot].state = s;
            slow[slot].own = own;
            slow[slot].place = (row * THREADS + (int)threadIdx.x) * PARTS + part;
          }
        }
        unsigned ones = __ballot_sync(0xffffffffu, is_fast);
        if (!lane) masks[part][row * WARPS + warp] = ones;
      }
      s = after(s, far);
    }
    __syncthreads();
    int count = min(some, MOST);
    /* What each trial takes if it is one. */
    for (int k = threadIdx.x; k < count; k += THREADS) {
      Trial trial = tried(slow[k], factors, heights, one);
      for (int at = trial.place + 1; at < min(trial.end, TILE); at++)
        atomicOr(&taken[(at + BEFORE) / 32], 1u << (at & 31));
      trial.known = 1;
      trials[k] = trial;
    }
    if (!threadIdx.x && first && !tile) {
      masks[0][0] &= ~1u;
      atomicOr(&taken[BEFORE / 32], 1u);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < count; k += THREADS) {
      int place = trials[k].place;
      if (!(taken[(place + BEFORE) / 32] >> (place & 31) & 1)) continue;
      trials[k].known = 0;
      doubts[atomicAdd(&doubtful, 1)] = k;
    }
    __syncthreads();
    /* One that another one takes is none, if that other one is, in order. */
    if (!warp)
      for (int turn = doubtful; turn > 0; turn--) {
        int next = -1;
        for (int k = 0; k < doubtful; k++) {
          int own = doubts[k];
          if (!trials[own].known
              && (next < 0 || trials[own].place < trials[next].place)) next = own;
        }
        int place = trials[next].place;
        bool is_taken = first && !tile && !place;
        for (int k = lane; k < count; k += 32)
          is_taken |= trials[k].known == 1 && trials[k].place < place
              && trials[k].end > place;
        is_taken = __ballot_sync(0xffffffffu, is_taken) != 0;
        if (!lane) trials[next].known = is_taken ? 2 : 1;
        __syncwarp();
      }
    __syncthreads();
    for (int k = threadIdx.x; k < count; k += THREADS) {
      int place = trials[k].place, end = trials[k].end;
      bool is_one = trials[k].known == 1;
      trials[k].made = trials[k].made && is_one && place >= 0;
      if (!is_one) continue;
      if (place < 0) atomicMax(&begins, end);
      atomicMax(&ends, end - TILE);
      for (int at = max(place, 0); at < min(end, TILE); at++) {
        unsigned *mask = &masks[at & (PARTS - 1)][at / PARTS / 32];
        unsigned bit = 1u << (at / PARTS & 31);
        if (at > place) atomicAnd(mask, ~bit);
        else if (trials[k].made) atomicOr(mask, bit);
      }
    }
    __syncthreads();
    if (!warp) {
      constexpr int EACH = ROWS * WARPS / 32;
      int sums[EACH], all = 0;
#pragma unroll
      for (int k = 0; k < EACH; k++) {
        sums[k] = all;
#pragma unroll
        for (int part = 0; part < PARTS; part++)
          all += __popc(masks[part][lane * EACH + k]);
      }
      int total = all;
      for (int step = 1; step < 32; step *= 2) {
        int other = __shfl_up_sync(0xffffffffu, total, step);
        if (lane >= step) total += other;
      }
#pragma unroll
      for (int k = 0; k < EACH; k++)
        before[lane * EACH + k] = total - all + sums[k];
      total = __shfl_sync(0xffffffffu, total, 31);
      if (!lane) {
        total_of = total;
        counts[tile] = 1ull << 62 | (word)ends << 48 | (word)total;
        if (some > MOST || ends >= 1 << 13) progress[1] = 1;
      }
    }
    /* Each warp looks at 32 of the tiles before this one. */
    long long sum = 0;
    for (long long at = tile - 1 - warp * 32; ; at -= THREADS) {
      word seen = 2ull << 62;
      if (at - lane >= 0)
        while (!((seen = counts[at - lane]) >> 62)) __nanosleep(20);
      if (at == tile - 1 && at >= 0 && !lane && (int)(seen >> 48 & 0x3fff) != begins)
        progress[1] = 1;
      unsigned whole = __ballot_sync(0xffffffffu, seen >> 62 == 2);
      int last = whole ? __ffs(whole) - 1 : 31;
      long long value = lane <= last ? (long long)(seen & COUNT) : 0;
      for (int step = 16; step; step /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, step);
      __syncthreads();
      if (!lane) {
        sums_of[warp] = value;
        whole_of[warp] = whole != 0;
      }
      __syncthreads();
      bool is_whole = false;
      for (int k = 0; k < WARPS && !is_whole; k++) {
        sum += sums_of[k];
        is_whole = whole_of[k];
      }
      if (is_whole) break;
    }
    if (!threadIdx.x)
      counts[tile] = 2ull << 62 | (word)ends << 48 | (word)(sum + total_of);
    long long base = sum, from = tile * TILE - first;
    if (base < size) {
#pragma unroll
      for (int row = 0; row < ROWS; row++) {
        int group = row * WARPS + warp, rank = before[group];
#pragma unroll
        for (int part = 0; part < PARTS; part++)
          rank += __popc(masks[part][group] & below);
#pragma unroll
        for (int part = 0; part < PARTS; part++) {
          bool is_there = masks[part][group] >> lane & 1;
          long long at = base + rank;
          if (is_there && fast >> (row * PARTS + part) & 1 && at < size) {
            out[at] = found[row][part];
            if (at == size - 1)
              progress[2] = (word)(from + (row * THREADS + (int)threadIdx.x) * PARTS
                                   + part + 1);
          }
          rank += is_there;
        }
      }
      for (int k = threadIdx.x; k < count; k += THREADS) {
        if (!trials[k].made) continue;
        int place = trials[k].place, unit = place / PARTS, group = unit / 32;
        unsigned bits = (1u << (unit & 31)) - 1;
        long long at = base + before[group];
        for (int part = 0; part < PARTS; part++)
          at += __popc(masks[part][group] & bits);
        if (PARTS == 2 && place & 1) at += masks[0][group] >> (unit & 31) & 1;
        if (at < size) out[at] = trials[k].value;
        if (at == size - 1) progress[2] = (word)(from + trials[k].end);
      }
    }
    __syncthreads();
  }
}
"""
