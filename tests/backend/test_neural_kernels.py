"""Kernels of windows on devices with grids, against the oracles of their rows; the host
does nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.array.device_array import DeviceArray
from dcarray.array.library import library
from dcarray.backends.registry import install, remove
from dcarray.errors import UnsupportedError
from dcarray.ops import neural
from dcarray.ops.spec import Op
from tests.metal_simulator import Simulator, installed
from tests.metal_simulator.library import compiler

from .interpreted_device import InterpretedBackend

OPENCL = "opencl:0"
SETTINGS = {"fallback": "error", "implicit_transfer": "allow"}


@pytest.fixture(params=["grid:0", OPENCL])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == OPENCL:
        pytest.importorskip("pyopencl")
        if OPENCL not in [str(device) for device in dc.devices()]:
            pytest.skip("there is no OpenCL device")
        with dc.config(**SETTINGS):
            yield OPENCL
        return
    made = InterpretedBackend()
    install(made)
    with dc.config(**SETTINGS):
        yield made.device
    remove(made.device)


@pytest.fixture
def metal() -> Iterator[str]:
    if not compiler():
        pytest.skip("needs g++")
    with installed(Simulator()), dc.config(**SETTINGS):
        yield "metal:0"
        remove("metal:0")


def check(device: str, row: Op, *given: Any, **options: Any) -> None:
    """Compare a row on a device with its oracle."""
    want = row.numpy(*given, **options)
    on_device = [dc.asarray(x, device=device) for x in given]
    got = library(DeviceArray, row, on_device, **options)
    pairs = zip(got, want) if isinstance(want, tuple) else [(got, want)]
    for one, other in pairs:
        host = one.get()
        assert str(one.device) == device
        assert host.dtype == other.dtype
        assert host.shape == other.shape
        if other.dtype.kind not in "fc":
            assert np.array_equal(host, other)
        else:
            near = (
                1e3 * np.finfo(other.dtype).eps if other.dtype != np.float16 else 0.02
            )
            np.testing.assert_allclose(host, other, rtol=near, atol=near)


def numbers(shape: tuple[int, ...], code: str = "f", seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    if code in "bBhHiIlL":
        return rng.integers(0, 100, shape).astype(code)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if code in "FD" else x).astype(code)


def sizes(n: tuple[int, ...], window: dict[str, Any], high: int = 1) -> tuple[int, ...]:
    """Positions of a result, with ``high`` positions of padding behind the array."""
    each = zip(n, *[window[name] for name in ("kernel", "stride", "low", "dilation")])
    return tuple(
        [
            max(0, (m + low + high - d * (k - 1) - 1) // s + 1)
            for m, k, s, low, d in each
        ]
    )


def windows(ndim: int) -> list[dict[str, Any]]:
    """Plain, and with a stride, padding and dilation that differ by axis."""
    one = (1,) * ndim
    return [
        {"kernel": (3,) * ndim, "stride": one, "low": one, "dilation": one},
        {
            "kernel": (3, 2, 2)[:ndim],
            "stride": (2, 3, 1)[:ndim],
            "low": (2, -1, 0)[:ndim],
            "dilation": (1, 2, 3)[:ndim],
        },
    ]


def moved(x: Any, channels_last: bool) -> Any:
    return np.moveaxis(x, 1, -1).copy() if channels_last else x


POSITIONS = {1: (9,), 2: (7, 6), 3: (4, 5, 6)}


# ------------------------------------------------------------------------ convolutions
def convolved(
    device: str,
    ndim: int,
    window: dict[str, Any],
    groups: int,
    last: bool,
    code: str,
    channels: tuple[int, int] = (2, 3),
    positions: tuple[int, ...] = (),
) -> None:
    """Convolution and both gradients; ``channels`` of a group in and out."""
    positions = positions or POSITIONS[ndim]
    ins, outs = channels
    kernel = window["kernel"]
    size = sizes(positions, window)
    rest = {name: window[name] for name in ("stride", "low", "dilation")}
    rest |= {"groups": groups, "channels_last": last}
    x = moved(numbers((2, ins * groups, *positions), code), last)
    w = numbers((outs * groups, ins, *kernel), code, 1)
    g = moved(numbers((2, outs * groups, *size), code, 2), last)
    check(device, neural.CONVOLUTION, x, w, size=size, **rest)
    gradient = neural.CONVOLUTION_INPUT_GRADIENT
    check(device, gradient, g, w, size=positions, **rest)
    gradient = neural.CONVOLUTION_WEIGHT_GRADIENT
    check(device, gradient, x, g, kernel=kernel, **rest)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_convolution(device: str, ndim: int, groups: int, last: bool) -> None:
    # Each window is a kernel, and compilers take their time.
    for window in windows(ndim)[ndim != 2 :]:
        convolved(device, ndim, window, groups, last, "f")


@pytest.mark.parametrize("code", "edbiF")
def test_convolution_of_dtypes(device: str, code: str) -> None:
    convolved(device, 1, windows(1)[1], 2, code in "bFe", code)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_convolution_in_tiles(device: str, ndim: int, last: bool) -> None:
    # A tile and a bit of another: of rows, columns and terms.
    for groups, window in enumerate(windows(ndim)[ndim != 2 :], 1):
        convolved(device, ndim, window, groups, last, "f", (9, 10))


@pytest.mark.parametrize("code", "lD")
def test_tiles_of_dtypes(device: str, code: str) -> None:
    convolved(device, 1, windows(1)[1], 1, code == "l", code, (9, 10))


def test_sums_of_tiles_in_parts(device: str) -> None:
    # So many terms that several groups of work items share them.
    for last in (False, True):
        convolved(device, 1, windows(1)[0], 1, last, "f", (9, 10), (300,))


def test_an_element_of_the_result_that_sees_nothing(device: str) -> None:
    # A stride larger than the kernel leaves positions that no window meets.
    window = {"kernel": (1,), "stride": (3,), "low": (0,), "dilation": (1,)}
    convolved(device, 1, window, 1, False, "f", (8, 8))


def test_convolution_of_views(device: str) -> None:
    x = numbers((4, 8, 6))
    w = numbers((3, 4, 2), seed=1)
    options = {"stride": (1,), "low": (0,), "dilation": (1,), "size": (7,)}
    options |= {"groups": 1, "channels_last": False}
    # Every other image and channel, backwards.
    views = [x[::2, ::-2, ::-1], w[::-1]]
    want = neural.CONVOLUTION.numpy(*views, **options)
    on_device = dc.asarray(x, device=device)[::2, ::-2, ::-1]
    got = library(
        DeviceArray,
        neural.CONVOLUTION,
        (on_device, dc.asarray(w, device=device)[::-1]),
        **options,
    )
    np.testing.assert_allclose(got.get(), want, rtol=1e-5, atol=1e-5)


def test_convolution_over_four_axes_is_refused(device: str) -> None:
    ones = (1,) * 4
    x, w = numbers((1, 1, 2, 2, 2, 2)), numbers((1, 1, 1, 1, 1, 1))
    given = [dc.asarray(a, device=device) for a in (x, w)]
    options = {"stride": ones, "low": (0,) * 4, "dilation": ones, "size": (2,) * 4}
    with pytest.raises(UnsupportedError, match="4 axes"):
        library(
            DeviceArray,
            neural.CONVOLUTION,
            given,
            groups=1,
            channels_last=False,
            **options,
        )


# --------------------------------------------------------------------------- attention
@pytest.mark.parametrize("mask,causal", [(None, True), ("?", True), ("d", False)])
def test_attention(device: str, mask: str | None, causal: bool) -> None:
    # More than a tile of queries, keys, features and values.
    code = "d" if mask == "d" else "f"
    q, k, v = (
        numbers((2, *shape), code, seed)
        for seed, shape in enumerate(((35, 9), (37, 9), (37, 34)))
    )
    seen = None
    if mask is not None:
        seen = numbers((1, 35, 37), "d", 3)
        seen = seen > -0.5 if mask == "?" else seen
        seen[:, 2] = False if mask == "?" else -np.inf
    options = {"mask": seen, "causal": causal, "scale": 0.4}
    check(device, neural.ATTENTION, q, k, v, **options)
    found, logs = neural.ATTENTION.numpy(q, k, v, **options)
    g = numbers(found.shape, code, 4)
    mean = (g * found).sum(-1, keepdims=True)
    check(device, neural.ATTENTION_GRADIENT, g, q, k, v, logs, mean, **options)


# ---------------------------------------------------------------------------- pooling
def with_nan(x: Any) -> Any:
    if x.dtype.kind == "f":
        x.flat[[5, 11]] = np.nan
        x.flat[[2, 20]] = -np.inf
    return x


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_pools(device: str, ndim: int, last: bool) -> None:
    positions = POSITIONS[ndim]
    for window in windows(ndim)[ndim != 2 :]:
        options = {**window, "size": sizes(positions, window), "channels_last": last}
        x = moved(with_nan(np.round(numbers((2, 3, *positions)))), last)
        check(device, neural.MAX_POOL, x, **options)
        check(device, neural.MAX_POOL_WITH_INDICES, x, **options)
        x = moved(numbers((2, 3, *positions)), last)
        check(device, neural.SUM_POOL, x, **options)
        g = moved(numbers((2, 3, *options["size"])), last)
        options["size"] = positions
        check(device, neural.SUM_POOL_GRADIENT, g, **options)


@pytest.mark.parametrize("code", "?bBled")
def test_pools_of_dtypes(device: str, code: str) -> None:
    window = windows(2)[0]
    options = {**window, "size": (7, 6), "channels_last": False}
    x = numbers((1, 2, 7, 6), "b").astype(code)
    check(device, neural.MAX_POOL_WITH_INDICES, x, **options)
    if code != "?":
        check(device, neural.SUM_POOL, x, **options)


@pytest.mark.parametrize("last", [False, True])
def test_windows_that_share_the_positions(device: str, last: bool) -> None:
    for positions, size in (((9,), (4,)), ((7, 6), (3, 5)), ((3, 4), (5, 4))):
        options = {"channels_last": last}
        x = moved(with_nan(numbers((2, 3, *positions))), last)
        check(device, neural.ADAPTIVE_MAX_POOL, x, size=size, **options)
        x = moved(numbers((2, 3, *positions)), last)
        check(device, neural.ADAPTIVE_SUM_POOL, x, size=size, **options)
        g = moved(numbers((2, 3, *size)), last)
        row = neural.ADAPTIVE_SUM_POOL_GRADIENT
        check(device, row, g, size=positions, **options)


# ----------------------------------------------------------------------------- places
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("code", "fdl")
def test_values_at_places(device: str, code: str, last: bool) -> None:
    options = {"size": (6, 5), "channels_last": last}
    x = moved(numbers((2, 3, 4, 20), code), last)
    places = moved(np.random.default_rng(1).integers(0, 30, (2, 3, 4, 20)), last)
    check(device, neural.SCATTER_POSITIONS, x, places, **options)
    check(device, neural.PLACE_POSITIONS, x, places, **options)


@pytest.mark.parametrize("row", [neural.SCATTER_POSITIONS, neural.PLACE_POSITIONS])
def test_a_place_outside_of_its_plane(device: str, row: Op) -> None:
    x = dc.asarray(numbers((1, 1, 3)), device=device)
    places = dc.asarray(np.array([[[0, 4, 1]]]), device=device)
    with pytest.raises(IndexError, match="got 0 to 4, a plane takes 0 to 3"):
        library(DeviceArray, row, (x, places), size=(4,), channels_last=False)


@pytest.mark.parametrize("code", "efl")
def test_embedding_gradient(device: str, code: str) -> None:
    g = numbers((4, 30, 5), code)
    places = np.random.default_rng(1).integers(0, 9, (4, 30))
    check(device, neural.EMBEDDING_GRADIENT, g, places, count=11)
    nothing = np.zeros((0,), np.int64)
    check(device, neural.EMBEDDING_GRADIENT, g[0, :0], nothing, count=2)


# ---------------------------------------------------------------------- simulated Metal
def test_convolution_in_tiles_on_metal(metal: str) -> None:
    # A division by the terms of an element that sees nothing ends the program.
    convolved(metal, 2, windows(2)[1], 2, True, "f", (9, 10))
    convolved(metal, 2, windows(2)[0], 1, False, "f", (9, 10))


def test_attention_on_metal(metal: str) -> None:
    test_attention(metal, "?", True)
