"""Neural networks: against slow formulas, everywhere; gradients against differences and
adjoints; and what is refused."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import dcarray as dc
from dcarray import nn
from dcarray.errors import DTypeError, UnsupportedError
from dcarray.testing import SimulatedDevice

from .against_numpy import PLACES, everywhere
from .native_calls import CALLS, operands

RNG = np.random.default_rng(8)


def numbers(*shape: int, dtype: Any = np.float64) -> Any:
    return RNG.standard_normal(shape).astype(dtype)


@pytest.fixture(params=list(PLACES))
def put(request: pytest.FixtureRequest) -> Iterator[Callable[[Any], Any]]:
    """What brings NumPy's arrays to a place, where no fallback is allowed."""
    device, settings = PLACES[request.param]
    with dc.config(**settings):
        yield lambda x: dc.asarray(x, device=device)


def near(got: Any, want: Any, digits: float = 1e-10) -> None:
    assert isinstance(got, dc.DeviceArray)
    np.testing.assert_allclose(got.get(), want, rtol=digits, atol=digits)


def last(x: Any, layout: str) -> Any:
    return np.moveaxis(x, 1, -1) if layout == "NHWC" else x


# ------------------------------------------------------------------- by the definition
def slow_convolution(
    x: Any, w: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    """One element after the other."""
    x = np.pad(x, ((0, 0), (0, 0), *padding))
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilation, strict=True)]
    size = [
        (n - r) // s + 1 for n, r, s in zip(x.shape[2:], reach, stride, strict=True)
    ]
    y = np.zeros((x.shape[0], w.shape[0], *size), x.dtype)
    for image, out, *place in np.ndindex(*y.shape):
        first = out // (w.shape[0] // groups) * w.shape[1]
        window = [
            slice(p * s, p * s + r, d)
            for p, s, r, d in zip(place, stride, reach, dilation, strict=True)
        ]
        seen = x[(image, slice(first, first + w.shape[1]), *window)]
        y[(image, out, *place)] = (seen * w[out]).sum(dtype=x.dtype)
    return y


