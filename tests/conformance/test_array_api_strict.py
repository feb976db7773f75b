"""`array_api_strict` as a second oracle: what the standard's own reference gives."""

from __future__ import annotations

from typing import Any

import array_api_strict as strict
import numpy as np
import pytest

import dcarray as dc

MODES = {
    "default": {},
    "lazy": {"lazy": "always"},
    "device": {"device": "test:0", "fallback": "error"},
}


def names_of_the_standard() -> list[str]:
    return [n for n in strict.__all__ if not n.startswith("_") and n not in PRIVATE]


PRIVATE = {
    "ArrayAPIStrictFlags",
    "Device",
    "get_array_api_strict_flags",
    "reset_array_api_strict_flags",
    "set_array_api_strict_flags",
}


@pytest.mark.parametrize("name", names_of_the_standard())
def test_every_name_of_the_standard_is_there(name: str) -> None:
    assert hasattr(dc, name)


@pytest.mark.parametrize("extension", ["linalg", "fft"])
def test_every_name_of_the_extensions_is_there(extension: str) -> None:
    theirs, ours = getattr(strict, extension), getattr(dc, extension)
    public = [name for name in theirs.__all__ if not name.startswith("_")]
    assert public
    assert not [name for name in public if not hasattr(ours, name)]


UNARY_REAL = """
abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor isfinite isinf isnan
log log10 log1p log2 negative positive reciprocal round sign signbit sin sinh sqrt
square tan tanh trunc
""".split()
UNARY_COMPLEX = """
abs acos acosh asin asinh atan atanh conj cos cosh exp expm1 imag isfinite isinf isnan
log log10 log1p log2 negative positive real reciprocal round sign sin sinh sqrt square
tan tanh
""".split()
BINARY_REAL = """
add atan2 copysign divide equal floor_divide greater greater_equal hypot less less_equal
logaddexp maximum minimum multiply nextafter not_equal pow remainder subtract
""".split()
BINARY_INTEGER = """
add bitwise_and bitwise_or bitwise_xor equal floor_divide greater less maximum minimum
multiply not_equal remainder subtract
""".split()

CALLS = """
xp.argmax(x, axis=1)
xp.argmin(x, axis=0, keepdims=True)
xp.argsort(x, axis=1, descending=True)
xp.sort(x, axis=0, descending=True)
xp.astype(x, xp.float32)
xp.broadcast_to(v, (3, 5))
xp.broadcast_arrays(x, v)
xp.clip(x, -0.5, 0.5)
xp.concat([x, x], axis=1)
xp.concat([x, x], axis=None)
xp.count_nonzero(x > 0, axis=1)
xp.cumulative_sum(x, axis=1, include_initial=True)
xp.cumulative_prod(v, include_initial=True)
xp.cumulative_sum(i)
xp.diff(x, axis=0)
xp.diff(v, prepend=v[:1])
xp.expand_dims(x, axis=1)
xp.flip(x)
xp.isin(i, i[:2])
xp.matmul(x, xp.permute_dims(x, (1, 0)))
xp.matrix_transpose(x)
xp.max(x, axis=(0, 1))
xp.mean(x, axis=1, keepdims=True)
xp.meshgrid(v, v[:2])
xp.min(x)
xp.moveaxis(x, 0, 1)
xp.nonzero(x > 0)
xp.prod(i)
xp.repeat(x, 2, axis=1)
xp.reshape(x, (5, 3))
xp.roll(x, 2, axis=1)
xp.searchsorted(xp.sort(v), v, side="right")
xp.squeeze(x[None, ...], axis=0)
xp.stack([x, x], axis=-1)
xp.std(x, correction=1.0)
xp.var(x, axis=0, correction=1.0)
xp.sum(i8)
xp.sum(u8, axis=0)
xp.prod(i8)
xp.take(x, i, axis=1)
xp.take_along_axis(x, xp.argsort(x, axis=1), axis=1)
xp.tensordot(x, x, axes=((1,), (1,)))
xp.tile(x, (2, 1, 1))
xp.tril(x, k=1)
xp.triu(x)
xp.unique_all(i)
xp.unique_counts(i)
xp.unique_inverse(i)
xp.sort(xp.unique_values(i))
xp.unstack(x, axis=1)
xp.vecdot(x, x)
xp.where(x > 0, x, 0.0)
xp.any(x > 0, axis=1)
xp.all(x > -9)
x[x > 0]
x[1:, ::2]
v[i]
x + 1
1 / x
x @ v
-x
abs(x)
x ** 2
i // 2
i << 1
xp.arange(5)
xp.arange(1.0, 2.0, 0.25)
xp.linspace(0, 1, 7, endpoint=False)
xp.eye(3, 4, k=1)
xp.full((2, 2), 7)
xp.full((2, 2), 1.5)
xp.zeros_like(x)
xp.ones((2,), dtype=xp.int16)
xp.linalg.vector_norm(x, axis=1)
xp.linalg.matrix_norm(x)
xp.linalg.svdvals(x)
xp.linalg.outer(v, v)
xp.linalg.diagonal(x)
xp.linalg.trace(x)
xp.fft.rfft(x)
xp.fft.fftfreq(5, d=0.5)
xp.fft.fftshift(x)
""".strip().splitlines()


