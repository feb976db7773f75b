"""Numbers of a counter: the published words, the same numbers on every device."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends import registry
from tests.metal_simulator import Simulator, installed
from tests.metal_simulator.library import compiler

Counter = dc.random.CounterGenerator
OPENCL = "opencl:0"
DEVICES = ["cpu", OPENCL, "cuda:0", "metal:0"]
WORD = (1 << 32) - 1

PUBLISHED = [
    (0, 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ((1 << 128) - 1, (1 << 64) - 1, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    (
        0x0370734413198A2E85A308D3243F6A88,
        0x299F31D0A4093822,
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
]
"""Counter, key and words of Philox 4x32-10, from the authors' Random123."""


@pytest.fixture(scope="module", params=DEVICES)
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    label = request.param
    if label in (OPENCL, "cuda:0") and label not in [str(one) for one in dc.devices()]:
        pytest.skip("there is no such device")
    if label != "metal:0":
        yield label
        return
    if not compiler():
        pytest.skip("needs g++")
    with installed(Simulator()):
        yield label
        registry.remove(label)


def words(counter: int, key: int, count: int) -> list[int]:
    """The words of some blocks, one block after the other."""
    found = []
    for block in range(counter, counter + count):
        a, b, c, d = (block >> 32 * k & WORD for k in range(4))
        first, second = key & WORD, key >> 32
        for _ in range(10):
            one, other = a * 0xD2511F53, c * 0xCD9E8D57
            a, b = other >> 32 ^ b ^ first, other & WORD
            c, d = one >> 32 ^ d ^ second, one & WORD
            first, second = first + 0x9E3779B9 & WORD, second + 0xBB67AE85 & WORD
        found += [a, b, c, d]
    return found


def pages(counter: int, key: int, count: int, bits: int) -> np.ndarray[Any, Any]:
    """The same as numbers of so many bits, in the order of pages."""
    flat = np.array(words(counter, key, 32 * count), np.uint64).reshape(count, 32, -1)
    if bits == 64:
        flat = flat[..., ::2] | flat[..., 1::2] << np.uint64(32)
    return flat.transpose(0, 2, 1).reshape(-1)


@pytest.mark.parametrize(("counter", "key", "expected"), PUBLISHED)
def test_published_words(counter: int, key: int, expected: str, device: str) -> None:
    rng = Counter(key=key, counter=counter, device=device)
    found = rng.integers(0, 1 << 32, 128, np.uint32).get()
    assert " ".join([f"{x:08x}" for x in found[::32]]) == expected


def test_words_of_many_blocks(device: str) -> None:
    # The counter carries into all of its words.
    key, counter = 0x123456789ABCDEF, (1 << 96) - 40
    rng = Counter(key=key, counter=counter, device=device)
    found = rng.integers(0, 1 << 32, 250, np.uint32).get()
    assert (found == pages(counter, key, 2, 32)[:250]).all()
    wide = rng.integers(-(1 << 63), (1 << 63) - 1, 100, endpoint=True).get()
    # Numbers of another length begin at the next page.
    wanted = pages(counter + 64, key, 2, 64)[:100] + np.uint64(1 << 63)
    assert (wide.view(np.uint64) == wanted).all()


@pytest.mark.parametrize("before", [1, 96, 97, 128, 129, 300])
def test_counters_carry_within_whole_pages(before: int, device: str) -> None:
    key, counter = 0xFEDCBA987654321, (5 << 64) - before
    rng = Counter(key=key, counter=counter, device=device)
    found = rng.integers(0, 1 << 32, 16 * 128, np.uint32).get()
    assert (found == pages(counter, key, 16, 32)).all()


def numbers(rng: Any, *, doubles: bool) -> dict[str, Any]:
    found = {
        "wide": rng.integers(-5, (1 << 63) - 7, (3, 11)),
        "normal": rng.standard_normal(5000, np.float32),
        "scaled": rng.normal(3, 2, 100, dtype=np.float32),
        "exponential": rng.exponential(4.0, 3001, dtype=np.float32),
    }
    if doubles:
        found["normals"] = rng.standard_normal((2, 1000))
    return found


def test_the_same_numbers_everywhere(device: str) -> None:
    doubles = device != "metal:0"
    ours = numbers(Counter(9, device=device), doubles=doubles)
    host = numbers(Counter(9, device="cpu"), doubles=doubles)
    for name, got in ours.items():
        want = host[name].get()
        assert str(got.device) == device
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        if want.dtype.kind == "f":
            assert np.allclose(got.get(), want, rtol=4 * np.finfo(want.dtype).eps)
        else:
            assert (got.get() == want).all()


def test_numbers_do_not_depend_on_how_many_are_drawn(device: str) -> None:
    whole = Counter(4, device=device).standard_normal(1000, np.float32).get()
    rng = Counter(4, device=device)
    sizes = (1, 0, 130, 250, 619)
    parts = [rng.standard_normal(n, np.float32).get() for n in sizes]
    assert np.concatenate(parts).tobytes() == whole.tobytes()


def test_generators_that_follow() -> None:
    rng = Counter(11)
    rng.random(5, np.float32)
    again = [copy.copy(rng), copy.deepcopy(rng), pickle.loads(pickle.dumps(rng))]
    other = Counter(0)
    other.state = rng.state
    want = rng.random(300, np.float32).get().tobytes()
    for one in (*again, other):
        assert one.random(300, np.float32).get().tobytes() == want
        assert one.state == rng.state
    assert rng.jumped(2).state["counter"] - rng.state["counter"] == 2 << 64
    first, second = Counter(11).spawn(2)
    assert first.state["key"] != second.state["key"] != rng.state["key"]
    seeds = np.random.SeedSequence(11).spawn(2)
    assert first.state == Counter(seeds[0]).state
    with pytest.raises(TypeError, match="made of a key"):
        Counter(key=1).spawn(1)