CONVOLUTIONS = [
    (axes, kernel, stride, padding, dilation, groups)
    for axes, kernel, stride, padding, dilation, groups in itertools.product(
        (1, 2, 3), (2, 3), (1, 2), (0, 2), (1, 2), (1, 2)
    )
    if axes < 3 or (kernel, padding) == (2, 0)
]


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("axes,kernel,stride,padding,dilation,groups", CONVOLUTIONS)
def test_convolution(
    axes: int,
    kernel: int,
    stride: int,
    padding: int,
    dilation: int,
    groups: int,
    layout: str,
    put: Callable[[Any], Any],
) -> None:
    x = numbers(2, 4, *(7, 6, 5)[:axes])
    w = numbers(6, 4 // groups, *(kernel, 2, 2)[:axes])
    bias = numbers(6)
    many = [(n,) * axes for n in (stride, dilation)]
    want = slow_convolution(x, w, many[0], ((padding,) * 2,) * axes, many[1], groups)
    want = want + bias.reshape(-1, *(1,) * axes)
    function = getattr(nn, f"conv{axes}d")
    given: dict[str, Any] = {"layout": layout, "bias": put(bias)}
    dx, dw = put(last(x, layout)), put(w)
    found = function(dx, dw, stride, padding, dilation, groups, **given)
    near(found, last(want, layout))
    assert found.device == dx.device
    alone = function(dx[0], dw, stride, padding, dilation, groups, **given)
    near(alone, last(want, layout)[0])


@pytest.mark.parametrize("kernel,dilation", [(1, 1), (2, 1), (3, 1), (4, 1), (3, 2)])
def test_same_and_valid(kernel: int, dilation: int) -> None:
    x, w = numbers(1, 2, 9, 8), numbers(3, 2, kernel, 2)
    both = [(kernel - 1) * dilation, dilation]
    pads = [(n // 2, n - n // 2) for n in both]
    want = slow_convolution(x, w, (1, 1), pads, (dilation,) * 2, 1)
    dx, dw = dc.asarray(x), dc.asarray(w)
    found = nn.conv2d(dx, dw, padding="same", dilation=dilation)
    assert found.shape == (1, 3, 9, 8)
    near(found, want)
    found = nn.conv2d(dx, dw, padding="valid", dilation=dilation)
    near(found, slow_convolution(x, w, (1, 1), ((0, 0),) * 2, (dilation,) * 2, 1))


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16])
def test_short_floats_are_summed_in_float32(dtype: Any) -> None:
    x, w, b = numbers(2, 64, 9), numbers(3, 64, 3), numbers(3)
    short = [dc.asarray(a.astype(dtype)) for a in (x, w, b)]
    wide = [dc.asarray(np.asarray(a.get(), np.float32)) for a in short]
    for name in ("conv1d", "avg"):
        if name == "avg":
            found, want = nn.avg_pool1d(short[0], 5), nn.avg_pool1d(wide[0], 5)
        else:
            found = nn.conv1d(short[0], short[1], bias=short[2])
            want = nn.conv1d(wide[0], wide[1], bias=wide[2])
        assert found.dtype == dtype
        assert found.get().tobytes() == want.get().astype(dtype).tobytes()


def test_whole_numbers_stay_whole() -> None:
    x = RNG.integers(-100, 100, (2, 3, 8), np.int8)
    w = RNG.integers(-100, 100, (4, 3, 3), np.int8)
    found = nn.conv1d(dc.asarray(x), dc.asarray(w))
    want = slow_convolution(x, w, (1,), ((0, 0),), (1,), 1)
    assert found.dtype == np.int8
    np.testing.assert_array_equal(found.get(), want)
    large = dc.asarray(np.array([[[2**62 + 1, 2**62 - 1]]]))
    assert nn.max_pool1d(large, 2).tolist() == [[[2**62 + 1]]]
    assert nn.avg_pool1d(dc.asarray(x), 2).dtype == np.float64


@pytest.mark.parametrize("batch,into,out", [(0, 3, 4), (2, 0, 4), (2, 3, 0)])
def test_nothing_to_convolve(batch: int, into: int, out: int) -> None:
    x, w = dc.zeros((batch, into, 5, 5), "f"), dc.ones((out, into, 3, 3), "f")
    found = nn.conv2d(x, w, padding=1)
    assert found.shape == (batch, out, 5, 5)
    assert not found.any()
    assert nn.conv2d_input_gradient(found, w, x.shape, padding=1).shape == x.shape
    back = nn.conv2d_weight_gradient(found, x, w.shape, padding=1)
    assert back.shape == w.shape and not back.any()
    if into:
        assert nn.max_pool2d(x, 2).shape == (batch, into, 2, 2)
        assert nn.adaptive_max_pool2d(x, 2).shape == (batch, into, 2, 2)


def test_views_of_all_kinds() -> None:
    whole = numbers(3, 8, 9, 9)
    views = {
        "reversed": lambda x: x[::-1, ::2, :, ::-1],
        "transposed": lambda x: x.transpose(0, 1, 3, 2)[:, :4],
        "broadcast": lambda x: np.broadcast_to(x[:1, :1], (3, 4, 9, 9)),
        "cut": lambda x: x[:, 4:, 1:, :-2],
    }
    w, alone = dc.asarray(numbers(6, 4, 3, 3)), dc.asarray(numbers(4, 1, 3, 3))
    x = dc.asarray(whole)
    for view in views.values():
        seen, copy = view(x), dc.asarray(np.ascontiguousarray(view(whole)))
        for padding in (0, 1):
            found = nn.conv2d(seen, w, padding=padding)
            near(found, nn.conv2d(copy, w, padding=padding).get())
            found = nn.conv2d(seen, alone, padding=padding, groups=4)
            near(found, nn.conv2d(copy, alone, padding=padding, groups=4).get())
        near(nn.max_pool2d(seen, 2), nn.max_pool2d(copy, 2).get())
        near(nn.avg_pool2d(seen, 2, 1), nn.avg_pool2d(copy, 2, 1).get())


# -------------------------------------------------------------------------------- pools
def test_pools_by_the_definition(put: Callable[[Any], Any]) -> None:
    x = numbers(2, 3, 7, 6)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 2), (2, 3))
    windows = windows[:, :, ::2, ::3]
    for layout in ("NCHW", "NHWC"):
        dx = put(last(x, layout))
        found = nn.max_pool2d(dx, (3, 2), (2, 3), 1, layout=layout)
        near(found, last(np.nanmax(windows, (-1, -2)), layout))
        mean = np.nanmean(windows, (-1, -2))
        given: dict[str, Any] = {"layout": layout, "count_include_pad": False}
        found = nn.avg_pool2d(dx, (3, 2), (2, 3), 1, **given)
        near(found, last(mean, layout))
        given["count_include_pad"] = True
        found = nn.avg_pool2d(dx, (3, 2), (2, 3), 1, **given)
        near(found, last(np.nansum(windows, (-1, -2)) / 6, layout))


