"""Convolution and pooling against PyTorch on the CPU, forward and gradients."""

from __future__ import annotations

import itertools
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


# ------------------------------------------------------------------------- convolution
# Devices compute with many channels, in each group and on both sides, in tiles.
each_width = pytest.mark.parametrize("inputs,outputs", [(4, 6), (18, 20)])

GRID = [
    (axes, kernel, stride, padding, dilation, groups)
    for axes, kernel, stride, padding, dilation, groups in itertools.product(
        (1, 2, 3), (1, 2, 3), (1, 2, 3), (0, 1, "same"), (1, 2), (1, 2)
    )
    if (padding != "same" or stride == 1) and (axes < 3 or kernel < 3 or dilation == 1)
]


@each_layout
@each_dtype
@each_width
@pytest.mark.parametrize("axes,kernel,stride,padding,dilation,groups", GRID)
def test_convolution(
    axes: int,
    kernel: int,
    stride: int,
    padding: Any,
    dilation: int,
    groups: int,
    inputs: int,
    outputs: int,
    dtype: str,
    layout: str,
) -> None:
    positions = (9, 7, 6)[:axes]
    taps = (kernel, max(1, kernel - 1), kernel)[:axes]
    x = drawn(2, inputs, *positions, name="x", dtype=dtype)
    w = drawn(outputs, inputs // groups, *taps, name="w", dtype=dtype)
    b = drawn(outputs, name="b", dtype=dtype)
    tx, tw, tb = wide(x), wide(w), wide(b)
    options = {
        "stride": stride,
        "padding": padding,
        "dilation": dilation,
        "groups": groups,
    }
    want = getattr(F, f"conv{axes}d")(tx, tw, tb, **options)
    g = drawn(*want.shape, name="g", dtype=dtype)
    want.backward(torch.from_numpy(g.astype(np.float64)))
    options["layout"] = layout
    ours = [dc.asarray(last(a, layout)) for a in (x, g)]
    dw = dc.asarray(w)
    got = getattr(nn, f"conv{axes}d")(ours[0], dw, bias=dc.asarray(b), **options)
    terms = max(inputs, outputs) * kernel**axes
    assert got.dtype == dtype
    near(got, last(want.detach().numpy(), layout), terms)
    back = getattr(nn, f"conv{axes}d_input_gradient")
    found = back(ours[1], dw, ours[0].shape, **options)
    near(found, last(tx.grad.numpy(), layout), terms)
    back = getattr(nn, f"conv{axes}d_weight_gradient")
    near(back(ours[1], ours[0], w.shape, **options), tw.grad, 2 * 9**axes)


TRANSPOSED = [
    (axes, kernel, stride, padding, extra, dilation, groups)
    for axes, kernel, stride, padding, extra, dilation, groups in itertools.product(
        (1, 2, 3), (2, 3), (1, 2, 3), (0, 1), (0, 1), (1, 2), (1, 2)
    )
    if extra < max(stride, dilation)
]


@each_layout
@each_dtype
@each_width
@pytest.mark.parametrize("axes,kernel,stride,padding,extra,dilation,groups", TRANSPOSED)
def test_transposed_convolution(
    axes: int,
    kernel: int,
    stride: int,
    padding: int,
    extra: int,
    dilation: int,
    groups: int,
    inputs: int,
    outputs: int,
    dtype: str,
    layout: str,
) -> None:
    positions = (5, 4, 3)[:axes]
    x = drawn(2, inputs, *positions, name="x", dtype=dtype)
    w = drawn(inputs, outputs // groups, *(kernel,) * axes, name="w", dtype=dtype)
    b = drawn(outputs, name="b", dtype=dtype)
    tx, tw, tb = wide(x), wide(w), wide(b)
    options: dict[str, Any] = {
        "stride": stride,
        "padding": padding,
        "dilation": dilation,
        "groups": groups,
    }
    function = getattr(F, f"conv_transpose{axes}d")
    want = function(tx, tw, tb, output_padding=extra, **options)
    g = drawn(*want.shape, name="g", dtype=dtype)
    want.backward(torch.from_numpy(g.astype(np.float64)))
    options |= {"layout": layout, "output_padding": extra}
    ours = [dc.asarray(last(a, layout)) for a in (x, g)]
    name = f"conv_transpose{axes}d"
    dw = dc.asarray(w)
    bias = dc.asarray(b)
    got = getattr(nn, name)(ours[0], dw, bias=bias, **options)
    terms = max(inputs, outputs) * kernel**axes
    near(got, last(want.detach().numpy(), layout), terms)
    found = getattr(nn, f"{name}_input_gradient")(ours[1], dw, **options)
    near(found, last(tx.grad.numpy(), layout), terms)
    back = getattr(nn, f"{name}_weight_gradient")
    near(back(ours[1], ours[0], w.shape, **options), tw.grad, 2 * 5**axes)


@each_dtype
def test_complex_convolution(dtype: str) -> None:
    x = drawn(2, 4, 7, 6, name="a") + 1j * drawn(2, 4, 7, 6, name="b")
    w = drawn(6, 2, 3, 2, name="a") + 1j * drawn(6, 2, 3, 2, name="b")
    tx, tw = (torch.from_numpy(a).requires_grad_() for a in (x, w))
    want = F.conv2d(tx, tw, stride=2, padding=1, groups=2)
    g = drawn(*want.shape, name="a") + 1j * drawn(*want.shape, name="b")
    want.backward(torch.from_numpy(g))
    given = {"stride": 2, "padding": 1, "groups": 2}
    wide_dtype = np.result_type(dtype, np.complex64)
    dx, dw, dg = (dc.asarray(a.astype(wide_dtype)) for a in (x, w, g))
    near(nn.conv2d(dx, dw, **given), want)
    near(nn.conv2d_input_gradient(dg, dw, x.shape, **given), tx.grad)
    near(nn.conv2d_weight_gradient(dg, dx, w.shape, **given), tw.grad)
    tx, tw = (torch.from_numpy(a).requires_grad_() for a in (g, w))
    want = F.conv_transpose2d(tx, tw, stride=2, groups=2)
    h = drawn(*want.shape, name="a") + 1j * drawn(*want.shape, name="b")
    want.backward(torch.from_numpy(h))
    dh, given = dc.asarray(h.astype(wide_dtype)), {"stride": 2, "groups": 2}
    near(nn.conv_transpose2d(dg, dw, **given), want)
    near(nn.conv_transpose2d_input_gradient(dh, dw, **given), tx.grad)
    found = nn.conv_transpose2d_weight_gradient(dh, dg, w.shape, **given)
    near(found, tw.grad)


# ----------------------------------------------------------------------------- pooling
POOLS = [
    (axes, kernel, stride, padding, dilation, ceil_mode)
    for axes, kernel, stride, padding, dilation, ceil_mode in itertools.product(
        (1, 2, 3), (1, 2, 3), (None, 1, 2), (0, 1), (1, 2), (False, True)
    )
    if 2 * padding <= kernel
]


@each_layout
@each_dtype
@pytest.mark.parametrize("axes,kernel,stride,padding,dilation,ceil_mode", POOLS)
def test_pooling(
    axes: int,
    kernel: int,
    stride: int | None,
    padding: int,
    dilation: int,
    ceil_mode: bool,
    dtype: str,
    layout: str,
) -> None:
    x = drawn(2, 3, *(8, 7, 5)[:axes], name="x", dtype=dtype)
    dx = dc.asarray(last(x, layout))
    given: dict[str, Any] = {
        "stride": stride,
        "padding": padding,
        "ceil_mode": ceil_mode,
    }
    tx = wide(x)
    function = getattr(F, f"max_pool{axes}d")
    want, places = function(tx, kernel, dilation=dilation, return_indices=True, **given)
    ours = getattr(nn, f"max_pool{axes}d")
    options = {**given, "dilation": dilation, "layout": layout}
    got, index = ours(dx, kernel, return_indices=True, **options)
    near(got, last(want.detach().numpy(), layout))
    near(index, last(places.numpy(), layout))
    near(ours(dx, kernel, **options), last(want.detach().numpy(), layout))
    g = drawn(*want.shape, name="g", dtype=dtype)
    want.backward(torch.from_numpy(g.astype(np.float64)))
    dg = dc.asarray(last(g, layout))
    back = getattr(nn, f"max_pool{axes}d_gradient")
    near(back(dg, dx, kernel, **options), last(tx.grad.numpy(), layout))
    if dilation > 1:
        return
    for include in (True, False):
        tx = wide(x)
        function = getattr(F, f"avg_pool{axes}d")
        want = function(tx, kernel, count_include_pad=include, **given)
        options = {**given, "count_include_pad": include, "layout": layout}
        got = getattr(nn, f"avg_pool{axes}d")(dx, kernel, **options)
        near(got, last(want.detach().numpy(), layout))
        want.backward(torch.from_numpy(g.astype(np.float64)))
        back = getattr(nn, f"avg_pool{axes}d_gradient")
        near(back(dg, dx, kernel, **options), last(tx.grad.numpy(), layout))


@each_layout
@each_dtype
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 3, 5, 8, 11])
def test_adaptive_pooling(axes: int, size: int, dtype: str, layout: str) -> None:
    x = drawn(2, 3, *(8, 7, 5)[:axes], name="x", dtype=dtype)
    dx = dc.asarray(last(x, layout))
    for kind in ("avg", "max"):
        name, tx = f"adaptive_{kind}_pool{axes}d", wide(x)
        found = getattr(nn, name)(dx, size, layout=layout)
        want = getattr(F, name)(tx, size)
        near(found, last(want.detach().numpy(), layout))
        g = drawn(*want.shape, name="g", dtype=dtype)
        want.backward(torch.from_numpy(g.astype(np.float64)))
        back = getattr(nn, f"{name}_gradient")
        found = back(dc.asarray(last(g, layout)), dx, size, layout=layout)
        near(found, last(tx.grad.numpy(), layout))


@each_layout
@each_dtype
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_unpooling(axes: int, dtype: str, layout: str) -> None:
    x = torch.from_numpy(drawn(2, 3, *(8, 6, 7)[:axes], dtype=dtype))
    pooled, places = getattr(F, f"max_pool{axes}d")(x, 2, return_indices=True)
    pooled = pooled.detach().requires_grad_()
    size = x.shape[2:]
    want = getattr(F, f"max_unpool{axes}d")(pooled, places, 2, output_size=size)
    dx, index = (dc.asarray(last(a.detach().numpy(), layout)) for a in (pooled, places))
    function = getattr(nn, f"max_unpool{axes}d")
    found = function(dx, index, 2, output_size=tuple(size), layout=layout)
    near(found, last(want.detach().numpy(), layout))
    g = drawn(*want.shape, name="g", dtype=dtype)
    want.backward(torch.from_numpy(g))
    back = getattr(nn, f"max_unpool{axes}d_gradient")
    found = back(dc.asarray(last(g, layout)), index, layout=layout)
    near(found, last(pooled.grad.numpy(), layout))
