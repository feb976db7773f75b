"""Rows of our own texts in CUDA C++, on the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pytest

from dcarray.backends.cuda import (
    copying,
    counting,
    drawing,
    picking,
    placing,
    pooling,
    rows,
    scores,
    selecting,
    solvers,
    vectors,
)
from dcarray.backends.cuda.kernels import scores as softmax, selecting as kernel
from dcarray.backends.cuda.raw import Raw, signature
from dcarray.backends.grid import GridView
from dcarray.backends.grid.library.work import Work
from dcarray.ops import neural as ops
from dcarray.ops.indexing import Slot

from ..cuda_emulator import EmulatedDevice, compiler

pytestmark = [
    pytest.mark.skipif(compiler() is None, reason="needs g++"),
    pytest.mark.long,
]

RNG = np.random.default_rng(5)

BEFORE = """
extern "C" __global__ void before(
    count_word *state, long long *out, long long tile, long long number) {
  count_word launch = (count_word)number << COUNT_BITS;
  count_word found = counted_before(state + 1, tile, launch);
  if (!threadIdx.x) out[0] = found;
}
"""
BEFORE_SIGNATURE = signature("before", "wwqq")


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Raw]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selecting, "pinned", lambda nbytes: np.empty(nbytes, np.uint8))
        device = EmulatedDevice(tmp_path_factory.mktemp("cuda"))
        yield Raw(cast(Any, device))


def put(raw: Raw, x: Any) -> GridView:
    view = raw.new(x.shape, x.dtype)
    view.memory.seen_as(x.dtype)[: x.size] = x.reshape(-1)
    return view


def get(found: GridView | None) -> Any:
    assert found is not None
    flat = found.memory.seen_as(found.dtype)
    shape, strides = found.shape, found.layout.strides
    return np.lib.stride_tricks.as_strided(flat, shape, strides).copy()


def call(raw: Raw, name: str, *hosts: Any, **options: Any) -> Any:
    """A row twice: its launches, and these again."""
    first, again = (
        get(raw.call(name, rows.TABLE[name], [put(raw, x) for x in hosts], options))
        for _ in range(2)
    )
    assert np.array_equal(first, again, equal_nan=first.dtype.kind == "f")
    return again


def test_running_sums(raw: Raw) -> None:
    host = RNG.integers(-9, 9, (2, 8204)).astype("i4")
    got = call(raw, "cumulative_sum", host, axis=1)
    assert np.array_equal(got, np.cumsum(host, axis=1))


def test_places(raw: Raw) -> None:
    for code, shape in (
        ("f4", (40, 33)),
        ("f4", (2, 300, 5)),
        ("f4", (9001,)),
        ("f4", (2, 9001)),
        ("u1", (2, 300, 70)),
    ):
        host = (RNG.random(shape) * 9).astype(code)
        if code == "f4":
            host[RNG.random(shape) < 0.01] = np.nan
        for axis in range(len(shape)):
            row = rows.TABLE["argmax"]
            for _ in range(2):  # its launches, and these again
                found = raw.call("argmax", row, [put(raw, host)], {"axis": axis})
                if found is not None:
                    assert np.array_equal(get(found), host.argmax(axis))
    assert not raw.counts().memory.seen_as(np.uint32).any()


def test_variances(raw: Raw) -> None:
    host = (RNG.random((300, 40)) + 10).astype("f4")
    options = {"keepdims": False, "root": True}
    for axes in ((0,), (0, 1)):
        number = float(np.prod([host.shape[k] for k in axes]))
        got = call(raw, "variance", host, axes=axes, number=number, **options)
        np.testing.assert_allclose(got, host.astype("f8").std(axes), rtol=1e-5)


@pytest.mark.parametrize("length", [1002, 10, 1])
def test_norms(raw: Raw, length: int) -> None:
    host = RNG.standard_normal((3, length)).astype("f4")
    weight, bias = (RNG.random(length).astype("f4") for _ in range(2))
    got = call(raw, "nn.layer_norm", host, weight, bias, epsilon=1e-5)
    wide = host.astype("f8")
    apart = wide - wide.mean(1, keepdims=True)
    want = apart / np.sqrt(wide.var(1, keepdims=True) + 1e-5) * weight + bias
    np.testing.assert_allclose(got, want, atol=2e-5)


def test_short_rows(raw: Raw) -> None:
    host = RNG.standard_normal((3, 5, 4)).astype("f4")
    got = call(raw, "mean", host, axes=(1, 2), keepdims=False)
    np.testing.assert_allclose(got, host.mean((1, 2)), rtol=1e-5, atol=1e-6)
    got = call(raw, "argmax", host, axis=2)
    assert np.array_equal(got, host.argmax(2))
    got = call(raw, "nn.softmax", host)
    powers = np.exp(host.astype("f8"))
    np.testing.assert_allclose(got, powers / powers.sum(-1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("keys", [5, 300])
@pytest.mark.parametrize("causal", [False, True])
def test_scores(raw: Raw, keys: int, causal: bool) -> None:
    host = RNG.standard_normal((2, 3, keys)).astype("f4")
    host[0, 1] = -np.inf
    x, logs = put(raw, host), raw.new((2, 3, 1), np.dtype("f4"))
    threads = softmax.threads_of(keys)
    text = softmax.scores_text(x.dtype, threads)
    raw.run(text, scores._SCORES, (6,), threads, x, logs, keys, 3, int(causal), 0.5)
    seen = np.arange(keys) <= np.arange(3)[:, None] if causal else True
    with np.errstate(divide="ignore", invalid="ignore"):
        powers = np.where(seen, np.exp(0.5 * host.astype("f8")), 0)
        sums = powers.sum(-1, keepdims=True)
        wanted = np.where(sums == 0, 0, powers / sums)
        np.testing.assert_allclose(get(x), wanted, rtol=1e-5)
        wanted = np.where(sums == 0, np.inf, np.log(sums))
    np.testing.assert_allclose(get(logs), wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("shape", [(131, 150), (700, 35), (1500, 12), (16, 1500)])
def test_vectors(raw: Raw, shape: tuple[int, int]) -> None:
    host = RNG.standard_normal(shape).astype("f4")
    for matrix in (host, host.T):
        row, column = (RNG.random((1, n)).astype("f4") for n in matrix.shape)
        a = put(raw, host)
        a = a if matrix is host else a.through(lambda x: x.T)
        got = get(vectors.product(raw, a, put(raw, column.T)))
        np.testing.assert_allclose(got, matrix @ column.T, rtol=1e-4, atol=1e-4)
        got = get(vectors.product(raw, put(raw, row), a))
        np.testing.assert_allclose(got, row @ matrix, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("length", [1, 31, 32, 257, 5000])
def test_two_vectors(raw: Raw, length: int) -> None:
    host = RNG.standard_normal((length, 3)).astype("f8")
    a = put(raw, host)
    one, other = a.through(lambda x: x[:, 1]), a.through(lambda x: x[::-1, 2])
    found = vectors.dot(raw, one, other)
    assert found is not None and found.shape == ()
    np.testing.assert_allclose(get(found), host[:, 1] @ host[::-1, 2], rtol=1e-12)
    long = a.through(lambda x: np.broadcast_to(x[0, 0], (vectors.MOST_OF_ONE + 1,)))
    assert vectors.dot(raw, long, long) is None


@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("is_held", [False, True])
def test_normal_numbers(
    raw: Raw, monkeypatch: pytest.MonkeyPatch, code: str, is_held: bool
) -> None:
    monkeypatch.setattr(drawing, "LEAST", 1)
    generator = np.random.Generator(np.random.PCG64(7))
    while is_held and not generator.bit_generator.state["has_uint32"]:
        generator.standard_normal(1, "f4")
    state = generator.bit_generator.state
    place, increment = state["state"]["state"], state["state"]["inc"]
    held = state["uinteger"] if is_held else None
    options = {"size": 9000, "dtype": code, "kind": "PCG64", "held": held}
    row = drawing.TABLE["random.standard_normal"]
    found, end = row(raw, key=(increment,), place=place, **options)
    # The machine's own functions are the same here.
    assert np.array_equal(get(found), generator.standard_normal(9000, code))
    words = int(end.memory.seen_as(np.int64)[end.layout.offset // 8])
    bits = np.random.PCG64()
    bits.state = state
    if code == "f8":
        bits.random_raw(words)
    else:
        np.random.Generator(bits).integers(1 << 32, size=words, dtype=np.uint32)
    assert bits.state == generator.bit_generator.state


def test_every_other_element(raw: Raw) -> None:
    host = RNG.random((40, 3664)).astype("f4")
    flat = RNG.random(1 << 17).astype("f4")
    for x, key in (
        (host, np.s_[:, ::2]),
        (host, np.s_[:, 1::2]),
        (host, np.s_[::2, 1::2]),
        (host, np.s_[1:, 8:-8:2]),
        (flat[:-3], np.s_[::2]),
        (flat[:-1], np.s_[::2]),
    ):
        wanted = x[key]
        view = put(raw, x).through(lambda a, key=key: a[key])
        out = raw.new(wanted.shape, x.dtype)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(copying, "LEAST", 1 << 10)
            start = copying._halving(raw, wanted.shape, view, out)
        assert start is not None
        start([view.memory, out.memory], ())
        assert np.array_equal(get(out), wanted)
    for key in (np.s_[::-1, ::2], np.s_[:, ::3], np.s_[:, 2::2]):
        view = put(raw, host).through(lambda a, key=key: a[key])
        out = raw.new(view.shape, host.dtype)
        assert copying._halving(raw, view.shape, view, out) is None


WINDOWS = [
    ((2, 2), (2, 2), (0, 0)),
    ((3, 3), (2, 2), (1, 1)),
    ((3, 2), (1, 3), (1, 0)),
    ((1, 2), (3, 1), (0, 1)),
]


@pytest.mark.parametrize(("kernel", "stride", "low"), WINDOWS)
def test_pooling(raw: Raw, kernel: Any, stride: Any, low: Any) -> None:
    host = RNG.integers(0, 9, (2, 3, 13, 12)).astype("f4")
    host[0, 0, 3, 4:6] = np.nan
    size = tuple(
        (n + 2 * p - k) // s + 1
        for n, k, s, p in zip(host.shape[2:], kernel, stride, low, strict=True)
    )
    options: dict[str, Any] = {"kernel": kernel, "stride": stride, "low": low}
    options |= {"dilation": (1, 1), "size": size, "channels_last": False}
    want, where = ops.MAX_POOL_WITH_INDICES.numpy(host, **options)
    assert np.array_equal(call(raw, "nn.max_pool", host, **options), want, True)
    row = pooling.INDEXED["nn.max_pool_with_indices"]
    found = [get(x) for x in row(raw, put(raw, host), **options)]
    assert np.array_equal(found[0], want, equal_nan=True)
    assert np.array_equal(found[1], where)
    want = ops.SUM_POOL.numpy(host, **options)
    assert np.array_equal(call(raw, "nn.sum_pool", host, **options), want, True)
    g = RNG.integers(0, 9, (2, 3, *size)).astype("f4")
    want = ops.MAX_POOL_GRADIENT.numpy(g, host, **options)
    assert np.array_equal(call(raw, "nn.max_pool_gradient", g, host, **options), want)
    options["size"] = host.shape[2:]
    want = ops.SUM_POOL_GRADIENT.numpy(g, **options)
    assert np.array_equal(call(raw, "nn.sum_pool_gradient", g, **options), want)


@pytest.mark.parametrize("largest", [selecting.LARGEST, 0])
def test_masks(raw: Raw, largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selecting, "LARGEST", largest)
    for size in (1, 15, 4097):
        host, mask = RNG.random(size).astype("f4"), RNG.random(size) > 0.6
        found = picking.chosen(raw, put(raw, mask), put(raw, host))
        assert np.array_equal(get(found), host[mask])
        found = picking.chosen(raw, put(raw, mask), None)
        assert np.array_equal(get(found), np.flatnonzero(mask))


def test_few_of_many(raw: Raw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selecting, "SPARE", 0)
    copies: list[int] = []

    def copy(source: Any, start: int, target: Any, nbytes: int) -> None:
        copies.append(nbytes)
        target.seen_as("u1")[:] = source.seen_as("u1")[start : start + nbytes]

    monkeypatch.setattr(raw.backend, "copy", copy, raising=False)
    host = RNG.random(5000).astype("f4")
    for number in (0, 3, 4000):
        mask = np.arange(5000) < number
        found = picking.chosen(raw, put(raw, mask), put(raw, host))
        assert np.array_equal(get(found), host[mask])
        assert found.memory.nbytes == 4 * number
    assert copies == [12]


def test_numbers_of_launches_begin_again(
    raw: Raw, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selecting, "MOST", 2)
    host = RNG.random(9000).astype("f8")
    for _ in range(4):
        mask = RNG.random(9000) > 0.5
        found = picking.chosen(raw, put(raw, mask), put(raw, host))
        assert np.array_equal(get(found), host[mask])


def test_tiles_before_a_tile(raw: Raw) -> None:
    """More of them than a warp looks at in one go, which may all have counts alone."""
    tiles, launch = 600, 7
    for whole in (None, 0, 5, 300, 599):
        counts = RNG.integers(0, 4097, tiles)
        words = counts.astype("u8") | np.uint64(launch << 40)
        if whole is not None:
            words[whole] |= np.uint64(1 << 39)
        state = put(raw, np.array([0, *words, 0], "u8"))
        out = raw.new((1,), np.dtype("i8"))
        text = kernel.select_text(0) + BEFORE
        raw.run(text, BEFORE_SIGNATURE, (1,), 32, state, out, tiles, launch)
        assert get(out)[0] == counts[whole or 0 :].sum()


def test_indices(raw: Raw) -> None:
    host = RNG.random((5, 7, 2)).astype("f2")
    for axis, length in enumerate(host.shape):
        places = RNG.integers(-length, length, (3, 5))
        options = {"axis": axis, "mode": "raise"}
        x = put(raw, host)
        got = get(picking.TABLE["take"](raw, x, put(raw, places), **options))
        assert np.array_equal(got, np.take(host, places, axis=axis))
        with pytest.raises(IndexError, match=f"index {length} is out of bounds"):
            picking.TABLE["take"](raw, x, put(raw, places * 0 + length), **options)


@pytest.mark.parametrize("code", ["i1", "u1", "i2", "u2", "i4", "u4", "i8"])
def test_indices_that_begin_anywhere(raw: Raw, code: str) -> None:
    host = RNG.random(9).astype("f4")
    places = RNG.integers(0 if code[0] == "u" else -9, 9, 12).astype(code)
    x, indices = put(raw, host), put(raw, places).through(lambda a: a[5:])
    for mode in ("raise", "wrap"):
        got = get(picking.TABLE["take"](raw, x, indices, axis=0, mode=mode))
        assert np.array_equal(got, host[places[5:]])


def test_values_where_a_mask_is_true(raw: Raw) -> None:
    for size in (1, 15, 4097):
        host, mask = RNG.random(size).astype("f4"), RNG.random(size) > 0.6
        values = RNG.random(np.count_nonzero(mask) + 2).astype("f4")
        x, key = put(raw, host), (Slot(0),)
        given = put(raw, values).through(lambda a: a[2:])
        if given.size:
            assert placing.put(raw, x, given, [put(raw, mask)], key)
            host[mask] = values[2:]
        assert np.array_equal(get(x), host)
        wrong = put(raw, np.zeros(size + 3, "f4"))
        assert not placing.put(raw, x, wrong, [put(raw, mask)], key)
        assert np.array_equal(get(x), host)


@pytest.mark.parametrize("code", ["i4", "i8"])
@pytest.mark.parametrize("shape", [(70,), (7, 9), (3, 4, 5)])
def test_values_at_indices(raw: Raw, code: str, shape: tuple[int, ...]) -> None:
    """The last value counts where a place is given twice, and nothing is written where
    an index is out of bounds."""
    host = RNG.random(shape)
    indices = [RNG.integers(-n, n, (30, 20)).astype(code) for n in shape]
    key = tuple(map(Slot, range(len(shape))))
    arrays = [put(raw, index) for index in indices]
    x = put(raw, host)
    for values in (RNG.random((30, 20)), np.array(0.25), np.array([0.5])):
        assert placing.put(raw, x, put(raw, values), arrays, key)
        host[tuple(indices)] = values
        assert np.array_equal(get(x), host)
    indices[-1][3, 4] = shape[-1]
    arrays[-1] = put(raw, indices[-1])
    with pytest.raises(IndexError, match=f"axis {len(shape) - 1} with size"):
        placing.put(raw, x, put(raw, np.array(9.0)), arrays, key)
    assert np.array_equal(get(x), host)
    assert not placing.put(raw, x, put(raw, np.zeros(3)), arrays, key)


def test_places_in_an_ordered_axis(raw: Raw) -> None:
    host, values = np.sort(RNG.random(3001)).astype("f4"), RNG.random(99).astype("f4")
    host[-5:], values[3] = np.nan, np.nan
    row = picking.TABLE["searchsorted"]
    got = get(row(raw, put(raw, host), put(raw, values)))
    assert np.array_equal(got, np.searchsorted(host, values))


def histogram(raw: Raw, host: Any, **options: Any) -> tuple[Any, Any]:
    found = counting.TABLE["histogram"](raw, put(raw, host), **options)
    assert found is not None
    return get(found[0]), get(found[1])


@pytest.mark.parametrize("code", ["f4", "f8", "i4", "u1"])
def test_histograms(raw: Raw, code: str) -> None:
    """Counts are NumPy's, on edges and beside them, too."""
    host = (RNG.standard_normal(5003) * 20 + 90).astype(code)
    cases = [
        {"bins": 7},
        {"bins": 1000},
        {"bins": 5000},
        {"bins": 9, "range": (80, 97)},
    ]
    cases += [{"bins": np.array([3.0, 80, 80, 91.5, 99, 100])}, {"bins": [4, 90, 91]}]
    for options in cases:
        got, wanted = histogram(raw, host, **options), np.histogram(host, **options)
        for one, other in zip(got, wanted, strict=True):
            assert one.dtype == other.dtype
            assert np.array_equal(one, other)
        edges = wanted[1].astype(code)
        near = np.concatenate([edges, np.nextafter(edges, np.inf).astype(code)])
        got, wanted = histogram(raw, near, **options), np.histogram(near, **options)
        assert np.array_equal(got[0], wanted[0])


