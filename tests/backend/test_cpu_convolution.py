"""Convolutions of floats on the CPU: tiles in registers, and vectors of positions."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from dcarray import config
from dcarray.backends.cpu.engine import Engine, engine
from dcarray.backends.cpu.memory import Block
from dcarray.backends.cpu.neural import (
    FUNCTIONS,
    columns,
    direct,
    direct_weights,
    lines,
    linewise,
    micro,
    pointwise,
    square_lines,
    square_weights,
    squares,
    squarewise,
    weights,
)
from dcarray.ops import neural

pytestmark = pytest.mark.skipif(engine() is None, reason="nothing is compiled here")

convolutions = importlib.import_module("dcarray.backends.cpu.neural.convolution")

Given = dict[str, Any]
PLAIN: Given = {"stride": (1, 1), "low": (1, 1), "dilation": (1, 1), "groups": 1}
EPSILON = float(np.finfo(np.float32).eps)


def problems(seed: int, count: int) -> Iterator[tuple[Any, Any, Any, Given]]:
    """Small whole numbers, of which every sum is exact: operand, weights, gradient."""
    rng = np.random.default_rng(seed)

    def whole(*shape: int) -> Any:
        return rng.integers(-3, 4, shape).astype(dtype)

    def few(low: int, high: int) -> tuple[int, ...]:
        return tuple(map(int, rng.integers(low, high, axes)))

    for _ in range(count):
        axes, groups = int(rng.integers(1, 4)), int(rng.choice([1, 1, 2, 3]))
        dtype, last = rng.choice(["f4", "f8"]), bool(rng.integers(2))
        into = groups * int(rng.choice([1, 2, 5, 16]))
        out = groups * int(rng.choice([1, 2, 3, 4, 8, 16, 20, 35]))
        kernel, stride, low, dilation = few(1, 4), few(1, 4), few(-1, 3), few(1, 3)
        positions = few(1, (200, 30, 12)[axes - 1])
        size = few(1, (150, 25, 11)[axes - 1])
        batch = int(rng.integers(1, 4))
        x, y = whole(batch, into, *positions), whole(batch, out, *size)
        if last:
            x, y = [np.ascontiguousarray(np.moveaxis(a, 1, -1)) for a in (x, y)]
        w = whole(out, into // groups, *kernel)
        if rng.integers(3) == 0:
            x, w = x[::-1], np.asfortranarray(w)
        given = {"stride": stride, "low": low, "dilation": dilation, "groups": groups}
        yield x, w, y, {**given, "channels_last": last}


def calls(x: Any, w: Any, y: Any, given: Given) -> Iterator[tuple[Any, Any, Given]]:
    """The three rows for one problem."""
    last = given["channels_last"]
    positions, size = [a.shape[1:-1] if last else a.shape[2:] for a in (x, y)]
    yield neural.CONVOLUTION, (x, w), {"size": size, **given}
    yield neural.CONVOLUTION_INPUT_GRADIENT, (y, w), {"size": positions, **given}
    kernel = {"kernel": w.shape[2:], **given}
    yield neural.CONVOLUTION_WEIGHT_GRADIENT, (x, y), kernel


def check(seed: int, count: int) -> None:
    for problem in problems(seed, count):
        for row, operands, options in calls(*problem):
            want = row.numpy(*operands, **options)
            got = FUNCTIONS[row](*operands, **options)
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("seed", range(4))
def test_every_window(seed: int) -> None:
    check(seed, 20)


def test_many_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "TILE_BYTES", 1 << 10)
    monkeypatch.setattr(columns, "FEWEST", 9)
    check(10, 20)


@pytest.mark.parametrize("block", [1, 8, 37])
def test_gradients_in_pieces(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(direct_weights, "PIECE_BYTES", 1)
    monkeypatch.setattr(direct_weights, "BLOCK", block)
    check(block, 15)


@pytest.fixture
def another(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, Any], None]]:
    """Have another processor: its name of a property, and what it is there."""
    caches = micro._built, lines._built, square_lines._built

    def change(name: str, value: Any) -> None:
        monkeypatch.setattr(Engine, name, value)
        for cache in caches:
            cache.cache_clear()

    yield change
    for cache in caches:
        cache.cache_clear()


def test_without_fused_multiply_add(another: Callable[[str, Any], None]) -> None:
    another("has_fused", False)
    check(20, 20)


@pytest.mark.parametrize("nbytes", [32, 64])
def test_vectors_of_any_length(
    another: Callable[[str, Any], None], nbytes: int
) -> None:
    another("vector_bytes", nbytes)
    check(40, 20)


def same(row: Any, operands: tuple[Any, ...], options: Given) -> None:
    want = row.numpy(*operands, **options)
    for threads in (1, 3):
        with config(threads=threads):
            got = FUNCTIONS[row](*operands, **options)
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("nbytes", [32, 64])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("width", [7, 24, 41, 64, 70, 90])
def test_panels(
    another: Callable[[str, Any], None], width: int, dtype: str, last: bool, nbytes: int
) -> None:
    """One to four vectors in a panel, the last of them full and not."""
    another("vector_bytes", nbytes)
    rng = np.random.default_rng(width)
    x, y, w = [
        rng.integers(-3, 4, shape).astype(dtype)
        for shape in ((2, 5, 6, 21), (2, width, 6, 21), (width, 5, 3, 3))
    ]
    if last:
        x, y = [np.ascontiguousarray(np.moveaxis(a, 1, -1)) for a in (x, y)]
    for call in calls(x, w, y, {**PLAIN, "channels_last": last}):
        same(*call)


def test_vectors_of_a_panel() -> None:
    dtype = np.dtype("f4")
    found = [micro.micro(dtype, width) for width in (9, 24, 41, 64, 70, 96, 256)]
    machine = engine()
    assert machine is not None
    lanes = [code.lanes for code in found if code is not None]
    if machine.vector_bytes == 64:
        assert lanes == [16, 32, 48, 64, 48, 48, 64]
    else:
        assert lanes == [16] * 7


@pytest.mark.parametrize("nbytes", [32, 64])
@pytest.mark.parametrize("outs", [1, 2, 3, 4])
def test_few_results_of_many_terms(
    another: Callable[[str, Any], None], outs: int, nbytes: int
) -> None:
    another("vector_bytes", nbytes)
    rng = np.random.default_rng(outs)
    x = rng.integers(-3, 4, (2, 70, 5, 37)).astype("f4")
    w = rng.integers(-3, 4, (outs, 70, 3, 3)).astype("f4")
    assert linewise.lines_for(x.dtype, outs, 630, (5, 37), 4) is not None
    options = {**PLAIN, "size": (5, 37), "channels_last": False}
    same(neural.CONVOLUTION, (x, w), options)


@pytest.mark.parametrize("size", [(20, 40), (19, 37)])
@pytest.mark.parametrize("outs", [1, 2, 3])
def test_input_gradient_of_a_stride_by_lines(
    monkeypatch: pytest.MonkeyPatch, outs: int, size: tuple[int, int]
) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("it was spread")

    monkeypatch.setattr(convolutions, "spread", never)
    rng = np.random.default_rng(outs)
    window = {"stride": (2, 2), "low": (3, 3)}
    y = rng.integers(-3, 4, (2, 24, (size[0] + 1) // 2, (size[1] + 1) // 2))
    w = rng.integers(-3, 4, (24, outs, 7, 7)).astype("f4")
    options = {**PLAIN, **window, "size": size, "channels_last": False}
    same(neural.CONVOLUTION_INPUT_GRADIENT, (y.astype("f4"), w), options)


@pytest.mark.parametrize("channels,parts", [(240, 9), (20, 1)])
def test_weights_in_parts(channels: int, parts: int) -> None:
    """So many parts that each is summed once, or one of many sums."""
    rng = np.random.default_rng(channels)
    x = rng.integers(-3, 4, (2, channels, 20, 18)).astype("f4")
    y = rng.integers(-3, 4, (2, 50, 20, 18)).astype("f4")
    window = columns.Window((3, 3), (1, 1), (1, 1), (1, 1))
    found, jobs = weights._jobs(x, y, window, 1, channels + 50)
    assert len(found) == parts
    assert len(jobs) == parts if parts > 1 else len(jobs) > 1
    options = {**PLAIN, "kernel": (3, 3), "channels_last": False}
    same(neural.CONVOLUTION_WEIGHT_GRADIENT, (x, y), options)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("stride,low", [((1, 1), (1, 1)), ((2, 2), (0, 3))])
def test_panels_shared_out(
    monkeypatch: pytest.MonkeyPatch,
    stride: tuple[int, int],
    low: tuple[int, int],
    last: bool,
) -> None:
    """Few positions and many channels: threads take panels, of edges filled once."""
    monkeypatch.setattr(direct, "LEAST", 1)
    seen = []
    cut = direct._parts

    def parts(*given: int) -> Any:
        seen.append(cut(*given))
        return seen[-1]

    monkeypatch.setattr(direct, "_parts", parts)
    rng = np.random.default_rng(5)
    x = rng.integers(-3, 4, (3, 9, 7, 6)).astype("f4")
    w = rng.integers(-3, 4, (200, 9, 3, 3)).astype("f4")
    if last:
        x = np.ascontiguousarray(np.moveaxis(x, 1, -1))
    given = {**PLAIN, "stride": stride, "low": low, "channels_last": last}
    same(neural.CONVOLUTION, (x, w), {**given, "size": (5, 4)})
    assert [len(some) > 1 for some in seen].count(True) == 2


def test_results_lie_in_pooled_memory() -> None:
    x, w = np.ones((2, 8, 9, 9), "f4"), np.ones((8, 8, 3, 3), "f4")
    for row, operands, options in calls(x, w, x, {**PLAIN, "channels_last": False}):
        owner = FUNCTIONS[row](*operands, **options)
        while owner is not None and not isinstance(owner, Block):
            owner = owner.base
        assert owner is not None, row.name


def test_blas_instead_of_machine_code() -> None:
    with config(engine="interpreter"):
        assert micro.micro(np.dtype("f4"), 64) is None
        assert lines.lines(np.dtype("f4"), 1, 64) is None
        check(30, 20)


@pytest.mark.parametrize("groups", [1, 2, 12])
@pytest.mark.parametrize("width", [1, 2, 20])
def test_what_is_infinite_stays_where_windows_meet_it(groups: int, width: int) -> None:
    rng = np.random.default_rng(groups)
    x = rng.random((2, 12, 9, 13), np.float32)
    w = rng.random((groups * width, 12 // groups, 3, 3), np.float32)
    y = rng.random((2, groups * width, 9, 13), np.float32)
    x[0, 3, 4, 12] = x[1, 7, 0, 0] = y[1, groups * width - 1, 4, 5] = np.inf
    for row, operands, options in calls(
        x, w, y, {**PLAIN, "groups": groups, "channels_last": False}
    ):
        with np.errstate(invalid="ignore"):
            want = row.numpy(*operands, **options)
        got = FUNCTIONS[row](*operands, **options)
        np.testing.assert_array_equal(np.isinf(got), np.isinf(want))
        assert not np.isnan(got).any()


@pytest.mark.parametrize("groups", [1, 24])
def test_bits_depend_on_nothing_else(groups: int) -> None:
    """Neither on the number of threads nor, but for sums over the batch, on the images
    beside one."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((5, 24, 31, 29), np.float32)
    w = rng.standard_normal((24, 24 // groups, 3, 3), np.float32)
    y = rng.standard_normal((5, 24, 31, 29), np.float32)
    given = {**PLAIN, "groups": groups, "channels_last": False}
    for row, operands, options in calls(x, w, y, given):
        found = []
        for threads in (1, 2, 5):
            with config(threads=threads):
                found.append(FUNCTIONS[row](*operands, **options))
        assert len({one.tobytes() for one in found}) == 1
        if row is neural.CONVOLUTION_WEIGHT_GRADIENT:
            continue
        alone = FUNCTIONS[row](operands[0][2:3], operands[1], **options)
        np.testing.assert_array_equal(alone, found[0][2:3])


@pytest.fixture
def few_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Squares wherever they can be, and few of them at once."""
    for module in (squares, square_weights):
        monkeypatch.setattr(module, "CHANNELS", 3)
    monkeypatch.setattr(squares, "LEAST", 0)
    monkeypatch.setattr(squarewise, "BLOCK_BYTES", 0)
    few = {"FEWEST": 0, "PIECE": 9, "TOGETHER": 20, "CHAINED": 70, "PART": 4}
    for name, number in few.items():
        monkeypatch.setattr(square_weights, name, number)


@pytest.mark.parametrize("nbytes", [32, 64])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    "batch,channels,outs,size",
    [
        (3, 5, 8, (16,)),
        (1, 300, 21, (7, 9)),
        (2, 20, 64, (13, 13)),
        (1, 9, 10, (3, 5, 29)),
        (5, 140, 19, (1, 100)),
    ],
)
def test_one_tap(
    another: Callable[[str, Any], None],
    batch: int,
    channels: int,
    outs: int,
    size: tuple[int, ...],
    dtype: str,
    nbytes: int,
) -> None:
    """Positions and channels that fill vectors and tiles, or not."""
    another("vector_bytes", nbytes)
    rng = np.random.default_rng(outs)
    x = rng.integers(-3, 4, (2 * batch, channels, *size)).astype(dtype)[::-2]
    y = rng.integers(-3, 4, (batch, outs, *size)).astype(dtype)
    w = rng.integers(-3, 4, (outs, channels, *[1] * len(size))).astype(dtype)
    ones, zeros = (1,) * len(size), (0,) * len(size)
    window = columns.Window(ones, ones, zeros, ones)
    assert pointwise.pointwise_suits(x, w[None], window, y)
    given = {"stride": ones, "low": zeros, "dilation": ones, "groups": 1}
    for row, operands, options in calls(x, w, y, {**given, "channels_last": False}):
        same(row, operands, options)


@pytest.mark.usefixtures("few_channels")
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("height,width", [(8, 10), (9, 5), (30, 23)])
def test_squares(height: int, width: int, last: bool) -> None:
    rng = np.random.default_rng(height)
    dtype = "f8" if last else "f4"
    x = rng.integers(-3, 4, (5, 6, height, width)).astype(dtype)
    w = rng.integers(-3, 4, (19, 6, 3, 3)).astype(dtype)
    y = rng.integers(-3, 4, (5, 19, height, width)).astype(dtype)
    if last:
        x, y = [np.ascontiguousarray(np.moveaxis(a, 1, -1)) for a in (x, y)]
    for endless in (False, True):
        inside = y.copy()
        if endless:
            x[1, 2, 3, 4] = y[2, 3, 4, 2] = inside[2, 3, 2, 2] = np.inf
        for row, operands, options in calls(x, w, y, {**PLAIN, "channels_last": last}):
            if row is neural.CONVOLUTION_WEIGHT_GRADIENT:
                operands = (x, inside)
            with np.errstate(invalid="ignore"):
                want = row.numpy(*operands, **options)
            found = []
            for threads in (1, 3):
                with config(threads=threads):
                    found.append(FUNCTIONS[row](*operands, **options))
            np.testing.assert_array_equal(found[0], want)
            np.testing.assert_array_equal(found[1], want)
            if row is neural.CONVOLUTION_WEIGHT_GRADIENT:
                continue
            alone = FUNCTIONS[row](operands[0][2:3], w, **options)
            np.testing.assert_array_equal(alone, want[2:3])


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8"])
@pytest.mark.parametrize(
    "channels,outs,groups",
    [(8, 24, 1), (70, 2, 1), (3, 40, 1), (24, 24, 24), (24, 24, 6), (130, 140, 1)],
)
def test_padding_is_nothing_where_gradients_are_endless(
    channels: int, outs: int, groups: int, dtype: str, last: bool
) -> None:
    """Weights that see the edge of x alone get no part of what lies outside of it."""
    rng = np.random.default_rng(outs)
    x = rng.integers(1, 4, (2, channels, 12, 16)).astype(dtype)
    y = rng.integers(-3, 4, (2, outs, 12, 16)).astype(dtype)
    y[0, 0, 0, 0], y[1, 1, 5, 15], y[1, -1, 5, 7] = np.inf, -np.inf, np.nan
    if last:
        x, y = [np.ascontiguousarray(np.moveaxis(a, 1, -1)) for a in (x, y)]
    given = {**PLAIN, "groups": groups, "kernel": (3, 3), "channels_last": last}
    row = neural.CONVOLUTION_WEIGHT_GRADIENT
    with np.errstate(invalid="ignore"):
        want = row.numpy(x, y, **given)
        got = FUNCTIONS[row](x, y, **given)
    np.testing.assert_array_equal(got, want)


@pytest.mark.usefixtures("few_channels")
@pytest.mark.parametrize("nbytes", [32, 64])
@pytest.mark.parametrize("block", [0, 1 << 17, 1 << 30])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_squares_in_blocks(
    another: Callable[[str, Any], None],
    monkeypatch: pytest.MonkeyPatch,
    nbytes: int,
    block: int,
    dtype: str,
) -> None:
    """Blocks that end anywhere in a row, windows that begin outside or inside, and
    operands of any size and order."""
    another("vector_bytes", nbytes)
    monkeypatch.setattr(squarewise, "BLOCK_BYTES", block)
    rng = np.random.default_rng(nbytes)
    for batch, low, height, width in (
        (3, (1, 1), 7, 9),
        (1, (0, 2), 40, 57),
        (2, (-1, -3), 12, 70),
        (4, (4, 1), 6, 5),
    ):
        x = rng.integers(-3, 4, (2 * batch, 5, height, width + 2)).astype(dtype)
        w = rng.integers(-3, 4, (11, 5, 3, 3)).astype(dtype)
        x = x[::-2, :, ::-1, 1:-1]
        size = (height - batch % 2, width + batch // 2)
        options = {**PLAIN, "low": low, "size": size, "channels_last": False}
        assert squarewise.squarewise_suits(x, x)
        same(neural.CONVOLUTION, (x, w), options)


def test_squares_keep_their_digits() -> None:
    rng = np.random.default_rng(4)
    x = rng.standard_normal((2, 128, 24, 24), np.float32)
    w = rng.standard_normal((150, 128, 3, 3), np.float32)
    y = rng.standard_normal((2, 150, 24, 24), np.float32)
    window = columns.Window((3, 3), *[(1, 1)] * 3)
    assert squares.squares_suit(w[None], window, y)
    assert square_weights.square_weights_suit(x, y, window, 1)
    for row, operands, options in calls(x, w, y, {**PLAIN, "channels_last": False}):
        want = row.numpy(*[a.astype(float) for a in operands], **options)
        got = FUNCTIONS[row](*operands, **options)
        assert abs(got - want).max() < 8 * EPSILON * abs(want).max()


@pytest.mark.parametrize(
    "images,weights,stride",
    [
        ((2, 64, 20, 20), (64, 64, 3, 3), 1),
        ((2, 3, 48, 48), (64, 3, 7, 7), 2),
        ((2, 256, 8, 8), (64, 256, 3, 3), 1),
    ],
)
def test_distance_to_float64(
    images: tuple[int, ...], weights: tuple[int, ...], stride: int
) -> None:
    rng = np.random.default_rng(3)
    make: Callable[..., Any] = rng.standard_normal
    x, w = make(images, np.float32), make(weights, np.float32)
    low = weights[-1] // 2
    size = tuple([(n + 2 * low - weights[-1]) // stride + 1 for n in images[2:]])
    y = make((images[0], weights[0], *size), np.float32)
    given = {**PLAIN, "low": (low, low), "stride": (stride, stride)}
    for row, operands, options in calls(x, w, y, {**given, "channels_last": False}):
        want = row.numpy(*[a.astype(float) for a in operands], **options)
        got = FUNCTIONS[row](*operands, **options)
        assert abs(got - want).max() < 8 * EPSILON * abs(want).max()
