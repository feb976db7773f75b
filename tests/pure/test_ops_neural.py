"""Rows of neural networks: called with arrays and keyword options, against numbers that
were worked out by hand, and the CPU's own way against the oracles."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dcarray import config
from dcarray.backends.cpu.neural import (
    FUNCTIONS,
    attending,
    blas,
    columns,
    planes,
    scores,
)
from dcarray.ops import neural
from dcarray.ops.neural.windows import adaptive_edges, overlaps
from dcarray.ops.spec import Kind, Op

X = np.array([[[1, 5, 2, 4]]])
Y = np.array([[[1, 10, 100]]])
WINDOW = {"stride": (1,), "low": (0,), "dilation": (1,), "channels_last": False}
POOL = {"kernel": (2,), "size": (3,), **WINDOW}
PLANES = {"channels_last": False}
ZERO = np.zeros((1, 1, 2))
SCORES = {"mask": None, "causal": False, "scale": 1.0}

CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any], Any]] = {
    "nn.convolution": (
        (X, np.array([[[1, 10]]])),
        {"size": (3,), "groups": 1, **WINDOW},
        [[[51, 25, 42]]],
    ),
    "nn.convolution_input_gradient": (
        (Y, np.array([[[1, 10]]])),
        {"size": (4,), "groups": 1, **WINDOW},
        [[[1, 20, 200, 1000]]],
    ),
    "nn.convolution_weight_gradient": (
        (X, Y),
        {"kernel": (2,), "groups": 1, **WINDOW},
        [[[251, 425]]],
    ),
    "nn.max_pool": ((X,), POOL, [[[5, 5, 4]]]),
    "nn.max_pool_with_indices": ((X,), POOL, ([[[5, 5, 4]]], [[[1, 1, 3]]])),
    "nn.max_pool_gradient": ((Y, X), POOL, [[[0, 11, 0, 100]]]),
    "nn.sum_pool": ((X,), POOL, [[[6, 7, 6]]]),
    "nn.sum_pool_gradient": ((Y,), {**POOL, "size": (4,)}, [[[1, 11, 110, 100]]]),
    "nn.adaptive_max_pool": (
        (X,),
        {"size": (3,), **PLANES},
        ([[[5, 5, 4]]], [[[1, 1, 3]]]),
    ),
    "nn.adaptive_sum_pool": ((X,), {"size": (2,), **PLANES}, [[[6, 6]]]),
    "nn.adaptive_sum_pool_gradient": (
        (Y,),
        {"size": (4,), **PLANES},
        [[[1, 11, 110, 100]]],
    ),
    "nn.scatter_positions": (
        (Y, np.array([[[2, 0, 2]]])),
        {"size": (4,), **PLANES},
        [[[10, 0, 101, 0]]],
    ),
    "nn.place_positions": (
        (Y, np.array([[[2, 0, 2]]])),
        {"size": (4,), **PLANES},
        [[[10, 0, 100, 0]]],
    ),
    "nn.embedding_gradient": (
        (np.array([[1, 2], [10, 20], [100, 200]]), np.array([3, 0, 3])),
        {"count": 4},
        [[10, 20], [0, 0], [0, 0], [101, 202]],
    ),
    "nn.attention": (
        (ZERO, np.eye(2)[None], np.array([[[1.0], [3.0]]])),
        SCORES,
        ([[[2.0]]], [[[math.log(2)]]]),
    ),
    "nn.attention_alone": (
        (ZERO, np.eye(2)[None], np.array([[[1.0], [3.0]]])),
        SCORES,
        [[[2.0]]],
    ),
    "nn.attention_adjoint": (
        (np.ones((1, 1, 1)), ZERO, np.eye(2)[None], np.array([[[1.0], [3.0]]])),
        SCORES,
        ([[[-0.5, 0.5]]], [[[0, 0], [0, 0]]], [[[0.5], [0.5]]]),
    ),
    "nn.attention_gradient": (
        (
            np.ones((1, 1, 1)),
            *(ZERO, np.eye(2)[None], np.array([[[1.0], [3.0]]])),
            *(np.full((1, 1, 1), math.log(2)), np.full((1, 1, 1), 2.0)),
        ),
        SCORES,
        ([[[-0.5, 0.5]]], [[[0, 0], [0, 0]]], [[[0.5], [0.5]]]),
    ),
}

rows = pytest.mark.parametrize(
    "op", list(neural.TABLE.values()), ids=lambda op: op.name
)


def parts(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


@rows
@pytest.mark.parametrize("own", [False, True])
def test_call(op: Op, own: bool) -> None:
    operands, options, want = CALLS[op.name]
    before = [operand.copy() for operand in operands]
    function = FUNCTIONS.get(op, op.numpy) if own else op.numpy
    got = parts(function(*operands, **options))
    assert op.inputs == len(operands)
    assert op.outputs == len(got)
    assert [part.tolist() for part in got] == list(parts(want))
    for operand, old in zip(operands, before, strict=True):
        np.testing.assert_array_equal(operand, old)


@rows
def test_row_is_complete(op: Op) -> None:
    constant = op.name.removeprefix("nn.").upper()
    assert getattr(neural, constant) is op
    assert constant in neural.__all__
    assert op.kind in (Kind.CONTRACTION, Kind.INDEXING)


# ------------------------------------------------------------------------------ windows
def test_overlaps_are_what_they_say() -> None:
    given = ((7, 5), (4, 6), (3, 2), (2, 1), (1, -1), (2, 3))
    source, size, kernel, stride, low, dilation = given
    found = set()
    for tap, outer, inner in overlaps(*given):
        ranges = [
            zip(range(*o.indices(m)), range(*i.indices(n)), strict=True)
            for o, i, m, n in zip(outer, inner, size, source, strict=True)
        ]
        first, second = map(list, ranges)
        found |= {(tap, (a[0], b[0]), (a[1], b[1])) for a in first for b in second}
    want = set()
    for tap in np.ndindex(*kernel):
        for window in np.ndindex(*size):
            given_place = zip(window, stride, tap, dilation, low, strict=True)
            place = tuple([o * s + t * d - p for o, s, t, d, p in given_place])
            if all(0 <= k < n for k, n in zip(place, source, strict=True)):
                want.add((tap, window, place))
    assert found == want


def test_adaptive_windows_cover_everything() -> None:
    for n in range(1, 12):
        for m in range(1, 15):
            edges = adaptive_edges(n, m)
            assert edges[0][0] == 0 and edges[-1][1] == n
            assert all(a < b for a, b in edges)
            joints = itertools.pairwise(edges)
            assert all(stop >= start for (_, stop), (start, _) in joints)


# ------------------------------------------------------------------- the CPU's own ways
@pytest.fixture(params=["usual", "small"])
def tiles(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of the usual size, or so small that everything is cut."""
    if request.param == "small":
        monkeypatch.setattr(columns, "FEWEST", 3)
        monkeypatch.setattr(columns, "TILE_BYTES", 64)
        monkeypatch.setattr(planes, "BLOCK_BYTES", 300)


