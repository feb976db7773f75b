"""Values at places that index arrays choose."""

from __future__ import annotations

from functools import cache

from .choosing import WORDS

__all__ = ["THREADS", "place_text"]

THREADS = 256


@cache
def place_text(size: int, wide: bool, axes: int) -> str:
    """The text of ``find_places``, ``claim_places``, ``fill_places`` and
    ``store_places``, for elements of so many bytes and indices along so many axes.

    ``find_places``: the indices of each axis, places, three words (whether an index is
    out of bounds, one that is, and its axis), how many there are, and for each axis its
    length and how far elements lie apart.  ``claim_places``: places, for each element
    of the array the number of the last value, and how many there are.  ``fill_places``
    and ``store_places``: places, the array, values, how many there are, and where the
    array and the values begin; the first one takes one value, the other one these
    numbers too.
    """
    indices = "".join([f"const place *__restrict__ i{k}, " for k in range(axes)])
    steps = "".join([f", long long n{k}, long long s{k}" for k in range(axes)])
    sums = "".join(
        [f"    at += checked(i{k}[k], n{k}, {k}, wrong) * s{k};\n" for k in range(axes)]
    )
    return (
        f"typedef {WORDS[size]} element;\n"
        f"typedef {'long long' if wide else 'int'} place;\n"
        + _TEXT.replace("INDICES", indices)
        .replace("STEPS", steps)
        .replace("SUMS", sums)
    )


_TEXT = """\
constexpr int THREADS = 256;

__device__ inline long long checked(long long given, long long length, int axis,
                                    long long *wrong) {
  long long found = given < 0 ? given + length : given;
  if ((unsigned long long)found < (unsigned long long)length) return found;
  wrong[1] = given;
  wrong[2] = axis;
  wrong[0] = 1;
  return 0;
}

extern "C" __global__ void __launch_bounds__(THREADS) find_places(
    INDICESlong long *__restrict__ places, long long *__restrict__ wrong,
    long long countSTEPS) {
  long long stride = gridDim.x * (long long)THREADS;
  for (long long k = blockIdx.x * (long long)THREADS + threadIdx.x; k < count;
       k += stride) {
    long long at = 0;
SUMS    places[k] = at;
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) claim_places(
    const long long *__restrict__ places, int *__restrict__ claims,
    long long count) {
  long long stride = gridDim.x * (long long)THREADS;
  for (long long k = blockIdx.x * (long long)THREADS + threadIdx.x; k < count;
       k += stride)
    atomicMax(claims + places[k], (int)k + 1);
}

extern "C" __global__ void __launch_bounds__(THREADS) fill_places(
    const long long *__restrict__ places, element *__restrict__ out,
    const element *__restrict__ value, long long count, long long offset,
    long long begin) {
  long long stride = gridDim.x * (long long)THREADS;
  element found = value[begin];
  out += offset;
  for (long long k = blockIdx.x * (long long)THREADS + threadIdx.x; k < count;
       k += stride)
    out[places[k]] = found;
}

extern "C" __global__ void __launch_bounds__(THREADS) store_places(
    const long long *__restrict__ places, element *__restrict__ out,
    const element *__restrict__ values, const int *__restrict__ claims,
    long long count, long long offset, long long begin) {
  long long stride = gridDim.x * (long long)THREADS;
  out += offset;
  for (long long k = blockIdx.x * (long long)THREADS + threadIdx.x; k < count;
       k += stride)
    if (claims[places[k]] == (int)k + 1) out[places[k]] = values[begin + k];
}
"""
