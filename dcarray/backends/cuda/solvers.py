"""Factors, solutions, inverses and determinants of stacks of small matrices, each in
one launch; None for what is left to cuBLAS and cuSOLVER through CuPy.

NumPy raises at the call where a matrix is singular or not positive definite, so the
host waits for the device there; a kernel says so in memory of the host.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...layout import Layout, broadcast_shapes
from ..grid.views import GridView
from .flags import flag_of
from .kernels.elimination import cholesky_text, elimination_text, tile_for
from .picking import is_dense
from .raw import Raw, signature

__all__ = ["TABLE"]

DType = np.dtype[Any]
Found = GridView | tuple[GridView, ...] | None

MOST = 65535
"""Groups along the second axis of a grid."""

_CHOLESKY = signature("cholesky", "rwqqq")
_ELIMINATE = signature("eliminate", "rrwqqqqq")
_DOUBLE = np.dtype(np.float64)
_SINGULAR = "Singular matrix"


class _Way(NamedTuple):
    """What becomes of operands that lie alike.

    Attributes
    ----------
    dtype : dtype
        In which NumPy computes.
    batch : tuple of int
        Matrices of the stack.
    is_plain : bool
        Whether all operands are such stacks, dense and of that dtype.
    """

    dtype: DType
    batch: tuple[int, ...]
    is_plain: bool


_NONE = _Way(np.dtype(bool), (), False)


def _way(raw: Raw, what: str, *arrays: Any) -> _Way | None:
    """How a group takes each of the matrices; None if it cannot."""
    key: list[Any] = [what]
    for x in arrays:
        if type(x) is not GridView:
            return None
        key += (x.layout, x.dtype)
    found: _Way = raw.kept(tuple(key), lambda raw, key: _found(what, *arrays))
    return None if found is _NONE else found


def _found(what: str, a: GridView, *rest: GridView) -> _Way:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        return _NONE
    side, dtypes = a.shape[-1], []
    for x in (a, *rest):
        if x.dtype.kind not in "biuf" or x.dtype.char == "e" or not x.size:
            return _NONE
        dtypes.append(x.dtype if x.dtype.kind == "f" else _DOUBLE)
    dtype = np.result_type(*dtypes)
    others = side if what == "inv" else 0
    batch = a.shape[:-2]
    if rest:
        b = _columns(rest[0])
        others = b.shape[-1]
        if b.ndim < 2 or b.shape[-2] != side:
            return _NONE
        batch = broadcast_shapes((batch, b.shape[:-2]))
    tile = tile_for(side, others, dtype)
    if dtype.char not in "fd" or 0 in batch or tile is None:
        return _NONE
    if tile.groups(others) > MOST:
        return _NONE
    is_plain = all(
        x.dtype == dtype
        and x.ndim == len(batch) + 2
        and x.shape[:-2] == batch
        and is_dense(x)
        for x in (a, *rest)
    )
    return _Way(dtype, batch, is_plain)


def _columns(b: GridView) -> GridView:
    """A vector as a matrix of one column."""
    return b.through(lambda x: x[:, None]) if b.ndim == 1 else b


def _plain(raw: Raw, x: GridView, way: _Way) -> GridView:
    """Matrices that lie one behind another."""
    shape = (*way.batch, *x.shape[-2:])
    if x.shape != shape:
        x = x.through(lambda a: np.broadcast_to(a, shape))
    if x.dtype != way.dtype:
        return raw.work.cast(x, way.dtype)
    return x if is_dense(x) else raw.work.copy(x)


def _checked(
    raw: Raw,
    message: str,
    name: str,
    row: Callable[..., GridView],
    operands: Sequence[GridView],
    options: Mapping[str, Any],
) -> GridView:
    """What `Raw.call` gives, once it has been computed.

    Raises
    ------
    LinAlgError
        A kernel says that a matrix has not what is asked for.
    """
    found, is_wrong = flag_of(raw).watched(
        raw, lambda: raw.call(name, row, operands, options)
    )
    if is_wrong:
        raise np.linalg.LinAlgError(message)
    assert found is not None
    return found


# ---------------------------------------------------------------------------- Cholesky
def _cholesky(raw: Raw, a: Any, *, upper: bool = False) -> Found:
    """`numpy.linalg.cholesky`."""
    way = _way(raw, "cholesky", a)
    if way is None:
        return None
    if upper or not way.is_plain:
        a = _plain(raw, a.through(lambda x: x.mT) if upper else a, way)
    options = {"flag": flag_of(raw).address}
    message = "Matrix is not positive definite"
    found = _checked(raw, message, "cholesky", _factored, (a,), options)
    return found.through(lambda x: x.mT) if upper else found


def _factored(raw: Raw, a: GridView, *, flag: int) -> GridView:
    side = a.shape[-1]
    tile = tile_for(side, 0, a.dtype)
    assert tile is not None
    out = raw.new(a.shape, a.dtype)
    text = cholesky_text(a.dtype, tile)
    groups = (math.prod(a.shape[:-2]),)
    offset = a.elements()[0]
    raw.run(text, _CHOLESKY, groups, tile.threads, a, out, offset, side, flag)
    return out


# ------------------------------------------------------------------------- elimination
def _solve(raw: Raw, a: Any, b: Any) -> Found:
    """`numpy.linalg.solve`."""
    way = _way(raw, "solve", a, b)
    if way is None:
        return None
    is_vector = len(b.layout.shape) == 1
    if not way.is_plain:
        a, b = _plain(raw, a, way), _plain(raw, _columns(b), way)
    options = {"flag": flag_of(raw).address}
    found = _checked(raw, _SINGULAR, "solve", _eliminated, (a, b), options)
    return found.through(lambda x: x[..., 0]) if is_vector else found


def _inv(raw: Raw, a: Any) -> Found:
    """`numpy.linalg.inv`."""
    way = _way(raw, "inv", a)
    if way is None:
        return None
    if not way.is_plain:
        a = _plain(raw, a, way)
    options = {"flag": flag_of(raw).address, "what": "inv"}
    return _checked(raw, _SINGULAR, "inv", _eliminated, (a, a), options)


def _determined(what: str, raw: Raw, a: Any) -> GridView | None:
    way = _way(raw, what, a)
    if way is None:
        return None
    if not way.is_plain:
        a = _plain(raw, a, way)
    found: GridView | None
    found = raw.call(what, _eliminated, (a, a), {"flag": 0, "what": what})
    return found


def _det(raw: Raw, a: Any) -> Found:
    """`numpy.linalg.det`."""
    return _determined("det", raw, a)


def _slogdet(raw: Raw, a: Any) -> Found:
    """`numpy.linalg.slogdet`."""
    found = _determined("slogdet", raw, a)
    if found is None:
        return None
    size, shape = found.dtype.itemsize, found.shape[1:]
    dense = Layout.dense(shape, size)
    behind = Layout(shape, dense.strides, dense.size * size)
    return (
        GridView(found.memory, dense, found.dtype),
        GridView(found.memory, behind, found.dtype),
    )


def _eliminated(
    raw: Raw, a: GridView, b: GridView, *, flag: int, what: str = "solve"
) -> GridView:
    side, dtype, batch = a.shape[-1], a.dtype, a.shape[:-2]
    others = {"solve": b.shape[-1], "inv": side}.get(what, 0)
    shape = {
        "det": batch,
        "slogdet": (2, *batch),
    }.get(what, (*batch, side, others))
    tile = tile_for(side, others, dtype)
    assert tile is not None
    out = raw.new(shape, dtype)
    text = elimination_text(dtype, tile, what)
    offsets = (a.elements()[0], b.elements()[0])
    groups = (math.prod(batch), tile.groups(others))
    numbers = (*offsets, side, others, flag)
    raw.run(text, _ELIMINATE, groups, tile.threads, a, b, out, *numbers)
    return out


TABLE: Mapping[str, Callable[..., Found]] = {
    "linalg.cholesky": _cholesky,
    "linalg.solve": _solve,
    "linalg.inv": _inv,
    "linalg.det": _det,
    "linalg.slogdet": _slogdet,
}
"""Functions by the name of their rows."""
