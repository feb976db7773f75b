"""Products of a few rows with a large matrix, in the time that it takes to read it.

BLAS copies the matrix first, in pieces, which takes longer than the product.  The sums
here go in BLAS's own order, which is found out by products of known numbers; before the
first use for a number of rows, products of random numbers are compared bit for bit.
Where BLAS does something else, it does all the work.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine import Engine, data_address
from ..launch import scratch_memory
from ..threads import available_threads, run_slices

__all__ = ["product"]

HostArray = np.ndarray[Any, Any]
Edges = Callable[[int], list[int]]

MOST = {4: 16, 8: 8}
"""Rows up to which memory is what takes the time, by the bytes of the dtype."""

NARROWEST = 256
"""Columns of a matrix of which a strip for each thread can be cut."""

LEAST = 1 << 24
"""Elements of a matrix that no cache holds: from there on it pays to read it once."""

TRIED = 1 << 28
"""Bytes of such matrices that BLAS multiplies before the first comparison."""

ROOM = 1 << 15
"""Bytes of a strip's sums: they and some lines of the matrix fit in the nearest cache.
"""

LONGEST = 1024
"""Terms of a block of BLAS's up to which it is recognised."""

UNITS = (1, 2, 4, 8, 16, 24, 32, 48, 64)
"""To multiples of which BLAS may round the halves of what is left."""

PROBE = 1 << 23
"""Products that BLAS does in the way in which it does the largest ones."""

ROWS = 8
SWALLOWS = 2.0**60

_tried = 0


def product(x: HostArray, y: HostArray) -> HostArray | None:
    """``x @ y`` of two matrices; None where that is better left to NumPy."""
    global _tried
    if y.size < LEAST or y.shape[1] < NARROWEST or not _suit(x, y):
        return None
    _tried += y.nbytes
    if _tried < TRIED or np.geterr()["under"] != "ignore":
        return None
    from ..neural.blas import blas_threads  # only who uses it pays for it
    from ..neural.writing import machine_for

    machine, threads = machine_for(x.dtype), blas_threads()
    if machine is None or threads is None:
        return None
    code = _trusted(machine, x.dtype, x.shape[0], threads)
    if code is None:
        return None
    found = code.product(x, y)
    # NumPy warns of infinite numbers, and of those that are none.
    return found if np.isfinite(found).all() else None


def _suit(x: HostArray, y: HostArray) -> bool:
    """Whether NumPy gives both to BLAS as they are, the second one row by row."""
    dtype = x.dtype
    if dtype.char not in "fd" or dtype != y.dtype or not dtype.isnative:
        return False
    if not 1 < x.shape[0] <= MOST[dtype.itemsize] or x.shape[1] != y.shape[0]:
        return False
    if not (x.flags.aligned and y.flags.aligned):
        return False
    return _lies(y.strides, y.shape, dtype.itemsize) and (
        _lies(x.strides, x.shape, dtype.itemsize)
        or _lies(x.strides[::-1], x.shape[::-1], dtype.itemsize)
    )


def _lies(strides: tuple[int, ...], shape: tuple[int, ...], size: int) -> bool:
    """Whether rows are contiguous, one after the other, as BLAS takes them."""
    far, near = strides
    return near == size and far % size == 0 and shape[1] * size <= far < size << 31