def test_the_largest_element() -> None:
    x = dc.asarray([[[3.0, 3.0, np.nan, 1.0, np.nan, -np.inf, -np.inf, -np.inf]]])
    found, places = nn.max_pool1d(x, 2, return_indices=True)
    assert str(found.tolist()) == "[[[3.0, nan, nan, -inf]]]"
    assert places.tolist() == [[[0, 2, 4, 6]]]
    assert places.dtype == np.int64
    again, same = nn.adaptive_max_pool1d(x, 4, return_indices=True)
    assert str(again.tolist()) == str(found.tolist())
    assert same.tolist() == places.tolist()
    assert str(nn.max_pool1d(x, 2).tolist()) == str(found.tolist())


def test_windows_that_reach_over_the_edge() -> None:
    x = dc.arange(1.0, 6.0).reshape(1, 1, 5)
    assert nn.max_pool1d(x, 2, ceil_mode=True).tolist() == [[[2, 4, 5]]]
    assert nn.avg_pool1d(x, 2, ceil_mode=True).tolist() == [[[1.5, 3.5, 5]]]
    # A window that would begin in the padding behind is left out.
    assert nn.max_pool1d(x[..., :4], 1, 4, ceil_mode=True).tolist() == [[[1]]]
    found = nn.avg_pool1d(x, 3, 3, 1, ceil_mode=True)
    assert found.tolist() == [[[1, 4]]]


def test_unpooling_puts_elements_back() -> None:
    x = dc.asarray(numbers(2, 3, 6, 4))
    found, places = nn.max_pool2d(x, 2, return_indices=True)
    back = nn.max_unpool2d(found, places, 2)
    assert back.shape == x.shape
    assert nn.max_pool2d(dc.abs(back), 2).tolist() == dc.abs(found).tolist()
    near(nn.max_unpool2d_gradient(x, places), found.get())
    with pytest.raises(IndexError, match="a plane takes 0 to 3"):
        nn.max_unpool2d(found, places, 2, output_size=2)


# ---------------------------------------------------------------------------- gradients
def inner(a: Any, b: Any) -> float:
    return float((a * b).sum())


LINEAR: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "avg_pool1d": ((2, 3, 9), {"kernel": 3, "stride": 2, "padding": 1}),
    "avg_pool2d": ((2, 3, 9, 7), {"kernel": 2, "ceil_mode": True}),
    "avg_pool3d": ((2, 3, 6, 5, 4), {"kernel": 2, "stride": (2, 1, 1)}),
    "adaptive_avg_pool1d": ((2, 3, 9), {"size": 4}),
    "adaptive_avg_pool2d": ((2, 3, 9, 7), {"size": (4, 8)}),
    "adaptive_avg_pool3d": ((2, 3, 6, 5, 4), {"size": (4, 2, 3)}),
}


