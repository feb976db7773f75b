"""Attention without the matrix of all scores.

Scores are made for one block of queries and one of keys at a time.  A running maximum
and a running sum make the softmax of a row out of its blocks (Milakov and Gimelshein,
"Online normalizer calculation for softmax", 2018; Rabe and Staats, "Self-attention Does
Not Need O(n²) Memory", 2021; Dao et al., "FlashAttention", 2022).  The gradient makes
the scores again, block by block, from the logarithm of each row's sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..api.conversion import as_array, convert
from ..api.coverage import native
from ..api.elementwise import exp, log, matmul, maximum
from ..api.indexing import where
from ..api.joining import concatenate
from ..api.manipulation import broadcast_to
from ..array import DeviceArray, calls
from ..array.library import oracle
from ..array.repeated import repeated
from ..backends.registry import backend_for
from ..lazy import route
from ..lazy.libraries import call_library
from ..ops import neural
from ..ops.spec import Op
from .composing import floating, narrowed, summed_to, takes_short, total
from .windows import needs

__all__ = [
    "scaled_dot_product_attention",
    "scaled_dot_product_attention_gradient",
]

SCORES = 1 << 21
"""Scores that are made at a time, over all of the batch."""

MOST_KEYS = 512
"""Keys in a block."""

LEAST_QUERIES = 64
"""Queries in a block, however many blocks of the batch there are."""

MOST = 1024
"""Checked shapes that are kept."""


@dataclass(frozen=True, slots=True)
class _Attention:
    """Checked operands, in the dtype in which they are computed with.

    ``short`` says that the device has a row for all of it that takes short floats.
    """

    q: Any
    k: Any
    v: Any
    mask: Any
    causal: bool
    scale: float
    short: bool

    @classmethod
    def of(
        cls,
        name: str,
        op: Op,
        given: Sequence[Any],
        mask: Any,
        causal: bool,
        scale: Any,
    ) -> _Attention:
        mask = None if mask is None else as_array(mask)
        first = given[0].dtype
        others = [x.dtype for x in given[1:]]
        if mask is not None and mask.dtype.kind != "b":
            others.append(mask.dtype)
        short = all([x == first for x in others]) and takes_short(op, first, *given)
        operands = given if short else [floating(name, x) for x in given]
        dtype = np.result_type(*[x.dtype for x in operands])
        q, k, v = [x.astype(dtype, copy=False) for x in operands]
        shapes = [tuple(x.shape) for x in (q, k, v)]
        needs(
            min(q.ndim, k.ndim, v.ndim) >= 2
            and q.shape[-1] == k.shape[-1]
            and k.shape[-2] == v.shape[-2],
            f"{name}: got shapes {shapes}, takes (..., queries, features), "
            "(..., keys, features) and (..., keys, values)",
        )
        try:
            if not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
                np.broadcast_shapes(*[x.shape[:-2] for x in (q, k, v)])
        except ValueError:
            raise ValueError(
                f"{name}: got shapes {shapes}, takes batches that broadcast"
            ) from None
        if mask is not None:
            if mask.dtype.kind != "b" and mask.dtype != dtype:
                mask = floating(name, mask).astype(dtype)
            scores = (q.shape[-2], k.shape[-2])
            needs(
                mask.ndim >= 2
                and all([n in (1, m) for n, m in zip(mask.shape[-2:], scores)]),
                f"{name}: a mask of shape {tuple(mask.shape)}, takes (..., *{scores})",
            )
        if scale is None:
            scale = 1.0 / math.sqrt(max(1, q.shape[-1]))
        return cls(q, k, v, mask, bool(causal), float(scale), short)

    def batch(self) -> tuple[int, ...]:
        shapes = [x.shape[:-2] for x in (self.q, self.k, self.v)]
        if self.mask is None and shapes[0] == shapes[1] == shapes[2]:
            return shapes[0]  # type: ignore[no-any-return]
        found = np.broadcast_shapes(*shapes)
        if self.mask is None:
            return found
        return np.broadcast_shapes(found, self.mask.shape[:-2])

    def queries(self) -> list[slice]:
        """Blocks of queries."""
        keys = min(MOST_KEYS, max(1, self.k.shape[-2]))
        some = SCORES // (keys * max(1, math.prod(self.batch())))
        return _blocks(self.q.shape[-2], max(LEAST_QUERIES, some))

    def keys(self, rows: slice) -> Iterator[slice]:
        """Blocks of keys that some of these queries see."""
        for block in _blocks(self.k.shape[-2], MOST_KEYS):
            if not self.causal or block.start < rows.stop:
                yield block

    def by_row(self) -> bool:
        """Whether all devices that come into question have a row for all of it."""
        name = neural.ATTENTION.name
        return all(
            label == "cpu" or name in backend_for(label).native
            for label in route.candidates(self.q._device)
        )

    def flat(self, x: Any) -> Any:
        """(batch, queries or keys, features) of an array."""
        batch = self.batch()
        whole = broadcast_to(x, (*batch, *x.shape[-2:]))
        return whole.reshape(math.prod(batch), *x.shape[-2:])

    def row(self, op: Op, *operands: Any) -> list[Any]:
        """A row of `ops.neural`: those for short floats take all axes of batch, others
        one."""
        mask, batch = self.mask, self.batch()
        if self.short:
            given = [
                x if x.shape[:-2] == batch else broadcast_to(x, (*batch, *x.shape[-2:]))
                for x in operands
            ]
        else:
            given = [self.flat(x) for x in operands]
        if mask is not None and not self.short:
            if math.prod(mask.shape[:-2]) == 1:
                mask = mask.reshape(1, *mask.shape[-2:])
            else:
                mask = self.flat(mask)
        found = calls.library(
            DeviceArray,
            op,
            given,
            mask=mask,
            causal=self.causal,
            scale=self.scale,
        )
        if self.short:
            return list(found) if isinstance(found, tuple) else [found]
        return [x.reshape(*batch, *x.shape[1:]) for x in found]

    def whole(self) -> tuple[Any, Any]:
        """The result for all queries, and the logarithm of each row's sum."""
        if self.by_row():
            found, logs = self.row(neural.ATTENTION, self.q, self.k, self.v)
            return found, logs
        parts = [self.forward(rows) for rows in self.queries()]
        found, logs = [
            x[0] if len(x) == 1 else concatenate(x, axis=-2)
            for x in ([one for one, _ in parts], [one for _, one in parts])
        ]
        return found, logs

    def scores(self, rows: slice, columns: slice) -> Any:
        """Scores of one block; -inf where nothing is to be seen."""
        q, k = self.q[..., rows, :], self.k[..., columns, :]
        found = matmul(q * self.scale, k.mT)
        if self.mask is not None:
            mask = _part(_part(self.mask, -2, rows), -1, columns)
            if mask.dtype.kind == "b":
                found = where(mask, found, -math.inf)
            else:
                found = found + mask
        if self.causal and columns.stop - 1 > rows.start:
            later = _later(rows, columns)
            seen = convert(later, device=self.q._device)
            found = where(seen, -math.inf, found)
        return found

    def forward(self, rows: slice) -> tuple[Any, Any]:
        """The result for a block of queries, and the logarithm of each row's sum."""
        shape = (*self.batch(), rows.stop - rows.start)
        dtype, device = self.q.dtype, self.q._device
        top = convert(np.full((*shape, 1), -np.inf, dtype), device=device)
        sums = convert(np.zeros((*shape, 1), dtype), device=device)
        found = convert(np.zeros((*shape, self.v.shape[-1]), dtype), device=device)
        for columns in self.keys(rows):
            scores = self.scores(rows, columns)
            higher = maximum(top, scores.max(-1, keepdims=True))
            # A row in which nothing is to be seen yet has no maximum to subtract.
            base = where(higher == -math.inf, 0.0, higher)
            powers = exp(scores - base)
            shrink = exp(top - base)
            sums = sums * shrink + total(powers, -1).astype(dtype)
            found = found * shrink + matmul(powers, self.v[..., columns, :])
            top = higher
        empty = sums == 0
        found = where(empty, 0.0, found / where(empty, 1.0, sums))
        logs = where(empty, math.inf, top + log(where(empty, 1.0, sums)))
        return found, logs


