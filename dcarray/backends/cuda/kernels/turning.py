"""Matrices turned, many at once: channels go behind the positions of images, and back.

A group reads a tile along its rows and writes it along its columns.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["THREADS", "Turn", "turn_text", "two_turns_text"]

THREADS = 256

WORDS = 2048
"""Words of 4 bytes in a tile."""

LARGE = 1 << 26
"""Bytes of a result that the cache does not hold until it is read."""


class Turn(NamedTuple):
    """A stack of matrices that are to be turned.

    Attributes
    ----------
    size : int
        Bytes of an element, 2 or 4.
    stack, rows, columns : int
    pitch : int
        Rows of a turned matrix: from ``rows`` on they are 0.
    """

    size: int
    stack: int
    rows: int
    columns: int
    pitch: int

    @property
    def nbytes(self) -> int:
        """Of the turned matrices."""
        return self.stack * self.columns * self.pitch * self.size

    @property
    def form(self) -> tuple[int, int, int, int]:
        """Words in a column of a tile, elements that are read at once, words that are
        written at once, 0 where an element is, and 1 where they pass by the cache."""
        pair = 4 // self.size
        column = 4 if self.pitch <= 4 * pair else 128 if self.columns <= 16 else 32
        reads, writes = 16 // self.size, 4
        while self.columns % reads:
            reads //= 2
        while writes and self.pitch % (pair * writes):
            writes //= 2
        return column, reads, writes, int(writes == 4 and self.nbytes >= LARGE)

    @property
    def groups(self) -> int:
        """Tiles."""
        column = self.form[0]
        across = -(-self.columns // (WORDS // column))
        return self.stack * across * -(-self.pitch // (column * 4 // self.size))


def _head(size: int) -> str:
    return _HEAD % ("short" if size == 2 else "int", WORDS, THREADS)


def turn_text(turn: Turn) -> str:
    """The text of ``turn``.

    Parameters are the matrices, the turned ones, the elements at which either begin,
    rows, columns, and rows of the turned ones.
    """
    return _head(turn.size) + _ONE % turn.form


def two_turns_text(first: Turn, second: Turn) -> str:
    """The text of ``turn_both``, which takes two stacks of matrices, the memory of both
    results, the numbers of `turn_text` for each, and how many groups take the first."""
    return _head(first.size) + _BOTH % (*first.form, *second.form)


_HEAD = """\
typedef unsigned int word;
typedef unsigned %s element;
constexpr int PAIR = 4 / sizeof(element), WORDS = %d, THREADS = %d;
constexpr int ROOM = WORDS + WORDS / 4;
template <typename T, int N> struct alignas(N * sizeof(T)) Several { T at[N]; };

template <int COLUMN, int READS, int WRITES, int PASSES>
__device__ inline void turn_tile(
    word *tile, const element *x, element *y, unsigned number, long long rows,
    long long columns, long long pitch) {
  constexpr int WIDE = WORDS / COLUMN, HIGH = COLUMN * PAIR, STEP = COLUMN + 1;
  // Groups, and so tiles, are counted with 31 bits: first along the side of few tiles,
  // so that those of lines that lie side by side come soon after each other.
  const unsigned across = (columns + WIDE - 1) / WIDE;
  const unsigned down = (pitch + HIGH - 1) / HIGH;
  const unsigned few = min(across, down), many = max(across, down);
  const unsigned rest = number / few, matrix = rest / many;
  const unsigned first = number - rest * few, second = rest - matrix * many;
  const long long left = (long long)(across <= down ? first : second) * WIDE;
  const long long top = (long long)(across <= down ? second : first) * HIGH;
  x += (matrix * rows + top) * columns + left;
  y += (matrix * columns + left) * pitch + top;
  const int width = (int)min((long long)WIDE, columns - left);
  const int height = (int)min((long long)HIGH, rows - top);
  const int filled = (int)min((long long)HIGH, pitch - top);
  typedef Several<element, READS> Read;
#pragma unroll
  for (int unit = threadIdx.x; unit < COLUMN * WIDE / READS; unit += THREADS) {
    const int column = unit %% (WIDE / READS) * READS, place = unit / (WIDE / READS);
    Read found[PAIR];
#pragma unroll
    for (int k = 0; k < PAIR; k++) {
      found[k] = Read{};
      if (column < width && place * PAIR + k < height)
        found[k] = *(const Read *)(x + (place * PAIR + k) * columns + column);
    }
#pragma unroll
    for (int i = 0; i < READS; i++) {
      word both = found[0].at[i];
#pragma unroll
      for (int k = 1; k < PAIR; k++) both |= (word)found[k].at[i] << (16 * k);
      tile[(column + i) * STEP + place] = both;
    }
  }
  __syncthreads();
  constexpr int AT_ONCE = WRITES ? WRITES : 1;
  typedef Several<word, AT_ONCE> Write;
#pragma unroll
  for (int unit = threadIdx.x; unit < WORDS / AT_ONCE; unit += THREADS) {
    const int place = unit %% (COLUMN / AT_ONCE) * AT_ONCE;
    const int column = unit / (COLUMN / AT_ONCE);
    if (column >= width || place * PAIR >= filled) continue;
    Write found;
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) found.at[i] = tile[column * STEP + place + i];
    element *target = y + column * pitch + place * PAIR;
    if (PASSES) {
      uint4 all;
      memcpy(&all, &found, sizeof(found));
      __stcs((uint4 *)target, all);
    } else if (WRITES) {
      *(Write *)target = found;
    } else {
#pragma unroll
      for (int k = 0; k < PAIR; k++)
        if (place * PAIR + k < filled) target[k] = (element)(found.at[0] >> (16 * k));
    }
  }
}
"""

_ONE = """
extern "C" __global__ void __launch_bounds__(THREADS) turn(
    const element *x, element *y, long long offset, long long begin, long long rows,
    long long columns, long long pitch) {
  __shared__ word tile[ROOM];
  turn_tile<%s, %s, %s, %s>(
      tile, x + offset, y + begin, blockIdx.x, rows, columns, pitch);
}
"""

_BOTH = """
extern "C" __global__ void __launch_bounds__(THREADS) turn_both(
    const element *x, const element *w, element *y, long long offset, long long begin,
    long long rows, long long columns, long long pitch, long long offset_w,
    long long begin_w, long long rows_w, long long columns_w, long long pitch_w,
    long long groups) {
  __shared__ word tile[ROOM];
  if (blockIdx.x < groups)
    turn_tile<%s, %s, %s, %s>(
        tile, x + offset, y + begin, blockIdx.x, rows, columns, pitch);
  else
    turn_tile<%s, %s, %s, %s>(
        tile, w + offset_w, y + begin_w, blockIdx.x - groups, rows_w, columns_w,
        pitch_w);
}
"""
