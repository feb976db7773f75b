"""How far the elementwise operations of a backend are from NumPy's."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import CompileError
from ..ops import elementwise
from ..ops.spec import Op
from . import operands
from .workbench import Workbench, single, together

__all__ = ["Measured", "batches", "measure"]

HostArray = np.ndarray[Any, Any]
DType = np.dtype[Any]

TOGETHER = 12
"""Rows in one program: a device may take no more than 31 blocks of memory."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A row with one choice of dtypes, and how far it is from NumPy.

    Attributes
    ----------
    op : Op
    dtypes : tuple of dtype
        Of the operands.
    apart, bound : float
        The largest distance, in units in the last place, and the one allowed.
    worst : str
        Where that is, and what was found there.
    failure : str
        The compiler's message, where there is nothing to measure.
    """

    op: Op
    dtypes: tuple[DType, ...]
    apart: float
    bound: float
    worst: str = ""
    failure: str = ""

    @property
    def is_kept(self) -> bool:
        """Whether the row was measured and is within its bound."""
        return not self.failure and self.apart <= self.bound

    @property
    def signature(self) -> str:
        """The operands' dtypes in letters, as NumPy writes them."""
        return "".join([dtype.char for dtype in self.dtypes])

    def __str__(self) -> str:
        what = f"{self.op.name} of {', '.join(map(str, self.dtypes))}"
        if self.failure:
            return f"{what}: {self.failure}"
        return f"{what}: {self.apart:.3g} ulp, bound {self.bound:g}; {self.worst}"


def batches(
    supported: Iterable[DType], rows: Iterable[Op] | None = None
) -> Iterator[tuple[list[Op], tuple[DType, ...]]]:
    """Rows over the same operands that fit into one program, for all dtypes.

    Parameters
    ----------
    supported : iterable of dtype
    rows : iterable of Op, optional
        Those of `elementwise`, but for casts, if it is not given.
    """
    known = set(supported)
    groups: dict[Any, list[Op]] = {}
    for op in elementwise.TABLE.values() if rows is None else rows:
        # Two letters may name the same integers.
        for dtypes in dict.fromkeys(operands.signatures(op)):
            if set(single(op, dtypes).slot_dtypes()) <= known:
                key = (dtypes, operands.has_small_second(op, dtypes))
                groups.setdefault(key, []).append(op)
    for (dtypes, _), ops in groups.items():
        for first in range(0, len(ops), TOGETHER):
            yield ops[first : first + TOGETHER], dtypes


def measure(
    bench: Workbench,
    ops: Sequence[Op],
    dtypes: tuple[DType, ...],
    given: list[HostArray],
) -> list[Measured]:
    """Run rows in one program (compilers are slow) and compare them with NumPy.

    A program that does not compile is taken apart, to find the row that does not.
    """
    program = together([(op, op.resolve(dtypes).outputs) for op in ops], dtypes)
    try:
        results = iter(bench.execute(program, given[0].shape, given))
    except CompileError as error:
        if len(ops) > 1:
            return [x for op in ops for x in measure(bench, [op], dtypes, given)]
        failure = str(error).partition("\n")[0]
        return [Measured(ops[0], dtypes, np.inf, ops[0].ulp, failure=failure)]
    return [_compared(op, dtypes, given, results) for op in ops]


def _compared(
    op: Op, dtypes: tuple[DType, ...], given: list[HostArray], results: Iterator[Any]
) -> Measured:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = op.numpy(*given)
    found: Measured | None = None
    for want in wanted if isinstance(wanted, tuple) else (wanted,):
        got, bound = next(results), op.bound(want.dtype)
        apart = operands.distances(got, want, operands.scale(op, given))
        apart[_overflown(op, given, got, want)] = 0
        apart[_half_known(op, given, got, want)] = 0
        worst = int(np.argmax(apart))
        if found is None or apart[worst] - bound > found.apart - found.bound:
            at = ", ".join([str(x[worst]) for x in given])
            text = f"at ({at}): got {got[worst]}, NumPy {want[worst]}"
            found = Measured(op, dtypes, float(apart[worst]), bound, text)
    assert found is not None
    return found


def _overflown(
    op: Op, given: list[HostArray], got: HostArray, want: HostArray
) -> HostArray:
    """Where products within a complex product or power exceed the largest number.

    Whether the result is a number, an infinity or NaN, the difference of two of them,
    depends on the processor in NumPy, too: it may round a product and a sum at once.
    """
    found = np.zeros(want.shape, np.bool_)
    if want.dtype.kind != "c" or op.name not in operands.CANCELLING:
        return found
    if op.name in ("multiply", "square"):
        first, second = given[0], given[-1]
        for x in (first.real, first.imag):
            for y in (second.real, second.imag):
                with np.errstate(all="ignore"):
                    found |= np.isinf(x * y) & np.isfinite(x) & np.isfinite(y)
        return found
    found = ~np.isfinite(want) & ~np.isfinite(got)
    for operand in given:
        found &= np.isfinite(operand)
    return found


def _half_known(
    op: Op, given: list[HostArray], got: HostArray, want: HostArray
) -> HostArray:
    """Where a function of a complex number that has NaN as a part is NaN.

    C's libraries differ about the other part of the result, and with them versions of
    NumPy.
    """
    found = np.zeros(want.shape, np.bool_)
    if want.dtype.kind == "c" and op.ulp:
        for operand in given:
            found |= np.isnan(operand)
        found &= np.isnan(got) & np.isnan(want)
    return found