def _blocks(count: int, most: int) -> list[slice]:
    return [slice(k, min(count, k + most)) for k in range(0, count, most)]


def _part(x: Any, axis: int, block: slice) -> Any:
    """A block along an axis, all of it where it has length 1."""
    if x.shape[axis] == 1:
        return x
    return x[..., block, :] if axis == -2 else x[..., block]


def _later(rows: slice, columns: slice) -> np.ndarray[Any, np.dtype[np.bool]]:
    """Which keys come after which queries."""
    places = np.arange(columns.start, columns.stop)
    found: np.ndarray[Any, np.dtype[np.bool]] = (
        places > np.arange(rows.start, rows.stop)[:, None]
    )
    return found


_SCALES: dict[Any, float] = {}
"""Shapes that were checked, and what scores are multiplied by."""


def _straight(q: Any, k: Any, v: Any, causal: bool, scale: float | None) -> Any:
    """The result of the row for short floats, where operands are arrays on a device
    that has it; None where there is more to be looked at."""
    if not type(q) is type(k) is type(v) is DeviceArray:
        return None
    row, device, dtype = neural.ATTENTION_ALONE, q._device, q.dtype
    if k.dtype != dtype or v.dtype != dtype or not takes_short(row, dtype, q, k, v):
        return None
    if not k._device.label == v._device.label == device.label:
        return None
    shapes = (q.shape, k.shape, v.shape)
    factor = _SCALES.get((*shapes, scale))
    if factor is None:
        batches = {shape[:-2] for shape in shapes}
        if min(map(len, shapes)) < 2 or len(batches) > 1 or 0 in q.shape:
            return None
        if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
            return None
        factor = 1.0 / math.sqrt(q.shape[-1]) if scale is None else scale
        if len(_SCALES) >= MOST:
            _SCALES.clear()
        _SCALES[*shapes, scale] = factor
    options = {"mask": None, "causal": causal, "scale": factor}
    reads = (q._read(), k._read(), v._read())
    ((buffer, layout, made),) = call_library(row, oracle(row), reads, device, options)
    return DeviceArray._of_buffer(buffer, layout, made, device)


