"""Attention and its gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....errors import UnsupportedError
from ....ops.kernels.attending import RESULTS, attention_kernel
from ....ops.kernels.tiles import Blocking
from ..geometry import is_wide
from ..views import GridView
from .contraction import fitting, run_tiles
from .work import DType, Work

__all__ = ["TABLE"]

DTYPES = (np.dtype(np.float32), np.dtype(np.float64))


def _attention(
    work: Work, q: Any, k: Any, v: Any, *, mask: Any, causal: bool, scale: float
) -> tuple[GridView, GridView]:
    """Means of values, and the logarithms of the sums of exponentials."""
    given = {"q": work.put(q), "k": work.put(k), "v": work.put(v)}
    batch, queries, _ = given["q"].shape
    out = work.new((batch, queries, given["v"].shape[2]), given["q"].dtype)
    logs = work.new((batch, queries, 1), out.dtype)
    _run(work, "out", given, mask, causal, scale, [out, logs])
    return out, logs


def _attention_gradient(
    work: Work,
    gradient: Any,
    q: Any,
    k: Any,
    v: Any,
    logs: Any,
    mean: Any,
    *,
    mask: Any,
    causal: bool,
    scale: float,
) -> tuple[GridView, GridView, GridView]:
    """The gradients in q, k and v."""
    arrays = {"g": gradient, "q": q, "k": k, "v": v}
    given = {name: work.put(x) for name, x in arrays.items()}
    for name, x in (("logs", logs), ("mean", mean)):
        dense = work.dense(work.put(x))
        given[name] = work.copy(dense) if dense.layout.offset else dense
    found = []
    for name in ("q", "k", "v"):
        out = work.new(given[name].shape, given[name].dtype)
        _run(work, f"of_{name}", given, mask, causal, scale, [out])
        found.append(out)
    of_q, of_k, of_v = found
    return of_q, of_k, of_v


def _run(
    work: Work,
    result: str,
    given: dict[str, GridView],
    mask: Any,
    causal: bool,
    scale: float,
    results: Sequence[GridView],
) -> None:
    out, *_ = results
    dtype = out.dtype
    if dtype not in DTYPES or any([x.dtype != dtype for x in given.values()]):
        raise UnsupportedError(f"attention of {dtype}")
    if not results[-1].size:
        return
    operands = [given[name] for name in RESULTS[result]]
    seen = [x for x in operands if x is not given.get("logs")]
    seen = [x for x in seen if x is not given.get("mean")]
    batch, queries, features = given["q"].shape
    keys = given["k"].shape[1]
    values = (given["v"] if "v" in given else given["g"]).shape[2]
    if mask is not None:
        mask = work.put(mask)
        whole = (batch, queries, keys)
        spread = mask.through(lambda a: np.broadcast_to(a, whole))
        operands.append(spread)
        seen.append(spread)
    numbers = [queries, keys, features, values]
    reach = [batch * queries, *[x.size for x in results]]
    for x in seen:
        offset, strides = x.elements()
        numbers += [offset, *strides]
        steps = zip(x.shape, strides, strict=True)
        reach.append(abs(offset) + sum([(n - 1) * abs(step) for n, step in steps]))
    kind = None if mask is None else mask.dtype
    blocking, wide = _blocking(work, dtype), is_wide(reach, ())
    kernel = attention_kernel(result, dtype, kind, causal, blocking, wide)
    edge = blocking.edge
    tiles = -(-out.shape[1] // edge) * max(1, -(-out.shape[2] // edge))
    arguments = (*operands, *results, dtype.type(scale))
    run_tiles(work, kernel, blocking, (tiles, batch), arguments, numbers)


def _blocking(work: Work, dtype: DType) -> Blocking:
    """Tiles that fit, with those of weights, which have as many lines as places."""
    blocking = fitting(work, dtype, True, True)
    while blocking.side > 1:
        square = 2 * blocking.edge * (blocking.edge + 3) * dtype.itemsize
        if blocking.shared(dtype) + square <= work.backend.limits.shared * 3 // 4:
            break
        blocking = Blocking(
            blocking.side // 2, blocking.each, blocking.together, True, True
        )
    return blocking


TABLE: dict[str, Callable[..., Any]] = {
    "nn.attention": _attention,
    "nn.attention_gradient": _attention_gradient,
}
"""Functions by the name of their rows."""
