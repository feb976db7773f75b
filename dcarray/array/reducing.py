"""The methods of `numpy.ndarray` that reduce."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.reduction import ALL, ANY, MAX, MIN, PROD, SUM
from . import reductions, whole
from .operators import Operators

__all__ = ["Reducing"]

_missing: Any = np._NoValue


class Reducing(Operators):
    """NumPy's reductions."""

    __slots__ = ()

    @whole.method
    def all(
        self,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        *,
        where: Any = _missing,
    ) -> Any:
        """Whether all elements along ``axis`` are true, as `numpy.all`."""
        return reductions.reduction(self, ALL, np.all, axis, keepdims, out, where=where)

    @whole.method
    def any(
        self,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        *,
        where: Any = _missing,
    ) -> Any:
        """Whether any element along ``axis`` is true, as `numpy.any`."""
        return reductions.reduction(self, ANY, np.any, axis, keepdims, out, where=where)

    @whole.method
    def max(
        self,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = _missing,
        where: Any = _missing,
    ) -> Any:
        """The largest elements along ``axis``, as `numpy.max`; NaN if there is one."""
        return reductions.reduction(
            self, MAX, np.max, axis, keepdims, out, initial=initial, where=where
        )

    @whole.method
    def min(
        self,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = _missing,
        where: Any = _missing,
    ) -> Any:
        """The smallest elements along ``axis``, as `numpy.min`; NaN if there is one."""
        return reductions.reduction(
            self, MIN, np.min, axis, keepdims, out, initial=initial, where=where
        )

    @whole.method
    def sum(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = _missing,
        where: Any = _missing,
    ) -> Any:
        """The sums along ``axis``, as `numpy.sum`."""
        return reductions.reduction(
            self, SUM, np.sum, axis, keepdims, out, dtype, initial=initial, where=where
        )

    @whole.method
    def prod(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = _missing,
        where: Any = _missing,
    ) -> Any:
        """The products along ``axis``, as `numpy.prod`."""
        return reductions.reduction(
            self,
            PROD,
            np.prod,
            axis,
            keepdims,
            out,
            dtype,
            initial=initial,
            where=where,
        )

    @whole.method
    def mean(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        *,
        where: Any = _missing,
    ) -> Any:
        """The arithmetic means along ``axis``, as `numpy.mean`."""
        return reductions.mean(self, axis, dtype, out, keepdims, where)

    @whole.method
    def var(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: Any = False,
        *,
        where: Any = _missing,
        mean: Any = _missing,
    ) -> Any:
        """The variances along ``axis``, as `numpy.var`."""
        return reductions.variance(self, axis, dtype, out, ddof, keepdims, where, mean)

    @whole.method
    def std(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: Any = False,
        *,
        where: Any = _missing,
        mean: Any = _missing,
    ) -> Any:
        """The standard deviations along ``axis``, as `numpy.std`."""
        return reductions.variance(
            self, axis, dtype, out, ddof, keepdims, where, mean, root=True
        )
