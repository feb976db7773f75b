"""``x[key] = value`` for masks and index arrays, by our own texts in CUDA C++."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...kernel.nodes import Kernel
from ...ops.indexing import filled
from ..grid.backend import GridBackend
from ..grid.library.work import INT32, INT64
from ..grid.views import GridView
from .kernels import choosing, placing
from .picking import SIZES, counted, is_choosable, is_dense, read
from .raw import Raw, signature
from .sorting import places_in_order

__all__ = ["Placing", "put"]

MOST_AXES = 4
"""Index arrays that a text has room for."""

_CLAIM = signature("claim_places", "rwq")
_FILL = signature("fill_places", "rwrqqq")
_STORE = signature("store_places", "rwrrqqq")
_PUT = signature("put_chosen", "rrrwqqq")


class Placing(GridBackend):
    """What a CUDA device does about places in its own way."""

    raw: Raw

    def places_in_order(self, keys: GridView) -> GridView | None:
        """Their places by radix sort; see `GridBackend`."""
        return places_in_order(self.raw.backend, keys)

    def put_at(self, x: GridView, value: GridView, *arrays: GridView, key: Any) -> None:
        """In few launches, where it can; see `GridBackend`."""
        if not put(self.raw, x, value, arrays, key):
            super().put_at(x, value, *arrays, key=key)


def put(
    raw: Raw, x: GridView, value: GridView, arrays: Sequence[GridView], key: Any
) -> bool:
    """``x[key] = value``; False, and nothing has happened, where the key or the value
    is of another kind, or the shapes do not fit.

    Raises
    ------
    IndexError
        An index is out of bounds; nothing has happened.
    """
    found = filled(key, arrays)
    items = found if type(found) is tuple else (found,)
    if not all([isinstance(item, GridView) for item in items]):
        return False
    if value.dtype != x.dtype or x.dtype.itemsize not in SIZES or not is_dense(x):
        return False
    if any([other.memory is x.memory for other in (value, *items)]):
        return False
    if (x.layout.offset | value.layout.offset) % x.dtype.itemsize:
        return False
    if items[0].dtype.kind == "b":
        if len(items) > 1 or items[0].shape != x.shape:
            return False
        return _put_chosen(raw, x, value, items[0])
    return _put_places(raw, x, value, items)


def _put_chosen(raw: Raw, x: GridView, value: GridView, mask: GridView) -> bool:
    """Values side by side where a mask is true."""
    if not is_choosable(x, mask) or value.ndim != 1 or not is_dense(value):
        return False
    size = x.dtype.itemsize
    sums, count, _ = counted(raw, mask, size, 0)
    if count != value.size:
        return False
    offsets = (x.layout.offset // size, value.layout.offset // size)
    start = raw.kept(("put_chosen", mask.size, size, *offsets), _step_of_put)
    start((mask.memory, sums, value.memory, x.memory), ())
    return True


def _find(axes: int) -> Kernel:
    """What ``find_places`` takes for so many index arrays."""
    return signature("find_places", "r" * axes + "ww" + "q" * (1 + 2 * axes))


def _step_of_put(raw: Raw, of: tuple[str, int, int, int, int]) -> Any:
    _, count, size, offset, begin = of
    text = choosing.mask_text(size)
    tiles = -(-count // choosing.TILE)
    return raw.start(text, _PUT, (tiles,), choosing.THREADS, count, offset, begin)


def _put_places(
    raw: Raw, x: GridView, value: GridView, indices: Sequence[GridView]
) -> bool:
    """Values at places that have an index along each axis."""
    first = indices[0]
    if len(indices) != x.ndim or x.ndim > MOST_AXES or not first.size or not x.size:
        return False
    if first.dtype not in (INT32, INT64):
        return False
    for item in indices:
        if item.dtype != first.dtype or item.shape != first.shape:
            return False
        if item.layout.offset or not is_dense(item):
            return False
    is_one = value.size == 1 and value.ndim <= first.ndim
    if not is_one and (value.shape != first.shape or not is_dense(value)):
        return False
    count, size = first.size, x.dtype.itemsize
    if max(count, x.size) >= 1 << 31:
        return False
    text = placing.place_text(size, first.dtype == INT64, x.ndim)
    groups, threads = (min(-(-count // placing.THREADS), 1 << 12),), placing.THREADS
    places, wrong = raw.new((count,), INT64), raw.zeros(3)
    steps = [step // size for step in x.layout.strides]
    kernel = _find(x.ndim)
    numbers = [n for pair in zip(x.shape, steps, strict=True) for n in pair]
    raw.run(text, kernel, groups, threads, *indices, places, wrong, count, *numbers)
    is_wrong, index, axis = read(raw, wrong.memory, 3)
    if is_wrong:
        raise IndexError(
            f"index {index} is out of bounds for axis {axis} with size {x.shape[axis]}"
        )
    offsets = (x.layout.offset // size, value.layout.offset // size)
    if is_one:
        given: tuple[GridView, ...] = (places, x, value)
        raw.run(text, _FILL, groups, threads, *given, count, *offsets)
        return True
    claims = raw.zeros(-(-x.size // 2))
    raw.run(text, _CLAIM, groups, threads, places, claims, count)
    given = (places, x, value, claims)
    raw.run(text, _STORE, groups, threads, *given, count, *offsets)
    return True
