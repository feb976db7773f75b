"""Attention of short floats by cuDNN, see `graphs`.

What is longer `scores` or the grid's kernels compute.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...layout import Layout, dense_strides
from ...ops import elementwise as ops
from ...ops.reduction import SUM
from ..grid.views import GridView
from . import scores
from .graphs import ALIGNED, KINDS, SINGLE, Plan, aligned, kind_of, module

if TYPE_CHECKING:
    from .raw import Raw

__all__ = ["TABLE"]

FEATURES = 8
"""Of these cuDNN takes multiples."""

AXES = 4
"""Axes of cuDNN's arrays: batch, heads, queries or keys, features."""

Sizes = tuple[int, ...]


class _Tensor(NamedTuple):
    """How cuDNN is shown an array: batch, heads, queries or keys, features.  Strides
    are in elements."""

    shape: Sizes
    strides: Sizes


class _Call(NamedTuple):
    """What a graph is built for.

    Attributes
    ----------
    kind : str
        ``"sdpa"``, ``"sdpa_logs"`` with the logarithms of the rows' sums, or
        ``"sdpa_backward"``.
    dtype : str
    operands : tuple of _Tensor
        q, k, v, and the gradient in the result, if there is one.
    mask : _Tensor or None
        Numbers that are added.
    causal : bool
    scale : float
    """

    kind: str
    dtype: str
    operands: tuple[_Tensor, ...]
    mask: _Tensor | None
    causal: bool
    scale: float

    @property
    def result(self) -> _Tensor:
        """The result, without gaps."""
        q, _, v = self.operands[:3]
        return _whole((*q.shape[:3], v.shape[3]))

    @property
    def logs(self) -> _Tensor:
        """The logarithms."""
        return _whole((*self.operands[0].shape[:3], 1))

    def plan(self, raw: Raw, dtype: np.dtype[Any]) -> Plan | None:
        """The plan of its graph; None where cuDNN has none."""
        backward = self.kind == "sdpa_backward"
        describe = partial(_backward if backward else _forward, self, dtype)
        return raw.backend.graphs.plan(self, describe)


class _Ready(NamedTuple):
    """A call that comes again.

    Attributes
    ----------
    plans : tuple of Plan
        That of the result; for gradients, that with logarithms and that of gradients.
    fits : tuple of bool
        Which operands the plans take as they lie; others are copied first.
    """

    plans: tuple[Plan, ...]
    fits: tuple[bool, ...]


# -------------------------------------------------------------------------------- calls
def _found(
    raw: Raw, kind: str, given: Sequence[Any], mask: Any, causal: bool, scale: float
) -> tuple[_Ready, list[GridView]] | None:
    """What a call needs, and its operands as the plans take them."""
    views = [*given] if mask is None else [*given, mask]
    if not all([type(x) is GridView for x in views]):
        return None
    key = (kind, *[(x.layout, x.dtype) for x in views], causal, scale)
    ready = raw.backend.graphs.call(key, _ready, raw, kind, views, causal, scale)
    if ready is None:
        return None
    if mask is not None:
        views[-1] = _added(raw, mask, given[0], given[1])
    pairs = zip(views, ready.fits, strict=True)
    return ready, [aligned(raw, view, fits) for view, fits in pairs]


def _ready(
    raw: Raw, kind: str, views: Sequence[GridView], causal: bool, scale: float
) -> _Ready | None:
    q, k, v = views[:3]
    dtype: np.dtype[Any] = q.dtype
    mask = views[3] if kind == "sdpa" and len(views) > 3 else None
    if module() is None or dtype == SINGLE or dtype.name not in KINDS:
        return None
    if 0 in (*q.shape, *k.shape) or (q.shape[-1] | v.shape[-1]) % FEATURES:
        return None
    if any([x.dtype not in (dtype, np.bool) for x in views]) or q.ndim > AXES:
        return None
    added = None
    if mask is not None:
        added = _whole(_axes((*mask.shape[:-2], q.shape[-2], k.shape[-2])))
    given = views if mask is None else views[:3]
    tensors = [_tensor(x) for x in given]
    fits = [tensor is not None for tensor in tensors]
    operands = tuple(
        [
            tensor or _whole(_axes(x.shape))
            for tensor, x in zip(tensors, given, strict=True)
        ]
    )
    kinds = [kind if added is None else "sdpa_logs"]
    if kind == "sdpa_backward":
        kinds.insert(0, "sdpa_logs")
    plans = []
    for one in kinds:
        seen = operands if one == "sdpa_backward" else operands[:3]
        call = _Call(one, dtype.name, seen, added, causal, scale)
        plans.append(call.plan(raw, dtype))
    if None in plans:
        return None
    if mask is not None:
        fits.append(True)  # it is made so
    return _Ready(tuple([plan for plan in plans if plan]), tuple(fits))


