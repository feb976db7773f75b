"""Order by CuPy's radix sort: long single rows; the grid's kernels order the others.

Keys are ours, so that NaN comes last and zeros are alike.  Only values that need none
are sorted themselves: integers, and floats once every NaN has the sign of those that
the sort puts last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ops.elementwise import ISNAN, WHERE
from ...ops.kernels.sorting import edges_kernel
from ..grid.library.places import chosen
from ..grid.library.work import BOOL
from ..grid.views import GridView
from .exchange import as_cupy, from_cupy, inside
from .raw import Raw

if TYPE_CHECKING:
    from .backend import CudaBackend

__all__ = ["TABLE", "places_in_order"]

LONG = 1 << 14
"""Elements of a row from which on a radix sort is worth it."""

_DTYPES = "bBhHiIlLqQfd"


def places_in_order(backend: CudaBackend, keys: GridView) -> GridView | None:
    """The places of the elements of one row of unsigned integers in their order, where
    equal ones stay as they are."""
    if keys.size < LONG or keys.size != keys.shape[-1]:
        return None
    with inside(backend):
        return from_cupy(as_cupy(backend, keys).ravel().argsort())


def _sorted(raw: Raw, x: Any, axis: Any) -> GridView | None:
    """The values of a long axis in their order, in memory of their own."""
    if not isinstance(x, GridView) or x.size < LONG or x.dtype.char not in _DTYPES:
        return None
    if axis is not None and x.ndim != 1:
        return None
    work = raw.work
    if x.dtype.kind == "f":
        nan = x.dtype.type(np.nan)
        missing = work.map(ISNAN, x)
        found = work.map(WHERE, missing, nan, x)
    else:
        found = work.copy(x)
    found = found.through(lambda a: a.reshape(-1))
    with inside(raw.backend):
        as_cupy(raw.backend, found).sort()
    return found


def _sort(
    raw: Raw, x: Any, *, axis: Any = -1, descending: Any = False, **others: Any
) -> GridView | None:
    """`numpy.sort`, stable whatever the kind."""
    return None if descending else _sorted(raw, x, axis)


def _partition(raw: Raw, x: Any, *operands: Any, **options: Any) -> GridView | None:
    """`numpy.partition`: what is sorted is partitioned."""
    return _sorted(raw, x, options.get("axis", -1))


def _unique(raw: Raw, x: Any, **options: Any) -> GridView | None:
    """`numpy.unique` of values alone."""
    wanted = ("return_index", "return_inverse", "return_counts")
    if any(options.get(name) for name in wanted):
        return None
    if options.get("axis") is not None and getattr(x, "ndim", 0) > 1:
        return None
    found = _sorted(raw, x, None)
    if found is None:
        return None
    mask = raw.work.new(found.shape, BOOL)
    kernel = edges_kernel(found.dtype, bool(options.get("equal_nan", True)))
    raw.work.run(kernel, found.size, found, mask, found.size)
    return chosen(raw.work, found, mask)


TABLE: Mapping[str, Callable[..., GridView | None]] = {
    "sort": _sort,
    "partition": _partition,
    "unique": _unique,
}
"""Functions by the name of their rows."""