@native
@repeated
def scaled_dot_product_attention(
    q: Any,
    k: Any,
    v: Any,
    /,
    mask: Any = None,
    causal: bool = False,
    scale: float | None = None,
) -> Any:
    """Means of values, weighted by the softmax of products of queries and keys.

    Parameters
    ----------
    q : array_like
        (..., queries, features)
    k : array_like
        (..., keys, features)
    v : array_like
        (..., keys, values)
    mask : array_like, optional
        Broadcast to (..., queries, keys).  Booleans say which keys a query sees;
        numbers are added to the scores.
    causal : bool
        Whether a query sees only the keys that do not come after it.
    scale : float, optional
        What scores are multiplied by; by default ``1 / sqrt(features)``.

    Returns
    -------
    DeviceArray
        (..., queries, values); 0 for a query that sees nothing.

    Raises
    ------
    ValueError
        Shapes that do not fit.

    Notes
    -----
    Memory grows with the number of queries and keys, not with their product.
    """
    if mask is None and type(causal) is bool and type(scale) in (float, type(None)):
        found = _straight(q, k, v, causal, scale)
        if found is not None:
            return found
    operands = [as_array(x) for x in (q, k, v)]
    name, row = "scaled_dot_product_attention", neural.ATTENTION_ALONE
    work = _Attention.of(name, row, operands, mask, causal, scale)
    dtype = np.result_type(*[x.dtype for x in operands])
    if not work.q.shape[-2]:
        shape = (*work.batch(), 0, work.v.shape[-1])
        found = convert(np.zeros(shape, work.q.dtype), device=work.q._device)
    elif work.short:
        (found,) = work.row(row, work.q, work.k, work.v)
    else:
        found, _ = work.whole()
    return found if dtype.kind in "iu" else found.astype(dtype, copy=False)