def _axes(shape: Sizes) -> Sizes:
    """A shape of four axes."""
    return (1,) * (AXES - len(shape)) + shape


def _whole(shape: Sizes) -> _Tensor:
    return _Tensor(shape, dense_strides(shape, 1))


def _tensor(view: GridView) -> _Tensor | None:
    """What cuDNN is shown of an array; None if it has to be copied before."""
    size = view.dtype.itemsize
    steps = view.layout.strides
    if steps[-1] != size or any([s <= 0 or s % ALIGNED for s in steps[:-1]]):
        return None
    if view.layout.offset % ALIGNED:
        return None
    more = AXES - view.ndim
    strides = (steps[0] * view.shape[0],) * more + steps
    return _Tensor(_axes(view.shape), tuple([s // size for s in strides]))


def _dense(shape: Sizes, dtype: np.dtype[Any]) -> Layout:
    return Layout.plain_for(shape, dtype.itemsize)


def _start(
    raw: Raw, plan: Plan, operands: Sequence[GridView], results: Sequence[GridView]
) -> None:
    views = [*operands, *results]
    offsets = [view.layout.offset for view in views]
    start = raw.backend.graphs.starter(plan, len(operands), offsets)
    raw.did(start, *views)
    start([view.memory for view in views], ())


# --------------------------------------------------------------------------------- rows
def _alone(
    raw: Raw, q: Any, k: Any, v: Any, *, mask: Any, causal: bool, scale: float
) -> GridView:
    """``nn.attention_alone``."""
    found = _found(raw, "sdpa", (q, k, v), mask, causal, scale)
    if found is None:
        return _short(raw, _in_single(raw, q, k, v, mask, causal, scale)[0], q)
    ready, operands = found
    out = raw.new((*q.shape[:-1], v.shape[-1]), q.dtype)
    if mask is None:
        _start(raw, ready.plans[0], operands, [out])
        return out
    logs = raw.new((*q.shape[:-1], 1), SINGLE)
    _start(raw, ready.plans[0], operands, [out, logs])
    # cuDNN has no number where a query sees nothing.
    seen = raw.work.map(ops.GREATER, logs, -np.inf)
    return raw.work.map(ops.WHERE, seen, out, 0.0, dtype=out.dtype)


def _adjoint(
    raw: Raw,
    gradient: Any,
    q: Any,
    k: Any,
    v: Any,
    *,
    mask: Any,
    causal: bool,
    scale: float,
) -> tuple[GridView, ...]:
    """``nn.attention_adjoint``."""
    given = (q, k, v, gradient)
    found = None
    if mask is None:
        found = _found(raw, "sdpa_backward", given, None, causal, scale)
    if found is None:
        return _adjoint_in_single(raw, gradient, q, k, v, mask, causal, scale)
    ready, operands = found
    out = raw.new((*q.shape[:-1], v.shape[-1]), q.dtype)
    logs = raw.new((*q.shape[:-1], 1), SINGLE)
    _start(raw, ready.plans[0], operands[:3], [out, logs])
    results = [raw.new(x.shape, x.dtype) for x in (q, k, v)]
    *operands, last = operands
    _start(raw, ready.plans[1], [*operands, out, last, logs], results)
    return tuple(results)


def _added(raw: Raw, mask: GridView, q: GridView, k: GridView) -> GridView:
    """A mask as numbers that are added to the scores."""
    shape = (*mask.shape[:-2], q.shape[-2], k.shape[-2])
    whole = mask.through(lambda a: np.broadcast_to(a, shape))
    if mask.dtype != q.dtype:
        return raw.work.map(ops.WHERE, whole, 0.0, -np.inf, dtype=q.dtype)
    return raw.work.dense(whole)


def _flat(raw: Raw, x: Any, batch: Sizes, dtype: np.dtype[Any] | None) -> Any:
    """An operand of the grid's kernels, which have one axis of batch."""
    if x is None:
        return None
    shape = (*batch, *x.shape[-2:])
    whole = raw.work.put(x).through(lambda a: np.broadcast_to(a, shape))
    flat = raw.work.reshaped(whole, (math.prod(batch), *shape[-2:]))
    is_number = dtype is not None and flat.dtype.kind != "b"
    return raw.work.cast(flat, dtype) if is_number and dtype is not None else flat


def _in_single(
    raw: Raw, q: Any, k: Any, v: Any, mask: Any, causal: bool, scale: float
) -> tuple[GridView, GridView, list[Any], Any]:
    """The result in float32, the logarithms, and operands and mask, as the grid's
    kernels have them."""
    batch = q.shape[:-2]
    wide = [_flat(raw, x, batch, SINGLE) for x in (q, k, v)]
    mask = _flat(raw, mask, batch, SINGLE)
    row = raw.backend.native["nn.attention"]
    out, logs = row(*wide, mask=mask, causal=causal, scale=scale)
    return GridView(*out), GridView(*logs), wide, mask


def _short(raw: Raw, found: GridView, like: GridView) -> GridView:
    """A result of the grid's kernels in the shape and the dtype of an operand."""
    shape = (*like.shape[:-1], found.shape[-1])
    return raw.work.cast(found, like.dtype).through(lambda a: a.reshape(shape))


def _adjoint_in_single(
    raw: Raw,
    gradient: Any,
    q: Any,
    k: Any,
    v: Any,
    mask: Any,
    causal: bool,
    scale: float,
) -> tuple[GridView, ...]:
    """The gradients by the grid's kernels."""
    out, logs, wide, mask = _in_single(raw, q, k, v, mask, causal, scale)
    g = _flat(raw, gradient, q.shape[:-2], SINGLE)
    mean = raw.work.reduce(SUM, (2,), g, out, before=ops.MULTIPLY, dtype=SINGLE)
    row = raw.backend.native["nn.attention_gradient"]
    found = row(g, *wide, logs, mean, mask=mask, causal=causal, scale=scale)
    pairs = zip(found, (q, k, v), strict=True)
    return tuple([_short(raw, GridView(*one), like) for one, like in pairs])


# ------------------------------------------------------------------------------- graphs
def _graph(call: _Call, kind: Any, cudnn: Any, handle: Any) -> Any:
    return cudnn.pygraph(
        name=call.kind,
        io_data_type=kind,
        intermediate_data_type=cudnn.data_type.FLOAT,
        compute_data_type=cudnn.data_type.FLOAT,
        handle=handle,
    )


def _shown(graph: Any, name: str, tensor: _Tensor, kind: Any) -> Any:
    shape, strides = map(list, tensor)
    return graph.tensor(name=name, dim=shape, stride=strides, data_type=kind)


def _is_result(found: Any, tensor: _Tensor, kind: Any) -> None:
    shape, strides = map(list, tensor)
    found.set_output(True).set_data_type(kind)
    found.set_dim(shape).set_stride(strides)


def _forward(
    call: _Call, dtype: np.dtype[Any], cudnn: Any, handle: Any
) -> tuple[Any, Sequence[Any]]:
    """The graph of a result."""
    kind, has_logs = kind_of(dtype), call.kind == "sdpa_logs"
    graph = _graph(call, kind, cudnn, handle)
    given = dict(zip("qkv", call.operands, strict=True))
    if call.mask is not None:
        given["bias"] = call.mask
    operands = {name: _shown(graph, name, x, kind) for name, x in given.items()}
    out, logs = graph.sdpa(
        name=call.kind,
        **operands,
        attn_scale=call.scale,
        generate_stats=has_logs,
        use_causal_mask=call.causal,
    )
    _is_result(out, call.result, kind)
    tensors = [*operands.values(), out]
    if has_logs:
        _is_result(logs, call.logs, cudnn.data_type.FLOAT)
        tensors.append(logs)
    return graph, tensors


def _backward(
    call: _Call, dtype: np.dtype[Any], cudnn: Any, handle: Any
) -> tuple[Any, Sequence[Any]]:
    """The graph of gradients, given the result and the logarithms."""
    kind, single = kind_of(dtype), cudnn.data_type.FLOAT
    graph = _graph(call, kind, cudnn, handle)
    q, k, v, gradient = call.operands
    given = {"q": q, "k": k, "v": v, "o": call.result, "dO": gradient}
    operands = {name: _shown(graph, name, x, kind) for name, x in given.items()}
    operands["stats"] = _shown(graph, "stats", call.logs, single)
    results = graph.sdpa_backward(
        name=call.kind,
        **operands,
        attn_scale=call.scale,
        use_causal_mask=call.causal,
    )
    for found, like in zip(results, (q, k, v), strict=True):
        _is_result(found, _whole(like.shape), kind)
    return graph, (*operands.values(), *results)


TABLE: dict[str, Callable[..., Any]] = {
    "nn.attention": scores.attention,
    "nn.attention_alone": _alone,
    "nn.attention_adjoint": _adjoint,
}
"""Functions by the name of their rows; each takes a `Raw` first."""
