"""What the tests against PyTorch share.

Results are compared with PyTorch's of the same numbers in float64: the distance may be
what the roundings of the sums explain.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.errors import UnsupportedError

__all__ = ["DTYPES", "drawn", "each_dtype", "each_layout", "last", "near"]


def _has_doubles() -> bool:
    try:
        dc.ones(1, "float64")
    except UnsupportedError:
        return False
    return True


DTYPES = ["float32", "float64"] if _has_doubles() else ["float32"]
"""What the default device computes with: `DCARRAY_DEVICE` says which it is."""

each_dtype = pytest.mark.parametrize("dtype", DTYPES)
each_layout = pytest.mark.parametrize("layout", ["NCHW", "NHWC"])


def drawn(*shape: int, name: str = "", dtype: str = "float64") -> Any:
    """Numbers of float32, so that both dtypes compute with the same."""
    rng = np.random.default_rng(zlib.crc32(f"{name}{shape}".encode()))
    return rng.standard_normal(shape).astype(np.float32).astype(dtype)


def last(x: Any, layout: str) -> Any:
    return np.ascontiguousarray(np.moveaxis(x, 1, -1)) if layout == "NHWC" else x


def near(got: Any, want: Any, terms: int = 64) -> None:
    """Within the roundings of sums of so many terms."""
    assert isinstance(got, dc.DeviceArray)
    want = want.detach().numpy() if hasattr(want, "detach") else want
    ours = got.get()
    assert ours.shape == want.shape
    if ours.dtype.kind in "iu":
        np.testing.assert_array_equal(ours, want)
        return
    step = np.finfo(ours.dtype).eps
    scale = max(1.0, float(np.abs(want).max(initial=0)))
    np.testing.assert_allclose(
        ours, want, rtol=8 * step, atol=terms**0.5 * step * scale
    )