class _Code:
    """Machine code for so many rows, and where BLAS's blocks begin."""

    def __init__(self, function: Any, nbytes: int, edges: Edges) -> None:
        self.function = function
        self.nbytes = nbytes
        self.edges = edges

    def product(self, x: HostArray, y: HostArray) -> HostArray:
        """``x @ y``"""
        rows, columns = x.shape[0], y.shape[1]
        size = x.itemsize
        found = np.empty((rows, columns), x.dtype)
        edges = np.array(self.edges(len(y)), np.int64)
        length = self.nbytes // size
        vectors = -(-columns // length)
        threads = available_threads()
        strips = max(
            min(2 * threads, vectors // 2),
            -(-vectors // (ROOM // (rows * self.nbytes))),
        )
        room = rows * self.nbytes * -(-vectors // strips)

        def run(number: int) -> None:
            first = vectors * number // strips
            wide = (vectors * (number + 1) // strips - first) * length
            # The last strip begins a little earlier, and stores the same again.
            begin = min(first * length, columns - wide)
            sums = scratch_memory(2 * room)
            words = np.array(
                [
                    data_address(x),
                    data_address(y) + begin * size,
                    data_address(found) + begin * size,
                    sums,
                    sums + room,
                    data_address(edges),
                    *x.strides,
                    y.strides[0],
                    found.strides[0],
                    len(edges) - 1,
                    wide,
                ],
                np.int64,
            )
            self.function(data_address(words))

        run_slices(run, strips, threads)
        return found


# ------------------------------------------------------------------------ BLAS's order
@functools.cache
def _trusted(
    machine: Engine, dtype: np.dtype[Any], rows: int, threads: int
) -> _Code | None:
    """Code that gives what BLAS gives on so many threads; None if there is none."""
    from .thin_text import NAME, thin_text

    edges = _edges(dtype, threads)
    if edges is None:
        return None
    number = "float" if dtype.itemsize == 4 else "double"
    text = thin_text(number, machine.vector_bytes, rows)
    kernel = machine.kernel(text, NAME, "product of a few rows")
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(kernel.address)
    code = _Code(function, machine.vector_bytes, edges)
    numbers = np.random.default_rng(rows).random((1 << 20) - 1, dtype) - dtype.type(0.5)
    longest = edges(1 << 20)[1]
    for more in (2, 3, 7, 10, longest + 333):
        terms = longest + more
        columns = PROBE // (terms * rows) | 15
        x, y = (
            np.resize(numbers[::-1], (rows, terms)),
            np.resize(numbers, (terms, columns)),
        )
        if code.product(x, y).tobytes() != np.matmul(x, y).tobytes():
            return None
    return code


@functools.cache
def _edges(dtype: np.dtype[Any], threads: int) -> Edges | None:
    """Where the blocks of terms begin in which BLAS adds up so many of them."""
    begun = _found_edges(dtype, 2 * LONGEST + 5)
    if len(begun) < 3:
        return None
    longest = begun[1]
    for unit in UNITS:
        edges = functools.partial(_cut, longest, unit)
        lengths = [longest + n for n in (1, 2, 9, 37, longest // 2, longest - 1)]
        if edges(2 * LONGEST + 5) == begun and all(
            [edges(length) == _found_edges(dtype, length) for length in lengths]
        ):
            return edges
    return None


def _cut(longest: int, unit: int, terms: int) -> list[int]:
    """Blocks of the longest kind, but for two halves of what is left at the end."""
    edges = [0]
    while edges[-1] < terms:
        left = terms - edges[-1]
        if left >= 2 * longest:
            left = longest
        elif left > longest:
            half = (left + 1) // 2 if unit == 1 else left // 2
            left = -(-half // unit) * unit
        edges.append(edges[-1] + left)
    return edges


def _found_edges(dtype: np.dtype[Any], terms: int) -> list[int]:
    """The blocks of so many terms.

    A one, a number that swallows it, and the same one less: their sum is one where
    another block begins after the first of them, and zero elsewhere.
    """
    columns = max(terms, PROBE // (terms * ROWS))
    y = np.zeros((terms, columns), dtype)
    places = np.arange(columns)
    for k, number in enumerate((1.0, SWALLOWS, -SWALLOWS)):
        y[places % (terms - 2) + k, places] = number
    sums = np.matmul(np.ones((ROWS, terms), dtype), y)[0, : terms - 2]
    return [0, *(np.flatnonzero(sums) + 1).tolist(), terms]
