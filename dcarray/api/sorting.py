"""Sorting."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import DeviceArray, whole
from ..array.fallback import on_host
from ..array.library import oracle
from ..backends.registry import AUTO
from ..config import current
from ..ops import indexing as picks
from . import calling
from .calling import served
from .coverage import fallback, native

__all__ = ["argpartition", "argsort", "lexsort", "partition", "sort", "sort_complex"]


@whole.function(np.sort)
@native
def sort(
    a: Any,
    axis: Any = -1,
    kind: Any = None,
    order: Any = None,
    *,
    descending: bool = False,
    stable: bool | None = None,
) -> Any:
    """A sorted copy, as `numpy.sort`.

    Parameters
    ----------
    a : array_like
    axis : int or None
        Along which to sort; None sorts the flattened array.
    kind : str, optional
        NumPy's name of the method.
    order : str or list of str, optional
        Fields to compare first.
    descending : bool
        The largest first; equal elements keep their order.
    stable : bool, optional
        Whether equal elements must keep their order.
    """
    return _ordered(picks.SORT, a, axis, kind, order, descending, stable)


@native
def argsort(
    a: Any,
    axis: Any = -1,
    kind: Any = None,
    order: Any = None,
    *,
    descending: bool = False,
    stable: bool | None = None,
) -> Any:
    """Indices that sort an array, as `numpy.argsort`; parameters as for `sort`.

    Equal elements keep their order unless ``stable`` or ``kind`` says otherwise, as the
    standard asks; NumPy programs (the setting ``scalars="numpy"``) get NumPy's order.
    """
    if kind is None and stable is None and current().scalars == "array":
        stable = True
    return _ordered(picks.ARGSORT, a, axis, kind, order, descending, stable)


def _ordered(
    row: Any,
    a: Any,
    axis: Any,
    kind: Any,
    order: Any,
    descending: bool,
    stable: bool | None,
) -> Any:
    given = {"axis": axis, "kind": kind, "stable": stable}
    if descending:
        if order is not None:
            raise ValueError("sort: descending=True does not go with order")
        if kind is None and stable is None:
            given = {"axis": axis}
        return calling.call_row(row, (a,), descending=True, **given)
    if calling.named_device((a,), {}) is AUTO or order is not None:
        return on_host(DeviceArray, oracle(row), a, order=order, **given)
    return calling.call_row(row, (a,), **given)


@native
def lexsort(keys: Any, axis: int = -1) -> Any:
    """Indices that sort by several keys, the last one first, as `numpy.lexsort`."""
    if calling.named_device((keys,), {}) is AUTO:
        return on_host(DeviceArray, np.lexsort, keys, axis)
    return calling.call_row(picks.LEXSORT, tuple(keys), axis=axis)


partition = served(picks.PARTITION)
argpartition = served(picks.ARGPARTITION)
sort_complex = fallback(np.sort_complex)
