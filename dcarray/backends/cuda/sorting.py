"""Order by CuPy's radix sort: long single rows; the grid's kernels order the others.

Keys are ours, so that NaN comes last and zeros are alike.  Only values that need none
are sorted themselves: integers, and floats once every NaN has the sign of those that
the sort puts last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ...ops.kernels.sorting import edges_kernel
from ..grid.library.ordering import check_places
from ..grid.library.work import BOOL, INTP
from ..grid.views import GridView
from .exchange import as_cupy, from_cupy, inside
from .kernels.choosing import steady_text
from .picking import chosen, is_dense
from .raw import Raw, signature

if TYPE_CHECKING:
    from .backend import CudaBackend

__all__ = ["TABLE", "places_in_order"]

LONG = 1 << 14
"""Elements of a row from which on a radix sort is worth it."""

_DTYPES = "bBhHiIlLqQfd"

_STEADY = signature("steady", "rwq")


def places_in_order(backend: CudaBackend, keys: GridView) -> GridView | None:
    """The places of the elements of one row of unsigned integers in their order, where
    equal ones stay as they are."""
    if keys.size < LONG or keys.size != keys.shape[-1]:
        return None
    with inside(backend):
        return from_cupy(as_cupy(backend, keys).ravel().argsort())


def _is_sortable(x: Any, axis: Any) -> bool:
    return (
        isinstance(x, GridView)
        and x.size >= LONG
        and x.dtype.char in _DTYPES
        and (axis is None or x.ndim == 1)
    )


def _sorted(raw: Raw, x: Any, axis: Any) -> GridView | None:
    """The values of a long axis in their order, in memory of their own."""
    if not _is_sortable(x, axis):
        return None
    found = _steadied(raw, x)
    with inside(raw.backend):
        as_cupy(raw.backend, found).sort()
    return found


def _steadied(raw: Raw, x: GridView) -> GridView:
    """A copy as one axis, in which every NaN is one that the sort puts last."""
    if x.dtype.kind != "f" or not is_dense(x) or x.layout.offset:
        x = raw.work.copy(x)
        if x.dtype.kind != "f":
            return x.through(lambda a: a.reshape(-1))
    out = raw.new((x.size,), x.dtype)
    text = steady_text(x.dtype)
    raw.run(text, _STEADY, (-(-x.size // 1024),), 256, x, out, x.size)
    return out


def _argsort(
    raw: Raw, x: Any, *, axis: Any = -1, descending: Any = False, **others: Any
) -> GridView | None:
    """`numpy.argsort`, stable whatever the kind."""
    if descending or not _is_sortable(x, axis):
        return None
    found = _steadied(raw, x)
    places = raw.new(found.shape, INTP)
    backend = raw.backend
    with inside(backend):
        from cupy.cuda import thrust

        keys, order = as_cupy(backend, found), as_cupy(backend, places)
        thrust.argsort(keys.dtype, order.data.ptr, keys.data.ptr, 0, keys.shape)
    return places


def _sort(
    raw: Raw, x: Any, *, axis: Any = -1, descending: Any = False, **others: Any
) -> GridView | None:
    """`numpy.sort`, stable whatever the kind."""
    return None if descending else _sorted(raw, x, axis)


def _partition(
    raw: Raw, x: Any, *, kth: Any, axis: Any = -1, **others: Any
) -> GridView | None:
    """`numpy.partition`: what is sorted is partitioned."""
    if not isinstance(x, GridView) or isinstance(kth, GridView):
        return None
    check_places(x, kth, axis)
    return _sorted(raw, x, axis)


def _unique(raw: Raw, x: Any, **options: Any) -> GridView | None:
    """`numpy.unique` of values alone."""
    wanted = ("return_index", "return_inverse", "return_counts")
    if any(options.get(name) not in (None, False) for name in wanted):
        return None
    if options.get("axis") is not None and getattr(x, "ndim", 0) > 1:
        return None
    found = _sorted(raw, x, None)
    if found is None:
        return None
    mask = raw.new(found.shape, BOOL)
    kernel = edges_kernel(found.dtype, bool(options.get("equal_nan", True)))
    raw.work.run(kernel, found.size, found, mask, found.size)
    return chosen(raw, mask, found)


TABLE: Mapping[str, Callable[..., GridView | None]] = {
    "sort": _sort,
    "argsort": _argsort,
    "partition": _partition,
    "unique": _unique,
}
"""Functions by the name of their rows."""
