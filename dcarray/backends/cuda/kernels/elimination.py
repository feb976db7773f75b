"""Small matrices: a group has one in its registers, and factors it there.

The threads of a group form a square, and each of them has every so many rows and
columns of the matrix.  Of each step only a column, and a row, go through shared memory.
The vendor's libraries take several launches for a stack of these.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .common import head

__all__ = ["Tile", "cholesky_text", "elimination_text", "tile_for"]

DType = np.dtype[Any]


class Tile(NamedTuple):
    """How a group has a matrix.

    Attributes
    ----------
    side : int
        Threads along an axis.
    each : int
        Rows, and columns, of a thread.
    more : int
        Columns of right-hand sides of a thread.
    """

    side: int
    each: int
    more: int

    @property
    def threads(self) -> int:
        """Of a group."""
        return self.side * self.side

    def groups(self, others: int) -> int:
        """That share the right-hand sides of a matrix."""
        return -(-others // (self.side * self.more)) if self.more else 1


def tile_for(rows: int, others: int, dtype: DType) -> Tile | None:
    """The tile for square matrices and right-hand sides of them, of which each of
    several groups may have a part; None if there are too many rows."""
    for side, each in ((8, 2), (8, 4), (16, 4), (16, 8)):
        if rows <= side * each:
            break
    else:
        return None
    most = 2 if each == 8 and dtype.itemsize > 4 else 4  # there are 255 registers
    more = next((n for n in (0, 1, 2) if others <= side * n), most)
    return Tile(side, each, more)


@cache
def cholesky_text(dtype: DType, tile: Tile) -> str:
    """The text of ``cholesky``.

    Parameters are the stack of matrices, the result, where the stack begins, the side
    of a matrix, and the address of an integer that becomes 1 where a matrix is not
    positive definite.
    """
    return head(real=dtype) + _tiled(tile) + _CHOLESKY


@cache
def elimination_text(dtype: DType, tile: Tile, what: str) -> str:
    """The text of ``eliminate``.

    Parameters
    ----------
    what : str
        "solve" or "inv"; or "slogdet": then the result is the sign of each
        determinant, and, behind all of them, the logarithms of their sizes; or "det".

    Returns
    -------
    str
        Parameters of ``eliminate`` are the stack of matrices, that of the right-hand
        sides, the result, where both stacks begin, the side of a matrix, right-hand
        sides of each, and the address of an integer that becomes 1 where a matrix is
        singular, or 0.
    """
    kinds = ("solve", "inv", "slogdet", "det")
    number = f"constexpr int WHAT = {kinds.index(what)};\n"
    return head(real=dtype) + _tiled(tile) + number + _ELIMINATION


def _tiled(tile: Tile) -> str:
    return (
        f"constexpr int SIDE = {tile.side}, EACH = {tile.each}, MORE = {tile.more};\n"
        "constexpr int ROWS = SIDE * EACH, ALL = EACH + MORE;\n"
    )


_CHOLESKY = """\
// Columns stay what they are times the root of their first element, until the end: so a
// step waits for the group once, and for no root.
extern "C" __global__ void __launch_bounds__(SIDE * SIDE)
cholesky(const real *a, real *out, long long offset, long long side, long long flag) {
  __shared__ real columns[2][ROWS], pivots[ROWS];
  const int n = (int)side, left = threadIdx.x % SIDE, up = threadIdx.x / SIDE;
  const long long first = blockIdx.x * side * side;
  a += offset + first;
  out += first;
  real own[EACH][EACH];
#pragma unroll
  for (int p = 0; p < EACH; p++) {
#pragma unroll
    for (int q = 0; q < EACH; q++) {
      const int i = up + SIDE * p, j = left + SIDE * q;
      own[p][q] = i < n && j <= i ? a[i * n + j] : (real)0;
    }
  }
  bool fails = false;
#pragma unroll
  for (int start = 0; start < EACH; start++) {
    for (int turn = 0; turn < SIDE; turn++) {
      const int k = start * SIDE + turn;
      if (k >= n) break;
      real *column = columns[k & 1];
      if (left == turn) {
#pragma unroll
        for (int p = start; p < EACH; p++) column[up + SIDE * p] = own[p][start];
      }
      __syncthreads();
      const real pivot = column[k];
      if (!(pivot > 0)) fails = true;
      if (threadIdx.x == 0) pivots[k] = pivot;
      const real by = 1 / pivot;
      real down[EACH];
#pragma unroll
      for (int p = start; p < EACH; p++)
        down[p] = up + SIDE * p > k ? column[up + SIDE * p] : (real)0;
#pragma unroll
      for (int q = start; q < EACH; q++) {
        const int j = left + SIDE * q;
        const real across = j > k ? column[j] * by : (real)0;
#pragma unroll
        for (int p = q; p < EACH; p++) own[p][q] = fma(-down[p], across, own[p][q]);
      }
    }
  }
  if (fails && threadIdx.x == 0) *(volatile int *)flag = 1;
  __syncthreads();
#pragma unroll
  for (int q = 0; q < EACH; q++) {
    const int j = left + SIDE * q;
    const real root = j < n ? sqrt(pivots[j]) : (real)1;
#pragma unroll
    for (int p = 0; p < EACH; p++) {
      const int i = up + SIDE * p;
      if (i < n && j < n)
        out[i * n + j] = j < i ? own[p][q] / root : j == i ? root : (real)0;
    }
  }
}
"""

_ELIMINATION = """\
#if __CUDA_ARCH__ >= 800
__device__ inline float largest(float value) {
  return __int_as_float(__reduce_max_sync(0xffffffffu, __float_as_int(value)));
}

