"""Layers, losses, attention and activations against PyTorch on the CPU, forward and
gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray import nn

from .against_torch import drawn, each_dtype, each_layout, last, near

torch = pytest.importorskip("torch")
F = torch.nn.functional


def wide(x: Any) -> Any:
    """A leaf in float64."""
    return torch.from_numpy(np.asarray(x, np.float64)).requires_grad_()


def backwards(want: Any, name: str, dtype: str) -> Any:
    """A gradient in the result, which PyTorch sends back."""
    g = drawn(*want.shape, name=name, dtype=dtype)
    want.backward(torch.from_numpy(np.asarray(g, np.float64)))
    return dc.asarray(g)


# ------------------------------------------------------------------------- activations
ACTIVATIONS: dict[str, tuple[Any, tuple[float, ...]]] = {
    "celu": (F.celu, (1.5,)),
    "elu": (F.elu, (1.5,)),
    "erf": (torch.erf, ()),
    "erfc": (torch.erfc, ()),
    "gelu": (F.gelu, ()),
    "hard_shrink": (F.hardshrink, (0.5,)),
    "hard_sigmoid": (lambda x: F.relu6(x + 3) / 6, ()),
    "hard_swish": (F.hardswish, ()),
    "hardtanh": (F.hardtanh, (-1.0, 2.0)),
    "leaky_relu": (F.leaky_relu, (0.1,)),
    "log_sigmoid": (F.logsigmoid, ()),
    "mish": (F.mish, ()),
    "relu": (F.relu, ()),
    "relu6": (F.relu6, ()),
    "rsqrt": (torch.rsqrt, ()),
    "selu": (F.selu, ()),
    "sigmoid": (torch.sigmoid, ()),
    "silu": (F.silu, ()),
    "soft_shrink": (F.softshrink, (0.5,)),
    "softplus": (lambda x: F.softplus(x, 1, 100), ()),
    "softsign": (F.softsign, ()),
    "tanhshrink": (F.tanhshrink, ()),
}


@each_dtype
@pytest.mark.parametrize("name", list(ACTIVATIONS))
def test_activation(name: str, dtype: str) -> None:
    theirs, given = ACTIVATIONS[name]
    x = np.concatenate([drawn(500, name="x") * 3, np.linspace(-30, 30, 101)])
    x = (abs(x) + 0.5 if name == "rsqrt" else x).astype(np.float32).astype(dtype)
    tx = wide(x)
    want = theirs(tx, *given)
    near(getattr(nn, name)(dc.asarray(x), *given), want)
    g = backwards(want, "g", dtype)
    back = getattr(nn, f"{name}_gradient")
    near(back(g, dc.asarray(x), *given), tx.grad)


@each_dtype
def test_gelu_by_tanh(dtype: str) -> None:
    x = drawn(300, name="x", dtype=dtype) * 3
    tx = wide(x)
    want = F.gelu(tx, approximate="tanh")
    g = backwards(want, "g", dtype)
    near(nn.gelu(dc.asarray(x), "tanh"), want)
    near(nn.gelu_gradient(g, dc.asarray(x), "tanh"), tx.grad)


@each_dtype
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name: str, axis: int, dtype: str) -> None:
    x = drawn(4, 30, 5, name="x", dtype=dtype) * 10
    tx = wide(x)
    want = getattr(F, name)(tx, axis)
    g = backwards(want, "g", dtype)
    near(getattr(nn, name)(dc.asarray(x), axis), want, 4)
    near(getattr(nn, f"{name}_gradient")(g, dc.asarray(x), axis), tx.grad)


# ------------------------------------------------------------------------------ losses
@each_dtype
@pytest.mark.parametrize("positions", [(), (3, 4), None])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("by_index", [True, False])
def test_cross_entropy(
    by_index: bool,
    weighted: bool,
    smoothing: float,
    reduction: str,
    positions: tuple[int, ...] | None,
    dtype: str,
) -> None:
    shape = (5,) if positions is None else (6, 5, *positions)
    examples = () if positions is None else (6, *positions)
    x = drawn(*shape, name="x", dtype=dtype) * 3
    rng = np.random.default_rng(3)
    if by_index:
        target = rng.integers(0, 5, examples)
        if positions is not None:
            target[1] = 2 if reduction == "none" else -100
    else:
        target = np.abs(drawn(*shape, name="t", dtype=dtype))
    weight = np.abs(drawn(5, name="w", dtype=dtype)) if weighted else None
    tx = wide(x)
    tt = torch.from_numpy(np.asarray(target, np.int64 if by_index else np.float64))
    tw = None if weight is None else torch.from_numpy(weight.astype(np.float64))
    given: dict[str, Any] = {"reduction": reduction, "label_smoothing": smoothing}
    want = F.cross_entropy(tx, tt, weight=tw, **given)
    g = backwards(want, "g", dtype)
    given["weight"] = None if weight is None else dc.asarray(weight)
    dx, dt = dc.asarray(x), dc.asarray(target)
    near(nn.cross_entropy(dx, dt, **given), want)
    near(nn.cross_entropy_gradient(g, dx, dt, **given), tx.grad)


# ------------------------------------------------------------------------------- norms
@each_dtype
@each_layout
@pytest.mark.parametrize("positions", [(), (5,), (4, 3)])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(
    training: bool, positions: tuple[int, ...], layout: str, dtype: str
) -> None:
    x = drawn(6, 4, *positions, name="x", dtype=dtype) * 2 + 3
    mean, w, b = (drawn(4, name=name, dtype=dtype) for name in "mwb")
    variance = np.abs(drawn(4, name="v", dtype=dtype)) + 1
    tx, tw, tb = wide(x), wide(w), wide(b)
    known = [torch.from_numpy(np.asarray(a, np.float64)) for a in (mean, variance)]
    if training:
        known = [None, None]
    want = F.batch_norm(tx, *known, tw, tb, training, 0.1, 1e-3)
    g = drawn(*want.shape, name="g", dtype=dtype)
    want.backward(torch.from_numpy(np.asarray(g, np.float64)))
    dx, dg = (dc.asarray(last(a, layout)) for a in (x, g))
    given: dict[str, Any] = {"epsilon": 1e-3, "axis": -1 if layout == "NHWC" else 1}
    if not training:
        given |= {"mean": dc.asarray(mean), "variance": dc.asarray(variance)}
    given["weight"] = dc.asarray(w)
    found = nn.batch_norm(dx, bias=dc.asarray(b), **given)
    near(found, last(want.detach().numpy(), layout))
    of_x, of_w, of_b = nn.batch_norm_gradient(dg, dx, **given)
    near(of_x, last(tx.grad.numpy(), layout))
    near(of_w, tw.grad)
    near(of_b, tb.grad)


@each_dtype
@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_layer_and_root_mean_square_norm(weighted: bool, axes: int, dtype: str) -> None:
    x = drawn(6, 4, 5, name="x", dtype=dtype) * 2 + 3
    shape = x.shape[-axes:]
    w, b = (drawn(*shape, name=name, dtype=dtype) for name in "wb")
    axis = tuple(range(-axes, 0))
    tx, tw, tb = wide(x), wide(w), wide(b)
    weight = dc.asarray(w) if weighted else None
    bias = dc.asarray(b) if weighted else None
    want = F.layer_norm(tx, shape, *((tw, tb) if weighted else ()))
    g = backwards(want, "g", dtype)
    dx = dc.asarray(x)
    near(nn.layer_norm(dx, weight, bias, axis=axis), want)
    found = nn.layer_norm_gradient(g, dx, weight, axis=axis)
    near(found[0], tx.grad, 256)
    if weighted:
        near(found[1], tw.grad)
        near(found[2], tb.grad)
    tx, tw = wide(x), wide(w)
    want = F.rms_norm(tx, shape, tw if weighted else None, 1e-5)
    g = backwards(want, "g", dtype)
    near(nn.rms_norm(dx, weight, 1e-5, axis=axis), want)
    found = nn.rms_norm_gradient(g, dx, weight, 1e-5, axis=axis)
    near(found[0], tx.grad, 256)
    if weighted:
        near(found[1], tw.grad)


@each_dtype
@each_layout
@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("positions", [(), (5,), (4, 3)])
def test_group_norm(
    positions: tuple[int, ...], groups: int, layout: str, dtype: str
) -> None:
    if groups == 6 and not positions:
        pytest.skip("PyTorch refuses the variance of one number")
    x = drawn(3, 6, *positions, name="x", dtype=dtype) * 2 + 3
    w, b = (drawn(6, name=name, dtype=dtype) for name in "wb")
    tx, tw, tb = wide(x), wide(w), wide(b)
    want = F.group_norm(tx, groups, tw, tb)
    g = drawn(*want.shape, name="g", dtype=dtype)
    want.backward(torch.from_numpy(np.asarray(g, np.float64)))
    dx, dg = (dc.asarray(last(a, layout)) for a in (x, g))
    dw, db = dc.asarray(w), dc.asarray(b)
    found = nn.group_norm(dx, groups, dw, db, layout=layout)
    near(found, last(want.detach().numpy(), layout))
    of_x, of_w, of_b = nn.group_norm_gradient(dg, dx, groups, dw, layout=layout)
    near(of_x, last(tx.grad.numpy(), layout))
    near(of_w, tw.grad)
    near(of_b, tb.grad)


# ------------------------------------------------------------------------------ layers
@each_dtype
@pytest.mark.parametrize("batch", [(), (7,), (2, 3)])
def test_linear(batch: tuple[int, ...], dtype: str) -> None:
    x, w, b = (
        drawn(*shape, name="x", dtype=dtype) for shape in ((*batch, 6), (4, 6), (4,))
    )
    tx, tw, tb = wide(x), wide(w), wide(b)
    want = F.linear(tx, tw, tb)
    g = backwards(want, "g", dtype)
    dx, dw = dc.asarray(x), dc.asarray(w)
    near(nn.linear(dx, dw, dc.asarray(b)), want)
    for found, theirs in zip(nn.linear_gradient(g, dx, dw), (tx, tw, tb), strict=True):
        near(found, theirs.grad)


@each_dtype
@pytest.mark.parametrize("padding", [None, 2, -1])
def test_embedding(padding: int | None, dtype: str) -> None:
    w = drawn(9, 4, name="w", dtype=dtype)
    index = np.random.default_rng(1).integers(0, 9, (5, 30))
    tw = wide(w)
    want = F.embedding(torch.from_numpy(index), tw, padding_idx=padding)
    g = backwards(want, "g", dtype)
    places = dc.asarray(index)
    near(nn.embedding(places, dc.asarray(w)), want)
    near(nn.embedding_gradient(g, places, 9, padding), tw.grad)


# --------------------------------------------------------------------------- attention
@each_dtype
@pytest.mark.parametrize("queries,keys", [(5, 7), (130, 1100), (1, 600), (700, 600)])
@pytest.mark.parametrize("how", ["plain", "causal", "bool", "float", "scale"])
@pytest.mark.parametrize("batch", [(), (2, 3)])
def test_attention(
    batch: tuple[int, ...], how: str, queries: int, keys: int, dtype: str
) -> None:
    q, k, v = (
        drawn(*batch, *shape, name=name, dtype=dtype)
        for name, shape in (("q", (queries, 8)), ("k", (keys, 8)), ("v", (keys, 6)))
    )
    given: dict[str, Any] = {}
    theirs: dict[str, Any] = {}
    if how == "causal":
        given, theirs = {"causal": True}, {"is_causal": True}
    elif how == "scale":
        given = theirs = {"scale": 0.7}
    elif how == "bool":
        mask = drawn(queries, keys, name="m") > -0.5
        mask[0] = False
        mask[:, : keys // 2] &= (np.arange(queries) % 2 > 0)[:, None]
        given = {"mask": dc.asarray(mask)}
        theirs = {"attn_mask": torch.from_numpy(mask)}
    elif how == "float":
        mask = drawn(*batch[:1], *(1,) * (len(batch) - 1), queries, keys, name="m")
        given = {"mask": dc.asarray(mask.astype(dtype))}
        theirs = {"attn_mask": torch.from_numpy(mask)}
    tq, tk, tv = wide(q), wide(k), wide(v)
    want = F.scaled_dot_product_attention(tq, tk, tv, **theirs)
    g = backwards(want, "g", dtype)
    ours = [dc.asarray(x) for x in (q, k, v)]
    near(nn.scaled_dot_product_attention(*ours, **given), want, 64 + keys)
    found = nn.scaled_dot_product_attention_gradient(g, *ours, **given)
    for one, other in zip(found, (tq, tk, tv), strict=True):
        near(one, other.grad, 64 + queries + keys)