@pytest.mark.parametrize("name", list(LINEAR))
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_averages_and_their_adjoints(
    name: str, layout: str, put: Callable[[Any], Any]
) -> None:
    shape, given = LINEAR[name]
    given = {**given, "layout": layout}
    x = put(numbers(*shape))
    y = getattr(nn, name)(x, **given)
    g = put(numbers(*y.shape))
    back = getattr(nn, f"{name}_gradient")(g, x, **given)
    assert back.shape == x.shape and back.device == x.device
    assert inner(g, y) == pytest.approx(inner(back, x))


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("stride,padding,dilation", [(1, 1, 1), (2, 0, 1), (3, 2, 2)])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_convolutions_and_their_adjoints(
    groups: int,
    stride: int,
    padding: int,
    dilation: int,
    layout: str,
    put: Callable[[Any], Any],
) -> None:
    given = {"stride": stride, "padding": padding, "dilation": dilation}
    given |= {"groups": groups, "layout": layout}
    x, w = put(last(numbers(2, 4, 9, 8), layout)), put(numbers(8, 4 // groups, 3, 2))
    y = nn.conv2d(x, w, **given)
    g = put(numbers(*y.shape))
    want = inner(g, y)
    back = nn.conv2d_input_gradient(g, w, x.shape, **given)
    assert inner(back, x) == pytest.approx(want)
    back = nn.conv2d_weight_gradient(g, x, w.shape, **given)
    assert inner(back, w) == pytest.approx(want)
    if stride > 1:
        given["output_padding"] = 1
    y = nn.conv_transpose2d(g, w, **given)
    h = put(numbers(*y.shape))
    want = inner(h, y)
    back = nn.conv_transpose2d_input_gradient(h, w, **given)
    assert inner(back, g) == pytest.approx(want)
    back = nn.conv_transpose2d_weight_gradient(h, g, w.shape, **given)
    assert inner(back, w) == pytest.approx(want)


def slopes(function: Callable[..., Any], operands: list[Any], which: int) -> Any:
    """The gradient of a function's sum, by differences."""
    found = np.zeros_like(operands[which])
    for place in np.ndindex(*found.shape):
        ends = []
        for step in (1e-5, -1e-5):
            moved = [x.copy() for x in operands]
            moved[which][place] += step
            ends.append(float(function(*map(dc.asarray, moved)).sum()))
        found[place] = (ends[0] - ends[1]) / 2e-5
    return found


WEIGHT = numbers(3, 4)
KEYS = dc.asarray(RNG.random((4, 5)) > 0.4)

DIFFERENTIABLE: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "softmax": ([numbers(3, 4)], {"axis": 0}),
    "log_softmax": ([numbers(3, 4)], {}),
    "max_pool1d": ([numbers(1, 2, 7)], {"kernel": 3, "stride": 2, "padding": 1}),
    "max_pool2d": ([numbers(1, 2, 5, 4)], {"kernel": 2, "dilation": 2, "stride": 1}),
    "max_pool3d": ([numbers(1, 4, 3, 3, 2)], {"kernel": 2, "layout": "NHWC"}),
    "adaptive_max_pool1d": ([numbers(1, 2, 7)], {"size": 3}),
    "adaptive_max_pool2d": ([numbers(1, 2, 5, 4)], {"size": 3}),
    "adaptive_max_pool3d": ([numbers(1, 1, 4, 3, 3)], {"size": 2}),
    "layer_norm": ([numbers(3, 4), numbers(4)], {}),
    "rms_norm": ([numbers(3, 4), numbers(4)], {}),
    "linear": ([numbers(2, 3, 4), numbers(5, 4), numbers(5)], {}),
    "scaled_dot_product_attention": (
        [numbers(2, 4, 3), numbers(5, 3), numbers(2, 5, 2)],
        {"causal": True},
    ),
}


@pytest.mark.parametrize("name", list(DIFFERENTIABLE))
def test_gradients_by_differences(name: str, put: Callable[[Any], Any]) -> None:
    operands, given = DIFFERENTIABLE[name]
    function = getattr(nn, name)
    shape = function(*map(dc.asarray, operands), **given).shape
    g = numbers(*shape)

    def weighted(*xs: Any) -> Any:
        return function(*xs, **given) * g

    back = getattr(nn, f"{name}_gradient")
    needed = operands[:2] if name == "linear" else operands
    found = back(put(g), *map(put, needed), **given)
    found = found if isinstance(found, tuple) else (found,)
    for which in range(len(operands)):
        near(found[which], slopes(weighted, operands, which), 1e-7)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_norms_over_channels(layout: str, put: Callable[[Any], Any]) -> None:
    x = last(numbers(2, 4, 3, 2), layout) * 3 + 1
    w, b = numbers(4), numbers(4)
    g = numbers(*x.shape)
    axis = -1 if layout == "NHWC" else 1
    functions = {
        "batch_norm": {"axis": axis},
        "group_norm": {"groups": 2, "layout": layout},
    }
    for name, given in functions.items():
        function = getattr(nn, name)

        def weighted(x: Any, w: Any, b: Any, function: Any, given: Any) -> Any:
            return function(x, weight=w, bias=b, **given) * g

        def run(*xs: Any, function: Any = function, given: Any = given) -> Any:
            return weighted(*xs, function, given)

        back = getattr(nn, f"{name}_gradient")
        found = back(put(g), put(x), weight=put(w), **given)
        for which in range(3):
            near(found[which], slopes(run, [x, w, b], which), 1e-6)
        y = function(put(x), **given).get()
        whole = np.moveaxis(y, axis, 0)
        if name == "batch_norm":
            assert abs(whole.reshape(4, -1).mean(1)).max() < 1e-12
            assert whole.reshape(4, -1).std(1) == pytest.approx(1, abs=1e-4)


def test_norms_keep_the_digits_of_a_large_mean() -> None:
    x = (numbers(50, 400) + 3000).astype(np.float32)
    wide = x.astype(np.float64)
    want = (wide - wide.mean(1, keepdims=True)) / np.sqrt(
        wide.var(1, keepdims=True) + 1e-5
    )
    found = nn.layer_norm(dc.asarray(x))
    assert found.dtype == np.float32
    near(found, want, 3e-7)


# ---------------------------------------------------------------------- cross entropy
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy(
    smoothing: float, reduction: str, put: Callable[[Any], Any]
) -> None:
    x, weight = numbers(5, 4, 3), np.abs(numbers(4))
    target = RNG.integers(0, 4, (5, 3))
    target[0, 1] = -100
    logs = x - np.log(np.exp(x).sum(1, keepdims=True))
    want = np.zeros((5, 3))
    counts = np.zeros((5, 3))
    for n, k in np.ndindex(5, 3):
        if target[n, k] == -100:
            continue
        counts[n, k] = weight[target[n, k]]
        shares = np.full(4, smoothing / 4)
        shares[target[n, k]] += 1 - smoothing
        want[n, k] = -(shares * weight * logs[n, :, k]).sum()
    total = {"none": want, "sum": want.sum(), "mean": want.sum() / counts.sum()}
    given = {"reduction": reduction, "label_smoothing": smoothing}
    found = nn.cross_entropy(put(x), put(target), put(weight), **given)
    near(found, total[reduction])

    g = numbers(*np.shape(total[reduction]))

    def loss(x: Any) -> Any:
        return nn.cross_entropy(x, dc.asarray(target), weight, **given) * g

    back = nn.cross_entropy_gradient(put(g), put(x), put(target), put(weight), **given)
    near(back, slopes(loss, [x], 0), 1e-7)


def test_cross_entropy_of_nothing() -> None:
    x, target = dc.zeros((2, 3)), dc.asarray([-100, -100])
    with np.errstate(invalid="ignore"):
        assert np.isnan(float(nn.cross_entropy(x, target)))
    assert float(nn.cross_entropy(x, target, reduction="sum")) == 0


# ------------------------------------------------------------------------------- layers
def test_embedding(put: Callable[[Any], Any]) -> None:
    w, index = numbers(6, 3), np.array([[0, 5, -1], [2, 2, 2]])
    near(nn.embedding(put(index), put(w)), w[index])
    g = numbers(2, 3, 3)
    want = np.zeros_like(w)
    np.add.at(want, index, g)
    near(nn.embedding_gradient(put(g), put(index), 6), want)
    want[5] = 0
    near(nn.embedding_gradient(put(g), put(index), 6, padding_index=-1), want)
    with pytest.raises(IndexError):
        nn.embedding(put(np.array([6])), put(w))
    with pytest.raises(IndexError):
        nn.embedding_gradient(put(g[0]), put(np.array([0, 1, 6])), 6)


@everywhere
def test_dropout_is_the_same_everywhere(place: str) -> None:
    device, settings = PLACES[place]
    with dc.config(**settings):
        x = dc.ones((40, 50), "f", device=device)
        found, mask = nn.dropout(x, 0.25, 7, return_mask=True)
        assert found.dtype == np.float32 and found.device == device
    want = np.random.default_rng(7).random((40, 50), np.float32) >= 0.25
    assert mask.get().tolist() == want.tolist()
    near(found, want / 0.75, 1e-6)
    near(nn.dropout_gradient(found, mask, 0.25), want / 0.75**2, 1e-6)


def test_dropout_of_all_and_of_nothing() -> None:
    x = dc.asarray([1.0, np.inf, 3.0])
    assert nn.dropout(x, 0.0).tolist() == x.tolist()
    with np.errstate(invalid="ignore"):
        assert nn.dropout(x, 1.0).tolist() == [0, 0, 0]
    generator = dc.random.default_rng(3)
    first, second = (nn.dropout(dc.ones(64), 0.5, generator) for _ in range(2))
    assert first.tolist() != second.tolist()


# ---------------------------------------------------------------------------- attention
def slow_attention(q: Any, k: Any, v: Any, bias: Any) -> Any:
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]) + bias
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize("queries,keys", [(3, 4), (300, 700), (700, 300)])
def test_attention(queries: int, keys: int, put: Callable[[Any], Any]) -> None:
    q, k, v = (numbers(2, n, 6) for n in (queries, keys, keys))
    later = np.arange(keys) > np.arange(queries)[:, None]
    bias = numbers(queries, keys)
    mask = np.where(later, -np.inf, bias)
    operands = [put(x) for x in (q, k, v)]
    function = nn.scaled_dot_product_attention
    near(function(*operands), slow_attention(q, k, v, 0.0))
    near(function(*operands, put(bias)), slow_attention(q, k, v, bias))
    near(function(*operands, put(bias), causal=True), slow_attention(q, k, v, mask))
    found = function(*operands, put(~later))
    near(found, slow_attention(q, k, v, np.where(later, -np.inf, 0.0)))