__device__ inline double largest(double value) {
  const int high = __double2hiint(value);
  const int top = __reduce_max_sync(0xffffffffu, high);
  const unsigned low = high == top ? (unsigned)__double2loint(value) : 0u;
  return __hiloint2double(top, (int)__reduce_max_sync(0xffffffffu, low));
}
#else
__device__ inline real largest(real value) {
  for (int step = 16; step; step /= 2) {
    const real other = __shfl_xor_sync(0xffffffffu, value, step);
    if (other > value || other != other) value = other;
  }
  return value;
}
#endif

// A row of the thread's, by comparisons: registers have no numbers.
__device__ inline real chosen(const real (&own)[EACH][ALL], int row, int q) {
  real found = own[0][q];
#pragma unroll
  for (int p = 1; p < EACH; p++) found = p == row ? own[p][q] : found;
  return found;
}

extern "C" __global__ void __launch_bounds__(SIDE * SIDE)
eliminate(const real *a, const real *b, real *out, long long a_offset,
          long long b_offset, long long side, long long others, long long flag) {
  __shared__ real columns[2][ROWS], lines[2][SIDE * ALL], sizes[ROWS], pivots[ROWS];
  __shared__ int order[ROWS];
  const int n = (int)side, m = (int)others, ahead = blockIdx.y * SIDE * MORE;
  const int left = threadIdx.x % SIDE, up = threadIdx.x / SIDE;
  a += a_offset + blockIdx.x * side * side;
  b += b_offset + blockIdx.x * side * others;
  real own[EACH][ALL];
  int turns[EACH];  // when a row was the pivot's; rows that are not there never are
#pragma unroll
  for (int p = 0; p < EACH; p++) {
    const int i = up + SIDE * p;
    turns[p] = i < n ? ROWS : 2 * ROWS;
#pragma unroll
    for (int q = 0; q < EACH; q++) {
      const int j = left + SIDE * q;
      own[p][q] = i < n && j < n ? a[i * n + j] : (real)0;
    }
#pragma unroll
    for (int q = 0; q < MORE; q++) {
      const int j = ahead + left + SIDE * q;
      own[p][EACH + q] = i >= n || j >= m ? (real)0
                         : WHAT == 1      ? (real)(i == j)
                                          : b[i * m + j];
    }
  }
  bool singular = false;
#pragma unroll
  for (int start = 0; start < EACH; start++) {
    for (int turn = 0; turn < SIDE; turn++) {
      const int k = start * SIDE + turn;
      if (k >= n) break;
      real *column = columns[k & 1], *line = lines[0];
      if (left == turn) {
#pragma unroll
        for (int p = 0; p < EACH; p++) {
          const real value = own[p][start];
          column[up + SIDE * p] = value;
          sizes[up + SIDE * p] = turns[p] == ROWS ? (real)fabs(value) : (real)-1;
        }
      }
      __syncthreads();
      real size = -1;
      int pivot = 0;
      for (int i = threadIdx.x % 32; i < ROWS; i += 32) {
        const real other = sizes[i];
        if (other > size || other != other) size = other, pivot = i;
      }
      const real top = largest(size);
      const unsigned here =
          __ballot_sync(0xffffffffu, size == top || (top != top && size != size));
      pivot = __shfl_sync(0xffffffffu, pivot, __ffs(here) - 1);
      if (top == 0) singular = true;
      if (up == pivot % SIDE) {
        const int at = pivot / SIDE;
        if (left == 0) order[k] = pivot;
#pragma unroll
        for (int p = 0; p < EACH; p++) turns[p] = p == at ? k : turns[p];
#pragma unroll
        for (int q = start; q < ALL; q++) line[left + SIDE * q] = chosen(own, at, q);
      }
      __syncthreads();
      const real by = 1 / line[k];
      if (threadIdx.x == 0) pivots[k] = line[k];
      real down[EACH];
#pragma unroll
      for (int p = 0; p < EACH; p++)
        down[p] = turns[p] == ROWS ? column[up + SIDE * p] * by : (real)0;
#pragma unroll
      for (int q = start; q < ALL; q++) {
        const bool is_left = q == start && left <= turn;
        const real across = is_left ? (real)0 : line[left + SIDE * q];
#pragma unroll
        for (int p = 0; p < EACH; p++) own[p][q] = fma(-down[p], across, own[p][q]);
      }
    }
  }
  __syncthreads();
  if (WHAT < 2) {
    if (singular && threadIdx.x == 0) *(volatile int *)flag = 1;
    out += blockIdx.x * side * others;
#pragma unroll
    for (int start = EACH - 1; start >= 0; start--) {
      for (int turn = SIDE - 1; turn >= 0; turn--) {
        const int k = start * SIDE + turn;
        if (k >= n) continue;
        const int pivot = order[k];
        real *column = columns[k & 1], *line = lines[k & 1];
        if (left == turn) {
#pragma unroll
          for (int p = 0; p < EACH; p++) column[up + SIDE * p] = own[p][start];
        }
        if (up == pivot % SIDE) {
          const int at = pivot / SIDE;
#pragma unroll
          for (int q = EACH; q < ALL; q++) line[left + SIDE * q] = chosen(own, at, q);
        }
        __syncthreads();
        const real by = 1 / pivots[k];
        real down[EACH];
#pragma unroll
        for (int p = 0; p < EACH; p++)
          down[p] = turns[p] < k ? column[up + SIDE * p] : (real)0;
#pragma unroll
        for (int q = EACH; q < ALL; q++) {
          const int j = ahead + left + SIDE * (q - EACH);
          const real x = line[left + SIDE * q] * by;
          if (up == 0 && j < m) out[k * m + j] = x;
#pragma unroll
          for (int p = 0; p < EACH; p++) own[p][q] = fma(-down[p], x, own[p][q]);
        }
      }
    }
  } else if (threadIdx.x == 0) {
    double logarithm = 0;
    real sign = 1;
    for (int k = 0; k < n; k++) {
      logarithm += log(fabs((double)pivots[k]));
      if (pivots[k] < 0) sign = -sign;
    }
    for (int k = 0; k < n; k++) {
      while (order[k] != k) {
        const int other = order[k];
        order[k] = order[other];
        order[other] = other;
        sign = -sign;
      }
    }
    if (singular) sign = 0, logarithm = -INFINITY;
    if (WHAT == 3) {
      out[blockIdx.x] = singular ? (real)0 : sign * (real)exp(logarithm);
    } else {
      out[blockIdx.x] = sign;
      out[gridDim.x + blockIdx.x] = (real)logarithm;
    }
  }
}
"""