def operands() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, (3, 5))
    x[0, 0], x[1, 1] = 0.0, -0.0
    return {
        "x": x,
        "v": rng.uniform(0.5, 2, 5),
        "i": np.array([3, 1, 0, 3, 2]),
        "i8": np.array([100, 100, 3], np.int8),
        "u8": np.array([[200], [200]], np.uint8),
    }


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("call", CALLS)
def test_calls(call: str, mode: str) -> None:
    agree(call, operands(), mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY_REAL)
def test_unary(name: str, dtype: str, mode: str) -> None:
    x = np.array([0.25, -0.0, 0.75, -1.5, 2.0, np.nan, np.inf, -np.inf], dtype)
    agree(f"xp.{name}(x)", {"x": x}, mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", UNARY_COMPLEX)
def test_unary_complex(name: str, mode: str) -> None:
    x = np.array([0.25 + 1j, -0.5 - 2j, 3.0, 1j, -1.25 + 0.125j])
    agree(f"xp.{name}(x)", {"x": x}, mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", BINARY_REAL)
def test_binary(name: str, dtype: str, mode: str) -> None:
    x = np.array([0.25, -0.0, 0.75, 1.5, 2.0, np.nan, 3.0, -7.5], dtype)
    y = np.array([[1.5], [-2.0], [0.5]], dtype)
    agree(f"xp.{name}(x, y)", {"x": x, "y": y}, mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64"])
@pytest.mark.parametrize("name", BINARY_INTEGER)
def test_binary_integers(name: str, dtype: str, mode: str) -> None:
    x = np.array([1, 5, 100, 7], dtype)
    y = np.array([[3], [2]], dtype)
    agree(f"xp.{name}(x, y)", {"x": x, "y": y}, mode)


def agree(call: str, given: dict[str, np.ndarray], mode: str) -> None:
    theirs = {name: strict.asarray(x) for name, x in given.items()}
    with np.errstate(all="ignore"):
        expected = eval(call, {"xp": strict, **theirs})
        with dc.config(**MODES[mode]):
            ours = {name: dc.asarray(x) for name, x in given.items()}
            found = eval(call, {"xp": dc, **ours})
            compare(found, expected, exact=mode != "device")


def compare(found: Any, expected: Any, exact: bool) -> None:
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            compare(one, other, exact)
        return
    assert isinstance(found, dc.DeviceArray)
    reference = np.asarray(expected)
    assert found.shape == reference.shape
    assert found.dtype == reference.dtype
    if exact or reference.dtype.kind not in "fc":
        np.testing.assert_array_equal(found.get(), reference)
    else:
        precision = 2e-5 if reference.dtype.itemsize == 4 else 1e-11
        np.testing.assert_allclose(found.get(), reference, precision, precision)