@pytest.mark.parametrize("code", ["f8", "f4", "i2"])
def test_histograms_of_weights(
    raw: Raw, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Work, "cast", lambda work, x, dtype: x)  # no programs run here
    host, weights = RNG.random(3001), (RNG.random(3001) * 9).astype(code)
    for bins in (5, 100, 6000):
        options = {"bins": bins, "range": (0.1, 0.8)}
        got, _ = histogram(raw, host, weights=put(raw, weights), **options)
        wanted, _ = np.histogram(host, weights=weights, **options)
        np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_ends(raw: Raw) -> None:
    host = RNG.standard_normal(30_001).astype("f4")
    assert list(counting.ends(raw, put(raw, host))) == [host.min(), host.max()]
    host[17_000] = np.nan
    assert np.isnan(counting.ends(raw, put(raw, host))).all()
    with pytest.raises(ValueError, match="not finite"):
        histogram(raw, host)


def solved(raw: Raw, call: Any, *hosts: Any, **options: Any) -> Any:
    """A kernel for small matrices, and whether it met one that it cannot take."""
    flag = np.zeros(1, np.int32)
    options["flag"] = flag.ctypes.data
    got = get(call(raw, *[put(raw, x) for x in hosts], **options))
    return got, bool(flag[0])


@pytest.mark.parametrize("side", [5, 29])
def test_small_matrices(raw: Raw, side: int) -> None:
    a = RNG.standard_normal((2, side, side))
    b = RNG.standard_normal((2, side, 3 if side > 5 else 40))
    got, wrong = solved(raw, solvers._eliminated, a, b)
    np.testing.assert_allclose(got, np.linalg.solve(a, b), rtol=1e-9, atol=1e-9)
    assert not wrong
    got, wrong = solved(raw, solvers._eliminated, a, a, what="inv")
    np.testing.assert_allclose(got, np.linalg.inv(a), rtol=1e-9, atol=1e-9)
    assert not wrong
    got, _ = solved(raw, solvers._eliminated, a, a, what="slogdet")
    np.testing.assert_allclose(got, np.linalg.slogdet(a), rtol=1e-9, atol=1e-9)
    got, _ = solved(raw, solvers._eliminated, a, a, what="det")
    np.testing.assert_allclose(got, np.linalg.det(a), rtol=1e-9)
    positive = a @ a.mT + np.eye(side)
    got, wrong = solved(raw, solvers._factored, positive)
    np.testing.assert_allclose(got, np.linalg.cholesky(positive), rtol=1e-9)
    assert not wrong


def test_matrices_that_cannot_be_had(raw: Raw) -> None:
    a = np.ones((2, 24, 24), np.float32)
    a[0] = np.eye(24)[::-1]
    assert solved(raw, solvers._eliminated, a, a, what="inv")[1]
    assert solved(raw, solvers._factored, a)[1]
    signs, sizes = solved(raw, solvers._eliminated, a, a, what="slogdet")[0]
    assert list(signs) == [1, 0]
    assert list(sizes) == [0, -np.inf]