@native
@repeated
def scaled_dot_product_attention_gradient(
    gradient: Any,
    q: Any,
    k: Any,
    v: Any,
    /,
    mask: Any = None,
    causal: bool = False,
    scale: float | None = None,
) -> tuple[Any, Any, Any]:
    """The gradients of `scaled_dot_product_attention` in q, k and v.

    Parameters
    ----------
    gradient : array_like
        The gradient in the result.
    q, k, v, mask, causal, scale
        As they were given to `scaled_dot_product_attention`.

    Notes
    -----
    Memory grows as for `scaled_dot_product_attention`.
    """
    name = "scaled_dot_product_attention_gradient"
    operands = [as_array(x) for x in (q, k, v)]
    row = neural.ATTENTION_ADJOINT
    work = _Attention.of(name, row, operands, mask, causal, scale)
    g = as_array(gradient)
    if not work.short or g.dtype != work.q.dtype:
        g = floating(name, g)
    wanted = (*work.batch(), work.q.shape[-2], work.v.shape[-1])
    needs(
        g.shape == wanted,
        f"{name}: a gradient of shape {tuple(g.shape)}, takes {wanted}",
    )
    if not g.size:
        found = [_zeros(x, x.shape) for x in (work.q, work.k, work.v)]
    elif work.short:
        g = g.astype(work.q.dtype, copy=False)
        found = work.row(row, g, work.q, work.k, work.v)
    elif work.by_row():
        g = g.astype(work.q.dtype, copy=False)
        result, logs = work.whole()
        mean = total(g * result, -1).astype(g.dtype)
        given = (g, work.q, work.k, work.v, logs, mean)
        found = work.row(neural.ATTENTION_GRADIENT, *given)
    else:
        found = _by_blocks(work, g)
    of_q, of_k, of_v = [
        narrowed(summed_to(x, like.shape), like) for x, like in zip(found, operands)
    ]
    return of_q, of_k, of_v


def _by_blocks(work: _Attention, g: Any) -> list[Any]:
    """The gradients, of the shape of the whole batch."""
    dtype = work.q.dtype
    blocks = _blocks(work.k.shape[-2], MOST_KEYS)
    of_q: list[Any] = []
    of_k: list[Any] = [None] * len(blocks)
    of_v: list[Any] = [None] * len(blocks)
    for rows in work.queries():
        found, logs = work.forward(rows)
        back = g[..., rows, :]
        mean = total(back * found, -1).astype(dtype)
        mine: Any = None
        for number, columns in enumerate(work.keys(rows)):
            shares = exp(work.scores(rows, columns) - logs)
            slope = matmul(back, work.v[..., columns, :].mT) - mean
            slope = shares * slope * work.scale
            mine = _plus(mine, matmul(slope, work.k[..., columns, :]))
            more = matmul(slope.mT, work.q[..., rows, :])
            of_k[number] = _plus(of_k[number], more)
            of_v[number] = _plus(of_v[number], matmul(shares.mT, back))
        of_q.append(mine)
    return [_joined(of_q, work.q), _joined(of_k, work.k), _joined(of_v, work.v)]


def _plus(x: Any, more: Any) -> Any:
    return more if x is None else x + more


def _zeros(like: Any, shape: tuple[int, ...]) -> Any:
    return convert(np.zeros(shape, like.dtype), device=like._device)


def _joined(blocks: list[Any], operand: Any) -> Any:
    """Blocks along the last axis but one; zeros for keys that no query sees, which are
    the last ones."""
    arrays = [x for x in blocks if x is not None]
    if not arrays:
        return _zeros(operand, operand.shape)
    missing = operand.shape[-2] - sum([x.shape[-2] for x in arrays])
    if missing:
        shape = (*arrays[0].shape[:-2], missing, operand.shape[-1])
        arrays.append(_zeros(operand, shape))
    return arrays[0] if len(arrays) == 1 else concatenate(arrays, axis=-2)
