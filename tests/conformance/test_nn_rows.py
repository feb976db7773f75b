"""Softmax and norms whose rows are done in one piece, against NumPy in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray import nn
from dcarray.backends.cpu.engine import Engine
from dcarray.backends.cpu.neural.norms import FUNCTIONS
from dcarray.ops import neural, wholes
from dcarray.ops.spec import Op

RNG = np.random.default_rng(5)


def numbers(*shape: int, dtype: Any = np.float32) -> Any:
    return RNG.standard_normal(shape).astype(dtype)


Case = tuple[Op, tuple[int, ...], Callable[..., Any], tuple[Any, ...], dict[str, Any]]

LONG, CHANNELS = numbers(2, 700), numbers(2, 6)

CASES: dict[str, Case] = {
    "softmax": (wholes.SOFTMAX, (2, 17, 700), nn.softmax, (), {}),
    "log_softmax": (wholes.LOG_SOFTMAX, (19, 1300), nn.log_softmax, (), {}),
    "layer_norm": (
        *(wholes.LAYER_NORM, (33, 700), nn.layer_norm, tuple(LONG)),
        {"epsilon": 1e-4},
    ),
    "rms_norm": (
        *(wholes.RMS_NORM, (33, 700), nn.rms_norm, (LONG[0],)),
        {"epsilon": 1e-3},
    ),
    "batch_norm": (
        wholes.BATCH_NORM,
        (3, 6, 20, 31),
        lambda x, *more, **given: nn.batch_norm(x, None, None, *more, **given),
        tuple(CHANNELS),
        {"epsilon": 1e-5},
    ),
    "group_norm": (
        wholes.GROUP_NORM,
        (3, 6, 620),
        lambda x, *more, groups, **given: nn.group_norm(x, groups, *more, **given),
        tuple(CHANNELS),
        {"groups": 3, "epsilon": 1e-5},
    ),
}


def called(name: str, x: Any) -> Any:
    """What dcarray gives, with parameters in the dtype of the rows."""
    _, _, function, parameters, options = CASES[name]
    given = [y.astype(x.dtype) for y in parameters]
    return function(dc.asarray(x), *given, **options).get()


def oracle(name: str, x: Any) -> Any:
    op, _, _, parameters, options = CASES[name]
    given = [y.astype(x.dtype).astype(np.float64) for y in (x, *parameters)]
    return op.numpy(*given, **options)  # type: ignore[operator]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", CASES)
def test_rows_against_float64(name: str, dtype: str) -> None:
    x = numbers(*CASES[name][1], dtype=dtype)
    found, want = called(name, x), oracle(name, x)
    assert found.dtype == dtype
    unit = np.finfo(dtype).eps * abs(want).max()
    assert abs(found - want).max() <= 4 * unit


@pytest.mark.parametrize("name", CASES)
def test_threads_and_engines_agree(name: str) -> None:
    x = numbers(*CASES[name][1])
    with dc.config(threads=1):
        alone = called(name, x)
    with dc.config(threads=3):
        together = called(name, x)
    with dc.config(engine="interpreter"):
        other = called(name, x)
    assert np.array_equal(alone, together)
    assert np.allclose(alone, other, 2e-6, 2e-6)


LENGTHS = (1, 3, 7, 8, 15, 16, 17, 33, 63, 65, 130, 511, 2047, 2049, 2070, 4200)


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", LENGTHS)
def test_norms_of_any_length(
    length: int, dtype: str, wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not wide:
        monkeypatch.setattr(Engine, "has_wide", False)
    x = numbers(5, 4, length, dtype=dtype) + 1000
    weight, bias = numbers(2, length, dtype=dtype)
    near = {"rtol": 0, "atol": 4e-4 if dtype == "float32" else 1e-10}

    def check(op: Op, *given: Any, **options: Any) -> None:
        wide = [None if y is None else y.astype(np.float64) for y in (x, *given)]
        want = op.numpy(*wide, epsilon=1e-5, **options)  # type: ignore[operator]
        found = FUNCTIONS[op](x, *given, epsilon=1e-5, **options)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, want, **near)

    check(wholes.LAYER_NORM, weight, bias)
    check(wholes.LAYER_NORM, weight, None)
    check(wholes.RMS_NORM, None)
    check(wholes.RMS_NORM, bias)
    weight, bias = numbers(2, 4, dtype=dtype)
    check(wholes.GROUP_NORM, weight, bias, groups=2)
    check(wholes.GROUP_NORM, None, bias, groups=1)
    check(wholes.BATCH_NORM, weight, None)


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("length", LENGTHS)
def test_gradients_of_norms_of_any_length(
    length: int, dtype: str, wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not wide:
        monkeypatch.setattr(Engine, "has_wide", False)
    x, g = numbers(2, 40, 4, length, dtype=dtype)
    x += 3
    digits = np.finfo(dtype).eps

    def check(op: Op, weight: Any, **options: Any) -> None:
        given = (x, g, weight)
        wide = [None if y is None else y.astype(np.float64) for y in given]
        want = op.numpy(*wide, epsilon=0.01, **options)  # type: ignore[operator]
        found = FUNCTIONS[op](*given, epsilon=0.01, **options)
        for ours, theirs in zip(found, want, strict=True):
            assert ours.dtype == dtype and ours.shape == theirs.shape
            limit = 100 * digits * max(1, abs(theirs).max())
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=limit)

    for weight in (numbers(length, dtype=dtype), None):
        check(wholes.LAYER_NORM_GRADIENT, weight)
    for weight in (numbers(4, dtype=dtype), None):
        check(wholes.GROUP_NORM_GRADIENT, weight, groups=2)
        check(wholes.GROUP_NORM_GRADIENT, weight, groups=4)
        check(wholes.BATCH_NORM_GRADIENT, weight)


def slopes_of(name: str, x: Any, g: Any, weight: Any) -> list[Any]:
    function = getattr(nn, f"{name}_gradient")
    more = (2,) if name == "group_norm" else ()
    given = [dc.asarray(y) for y in (g, x)]
    return [y.get() for y in function(*given, *more, weight=weight)]


@pytest.mark.parametrize("name", ["layer_norm", "group_norm", "batch_norm"])
def test_gradients_of_norms_do_not_depend_on_threads(name: str) -> None:
    x, g = numbers(2, 50, 4, 300)
    weight = numbers(300 if name == "layer_norm" else 4)
    with dc.config(threads=1):
        alone = slopes_of(name, x, g, weight)
    with dc.config(threads=3):
        together = slopes_of(name, x, g, weight)
    with dc.config(engine="interpreter"):
        other = slopes_of(name, x, g, weight)
    for one, two, three in zip(alone, together, other, strict=True):
        assert np.array_equal(one, two)
        assert np.allclose(one, three, 1e-5, 1e-5 * abs(three).max())


def test_gradients_of_norms_take_what_fits() -> None:
    x, g = numbers(2, 6, 4, 100)
    with pytest.raises(ValueError, match="gradient of shape"):
        nn.layer_norm_gradient(g[:3], x)
    with pytest.raises(ValueError, match="weight has shape"):
        nn.group_norm_gradient(g, x, 2, numbers(3))
    lying = dc.asarray(g.copy().transpose(2, 0, 1)).transpose(1, 2, 0)
    for one, other in zip(
        nn.batch_norm_gradient(lying, x[:, ::-1][:, ::-1]),
        nn.batch_norm_gradient(g, x),
        strict=True,
    ):
        assert np.array_equal(one.get(), other.get())


def test_norms_of_numbers_that_are_nearly_too_large() -> None:
    x = np.full((4, 300), 3e38, np.float32)
    found = nn.layer_norm(dc.asarray(x), epsilon=1.0).get()
    assert np.abs(found).max() == 0


def test_operands_that_lie_otherwise() -> None:
    x = numbers(700, 33).T
    found = nn.softmax(dc.asarray(x)[::2, ::3]).get()
    assert np.allclose(found, oracle("softmax", x[::2, ::3]), 1e-6)
    image = dc.asarray(numbers(3, 20, 31, 6)).transpose(0, 3, 1, 2)
    found = nn.group_norm(image, 3, *CHANNELS).get()
    assert np.allclose(found, oracle("group_norm", image.get()), 1e-5, 1e-5)


def test_what_is_no_number_stays_in_its_row() -> None:
    x = numbers(6, 300)
    x[0, 7], x[1, 8], x[2, 9], x[4] = np.nan, np.inf, -np.inf, -np.inf
    x[5] = 3e38
    with np.errstate(all="ignore"):
        for function in (nn.softmax, nn.log_softmax):
            found = function(dc.asarray(x)).get()
            want = oracle(function.__name__, x)
            assert np.array_equal(np.isnan(found), np.isnan(want))
            assert np.allclose(found, want, 1e-6, equal_nan=True)
        found = nn.layer_norm(dc.asarray(x[:4])).get()
    assert np.isnan(found[:3]).all() and np.isfinite(found[3]).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pools_of_planes(dtype: str) -> None:
    x = numbers(3, 5, 37, 41, dtype=dtype)
    x[0, 0, 5, 6], x[1, 2, 0, 0], x[2, 4, 36] = np.nan, -np.inf, np.inf
    given = dc.asarray(x)
    windows: list[dict[str, Any]] = [
        {"kernel": 3, "stride": 2, "padding": 1},
        {"kernel": (2, 5), "stride": (3, 1), "padding": (1, 2), "ceil_mode": True},
        {"kernel": (4, 3), "stride": (1, 4)},
    ]
    for threads, window in enumerate(windows, 1):
        with dc.config(threads=threads):
            largest = nn.max_pool2d(given, **window).get()
            mean = nn.avg_pool2d(given, **window).get()
            line = nn.max_pool1d(given[:, :, 4], 5, 2, 1, 3).get()
        with dc.config(engine="interpreter"):
            assert np.array_equal(nn.max_pool2d(given, **window), largest, True)
            other = nn.avg_pool2d(given, **window).get()
            assert np.array_equal(nn.max_pool1d(given[:, :, 4], 5, 2, 1, 3), line, True)
        assert np.allclose(mean, other, 1e-5, 1e-5, equal_nan=True)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("batch", [1, 6])
def test_attention_in_blocks(batch: int, causal: bool) -> None:
    q, k, v = (numbers(batch, n, 8) for n in (300, 1100, 1100))
    mask = numbers(300, 1100) > -1
    gradient = numbers(batch, 300, 8)
    options: dict[str, Any] = {"causal": causal, "mask": dc.asarray(mask)}

    def results() -> list[Any]:
        given = [dc.asarray(x) for x in (q, k, v)]
        found = nn.scaled_dot_product_attention(*given, **options)
        back = nn.scaled_dot_product_attention_gradient(
            dc.asarray(gradient), *given, **options
        )
        return [x.get() for x in (found, *back)]

    with dc.config(threads=1):
        alone = results()
    with dc.config(threads=2):
        assert all(map(np.array_equal, results(), alone))
    wide = [x.astype(np.float64) for x in (q, k, v)]
    rule = {"mask": mask[None], "causal": causal, "scale": 8**-0.5}
    wanted, logs = neural.ATTENTION.numpy(*wide, **rule)  # type: ignore[operator]
    mean = (gradient * wanted).sum(-1, keepdims=True)
    back = neural.ATTENTION_GRADIENT.numpy(  # type: ignore[operator]
        gradient, *wide, logs, mean, **rule
    )
    for found, want in zip(alone, (wanted, *back), strict=True):
        assert abs(found - want).max() <= 2e-6 * abs(want).max()
