"""Products of matrices of integers and short floats, through those of long floats.

NumPy has no BLAS for them and multiplies element by element.  Sums of products of
integers are exact in a float as long as they stay below 2 to the number of its bits;
larger integers are cut into digits that do.  Results are those modulo 2**bits, as
NumPy's are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["multiplied"]

HostArray = np.ndarray[Any, Any]

SINGLE = np.dtype(np.float32)
DOUBLE = np.dtype(np.float64)

EXACT = {SINGLE: 1 << 24, DOUBLE: 1 << 53}
"""Up to here a float holds every integer."""

HALF = 65504.0
"""The largest float16."""

SHORTEST = 128
"""Terms of a sum below which it does not pay to cut it."""

DIGIT = {4: 16, 8: 22}
"""Bits of a digit, by the bytes of the integers."""

PANEL = 1 << 22
"""Elements of the result that are computed at a time: what bounds temporaries."""


def multiplied(
    x: HostArray, y: HostArray, dtype: np.dtype[Any]
) -> tuple[HostArray, bool]:
    """``x @ y`` of two matrices, both cast to ``dtype`` first.

    Parameters
    ----------
    x, y : ndarray
        Of two axes each.
    dtype : dtype
        Of integers, or a short float, which adds up in float32.

    Returns
    -------
    ndarray, bool
        The product, and whether some of it may be infinite or NaN.
    """
    rows, columns = x.shape[0], y.shape[1]
    found = np.empty((rows, columns), dtype)
    factors = _factors(x, y, dtype)
    step = max(1, PANEL // max(1, columns))
    for start in range(0, rows, step):
        panel = slice(start, start + step)
        factors.product(x[panel].astype(dtype, copy=False), found[panel])
    return found, factors.odd


def _factors(x: HostArray, y: HostArray, dtype: np.dtype[Any]) -> _Short | _Whole:
    y = y.astype(dtype, copy=False)
    if dtype.kind not in "iu":
        return _Short(y)
    bound = _largest(x) * _largest(y)
    length = x.shape[1]
    for kind in (SINGLE, DOUBLE):
        terms = EXACT[kind] // max(1, bound)
        if terms >= min(length, SHORTEST):
            return _Whole(y, kind, terms, 1, 0)
    bits = DIGIT[dtype.itemsize]
    count = -(-8 * dtype.itemsize // bits)
    return _Whole(y, DOUBLE, (EXACT[DOUBLE] >> 2 * bits - 2) // count, count, bits)


def _largest(x: HostArray) -> int:
    """The largest absolute value of integers."""
    return max(-int(x.min(initial=0)), int(x.max(initial=0)))


class _Short:
    """A second factor of short floats: one product."""

    def __init__(self, y: HostArray) -> None:
        self.y = y.astype(SINGLE)
        self.most = HALF if y.dtype.kind == "f" else np.inf
        self.odd = False

    def product(self, x: HostArray, out: HostArray) -> None:
        """``x @ y`` into ``out``, rounded once."""
        sums = np.matmul(x.astype(SINGLE), self.y)
        # NaN makes both false.
        if not (sums.max(initial=0) < self.most and sums.min(initial=0) > -self.most):
            self.odd = True
        np.copyto(out, sums, casting="unsafe")


class _Whole:
    """A second factor of integers, as digits of ``bits`` bits, the lowest one first.

    Sums of ``terms`` products of digits, for each place of the result, are exact.
    """

    odd = False

    def __init__(
        self, y: HostArray, kind: np.dtype[Any], terms: int, count: int, bits: int
    ) -> None:
        self.kind = kind
        self.terms = terms
        self.count = count
        self.bits = bits
        self.digits = self._cut(y)

    def _cut(self, x: HostArray) -> list[HostArray]:
        """Digits from ``-2**(bits-1)`` up to below that: the highest one is what is
        left, and wraps like the integer itself."""
        if self.count == 1:
            return [x.astype(self.kind)]
        signed = np.dtype(f"i{x.itemsize}")
        rest = x.astype(signed).astype(np.int64)  # wraps, as does what comes of it
        half, digits = 1 << self.bits - 1, []
        for _ in range(self.count - 1):
            digit = ((rest + half) & (2 * half - 1)) - half
            digits.append(digit.astype(self.kind))
            rest -= digit
            rest >>= self.bits
        digits.append(rest.astype(self.kind))
        return digits

    def product(self, x: HostArray, out: HostArray) -> None:
        """``x @ y`` into ``out``, modulo 2**bits."""
        narrow = self.kind == SINGLE and out.dtype.itemsize <= 4
        integer = np.dtype(np.int32 if narrow else np.int64)
        digits = self._cut(x)
        total: HostArray | None = None
        for start in range(0, x.shape[1], self.terms):
            part = slice(start, start + self.terms)
            for place in range(self.count):
                sums = self._sums(digits, place, part).astype(integer)
                sums <<= self.bits * place
                total = sums if total is None else np.add(total, sums, out=total)
        np.copyto(out, 0 if total is None else total, casting="unsafe")

    def _sums(self, digits: list[HostArray], place: int, part: slice) -> HostArray:
        """What the pairs of digits of one place come to."""
        sums: HostArray | None = None
        for low in range(place + 1):
            first = digits[low][:, part]
            second = self.digits[place - low][part]
            found = np.matmul(first, second)
            sums = found if sums is None else np.add(sums, found, out=sums)
        assert sums is not None
        return sums
