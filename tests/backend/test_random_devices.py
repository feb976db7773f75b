"""Random numbers made on devices: NumPy's streams, bit for bit."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends import registry
from dcarray.ops.random import philox
from dcarray.ops.ziggurat import ziggurat
from tests.metal_simulator import Simulator, installed
from tests.metal_simulator.library import compiler

OPENCL = "opencl:0"
DEVICES = ["test:0", OPENCL, "metal:0"]
KINDS = [np.random.PCG64, np.random.Philox]


@pytest.fixture(scope="module", params=DEVICES)
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    label = request.param
    if label == OPENCL and label not in [str(one) for one in dc.devices()]:
        pytest.skip("there is no OpenCL device")
    if label != "metal:0":
        yield label
        return
    if not compiler():
        pytest.skip("needs g++")
    with installed(Simulator()):
        yield label
        registry.remove(label)


@pytest.fixture(autouse=True)
def nothing_on_the_host() -> Iterator[None]:
    with dc.config(fallback="error"):
        yield


def has_doubles(device: str) -> bool:
    return device != "metal:0"


def same(got: Any, want: Any, device: str) -> None:
    assert str(got.device) == device
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    assert got.get().tobytes() == want.tobytes()


def same_state(ours: Any, theirs: Any) -> None:
    assert str(ours.bit_generator.state) == str(theirs.bit_generator.state)


def numpys(bits: Any) -> Any:
    return np.random.Generator(bits)


CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("random", ((3, 5),), {"dtype": np.float32}),  # leaves half a word
    ("random", (9,), {"dtype": "f"}),
    ("integers", (10,), {"size": 1001}),
    ("integers", (-5, 250), {"size": (33, 3), "dtype": np.int16}),
    ("integers", (3, 200), {"size": 1000, "dtype": np.uint8}),
    ("integers", (0, 2), {"size": 77, "dtype": bool}),
    ("integers", (0, 2**63), {"size": 1000, "dtype": np.uint64}),
    ("integers", (-(2**63), 2**61), {"size": 1000}),
    ("integers", (-(2**63), 2**63 - 1), {"size": 3, "endpoint": True}),
    ("integers", (0, 2**32), {"size": 101}),
    ("integers", (0, 3 * 2**30), {"size": 1001, "dtype": np.uint32}),
    ("integers", (-128, 128), {"size": 7, "dtype": np.int8}),
    ("integers", (4, 4), {"size": 3, "endpoint": True}),
    ("integers", (5,), {"size": 0}),
]
DOUBLES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("random", (1001,), {}),
    ("uniform", (-3, 5.5, (4, 5)), {}),
    ("random", (0,), {}),
]


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_and_states_are_numpys(kind: Any, device: str) -> None:
    ours, theirs = dc.random.Generator(kind(7), device=device), numpys(kind(7))
    for name, arguments, keywords in [
        *CALLS,
        *(DOUBLES if has_doubles(device) else ()),
    ]:
        want = getattr(theirs, name)(*arguments, **keywords)
        got = getattr(ours, name)(*arguments, **keywords)
        same(got, want, device)
        same_state(ours, theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_long_streams_from_anywhere(kind: Any, device: str) -> None:
    ours, theirs = dc.random.Generator(kind(3), device=device), numpys(kind(3))
    for generator in (ours, theirs):
        generator.bit_generator.advance(2**90 + 5)
    for size in (70_001, 2):
        same(ours.random(size, "f"), theirs.random(size, "f"), device)
        same_state(ours, theirs)


def test_counters_carry(device: str) -> None:
    counter = np.array([2**64 - 2, 2**64 - 1, 2**64 - 1, 5], np.uint64)
    bits = [np.random.Philox(counter=counter, key=3) for _ in "xy"]
    ours, theirs = dc.random.Generator(bits[0], device=device), numpys(bits[1])
    same(ours.random(40, "f"), theirs.random(40, "f"), device)
    same_state(ours, theirs)
    last = (
        np.random.Philox(counter=2**256 - 2, key=3),
        np.random.Philox(counter=2**256 - 2, key=3),
    )
    ours, theirs = dc.random.Generator(last[0], device=device), numpys(last[1])
    same(ours.random(30, "f"), theirs.random(30, "f"), device)
    same_state(ours, theirs)


SHAPED = ["standard_normal", "standard_exponential"]


@pytest.mark.parametrize("name", SHAPED)
@pytest.mark.parametrize("dtype", ["d", "f"])
def test_normal_and_exponential_numbers(name: str, dtype: str, device: str) -> None:
    if dtype == "d" and not has_doubles(device):
        return
    for kind in KINDS if dtype == "f" else KINDS[:1]:
        ours, theirs = dc.random.Generator(kind(7), device=device), numpys(kind(7))
        assert ours.random(1, "f").get()[0] == theirs.random(1, "f")[0]
        for size in (1, (2, 5), 0, 60_000, 3):
            want = getattr(theirs, name)(size, dtype)
            got = getattr(ours, name)(size, dtype)
            assert (got.shape, got.dtype) == (want.shape, want.dtype)
            # Those of the tail take a logarithm; all others are the same bits.
            apart = np.abs(got.get() - want) / np.spacing(np.abs(want))
            assert apart.max(initial=0) <= 4
            assert np.count_nonzero(apart) <= 60
            same_state(ours, theirs)


def test_scaled_numbers(device: str) -> None:
    ours, theirs = dc.random.default_rng(1, device=device), np.random.default_rng(1)
    if not has_doubles(device):
        assert ours.normal(3, 2, 10).dtype == np.float32
        assert ours.exponential(2, 10).dtype == np.float32
        return
    for got, want in (
        (ours.normal(3, 2, (4, 5)), theirs.normal(3, 2, (4, 5))),
        (ours.exponential(2.5, 100), theirs.exponential(2.5, 100)),
    ):
        assert np.allclose(got.get(), want, rtol=1e-14)
        same_state(ours, theirs)
    with pytest.raises(ValueError, match="scale < 0"):
        ours.normal(0, -1, 3)


def test_moments(device: str) -> None:
    generator = dc.random.Generator(np.random.Philox(11), device=device)
    count = 200_000
    x = generator.random(count, "f").get().astype(float)
    assert abs(x.mean() - 1 / 2) < 4 * (1 / 12 / count) ** 0.5
    assert abs(x.var() - 1 / 12) < 4 * (1 / 180 / count) ** 0.5
    counts = np.bincount((x * 64).astype(int), minlength=64)
    excess = ((counts - count / 64) ** 2 / (count / 64)).sum() - 63
    assert abs(excess) < 4 * (2 * 63) ** 0.5
    assert abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < 4 / count**0.5
    x = generator.standard_normal(count, "f").get().astype(float)
    for power, moment in ((1, 0), (2, 1), (3, 0), (4, 3)):
        spread = {1: 1, 2: 2, 3: 15, 4: 96}[power]
        assert abs((x**power).mean() - moment) < 4 * (spread / count) ** 0.5
    x = generator.standard_exponential(count, "f").get().astype(float)
    for power, moment in ((1, 1), (2, 2)):
        spread = {1: 1, 2: 20}[power]
        assert abs((x**power).mean() - moment) < 4 * (spread / count) ** 0.5


@pytest.mark.parametrize("name", SHAPED)
def test_layers_of_the_ziggurats(name: str) -> None:
    # Layers have the same area, up to the width of the curve above them.
    for dtype, places in (("d", 52), ("f", 23)):
        found = ziggurat(name, np.dtype(dtype))
        if name == "standard_exponential" and dtype == "d":
            places = 53
        widths = found.factors.astype(np.float64) * 2.0**places
        heights = found.heights.astype(np.float64)
        areas = widths[1:] * (heights[:-1] - heights[1:])
        near = 1e-6 if dtype == "f" else 1e-9
        assert np.allclose(areas[1:], areas[5], rtol=near * 100)
        assert np.isclose(widths[0] * heights[-1], areas[5], rtol=near * 10)
        shares = found.limits.astype(np.float64) / 2.0**places
        assert np.allclose(shares[2:], widths[1:-1] / widths[2:], rtol=near)
        assert found.edge == pytest.approx(widths[-1], rel=near)


KNOWN = [
    (
        "0 0 0 0",
        "0 0",
        "16554d9eca36314c db20fe9d672d0fdc d7e772cee186176b 7e68b68aec7ba23b",
    ),
    (
        " ".join(["f" * 16] * 4),
        " ".join(["f" * 16] * 2),
        "87b092c3013fe90b 438c3c67be8d0224 9cc7d7c69cd777b6 a09caebf594f0ba0",
    ),
    (
        "243f6a8885a308d3 13198a2e03707344 a4093822299f31d0 082efa98ec4e6c89",
        "452821e638d01377 be5466cf34e90c6c",
        "a528f45403e61d95 38c72dbd566e9788 a5a1610e72fd18b5 57bd43b5e52b7fe6",
    ),
]


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_known_answers(counter: str, key: str, words: str) -> None:
    # Of the library Random123, which goes with Salmon et al. 2011.
    given, keyed, want = (
        [int(word, 16) for word in text.split()] for text in (counter, key, words)
    )
    assert philox(given, keyed) == want


def test_a_device_is_asked_for_in_several_ways() -> None:
    want = np.random.default_rng(5).random(4)
    with dc.config(device="test:0"):
        same(dc.random.default_rng(5).random(4), want, "test:0")
    generator = dc.random.default_rng(5, device="test:0")
    assert generator.device == "test:0"
    same(generator.random(4), want, "test:0")
    host = dc.random.default_rng(5, device="cpu").random(4)
    same(host, want, "cpu")


def test_copies_and_children_keep_the_device() -> None:
    generator = dc.random.default_rng(5, device="test:0")
    want = np.random.default_rng(5).random(4)
    for twin in (pickle.loads(pickle.dumps(generator)), copy.deepcopy(generator)):
        same(twin.random(4), want, "test:0")
    child = generator.spawn(1)[0]
    same(child.random(4), np.random.default_rng(5).spawn(1)[0].random(4), "test:0")


def test_what_devices_do_not_draw_goes_on_in_the_same_stream() -> None:
    ours = dc.random.default_rng(8, device="test:0")
    theirs = np.random.default_rng(8)
    for name, arguments in (
        ("random", (3,)),
        ("random", ()),
        ("poisson", (4.0, 6)),
        ("integers", ([3, 50], None, 2)),
        ("uniform", ([0.0, 1.0], 2.0)),
        ("permutation", (9,)),
        ("random", (3,)),
    ):
        want = getattr(theirs, name)(*arguments)
        got = getattr(ours, name)(*arguments)
        assert np.array_equal(got.get() if isinstance(got, dc.ndarray) else got, want)
    other = dc.random.Generator(np.random.SFC64(1), device="test:0").random(3)
    same(other, np.random.Generator(np.random.SFC64(1)).random(3), "test:0")


MEANS = np.array([[1.0, 2.0, 3.0]])
SCALES = np.array([[0.5], [2.0]])


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(
    ("name", "arguments", "keywords"),
    [
        ("normal", (MEANS, SCALES), {}),
        ("normal", (MEANS, 2.0, (4, 3)), {}),
        ("uniform", (MEANS, MEANS * 3), {}),
        ("uniform", (0, MEANS, (2, 3)), {}),
        ("lognormal", (1.0, 0.3, 50), {}),
        ("exponential", (SCALES, (2, 2)), {}),
        ("choice", (7, 20), {}),
        ("choice", (np.arange(12.0).reshape(4, 3), (2, 2)), {"axis": 1}),
        ("choice", (5, 3), {"replace": False}),
        ("choice", (np.arange(3), 4), {"p": [0.1, 0.2, 0.7]}),
        ("multivariate_normal", (MEANS[0], np.eye(3), 2), {}),
        ("normal", (MEANS, -SCALES), {}),
        ("normal", (MEANS, SCALES, (5, 5)), {}),
        ("uniform", (MEANS, np.inf), {}),
        ("choice", (0, 3), {}),
        ("choice", (np.zeros(0), 3), {}),
        ("integers", (0.5, 3.5, 4), {}),
    ],
)
def test_parameters(name: str, arguments: Any, keywords: Any, named: bool) -> None:
    device = "test:0"
    given = [
        dc.asarray(x, device=device) if isinstance(x, np.ndarray) else x
        for x in arguments
    ]
    # Without a name, arrays are made where the parameters are.
    arrays = [x for x in given if isinstance(x, dc.ndarray)]
    ours = dc.random.default_rng(3, device=device if named or not arrays else None)
    theirs = np.random.default_rng(3)
    try:
        want = getattr(theirs, name)(*arguments, **keywords)
    except (TypeError, ValueError, OverflowError) as error:
        with pytest.raises(type(error)):
            getattr(ours, name)(*given, **keywords)
    else:
        got = getattr(ours, name)(*given, **keywords)
        assert str(got.device) == device
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        assert np.allclose(got.get(), want, rtol=1e-14, atol=0)
    same_state(ours, theirs)


def test_mistakes_are_told_as_numpy_tells_them() -> None:
    generator = dc.random.default_rng(0, device="test:0")
    with pytest.raises(ValueError, match="low >= high"):
        generator.integers(5, 5, 3)
    with pytest.raises(ValueError, match="out of bounds"):
        generator.integers(0, 300, 3, np.uint8)
    with pytest.raises(TypeError, match="Unsupported dtype"):
        generator.random(3, np.float16)
    with pytest.raises(OverflowError):
        generator.uniform(-1e308, 1e308, 3)
    same_state(generator, np.random.default_rng(0))


def test_a_device_without_doubles_draws_singles(device: str) -> None:
    if has_doubles(device):
        return
    found = dc.random.default_rng(4, device=device).random(5)
    same(found, np.random.default_rng(4).random(5, np.float32), device)
    with pytest.raises(dc.UnsupportedError):
        dc.random.default_rng(4, device=device).random(5, np.float64)
    found = dc.random.default_rng(4, device=device).uniform(2, 3, 5)
    assert found.dtype == np.float32
    assert ((found.get() >= 2) & (found.get() <= 3)).all()