def test_single_numbers_arrays_and_out() -> None:
    rng, many = Counter(3), Counter(3)
    assert rng.random() == many.random(1).get()[0]
    assert isinstance(rng.normal(), float)
    assert 0 <= rng.integers(10) < 10
    assert rng.integers(7, 8, 3).tolist() == [7, 7, 7]
    assert set(rng.integers(0, 2, 99, bool).tolist()) == {False, True}
    assert set(rng.integers(-3, 200, 9999, np.int16).tolist()) == set(range(-3, 200))
    rng, many = Counter(3), Counter(3)
    found = rng.normal([10.0, 20.0], dc.asarray([1.0, 2.0]), (3, 2))
    want = many.standard_normal((3, 2)).get() * [1.0, 2.0] + [10.0, 20.0]
    assert np.allclose(found.get(), want, rtol=1e-15)
    assert rng.uniform([0.0], [[2.0], [3.0]]).shape == (2, 1)
    rng, many = Counter(3), Counter(3)
    out = dc.empty((4, 6), dtype=np.float32)
    assert rng.random(out=out) is out
    assert out.get().tobytes() == many.random((4, 6), np.float32).get().tobytes()
    turned = dc.empty((4, 6)).T
    assert rng.standard_normal(out=turned, dtype=np.float64) is turned
    assert turned.get().tobytes() == many.standard_normal((6, 4)).get().tobytes()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda rng: rng.normal(0, -1, 3), ValueError),
        (lambda rng: rng.exponential([1.0, -1.0]), ValueError),
        (lambda rng: rng.uniform(3, 2, 3), ValueError),
        (lambda rng: rng.uniform(0, float("inf"), 3), OverflowError),
        (lambda rng: rng.normal([1.0, 2.0], 1, 3), ValueError),
        (lambda rng: rng.random(3, np.float16), TypeError),
        (
            lambda rng: rng.random(out=dc.empty(3, dtype=np.float32), dtype="d"),
            TypeError,
        ),
        (lambda rng: rng.random(4, out=dc.empty(3)), ValueError),
        (lambda rng: rng.random(out=np.empty(3)), TypeError),
        (lambda rng: rng.integers(3, 3, 5), ValueError),
        (lambda rng: rng.integers(0, 300, 5, np.uint8), ValueError),
        (lambda rng: rng.integers([1, 2], 5), TypeError),
        (lambda rng: Counter(1, key=2), ValueError),
        (lambda rng: Counter(key=1 << 64), ValueError),
    ],
)
def test_mistakes(call: Any, error: type[Exception]) -> None:
    rng = Counter(1)
    before = rng.state
    with pytest.raises(error):
        call(rng)
    assert rng.state == before


DISTRIBUTIONS = [
    ("random", "uniform"),
    ("standard_normal", "norm"),
    ("standard_exponential", "expon"),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "theirs"), DISTRIBUTIONS)
def test_distributions(name: str, theirs: str, dtype: Any) -> None:
    stats = pytest.importorskip("scipy.stats")
    count = 100_000
    found = getattr(Counter(2026), name)(count, dtype).get().astype(np.float64)
    law = getattr(stats, theirs)
    # The distance of Kolmogorov and Smirnov, which more than 1.95 / sqrt(n) exceeds
    # once in 1000 seeds.
    at = law.cdf(np.sort(found))
    apart = np.abs(at - (np.arange(count) + 0.5) / count).max()
    assert apart < 1.95 / count**0.5
    for power in (1, 2, 3, 4):
        mean, spread = law.moment(power), law.moment(2 * power)
        error = ((spread - mean**2) / count) ** 0.5
        assert abs((found**power).mean() - mean) < 4 * error
    # Neighbours, and the numbers that come of one block, know nothing of each other.
    centred = (found - found.mean()) / found.std()
    for step in (1, 32, 64):
        together = (centred[step:] * centred[:-step]).mean()
        assert abs(together) < 4.5 / count**0.5


@pytest.mark.parametrize("bound", [6, 256, 1000])
def test_integers_are_alike(bound: int) -> None:
    count = 100_000
    found = Counter(8).integers(0, bound, count).get()
    each = np.bincount(found, minlength=bound)
    assert len(each) == bound
    chi = ((each - count / bound) ** 2).sum() / (count / bound)
    assert abs(chi - (bound - 1)) < 4.5 * (2 * (bound - 1)) ** 0.5


def test_normal_numbers_are_those_of_their_words() -> None:
    """Against the formula in double precision."""
    rng, raw = Counter(12), Counter(12)
    found = rng.standard_normal(20 * 128, np.float32).get()
    bits = raw.integers(0, 1 << 32, 20 * 128, np.uint32).get().astype(np.float64)
    bits, found = bits.reshape(20, 4, 32), found.reshape(20, 4, 32).astype(np.float64)
    radius = np.sqrt(-2 * np.log((bits[:, ::2] + 0.5) * 2.0**-32))
    turned = bits[:, 1::2].astype(np.uint64)
    rest = (turned << np.uint64(2)).astype(np.uint32).view(np.int32)
    angle = (rest * 2.0**-32 + (turned >> np.uint64(30))) * (np.pi / 2)
    for k, shape in enumerate((np.cos, np.sin)):
        want = radius * shape(angle)
        assert np.abs(found[:, k::2] - want).max() < 1e-6
