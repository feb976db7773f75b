"""The Fourier transform of one long row on all cores.

A row of n = r c numbers is laid out as a matrix of r rows: its columns are transformed,
each result is turned by a power of exp(2 pi i / n), and then rows are transformed
(D. H. Bailey, "FFTs in external or hierarchical memory", 1990).  SciPy transforms
blocks of columns and of rows, which stay in cache.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..threads import available_threads, run_slices
from .radix import rented

__all__ = ["transformed"]

HostArray = np.ndarray[Any, Any]

LEAST, MOST = 1 << 18, 1 << 22
"""Numbers of a row that is worth it, and whose powers are worth their memory."""

FEWEST = 64
"""Rows below which there is nothing to win."""

BLOCK_BYTES = 1 << 19
"""Bytes of a block: half of a usual second-level cache."""

DType = np.dtype[Any]


def transformed(
    library: Any, x: HostArray, inverse: bool, norm: str | None
) -> HostArray | None:
    """The transform of complex numbers, or None where it does not pay.

    Parameters
    ----------
    library : module
        `scipy.fft`.
    x : ndarray
        Of one axis.
    inverse : bool
    norm : {None, "backward", "ortho", "forward"}
    """
    count = x.size
    if not LEAST <= count <= MOST:
        return None
    rows = _divisor(count)
    if rows < FEWEST:
        return None
    columns = count // rows
    width = min(64, max(8, BLOCK_BYTES // (rows * x.itemsize)))
    sign = 1 if inverse else -1
    near, far = _powers(rows, columns, width, sign, x.dtype)
    scale = x.real.dtype.type(_scale(count, inverse, norm))
    one = library.ifft if inverse else library.fft
    options = {"norm": "forward" if inverse else "backward", "overwrite_x": True}
    given = np.ascontiguousarray(x).reshape(rows, columns)
    between = rented(count, x.dtype).reshape(rows, columns)
    found = rented(count, x.dtype)
    result = found.reshape(columns, rows)

    def along_columns(number: int) -> None:
        block = slice(number * width, number * width + width)
        with np.errstate(all="ignore"):
            part = one(given[:, block].copy(), axis=0, **options)
            part *= near[:, : part.shape[1]]
            turn = far[:, number : number + 1]
            part *= turn if scale == 1 else turn * scale
        between[:, block] = part

    def along_rows(number: int) -> None:
        block = slice(number * width, number * width + width)
        with np.errstate(all="ignore"):
            result[:, block] = one(between[block], axis=1, **options).T

    threads = available_threads()
    run_slices(along_columns, -(-columns // width), threads)
    run_slices(along_rows, -(-rows // width), threads)
    return found


def _scale(count: int, inverse: bool, norm: str | None) -> float:
    if norm == "ortho":
        return 1 / math.sqrt(count)
    return 1 / count if inverse == (norm != "forward") else 1.0


def _divisor(count: int) -> int:
    """The largest one that is not above the root."""
    found = math.isqrt(count)
    while count % found:
        found -= 1
    return found


@functools.lru_cache(4)
def _powers(
    rows: int, columns: int, width: int, sign: int, dtype: DType
) -> tuple[HostArray, HostArray]:
    """exp(2 pi i r c / n) for all rows r: for the columns c of the first block, and for
    the first column of each block."""
    first = np.arange(rows)
    return (
        _roots(rows * columns, first, np.arange(width), sign).astype(dtype),
        _roots(rows * columns, first, np.arange(0, columns, width), sign).astype(dtype),
    )


def _roots(count: int, rows: HostArray, columns: HostArray, sign: int) -> HostArray:
    """exp(2 pi i r c / n): angles up to pi / 4 beside a quarter of a turn lose no
    digits."""
    places = 4 * (np.multiply.outer(rows, columns) % count)
    quarters = (places + count // 2) // count
    angles = (places - quarters * count) * (math.pi / 2 / count)
    found: HostArray = np.cos(angles) + 1j * sign * np.sin(angles)
    found *= np.array([1, sign * 1j, -1, -sign * 1j])[quarters % 4]
    return found
