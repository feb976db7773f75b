"""Convolutions on a GPU, by cuDNN where its front end is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.registry import counted

pytestmark = pytest.mark.skipif(not counted("cuda"), reason="needs CuPy and a GPU")

DEVICE = "cuda:0"

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
