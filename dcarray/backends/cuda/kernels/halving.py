"""Copies of every other element, by items that read all of them: memory gives whole
sectors anyhow, and four elements at once take a quarter of the requests."""

from __future__ import annotations

from functools import cache

__all__ = ["FOURS", "SIZES", "THREADS", "halving_text"]

THREADS = 256
FOURS = 2
"""How many times four elements an item copies."""

SIZES = {2: "unsigned short", 4: "unsigned int", 8: "double"}
"""Types of elements by their bytes."""


@cache
def halving_text(size: int) -> str:
    """The text of ``halve``: an array, the result, and: fours in all, those of a row,
    the elements of a row of the result, how far rows of the array and of the result lie
    apart, where both begin, and which one of two elements is wanted."""
    return f"typedef {SIZES[size]} element;\n" + _TEXT


_TEXT = """\
struct alignas(4 * sizeof(element) > 16 ? 16 : 4 * sizeof(element)) Four {
  element at[4];
};

extern "C" __global__ void __launch_bounds__(256) halve(
    const element *__restrict__ x, element *__restrict__ out, long long all,
    long long across, long long length, long long x_step, long long out_step,
    long long offset, long long begin, long long odd) {
  constexpr int FOURS = 2;
  unsigned item = blockIdx.x * (256u * FOURS) + threadIdx.x;
  x += offset;
  out += begin;
#pragma unroll
  for (int n = 0; n < FOURS; n++) {
    unsigned number = item + n * 256u;
    if (number >= all) return;
    unsigned row = number / (unsigned)across, four = number - row * (unsigned)across;
    const element *from = x + row * x_step + four * 8ll;
    element *to = out + row * out_step + four * 4ll;
    long long left = length - four * 4ll;
    /* The element behind the last one may not be there. */
    if (left >= 4 && (odd || number + 1 < all)) {
      Four low = *(const Four *)from, high = *(const Four *)(from + 4), found;
      found.at[0] = odd ? low.at[1] : low.at[0];
      found.at[1] = odd ? low.at[3] : low.at[2];
      found.at[2] = odd ? high.at[1] : high.at[0];
      found.at[3] = odd ? high.at[3] : high.at[2];
      *(Four *)to = found;
    } else {
      for (int k = 0; k < 4 && k < left; k++) to[k] = from[2 * k + odd];
    }
  }
}
"""
