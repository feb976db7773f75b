"""Rows of the library by texts of our own, on a GPU."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.registry import counted

pytestmark = pytest.mark.skipif(not counted("cuda"), reason="needs CuPy and a GPU")

DEVICE = "cuda:0"
RNG = np.random.default_rng(11)
CODES = ["f4", "f8", "f2", "i4", "i8", "u1", "i2", "?"]


@pytest.fixture(autouse=True)
def at_home() -> Any:
    """Nothing is left to the host."""
    with dc.config(fallback="error"):
        yield


def numbers(code: str, shape: Any) -> Any:
    return (RNG.random(shape) * 10 - (3 if code[0] in "fi" else 0)).astype(code)


def put(x: Any) -> Any:
    return dc.asarray(x, device=DEVICE)


# -------------------------------------------------------------------------------- scans
@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize(
    "shape", [(2048,), (4096,), (4097,), (100_003,), (5, 4100), (3, 2, 8191)]
)
def test_running_sums(code: str, shape: tuple[int, ...]) -> None:
    host = numbers(code, shape)
    if code == "f2":
        host /= 100
    got = dc.cumsum(put(host), axis=-1)
    want = np.cumsum(host, axis=-1)
    assert got.dtype == want.dtype
    if want.dtype.kind == "f":
        wide = np.cumsum(host.astype("g"), axis=-1)
        size = np.cumsum(np.abs(host.astype("g")), axis=-1)
        bound = 64 * np.finfo(want.dtype).eps * size
        assert (np.abs(got.get().astype("g") - wide) <= bound).all()
    else:
        assert np.array_equal(got.get(), want)
    if code != "?":
        for ours, theirs in ((dc.maximum, np.maximum), (dc.minimum, np.minimum)):
            got = ours.accumulate(put(host), axis=-1).get()
            assert np.array_equal(got, theirs.accumulate(host, axis=-1))


def test_running_sums_of_many_windows() -> None:
    host = RNG.integers(-1000, 1000, 7_000_001)
    assert np.array_equal(dc.cumsum(put(host)).get(), np.cumsum(host))
    small = host.astype("i4")
    assert np.array_equal(dc.cumsum(put(small)).get(), np.cumsum(small))
    part = put(small)[3:]
    assert np.array_equal(dc.cumsum(part).get(), np.cumsum(small[3:]))


def test_running_sums_are_the_same_in_every_run() -> None:
    x = put(RNG.random(5_000_000, dtype=np.float32))
    first = dc.cumsum(x).get()
    for _ in range(5):
        assert np.array_equal(dc.cumsum(x).get(), first)


def test_what_is_no_number_goes_on() -> None:
    host = np.ones(50_000, np.float32)
    host[20_000] = np.nan
    for ours, theirs in ((dc.maximum, np.maximum), (dc.add, np.add)):
        got = ours.accumulate(put(host)).get()
        assert np.array_equal(got, theirs.accumulate(host), equal_nan=True)
    zeros = np.full(5000, -0.0, np.float32)
    assert np.signbit(dc.cumsum(put(zeros)).get()).all()


# ------------------------------------------------------------------------------- places
@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize(
    "shape",
    [(300,), (70_001,), (7, 300), (300, 7), (100, 33), (3, 100, 40), (2000, 130)],
)
def test_places(code: str, shape: tuple[int, ...]) -> None:
    host = numbers(code, shape)
    x = put(host)
    for axis in (None, *range(len(shape))):
        for name in ("argmax", "argmin"):
            got = getattr(dc, name)(x, axis=axis).get()
            want = getattr(np, name)(host, axis=axis)
            assert np.array_equal(got, want), (axis, name)
    kept = dc.argmax(x, axis=0, keepdims=True)
    assert np.array_equal(kept.get(), np.argmax(host, axis=0, keepdims=True))


@pytest.mark.parametrize("shape", [(5000,), (400, 40), (40, 400)])
def test_places_of_what_is_no_number(shape: tuple[int, ...]) -> None:
    host = RNG.random(shape).astype("f4")
    host[RNG.random(shape) < 0.01] = np.nan
    for axis in (None, *range(len(shape))):
        got = dc.argmax(put(host), axis=axis).get()
        assert np.array_equal(got, np.argmax(host, axis=axis))
        got = dc.argmin(put(host), axis=axis).get()
        assert np.array_equal(got, np.argmin(host, axis=axis))


# ---------------------------------------------------------------------------- variances
@pytest.mark.parametrize("code", ["f4", "f8", "f2"])
@pytest.mark.parametrize(
    "shape",
    [(300,), (70_001,), (7, 300), (300, 7), (100, 33), (3, 100, 40), (2000, 130)],
)
def test_variances(code: str, shape: tuple[int, ...]) -> None:
    host = (RNG.random(shape) + 10).astype(code)
    x = put(host)
    wide = host.astype("f8")
    rtol = {"f4": 2e-5, "f8": 1e-12, "f2": 2e-3}[code]
    for axis in (None, *range(len(shape))):
        for options in ({}, {"ddof": 1}, {"keepdims": True}):
            got, want = x.var(axis, **options), wide.var(axis, **options)
            assert got.dtype == host.dtype
            np.testing.assert_allclose(got.get(), want, rtol=rtol)
            got, want = x.std(axis, **options), wide.std(axis, **options)
            np.testing.assert_allclose(got.get(), want, rtol=rtol)
            options.pop("ddof", None)
            got, want = x.mean(axis, **options), wide.mean(axis, **options)
            assert got.dtype == host.dtype
            np.testing.assert_allclose(got.get(), want, rtol=rtol)
    got = x.T.var(0).get()
    np.testing.assert_allclose(got, wide.T.var(0), rtol=rtol)


def test_parts_are_counted_anew_in_every_launch() -> None:
    hosts = [RNG.random((400 + k, 3000)).astype("f4") for k in range(6)]
    given = [put(host) for host in hosts]

    def folded(x: Any) -> Any:
        return x.var(0), x.argmax(), x.mean()

    captured = dc.graph(folded)
    results: list[Any] = []
    for turn in range(4):
        for x in given:
            with dc.stream():
                results.append(folded(x))
        results += [captured(x) if turn % 2 else folded(x) for x in given]
    wanted = [folded(x) for x in hosts]
    for k, found in enumerate(results):
        var, place, mean = wanted[k % len(hosts)]
        np.testing.assert_allclose(found[0].get(), var, rtol=2e-4)
        assert found[1].get() == place
        np.testing.assert_allclose(found[2].get(), mean, rtol=1e-5)


# --------------------------------------------------------------------------------- rows
@pytest.mark.parametrize("code", ["f4", "f8", "f2"])
@pytest.mark.parametrize("length", [128, 300, 1001, 4096, 8192, 32768])
def test_rows(code: str, length: int) -> None:
    host = (RNG.standard_normal((6, length)) * 3).astype(code)
    weight, bias = (RNG.random(length).astype(code) for _ in range(2))
    x, w, b = put(host), put(weight), put(bias)
    wide = host.astype("f8")
    rtol, atol = {"f4": (3e-6, 3e-6), "f8": (1e-13, 1e-13), "f2": (2e-3, 2e-3)}[code]

    def same(got: Any, want: Any) -> None:
        assert got.dtype == host.dtype
        np.testing.assert_allclose(got.get(), want, rtol=rtol, atol=atol)

    shifted = wide - wide.max(-1, keepdims=True)
    total = np.exp(shifted).sum(-1, keepdims=True)
    same(dc.nn.softmax(x), np.exp(shifted) / total)
    same(dc.nn.log_softmax(x, axis=1), shifted - np.log(total))
    apart = wide - wide.mean(-1, keepdims=True)
    normal = apart / np.sqrt((apart**2).mean(-1, keepdims=True) + 1e-5)
    same(dc.nn.layer_norm(x), normal)
    same(dc.nn.layer_norm(x, w, b), normal * weight.astype("f8") + bias)
    same(dc.nn.layer_norm(x, None, b), normal + bias.astype("f8"))
    scaled = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-5)
    same(dc.nn.rms_norm(x, w, 1e-5), scaled * weight)
    same(dc.nn.softmax(x[:, 1:]), dc.nn.softmax(put(host[:, 1:].copy())).get())


def test_rows_of_what_is_no_number() -> None:
    host = RNG.standard_normal((4, 500)).astype("f4")
    host[1, 7], host[2, 9], host[3] = np.nan, np.inf, -np.inf
    got = dc.nn.softmax(put(host)).get()
    assert np.isfinite(got[0]).all()
    assert np.isnan(got[1:]).all()


# -------------------------------------------------------------------------------- masks
@pytest.mark.parametrize("size", [1, 15, 4096, 4097, 1_000_003])
@pytest.mark.parametrize("code", ["f4", "f8", "u1", "c16"])
def test_masks(code: str, size: int) -> None:
    host, mask = RNG.random(size).astype(code), RNG.random(size) > 0.6
    x, m = put(host), put(mask)
    assert np.array_equal(x[m].get(), host[mask])
    assert np.array_equal(dc.flatnonzero(m).get(), np.flatnonzero(mask))
    assert np.array_equal(x[1:][m[1:]].get(), host[1:][mask[1:]])


# -------------------------------------------------------------------------------- order
@pytest.mark.parametrize("size", [20_000, 300_001])
@pytest.mark.parametrize("code", ["f4", "f8", "f2", "i4", "i8", "u1", "u8", "c8", "?"])
def test_order(code: str, size: int) -> None:
    host = numbers(code, size)
    if host.dtype.kind in "fc":
        host[::97], host[5::101] = np.nan, -0.0
        host[7::89] = -host[::97][0]
    x = put(host)
    want = np.sort(host, kind="stable")
    for name in ("sort", "partition"):
        got = dc.sort(x) if name == "sort" else dc.partition(x, 5)
        assert np.array_equal(got.get(), want, equal_nan=True)
    assert np.array_equal(dc.argsort(x, stable=True).get(), host.argsort(kind="stable"))
    for options in ({}, {"return_inverse": True, "return_counts": True}):
        got, want = dc.unique(x, **options), np.unique(host, **options)
        pairs = zip(got, want, strict=True) if options else [(got, want)]
        for one, other in pairs:
            assert np.array_equal(one.get(), other, equal_nan=True)
    down = dc.sort(x, descending=True).get()
    other = dc.sort(dc.asarray(host, device="cpu"), descending=True).get()
    assert np.array_equal(down, other, equal_nan=True)


# ------------------------------------------------------------------------------ indices
@pytest.mark.parametrize("kind", ["i4", "i8"])
@pytest.mark.parametrize("code", ["f4", "u1", "c16", "f2"])
def test_indices(code: str, kind: str) -> None:
    host = numbers("f8", (40, 30, 8)).astype(code)
    x = put(host)
    for axis, length in enumerate(host.shape):
        places = RNG.integers(-length, length, (7, 5)).astype(kind)
        got = dc.take(x, put(places), axis=axis)
        assert np.array_equal(got.get(), np.take(host, places, axis=axis))
        with pytest.raises(IndexError, match=f"index {length} is out of bounds"):
            dc.take(x, put(np.array([0, length], kind)), axis=axis).get()
        for mode in ("wrap", "clip"):
            far = (places * 3).astype(kind)
            got = dc.take(x, put(far), axis=axis, mode=mode)
            assert np.array_equal(got.get(), np.take(host, far, axis=axis, mode=mode))
    places = RNG.integers(-host.size, host.size, 10_003).astype(kind)
    flat = put(host.ravel())
    assert np.array_equal(flat[put(places)].get(), host.ravel()[places])
    assert np.array_equal(dc.take(x, put(places)).get(), np.take(host, places))
    rows = RNG.integers(-39, 40, 33).astype(kind)
    assert np.array_equal(x[put(rows)].get(), host[rows])
    assert np.array_equal(x[1:][put(rows[rows < 39])].get(), host[1:][rows[rows < 39]])


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("code", ["f4", "i4", "f2", "u8"])
def test_places_in_an_ordered_axis(code: str, side: str) -> None:
    host = np.sort(numbers(code, 30_001))
    values = numbers(code, (70, 50))
    if code[0] == "f":
        host[-5:] = np.nan
        values[3, 4] = np.nan
    got = dc.searchsorted(put(host), put(values), side=side)
    assert np.array_equal(got.get(), np.searchsorted(host, values, side=side))


def test_rows_are_done_again() -> None:
    """The launches of a row are kept, and other memory filled in."""
    a, b, c = (RNG.standard_normal((40, 512)).astype("f4") for _ in range(3))
    w = RNG.random(512).astype("f4")
    for _ in range(2):
        for host in (a, b, c):
            x = put(host)
            want = host.astype("f8").var(1)
            np.testing.assert_allclose(x.var(1).get(), want, rtol=1e-5)
            assert np.array_equal(x.argmax(1).get(), host.argmax(1))
            both = dc.nn.layer_norm(x, put(w), put(w)).get()
            one = dc.nn.layer_norm(x, put(w), put(w * 2)).get()
            np.testing.assert_allclose(one - both, np.tile(w, (40, 1)), atol=1e-5)
            got = dc.cumsum(put(np.tile(host.ravel(), 2))).get()
            np.testing.assert_allclose(
                got, np.cumsum(np.tile(host.ravel(), 2), dtype="f8"), atol=1e-2
            )


@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("places", [(7, 9), (130, 65), (64, 300)])
def test_attention(code: str, causal: bool, places: tuple[int, int]) -> None:
    def heads(count: int) -> Any:
        return RNG.random((2, count, 3, 8)).astype(code).transpose(0, 2, 1, 3)

    hosts = [heads(places[0]), heads(places[1]), heads(places[1])]
    for batch in (slice(None), slice(1)):
        given = [x[batch] for x in hosts]
        attend = dc.nn.scaled_dot_product_attention
        wanted = np.asarray(attend(*map(dc.asarray, given), causal=causal))
        for _ in range(2):
            lying = [put(x.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3) for x in given]
            found = attend(*lying, causal=causal)
            np.testing.assert_allclose(found.get(), wanted, rtol=2e-5, atol=1e-6)


def test_short_rows() -> None:
    for shape in ((5, 10), (3, 2, 1), (200, 33)):
        host = numbers("f4", shape)
        x = put(host)
        for _ in range(2):
            powers = np.exp(host - host.max(-1, keepdims=True))
            wanted = powers / powers.sum(-1, keepdims=True)
            np.testing.assert_allclose(dc.nn.softmax(x).get(), wanted, rtol=1e-5)
            np.testing.assert_allclose(x.mean(-1).get(), host.mean(-1), rtol=1e-5)
            np.testing.assert_allclose(x.var(-1).get(), host.var(-1), rtol=1e-4)
            assert np.array_equal(x.argmax(-1).get(), host.argmax(-1))


# ----------------------------------------------------------------------------- products
PRECISE = {"f2": 2e-3, "f4": 2e-6, "f8": 1e-14, "c8": 2e-6, "c16": 1e-14}


def parts(code: str, *shape: int) -> Any:
    found = RNG.random(shape) - 0.5
    if code[0] == "c":
        found = found + 1j * (RNG.random(shape) - 0.5)
    return found.astype(code)


@pytest.mark.parametrize("code", PRECISE)
def test_products_of_matrices_as_they_lie(code: str) -> None:
    a, b, stack = parts(code, 96, 130), parts(code, 130, 70), parts(code, 3, 96, 130)
    x, y, z = put(a), put(b), put(stack)
    pairs = [
        (x @ y, a, b),
        (y.T @ x.T, b.T, a.T),
        (x[1:50, 2:99] @ y[2:99, ::-1][:, ::-1], a[1:50, 2:99], b[2:99]),
        (x[:, 3:77] @ z[1, :74, 5:], a[:, 3:77], stack[1, :74, 5:]),
        (z @ y, stack, b),
        (z.mT @ z, stack.mT, stack),
        (x[None] @ z.mT, a[None], stack.mT),
    ]
    for got, first, second in pairs:
        want = first.astype("G") @ second.astype("G")
        assert got.dtype == np.dtype(code)
        size = np.abs(first.astype("G")) @ np.abs(second.astype("G"))
        assert (np.abs(got.get() - want) <= PRECISE[code] * size + 1e-6).all()


@pytest.mark.parametrize("code", ["f2", "f4", "f8", "bfloat16"])
def test_linear_layers_in_one_launch(code: str) -> None:
    dtype = np.dtype(ml_dtypes.bfloat16 if code == "bfloat16" else code)
    a, b, c = (parts("f8", *n).astype(dtype) for n in ((5, 33, 64), (48, 64), (48,)))
    x, w, bias = put(a), put(b), put(c)
    want = a.astype("f8") @ b.astype("f8").T + c.astype("f8")
    near = {"rtol": 2e-2, "atol": 2e-2} if dtype.itemsize == 2 else {"atol": 1e-5}
    for _ in range(6):
        got = dc.nn.linear(x, w, bias)
        cut = dc.nn.linear(x, w, bias, activation=dc.nn.relu)
        assert got.dtype == cut.dtype == dtype
        np.testing.assert_allclose(got.get().astype("f8"), want, **near)
        np.testing.assert_allclose(cut.get().astype("f8"), np.maximum(want, 0), **near)
    alone = dc.nn.linear(x[0, 3], w, bias)
    np.testing.assert_allclose(alone.get().astype("f8"), want[0, 3], **near)
    with dc.profile() as seen:
        dc.evaluate(dc.nn.linear(x, w, bias, activation=dc.nn.relu))
    assert [event.kind for event in seen.events] == ["library"]


def test_a_captured_layer_is_the_same() -> None:
    w, bias = put(numbers("f4", (64, 64))), put(numbers("f4", (64,)))
    step = dc.graph(lambda x: dc.nn.linear(x @ w, w, bias, activation=dc.nn.relu))
    for _ in range(3):
        x = put(numbers("f4", (32, 64)))
        want = dc.nn.linear(x @ w, w, bias, activation=dc.nn.relu)
        assert np.array_equal(step(x).get(), want.get())


# ------------------------------------------------------------------------------- rows
@pytest.mark.parametrize("code", ["f4", "f8"])
def test_rows_wherever_they_begin(code: str) -> None:
    host = RNG.random((40, 50)).astype(code)
    x = put(host)
    for k in range(1, 40):
        for found, wanted in [
            (x[k, :k] @ x[:k, k], host[k, :k] @ host[:k, k]),
            (dc.dot(x[k - 1, ::-1], x[k]), host[k - 1, ::-1] @ host[k]),
        ]:
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(float(found), wanted, rtol=1e-5)


@pytest.mark.parametrize("code", ["i1", "u2", "u4", "i8"])
def test_places_that_are_known(code: str) -> None:
    host = RNG.random(60)
    places = RNG.integers(0 if code[0] == "u" else -60, 60, 3000).astype(code)
    x, indices = put(host), put(places)
    for k in range(20):
        assert np.array_equal(x[indices[k : 100 * k]].get(), host[places[k : 100 * k]])
    indices[7] = 60
    for _ in range(3):
        with pytest.raises(IndexError, match="index 60 is out of bounds"):
            x[indices]


def test_elements_that_the_host_reads() -> None:
    x = put(np.arange(100.0)) + 1
    for k in range(100):
        assert float(x[k]) == k + 1
        x[k] = x[k] * 2
        assert float(x[k]) == 2 * k + 2


def test_arrays_that_a_program_asks_for_again() -> None:
    with dc.config(device=DEVICE):
        for turn in range(4):
            for made, wanted in [
                (dc.zeros((3, 4)), np.zeros((3, 4))),
                (dc.full(5, 1.5, "f4"), np.full(5, 1.5, "f4")),
                (dc.arange(70_000), np.arange(70_000)),
                (dc.linspace(0, 1, 9), np.linspace(0, 1, 9)),
                (dc.mgrid[0:3, 0:70_000], np.mgrid[0:3, 0:70_000]),
            ]:
                assert np.array_equal(made.get(), wanted)
                made += turn
                made[0] = 9
