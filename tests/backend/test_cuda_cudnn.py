"""What goes to cuDNN and how, on a simulated device and a simulated front end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.cuda import convolution
from dcarray.backends.registry import counted
from tests import cuda_simulator, cudnn_simulator

pytestmark = pytest.mark.skipif(bool(counted("cuda")), reason="there is a real one")

DEVICE = "cuda:0"
RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def device() -> Iterator[cudnn_simulator.Made]:
    with (
        cuda_simulator.installed() as runtime,
        cudnn_simulator.installed(runtime) as it,
    ):
        yield it


@pytest.fixture
def made(device: cudnn_simulator.Made) -> cudnn_simulator.Made:
    device.graphs.clear()
    device.plans.clear()
    device.refused.clear()
    device.notes.clear()
    return device


def whole(*shape: int, dtype: str = "f2") -> Any:
    return RNG.integers(-3, 4, shape).astype(dtype)


def there(x: Any) -> Any:
    return dc.asarray(x, device=DEVICE)


def convolved(x: Any, w: Any, **options: Any) -> list[Any]:
    """The convolution and its gradients."""
    y = dc.nn.conv2d(x, w, **options)
    g = y * 2
    return [
        one.get()
        for one in (
            y,
            dc.nn.conv2d_input_gradient(g, w, x.shape, **options),
            dc.nn.conv2d_weight_gradient(g, x, w.shape, **options),
        )
    ]


@pytest.mark.parametrize("dtype", ["f2", "f4"])
@pytest.mark.parametrize("last", [False, True], ids=["channels first", "last"])
def test_convolutions(made: cudnn_simulator.Made, dtype: str, last: bool) -> None:
    x, w = whole(2, 4, 5, 6, dtype=dtype), whole(4, 2, 3, 2, dtype=dtype)
    options = {"groups": 2, "stride": (2, 1), "padding": 1}
    if last:
        x = np.ascontiguousarray(np.moveaxis(x, 1, -1))
        options["layout"] = "NHWC"
    wanted = convolved(dc.asarray(x), dc.asarray(w), **options)
    for got, want in zip(convolved(there(x), there(w), **options), wanted, strict=True):
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, want)
    assert made.graphs == ["fprop", "dgrad", "wgrad"]
    assert ("TENSOR_CORE" in made.notes) == (dtype == "f4")
    assert "NONDETERMINISTIC" in made.notes
    convolved(there(x), there(w), **options)
    assert len(made.graphs) == 3
    assert set(made.plans) == {0}  # it is not worth to try others


def test_plans_and_ways_are_timed(
    made: cudnn_simulator.Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    def turner(raw: Any, turns: Any) -> Any:
        def start(memories: Any, _: Any) -> None:
            *sources, made_of = memories
            for (turn, begin, place), source in zip(turns, sources, strict=True):
                shape = (turn.stack, turn.rows, turn.columns)
                count = turn.size * turn.stack * turn.rows * turn.columns
                seen = runtime.seen_from(source.pointer + begin)[:count]
                x = seen.view(f"u{turn.size}").reshape(shape)
                y = np.zeros((turn.stack, turn.columns, turn.pitch), x.dtype)
                y[..., : turn.rows] = x.swapaxes(1, 2)
                target = runtime.seen_from(made_of.pointer + place)
                target[: y.nbytes] = y.view("u1").ravel()

        return start

    runtime = made.runtime
    monkeypatch.setattr(convolution, "turner", turner)
    monkeypatch.setattr(convolution, "WORTH", 1)
    x, w = whole(2, 3, 5, 6), whole(8, 3, 3, 3)
    wanted = convolved(dc.asarray(x), dc.asarray(w), padding=1)
    for _ in range(2):
        got = convolved(there(x), there(w), padding=1)
        for one, want in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(one, want)
    # Channels behind, filled up to 4 or 8, a result either way; channels first, as in
    # gradients, which have 3 of them.
    assert made.graphs == ["fprop"] * 5 + ["dgrad", "wgrad"]
    assert set(made.plans) == {0, 3}


def test_what_lies_elsewhere_is_copied(made: cudnn_simulator.Made) -> None:
    base, w = whole(3, 2, 5, 5), whole(2, 2, 3, 3)
    wanted = dc.nn.conv2d(dc.asarray(base[1:, ::-1]), dc.asarray(w)).get()
    on_device, weights = there(base), there(w)
    for x in (on_device[1:, ::-1], there(base[:, ::-1].copy())[1:]):  # 100 bytes on
        np.testing.assert_array_equal(dc.nn.conv2d(x, weights).get(), wanted)


def test_what_cudnn_does_not_take_is_summed_in_float32(
    made: cudnn_simulator.Made,
) -> None:
    made.refused = {"fprop", "sdpa", "sdpa_backward"}
    x = np.full((1, 1, 1, 9), 2048, "f2")
    x[..., 1:] = 1
    found = dc.nn.conv2d(there(x), dc.ones((1, 1, 1, 9), dtype="f2", device=DEVICE))
    assert found.item() == 2056  # halves would stay at 2048
    q, k, v = (RNG.random((2, 5, 4)).astype("f2") for _ in range(3))
    for got, want in zip(attended(there, q, k, v), attended(dc.asarray, q, k, v)):
        np.testing.assert_allclose(got, want, atol=2e-3)


def attended(put: Any, q: Any, k: Any, v: Any, **options: Any) -> list[Any]:
    """Attention and its gradients."""
    given = [put(x) for x in (q, k, v)]
    found = dc.nn.scaled_dot_product_attention(*given, **options)
    back = dc.nn.scaled_dot_product_attention_gradient(found, *given, **options)
    return [x.get() for x in (found, *back)]


@pytest.mark.parametrize("mask", [None, "bools", "numbers"])
@pytest.mark.parametrize("causal", [False, True])
def test_attention(made: cudnn_simulator.Made, mask: str | None, causal: bool) -> None:
    q, k, v = (RNG.random((2, 1, n, 8)).astype("f2") for n in (5, 6, 6))
    options: dict[str, Any] = {"causal": causal}
    if mask is not None:
        options["mask"] = RNG.random((5, 6)) < 0.6
        options["mask"][1] = False  # nothing to be seen
        if mask == "numbers":
            options["mask"] = np.where(options["mask"], 0.5, -np.inf).astype("f2")
    wanted = attended(dc.asarray, q, k, v, **options)
    if mask is not None:
        options["mask"] = there(options["mask"])
    for got, want in zip(attended(there, q, k, v, **options), wanted, strict=True):
        assert got.dtype == "f2"
        np.testing.assert_allclose(got, want, atol=2e-3)
    assert len(made.plans) == (1 if mask else 3)


def test_float32_stays_with_the_grid(made: cudnn_simulator.Made) -> None:
    q, k, v = (there(RNG.random((1, 4, 8)).astype("f4")) for _ in range(3))
    dc.nn.scaled_dot_product_attention(q, k, v)
    assert not made.graphs