def test_queries_that_see_nothing() -> None:
    q, k, v = (dc.asarray(numbers(3, 2)) for _ in "qkv")
    mask = dc.asarray([[True] * 3, [False] * 3, [True] * 3])
    found = nn.scaled_dot_product_attention(q, k, v, mask)
    assert found[1].tolist() == [0, 0]
    back = nn.scaled_dot_product_attention_gradient(dc.ones((3, 2)), q, k, v, mask)
    assert back[0][1].tolist() == [0, 0]
    assert all(bool(dc.isfinite(one).all()) for one in back)
    nothing = nn.scaled_dot_product_attention(q[:0], k, v)
    assert nothing.shape == (0, 2)
    assert nn.scaled_dot_product_attention(q, k[:0], v[:0]).tolist() == [[0, 0]] * 3


def test_attention_never_has_the_matrix_of_all_scores() -> None:
    count = 6000
    q, k, v = (dc.asarray(numbers(count, 4, dtype="f")) for _ in "qkv")
    whole = count * count * 4
    dc.evaluate(q, k, v)
    tracemalloc.start()
    try:
        found = nn.scaled_dot_product_attention(q, k, v)
        nn.scaled_dot_product_attention_gradient(found, q, k, v)[2].get()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < whole / 2


# ----------------------------------------------------------------- devices and mistakes
def test_a_device_without_the_rows_falls_back_and_counts() -> None:
    x, w = numbers(1, 2, 5, 5), numbers(3, 2, 3, 3)
    with SimulatedDevice() as device:
        device.backend.native = {}
        dx, dw = (dc.asarray(a, device=device.label) for a in (x, w))
        with dc.profile() as seen:
            found = nn.conv2d(dx, dw)
        assert found.device == device.label
        assert [e.name for e in seen.events if e.kind == "fallback"] == [
            "nn.convolution"
        ]
        near(found, nn.conv2d(dc.asarray(x), dc.asarray(w)).get())
        with dc.config(fallback="error"), pytest.raises(UnsupportedError):
            nn.conv2d(dx, dw)