def images(
    batch: int, channels: int, positions: tuple[int, ...], last: bool
) -> tuple[int, ...]:
    if last:
        return (batch, *positions, channels)
    return (batch, channels, *positions)


def problems(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Convolutions and pools of all kinds, over whole numbers, so that sums are
    exact."""
    rng = np.random.default_rng(seed)

    def few(low: int, high: int, axes: int) -> tuple[int, ...]:
        return tuple([int(n) for n in rng.integers(low, high, axes)])

    def whole(shape: tuple[int, ...]) -> Any:
        return rng.integers(-5, 6, shape)

    for _ in range(count):
        axes = int(rng.integers(1, 4))
        groups = int(rng.choice([1, 1, 2, 3]))
        into, out = few(1, 4, 1)[0] * groups, few(1, 13, 1)[0] * groups
        batch, last = few(0, 4, 1)[0], bool(rng.integers(2))
        dtype = str(rng.choice(["f4", "f8", "c8", "i4"]))
        kernel, positions, size = few(1, 4, axes), few(1, 9, axes), few(1, 7, axes)

        yield {
            "x": whole(images(batch, into, positions, last)).astype(dtype),
            "y": whole(images(batch, out, size, last)).astype(dtype),
            "w": whole((out, into // groups, *kernel)).astype(dtype),
            "kernel": kernel,
            "size": size,
            "positions": positions,
            "groups": groups,
            "window": {
                "stride": few(1, 4, axes),
                "low": few(-1, 4, axes),
                "dilation": few(1, 4, axes),
                "channels_last": last,
            },
        }


def check(op: Op, operands: tuple[Any, ...], **options: Any) -> None:
    want = parts(op.numpy(*operands, **options))
    got = parts(FUNCTIONS[op](*operands, **options))
    for ours, theirs in zip(got, want, strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.flags.c_contiguous
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.usefixtures("tiles")
@pytest.mark.parametrize("seed", range(8))
def test_convolution_by_tiles(seed: int) -> None:
    with config(engine=("auto", "interpreter")[seed % 2]):
        convolve_by_tiles(seed)


def convolve_by_tiles(seed: int) -> None:
    for one in problems(seed, 25):
        given = {"groups": one["groups"], **one["window"]}
        x, y, w = one["x"], one["y"], one["w"]
        check(neural.CONVOLUTION, (x, w), size=one["size"], **given)
        row = neural.CONVOLUTION_INPUT_GRADIENT
        check(row, (y, w), size=one["positions"], **given)
        row = neural.CONVOLUTION_WEIGHT_GRADIENT
        check(row, (x, y), kernel=one["kernel"], **given)


@pytest.mark.usefixtures("tiles")
@pytest.mark.parametrize("seed", range(4))
def test_pools_by_planes(seed: int) -> None:
    for one in problems(seed + 100, 25):
        x, last = one["x"], one["window"]["channels_last"]
        given = {"kernel": one["kernel"], **one["window"]}
        check(neural.SUM_POOL, (x,), size=one["size"], **given)
        check(neural.SUM_POOL_GRADIENT, (one["y"],), size=one["positions"], **given)
        size = one["size"]
        check(neural.ADAPTIVE_SUM_POOL, (x,), size=size, channels_last=last)
        if x.dtype.kind == "c":
            continue
        check(neural.MAX_POOL, (x,), size=size, **given)
        check(neural.MAX_POOL_WITH_INDICES, (x,), size=size, **given)
        check(neural.ADAPTIVE_MAX_POOL, (x,), size=size, channels_last=last)
        places = np.abs(one["y"].astype(int)) % math.prod(one["positions"])
        for row in (neural.SCATTER_POSITIONS, neural.PLACE_POSITIONS):
            operands = (one["y"], places)
            check(row, operands, size=one["positions"], channels_last=last)


@pytest.mark.parametrize("last", [False, True])
def test_the_number_of_threads_does_not_change_bits(last: bool) -> None:
    rng = np.random.default_rng(0)
    shapes = [(4, 24, 31, 29), (4, 26, 29, 27), (26, 24, 3, 3)]
    x, y, w = [rng.standard_normal(shape).astype("f4") for shape in shapes]
    if last:
        x, y = [np.ascontiguousarray(np.moveaxis(a, 1, -1)) for a in (x, y)]
    given: dict[str, Any] = {"groups": 1, "channels_last": last}
    given |= {"stride": (1, 1), "low": (0, 0), "dilation": (1, 1)}
    calls = [
        (neural.CONVOLUTION, (x, w), {"size": (29, 27)}),
        (neural.CONVOLUTION_INPUT_GRADIENT, (y, w), {"size": (31, 29)}),
        (neural.CONVOLUTION_WEIGHT_GRADIENT, (x, y), {"kernel": (3, 3)}),
    ]
    for row, operands, options in calls:
        found = set()
        for threads in (1, 2, 3, 7):
            with config(threads=threads):
                found.add(FUNCTIONS[row](*operands, **given, **options).tobytes())
        assert len(found) == 1


def test_sums_of_weight_gradients_keep_their_digits() -> None:
    rng = np.random.default_rng(1)
    x = rng.random((8, 2, 64, 64), np.float32) + 1
    y = rng.random((8, 3, 62, 62), np.float32) + 1
    given = {"stride": (1, 1), "low": (0, 0), "dilation": (1, 1)}
    given |= {"kernel": (3, 3), "groups": 1, "channels_last": False}
    row = neural.CONVOLUTION_WEIGHT_GRADIENT
    want = row.numpy(x.astype(float), y.astype(float), **given)
    got = FUNCTIONS[row](x, y, **given)
    assert (abs(got - want) / want).max() < 4 * np.finfo(np.float32).eps


def test_blas_gets_its_threads_back() -> None:
    controls = blas._controls()
    if controls is None:
        pytest.skip("NumPy's BLAS is not OpenBLAS")
    read, _ = controls
    before = read()
    with blas.one_blas_thread(), blas.one_blas_thread():
        assert read() == 1
    assert read() == before
    with pytest.raises(ZeroDivisionError), blas.one_blas_thread():
        1 / 0  # noqa: B018
    assert read() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_child_has_all_threads_of_blas() -> None:
    controls = blas._controls()
    if controls is None:
        pytest.skip("NumPy's BLAS is not OpenBLAS")
    read, _ = controls
    before = read()
    with blas.one_blas_thread():
        child = os.fork()
        if not child:
            os._exit(0 if read() == before else 1)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert read() == before


@pytest.fixture(params=["wide", "narrow", "products"])
def way_of_attention(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Machine code for 32 or 16 registers, or products of small blocks."""
    monkeypatch.setattr(scores, "ROWS", 2)
    monkeypatch.setattr(scores, "COLUMNS", 3)
    if request.param == "narrow":
        monkeypatch.setattr(attending, "WIDE", attending.NARROW)
    given = {"engine": "interpreter"} if request.param == "products" else {}
    with config(**given):
        yield request.param


@pytest.mark.usefixtures("way_of_attention")
@pytest.mark.parametrize("how", ["plain", "causal", "bool", "float", "keys"])
@pytest.mark.parametrize(
    "queries,keys", [(7, 5), (5, 7), (1, 9), (0, 3), (3, 0), (70, 50), (50, 230)]
)
def test_attention_by_blocks(queries: int, keys: int, how: str) -> None:
    rng = np.random.default_rng(2)
    g, q, k, v = (
        rng.standard_normal((3, *shape))
        for shape in ((queries, 2), (queries, 4), (keys, 4), (keys, 2))
    )
    mask: Any = None
    if how == "bool":
        mask = rng.random((3, queries, keys)) > 0.5
        mask[:, :1] = False
    elif how == "float":
        mask = rng.standard_normal((1, queries, keys))
    elif how == "keys":
        mask = rng.random((1, 1, keys)) > 0.5
    given = {"mask": mask, "causal": how == "causal", "scale": 0.5}
    want = neural.ATTENTION.numpy(q, k, v, **given)
    got = FUNCTIONS[neural.ATTENTION](q, k, v, **given)
    for ours, theirs in zip(got, want, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)
    operands = (g, q, k, v, got[1], (g * got[0]).sum(-1, keepdims=True))
    want = neural.ATTENTION_GRADIENT.numpy(*operands, **given)
    got = FUNCTIONS[neural.ATTENTION_GRADIENT](*operands, **given)
    for ours, theirs in zip(got, want, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


@pytest.mark.usefixtures("way_of_attention")
@pytest.mark.parametrize("features,values", [(0, 3), (3, 0), (5, 1), (64, 70)])
@pytest.mark.parametrize("queries", [1, 8, 9, 16, 17, 65, 150])
def test_attention_of_operands_that_are_views(
    queries: int, features: int, values: int
) -> None:
    rng = np.random.default_rng(3)
    q = rng.standard_normal((queries, 2, features), np.float32).swapaxes(0, 1)
    k = rng.standard_normal((2, features, 100), np.float32).swapaxes(1, 2)
    v = rng.standard_normal((2, 200, 2 * values), np.float32)[:, ::2, ::2]
    given = {"mask": None, "causal": False, "scale": 0.3}
    wide = [x.astype(np.float64) for x in (q, k, v)]
    want = neural.ATTENTION.numpy(*wide, **given)
    got = FUNCTIONS[neural.ATTENTION](q, k, v, **given)
    for ours, theirs in zip(got, want, strict=True):
        assert ours.dtype == np.float32 and ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=2e-6)


@pytest.mark.usefixtures("way_of_attention")
def test_scores_that_are_no_numbers() -> None:
    q, v = np.ones((1, 20, 2)), np.arange(10.0).reshape(1, 5, 2)
    k = np.zeros((1, 5, 2))
    k[0, 1] = np.nan
    given = {"causal": False, "scale": 1.0}
    seen = np.arange(5) != 1

    def run(mask: Any) -> Any:
        with np.errstate(invalid="ignore"):
            return FUNCTIONS[neural.ATTENTION](q, k, v, mask=mask, **given)[0]

    np.testing.assert_allclose(run(seen[None, None])[0], [v[0, seen].mean(0)] * 20)
    assert np.isnan(run(None)).all()
    less = np.where(seen, 0, -np.inf)[None, None]
    assert np.isnan(run(less)).all()
    k[0, 1], q[0, 3] = -np.inf, 0
    found = run(None)
    assert np.isnan(found[0, 3]).all()
    np.testing.assert_allclose(found[0, 4:], [v[0, seen].mean(0)] * 16)


def test_indices_outside_of_a_plane() -> None:
    for bad in (-1, 4):
        with pytest.raises(IndexError, match=r"a plane takes 0 to 3"):
            neural.PLACE_POSITIONS.numpy(
                Y, np.array([[[0, bad, 1]]]), size=(4,), **PLANES
            )
