"""How far apart two right results of a program may be, element by element.

Each operation may be wrong by `Op.bound` units in the last place of its result, and it
hands on the errors of its operands.  How much of them it hands on is tried out: the
operation is computed again with each operand moved by its error, up and down.  So the
bound of a chain is the sum of the bounds of its nodes, each in terms of the result: a
difference of nearly equal numbers has a wide bound, a comparison far from equality none
at all, and a chain of exact operations must agree to the bit.

Everything is computed on the host by NumPy, for the elements that differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import DType
from ..ops.elementwise import CAST
from ..ops.program import Node, Program
from ..ops.reduction import ALL, ANY, MAX, MIN, PROD, SUM

__all__ = ["Total", "difference", "slot_bounds"]

HostArray = np.ndarray[Any, Any]
Bounded = tuple[HostArray, HostArray]
"""Elements, and how far each may be off."""


def slot_bounds(
    program: Program, inputs: Sequence[HostArray], scalars: Sequence[Any]
) -> list[Bounded]:
    """Elements and bounds of every slot.

    Parameters
    ----------
    program : Program
    inputs : sequence of ndarray
        One-dimensional, one for each leaf.
    scalars : sequence of NumPy scalars
    """
    size = len(inputs[0]) if inputs else 1
    found = [(x, np.zeros(size)) for x in inputs]
    found += [(np.full(size, x, x.dtype), np.zeros(size)) for x in scalars]
    with np.errstate(all="ignore"):
        for node in program.nodes:
            found.extend(_node_bounds(node, [found[slot] for slot in node.inputs]))
    return found


def _node_bounds(node: Node, given: Sequence[Bounded]) -> list[Bounded]:
    values = [x for x, _ in given]
    results = _computed(node, values)
    bounds = [
        limit * _step(_size(node, values, result), result.dtype)
        if (limit := node.op.bound(result.dtype)) and _is_rounded(result.dtype)
        else np.zeros(len(result))
        for result in results
    ]
    for place, (x, error) in enumerate(given):
        if not error.any():
            continue
        # An integer that may be anything is no number that could be moved.
        lost = np.where(np.isfinite(error) | (x.dtype.kind not in "iu"), 0.0, np.inf)
        worst = [lost for _ in results]
        for moved in _moved(x, error):
            tried = _computed(node, [*values[:place], moved, *values[place + 1 :]])
            for index, (got, want) in enumerate(zip(tried, results, strict=True)):
                worst[index] = np.fmax(worst[index], difference(got, want))
        bounds = [bound + more for bound, more in zip(bounds, worst, strict=True)]
    return list(zip(results, bounds, strict=True))


def _computed(node: Node, values: Sequence[HostArray]) -> list[HostArray]:
    if node.op is CAST:
        found: Any = values[0].astype(node.dtypes[0])
    else:
        found = node.op.numpy(*values)
    results = found if isinstance(found, tuple) else (found,)
    return [np.asarray(x, d) for x, d in zip(results, node.dtypes, strict=True)]


def _moved(x: HostArray, error: HostArray) -> list[HostArray]:
    """The elements, each moved by its error in every direction there is."""
    if x.dtype.kind == "b":
        return [np.where(error > 0, ~x, x)]
    if x.dtype.kind in "iu":
        step = np.where(np.isfinite(error), np.ceil(error), 0).astype(x.dtype)
        return [x + step, x - step]
    if x.dtype.kind == "c":
        turns = [error, -error, 1j * error, -1j * error]
        return [(x + turn).astype(x.dtype) for turn in turns]
    wide = _wider(x.dtype)
    return [(x.astype(wide) + turn).astype(x.dtype) for turn in (error, -error)]


def _size(node: Node, values: Sequence[HostArray], result: HostArray) -> HostArray:
    """What the error of an operation is measured against: its result, and the operands
    where they cancel inside of it, or are multiplied by a subnormal number there."""
    size = np.abs(result)
    for x in values[: node.op.cancelling]:
        size = np.fmax(size, np.abs(x))
    if node.op.composed and _is_rounded(result.dtype):
        product = np.full(size.shape, _finfo(result.dtype).tiny, result.dtype)
        for x in values:
            product = product * np.fmax(1, np.abs(x))
        size = np.fmax(size, product)
    return size


def difference(got: HostArray, want: HostArray) -> HostArray:
    """Absolute differences as float64; 0 where both are NaN, infinite where one is."""
    with np.errstate(all="ignore"):
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        if got.dtype.kind == "b":
            apart = np.ones(got.shape)
        elif got.dtype.kind in "iu":
            wide = got.astype(np.longdouble) - want.astype(np.longdouble)
            apart = np.abs(wide).astype(np.float64)
        else:
            if got.dtype.kind != "c":
                wider = _wider(got.dtype)
                got, want = got.astype(wider), want.astype(wider)
            apart = np.abs(got - want).astype(np.float64)
        return np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart))


def _wider(dtype: DType) -> DType:
    """float64, or long double for itself."""
    wide = np.dtype(np.float64)
    return np.result_type(dtype, wide) if dtype.kind == "f" else wide


def _finfo(dtype: DType) -> Any:
    if dtype.kind in "fc":
        return np.finfo(dtype)
    import ml_dtypes  # only where such an array is

    find: Any = ml_dtypes.finfo
    return find(dtype)


def _is_rounded(dtype: DType) -> bool:
    return dtype.kind not in "biu"


def _step(size: HostArray, dtype: DType) -> HostArray:
    """A unit in the last place at each size; 0 where there is none."""
    facts = _finfo(dtype)
    size = size.astype(np.float64)
    _, exponent = np.frexp(size)
    step = np.ldexp(float(facts.eps), exponent - 1)
    step = np.fmax(step, float(facts.smallest_subnormal))
    return np.where(np.isfinite(size), step, 0.0)


# ------------------------------------------------------------------------ reductions
class Total:
    """The bound of a reduction, gathered from parts of what is reduced.

    A sum of n numbers may be off by the errors of its terms and, for the order in which
    they are added, by (64 + 4 √n) ε times the sum of their sizes; a product by n ε. The
    smallest and the largest are as far off as their candidates.

    Parameters
    ----------
    program : Program
        It ends in a reduction.
    rows : int
        Number of results.
    """

    def __init__(self, program: Program, rows: int) -> None:
        assert program.reduction is not None
        self.reduction = program.reduction
        self._count = 0
        self._worst = np.zeros(rows)  # the largest error
        self._errors = np.zeros(rows)  # their sum
        self._sizes = np.zeros(rows)
        self._relative = np.zeros(rows)
        self._reach = np.zeros(rows)  # how far a product can go, in powers of two

    def add(self, values: HostArray, errors: HostArray) -> None:
        """Elements and their errors, a row for each result."""
        with np.errstate(all="ignore"):
            self._count += values.shape[1]
            self._worst = np.fmax(self._worst, errors.max(1, initial=0.0))
            self._errors = self._errors + errors.sum(1)
            if self.reduction.op in (SUM, PROD) and _is_rounded(values.dtype):
                sizes = np.abs(values).astype(np.float64)
                self._sizes = self._sizes + np.where(np.isnan(sizes), 0, sizes).sum(1)
                part = np.where(errors > 0, errors / sizes, 0.0)
                self._relative = self._relative + np.log1p(part).sum(1)
                reach = np.abs(np.log2(sizes))
                self._reach += np.where(np.isfinite(reach), reach, 0).sum(1)

    def bounds(self, wanted: HostArray) -> HostArray:
        """How far each result may be off."""
        op, dtype = self.reduction.op, self.reduction.dtype
        if op in (MIN, MAX):
            return self._worst
        if op in (ANY, ALL):
            return np.where(self._errors > 0, np.inf, 0.0)
        if not _is_rounded(dtype):
            return np.where(self._errors > 0, np.inf if op is PROD else self._errors, 0)
        facts = _finfo(dtype)
        eps, n = float(facts.eps), self._count
        with np.errstate(all="ignore"):
            if op is SUM:
                found = self._errors + (64 + 4 * np.sqrt(n)) * eps * self._sizes
                # A part of the sum may pass the largest number, or not.
                return np.where(self._sizes > float(facts.max), np.inf, found)
            relative = np.expm1(self._relative + n * eps)
            found = relative * np.abs(wanted).astype(np.float64)
            return np.where(self._reach > facts.maxexp - 1, np.inf, found)