IMAGE = dc.zeros((2, 4, 6, 5))
KERNEL = dc.zeros((8, 4, 3, 3))

REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: nn.conv2d(IMAGE[0, 0], KERNEL),
        ValueError,
        r"shape \(6, 5\), takes 4 axes",
    ),
    (lambda: nn.conv2d(IMAGE, KERNEL[0]), ValueError, "takes 4 axes: two of channels"),
    (lambda: nn.conv2d(IMAGE[:, :3], KERNEL), ValueError, "3 channels .* takes 4"),
    (lambda: nn.conv2d(IMAGE, KERNEL, groups=2), ValueError, "takes 8 channels"),
    (lambda: nn.conv2d(IMAGE, KERNEL, groups=3), ValueError, "3 groups"),
    (lambda: nn.conv2d(IMAGE, KERNEL, groups=0), ValueError, "groups is 0"),
    (
        lambda: nn.conv2d(IMAGE, KERNEL, stride=0),
        ValueError,
        "stride is 0, takes an int",
    ),
    (lambda: nn.conv2d(IMAGE, KERNEL, stride=(1, 2, 1)), ValueError, "or 2 of them"),
    (lambda: nn.conv2d(IMAGE, KERNEL, stride=1.5), ValueError, "stride is 1.5"),
    (lambda: nn.conv2d(IMAGE, KERNEL, padding=-1), ValueError, "padding is -1"),
    (lambda: nn.conv2d(IMAGE, KERNEL, padding="full"), ValueError, "'same', 'valid'"),
    (lambda: nn.conv2d(IMAGE, KERNEL, 2, "same"), ValueError, "takes stride 1"),
    (lambda: nn.conv2d(IMAGE, KERNEL, dilation=3), ValueError, "windows of 7"),
    (lambda: nn.conv2d(IMAGE, KERNEL, layout="HWC"), ValueError, "'NCHW' or 'NHWC'"),
    (lambda: nn.conv2d(IMAGE, KERNEL, bias=dc.ones(3)), ValueError, r"takes \(8,\)"),
    (lambda: nn.conv2d(IMAGE > 0, KERNEL > 0), DTypeError, "got bool, takes numbers"),
    (
        lambda: nn.conv2d_input_gradient(IMAGE, KERNEL, IMAGE.shape),
        ValueError,
        "takes a batch of 2",
    ),
    (
        lambda: nn.conv2d_weight_gradient(IMAGE, IMAGE, (4, 4, 3, 3)),
        ValueError,
        r"positions \(4, 3\)",
    ),
    (
        lambda: nn.conv_transpose2d(IMAGE, KERNEL),
        ValueError,
        "as many channels as their first axis",
    ),
    (
        lambda: nn.conv_transpose2d(IMAGE, KERNEL[:4], 2, output_padding=2),
        ValueError,
        "output_padding is 2, takes less",
    ),
    (lambda: nn.max_pool2d(IMAGE, 7), ValueError, "windows of 7"),
    (lambda: nn.max_pool2d(IMAGE, 2, padding=2), ValueError, "at most half a window"),
    (lambda: nn.max_pool2d(IMAGE * 1j, 2), DTypeError, "takes real numbers"),
    (lambda: nn.max_pool2d(IMAGE > 0, 2), DTypeError, "takes real numbers"),
    (lambda: nn.avg_pool2d(IMAGE[0, 0, 0], 2), ValueError, "takes 4 axes"),
    (
        lambda: nn.avg_pool2d_gradient(IMAGE, IMAGE, 2),
        ValueError,
        r"takes \(2, 4, 3, 2\)",
    ),
    (
        lambda: nn.max_pool1d(dc.zeros((1, 1, 1)), 2, 1, 1, 2),
        ValueError,
        "at least one position",
    ),
    (lambda: nn.adaptive_avg_pool2d(IMAGE, 0), ValueError, "size is 0"),
    (lambda: nn.max_unpool2d(IMAGE, IMAGE, 2), ValueError, "takes integers"),
    (lambda: nn.batch_norm(IMAGE, weight=dc.ones(3)), ValueError, r"takes \(4,\)"),
    (lambda: nn.batch_norm(IMAGE, mean=dc.ones(4)), ValueError, "takes both or none"),
    (lambda: nn.layer_norm(IMAGE, dc.ones(4)), ValueError, r"takes \(5,\)"),
    (lambda: nn.layer_norm(IMAGE * 1j), DTypeError, "takes real numbers"),
    (lambda: nn.group_norm(IMAGE, 3), ValueError, "4 channels in 3 groups"),
    (lambda: nn.linear(IMAGE, dc.ones((3, 4))), ValueError, "features"),
    (lambda: nn.dropout(IMAGE, 1.5), ValueError, "rate is 1.5, takes 0 to 1"),
    (lambda: nn.embedding(IMAGE, dc.ones((3, 4))), ValueError, "takes integers"),
    (
        lambda: nn.cross_entropy(dc.zeros((2, 3)), dc.asarray([0, 3])),
        IndexError,
        "outside of 0 to 2",
    ),
    (
        lambda: nn.cross_entropy(dc.zeros((2, 3)), dc.asarray([0])),
        ValueError,
        r"takes \(2,\)",
    ),
    (
        lambda: nn.cross_entropy(dc.zeros((2, 3)), dc.asarray([0, 1]), reduction="max"),
        ValueError,
        "'mean', 'sum' or 'none'",
    ),
    (
        lambda: nn.scaled_dot_product_attention(
            dc.ones((3, 2)), dc.ones((4, 3)), dc.ones((4, 3))
        ),
        ValueError,
        r"\(\.\.\., keys, values\)",
    ),
    (
        lambda: nn.scaled_dot_product_attention(
            *[dc.ones((3, 2))] * 3, dc.ones((2, 3))
        ),
        ValueError,
        "a mask of shape",
    ),
    (lambda: nn.gelu_gradient(IMAGE, IMAGE, "fast"), ValueError, "'none' or 'tanh'"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_mistakes_say_what_is_taken(number: int) -> None:
    call, kind, message = REFUSED[number]
    with pytest.raises(kind, match=message):
        call()


# ------------------------------------------------------------- a device without doubles
FUNCTIONS = [call for call in CALLS if call.startswith("np.nn.")]


@pytest.mark.parametrize("call", FUNCTIONS)
def test_float32_stays_float32(call: str) -> None:
    """Nothing on the way is float64 on a device that has none."""
    given = operands(lambda x: x.astype("f4") if x.dtype == float else x)
    for name in ("i", "j"):
        del given[name]
    del given["c"]
    with (
        SimulatedDevice(without=["float64", "complex128"]) as device,
        dc.config(device=device.label, fallback="error"),
    ):
        arrays = {name: dc.asarray(x) for name, x in given.items()}
        found = eval(call, {"np": dc, **arrays})
        for one in found if isinstance(found, tuple) else (found,):
            assert one.device == device.label
            assert one.dtype in (np.float32, np.int64)
            one.get()
