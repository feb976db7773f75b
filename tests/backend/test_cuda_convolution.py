"""Convolutions on a GPU, by cuDNN where its front end is installed."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.registry import counted

pytestmark = pytest.mark.skipif(not counted("cuda"), reason="needs CuPy and a GPU")

DEVICE = "cuda:0"

EPS = {"float32": 2**-23, "float16": 2**-10, "bfloat16": 2**-7}

CASES = [
    (1, (2, 6, 40), (8, 6, 5), {"padding": 2}),
    (1, (2, 6, 40), (8, 3, 4), {"stride": 3, "groups": 2}),
    (2, (3, 8, 17, 19), (16, 8, 3, 3), {"padding": 1}),
    (2, (3, 8, 17, 19), (16, 8, 3, 2), {"stride": (2, 3), "dilation": 2}),
    (2, (2, 8, 16, 16), (8, 1, 5, 5), {"groups": 8, "padding": "same"}),
    (2, (2, 4, 15, 16), (8, 4, 4, 3), {"stride": 2, "padding": "valid"}),
    (3, (2, 4, 9, 8, 7), (8, 4, 3, 3, 3), {"padding": 1, "stride": 2}),
]


@pytest.mark.parametrize("last", [False, True], ids=["channels first", "last"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize(("axes", "x", "w", "options"), CASES)
def test_convolutions_and_their_gradients(
    axes: int, x: Any, w: Any, options: Any, dtype: str, last: bool
) -> None:
    rng = np.random.default_rng(4)
    image = rng.integers(-4, 5, x).astype(dtype)
    weights = rng.integers(-3, 4, w).astype(dtype)
    if last:
        image = np.ascontiguousarray(np.moveaxis(image, 1, -1))
    layout = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}[axes][last]
    options = {**options, "layout": layout}
    convolve = getattr(dc.nn, f"conv{axes}d")
    wanted = convolve(dc.asarray(image), dc.asarray(weights), **options).get()
    a, b = (dc.asarray(one, device=DEVICE) for one in (image, weights))
    with dc.config(fallback="error"):
        got = convolve(a, b, **options)
        gradient = dc.ones_like(got)
        to_input = getattr(dc.nn, f"conv{axes}d_input_gradient")
        to_weights = getattr(dc.nn, f"conv{axes}d_weight_gradient")
        back = to_input(gradient, b, a.shape, **options)
        over = to_weights(gradient, a, b.shape, **options)
    assert got.dtype == dtype
    # Sums of small integers: exact in any order, until they round to half precision.
    assert np.array_equal(got.get(), wanted)
    ones = dc.ones(wanted.shape, dtype=dtype)
    host = dc.asarray(weights)
    assert np.array_equal(back.get(), to_input(ones, host, a.shape, **options).get())
    near = to_weights(ones, dc.asarray(image), b.shape, **options).get()
    assert np.allclose(over.get(), near, rtol=2e-3 if dtype == "float16" else 0)


def test_float32_is_float32_unless_asked_otherwise() -> None:
    rng = np.random.default_rng(5)
    x = rng.random((2, 64, 20, 20), np.float32)
    w = rng.random((32, 64, 3, 3), np.float32)
    wanted = dc.nn.conv2d(dc.asarray(x, np.float64), dc.asarray(w, np.float64)).get()
    a, b = dc.asarray(x, device=DEVICE), dc.asarray(w, device=DEVICE)
    exact = np.abs(dc.nn.conv2d(a, b).get() / wanted - 1).max()
    with dc.config(matmul_precision="tf32"):
        rough = np.abs(dc.nn.conv2d(a, b).get() / wanted - 1).max()
    assert exact < 2e-6
    assert rough < 2e-3


def near(got: Any, wanted: Any, dtype: Any, sums: Any) -> None:
    """Within a rounding to the dtype, and what sums in float32 may be away."""
    eps = EPS[dtype.name]
    away = np.abs(got.get().astype(np.float64) - wanted)
    assert np.all(away <= eps * np.abs(wanted) + 1e-5 * sums + 1e-7)


@pytest.mark.parametrize("last", [False, True], ids=["channels first", "last"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize(
    ("x", "w", "options"),
    [
        ((4, 64, 30, 30), (64, 64, 3, 3), {"padding": 1}),  # 3 is odd for 16 bytes
        ((8, 3, 64, 65), (64, 3, 7, 7), {"padding": 3, "stride": 2}),
        ((2, 40, 31, 33), (48, 40, 3, 3), {"dilation": 2}),
        ((8, 64, 32, 32), (96, 64, 1, 1), {}),
        ((2, 64, 50, 50), (64, 1, 3, 3), {"groups": 64, "padding": 1}),
    ],
)
def test_large_convolutions_are_right(
    x: Any, w: Any, options: Any, dtype: str, last: bool
) -> None:
    rng = np.random.default_rng(6)
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    image = rng.standard_normal(x).astype(kind)
    weights = rng.standard_normal(w).astype(kind)
    exact = [one.astype(np.float64) for one in (image, weights)]
    options = {**options, "layout": "NHWC" if last else "NCHW"}
    if last:
        image, exact[0] = (np.moveaxis(one, 1, -1) for one in (image, exact[0]))
    nn = dc.nn
    a, b = (
        dc.asarray(np.ascontiguousarray(one), device=DEVICE) for one in (image, weights)
    )
    wanted = nn.conv2d(*exact, **options).get()
    g = rng.standard_normal(wanted.shape).astype(kind)
    gradient, wide = dc.asarray(g, device=DEVICE), g.astype(np.float64)
    back = nn.conv2d_input_gradient, (wide, exact[1]), a.shape
    over = nn.conv2d_weight_gradient, (wide, exact[0]), b.shape
    sums = nn.conv2d(*map(np.abs, exact), **options).get()
    for _ in range(3):  # what was timed, and again
        with dc.config(fallback="error"):
            near(nn.conv2d(a, b, **options), wanted, kind, sums)
            for (function, operands, shape), other in ((back, b), (over, a)):
                got = function(gradient, other, shape, **options)
                assert got.dtype == kind
                exactly = function(*operands, shape, **options).get()
                reach = function(*map(np.abs, operands), shape, **options).get()
                near(got, exactly, kind, reach)


def test_views_that_begin_anywhere() -> None:
    rng = np.random.default_rng(7)
    base = rng.integers(-3, 4, (5, 8, 9, 9)).astype(np.float16)
    w = rng.integers(-3, 4, (8, 8, 3, 3)).astype(np.float16)
    there, weights = dc.asarray(base, device=DEVICE), dc.asarray(w, device=DEVICE)
    for part in (np.s_[1:], np.s_[:, :, ::-1], np.s_[..., 1:], np.s_[::2, :, 1:]):
        wanted = dc.nn.conv2d(dc.asarray(base[part]), dc.asarray(w)).get()
        assert np.array_equal(dc.nn.conv2d(there[part], weights).get(), wanted)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("features", [64, 80, 20])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_short_floats(dtype: str, features: int, causal: bool) -> None:
    rng = np.random.default_rng(8)
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    shapes = [(2, 3, n, features) for n in (77, 90, 90)]
    hosts = [rng.standard_normal(shape).astype(kind) for shape in shapes]
    wide = [one.astype(np.float64) for one in hosts]
    q, k, v = (dc.asarray(one, device=DEVICE) for one in hosts)
    seen = rng.random((77, 90)) < 0.5
    seen[5] = False
    seen[:, 0] = seen[:, 0] | (np.arange(77) != 5)
    added = rng.standard_normal((3, 1, 90)).astype(kind)
    for mask in (None, seen, added):
        on_device = None if mask is None else dc.asarray(mask, device=DEVICE)
        exact = mask if mask is None or mask is seen else mask.astype(np.float64)
        options = {"mask": exact, "causal": causal}
        attend = dc.nn.scaled_dot_product_attention
        wanted = attend(*wide, **options).get()
        with dc.config(fallback="error"):
            got = attend(q, k, v, mask=on_device, causal=causal)
            assert got.dtype == kind
            bound = 4 * EPS[kind.name]
            assert np.abs(got.get().astype(np.float64) - wanted).max() < bound
            to_all = dc.nn.scaled_dot_product_attention_gradient
            g = rng.standard_normal(wanted.shape).astype(kind)
            back = to_all(
                dc.asarray(g, device=DEVICE), q, k, v, mask=on_device, causal=causal
            )
        wanted_back = to_all(g.astype(np.float64), *wide, **options)
        for one, want in zip(back, wanted_back, strict=True):
            away = np.abs(one.get().astype(np.float64) - want.get()).max()
            assert away < 4 * bound * max(1.0, np.abs(want.get()).max())


def test_heads_that_lie_apart_are_not_copied() -> None:
    rng = np.random.default_rng(9)
    host = rng.standard_normal((2, 50, 4, 64)).astype(np.float16)  # heads behind
    x = dc.asarray(host, device=DEVICE).transpose(0, 2, 1, 3)
    wide = host.transpose(0, 2, 1, 3).astype(np.float64)
    wanted = dc.nn.scaled_dot_product_attention(wide, wide, wide).get()
    got = dc.nn.scaled_dot_product_attention(x, x, x).get()
    assert np.abs(got - wanted).max() < 4e-3


def test_what_was_timed_is_captured() -> None:
    rng = np.random.default_rng(10)
    x, w = (
        dc.asarray(rng.standard_normal(shape).astype(np.float16), device=DEVICE)
        for shape in ((4, 64, 28, 28), (64, 64, 3, 3))
    )
    wanted = dc.nn.conv2d(x, w, padding=1).get()
    step = dc.graph(lambda a, b: dc.nn.conv2d(a, b, padding=1))
    for _ in range(4):
        assert np.array_equal(step(x, w).get(), wanted)
