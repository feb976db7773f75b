"""What `nn` does with floats shorter than float32, where no device takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.cpu.neural import FUNCTIONS
from dcarray.ops import neural

PLAIN: dict[str, Any] = {
    "stride": (1,),
    "low": (0,),
    "dilation": (1,),
    "groups": 1,
    "channels_last": False,
}
SCORES: dict[str, Any] = {"mask": None, "causal": False, "scale": 1.0}


def test_the_host_sums_in_float32_for_a_device_that_failed() -> None:
    x = np.full((1, 1, 9), 2048, "f2")
    x[..., 1:] = 1
    ones = np.ones((1, 1, 9), "f2")
    found = FUNCTIONS[neural.CONVOLUTION](x, ones, size=(1,), **PLAIN)
    assert found.dtype == np.float16
    assert found.item() == 2056  # halves would stay at 2048
    q, k = np.zeros((1, 1, 8), "f2"), np.zeros((1, 9, 8), "f2")
    v = np.full((1, 9, 1), 2048, "f2")
    (alone,) = FUNCTIONS[neural.ATTENTION_ALONE](q, k, v, **SCORES).ravel()
    assert alone == 2048
    assert alone.dtype == np.float16
    for of_one in FUNCTIONS[neural.ATTENTION_ADJOINT](v[:, :1], q, k, v, **SCORES):
        assert of_one.dtype == np.float16


def test_checks_are_not_forgotten() -> None:
    x, w = dc.ones((1, 1, 4, 4)), dc.ones((1, 1, 2, 2))
    assert dc.nn.conv2d(x, w, stride=1).shape == (1, 1, 3, 3)
    with pytest.raises(ValueError, match=r"stride is 1\.0"):
        dc.nn.conv2d(x, w, stride=1.0)  # as large as 1
    with pytest.raises(ValueError, match="channels"):
        dc.nn.conv2d(dc.ones((1, 2, 4, 4)), w, stride=1)
    assert dc.nn.conv2d(x[0], w, stride=1).shape == (1, 3, 3)
    with dc.config(fallback="error"):
        assert dc.nn.conv2d(x, w, 1, [1, 0]).shape == (1, 1, 5, 3)
