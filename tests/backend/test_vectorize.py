"""`dc.vectorize`: functions of single numbers as operations over arrays."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.registry import counted

DEVICES = ["auto", "cpu", "opencl:0"]


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    kind = request.param.partition(":")[0]
    if kind not in ("auto", "cpu") and not counted(kind):
        pytest.skip(f"no {kind} device here")
    return str(request.param)


@dc.vectorize
def leaky_log(x, low):
    return np.log(x) if x > low else low * 0.5


@dc.vectorize
def steps(re, im):
    x, y, n = 0.0, 0.0, 0
    while x * x + y * y <= 4.0 and n < 50:
        x, y = x * x - y * y + re, 2.0 * x * y + im
        n += 1
    return n


@dc.vectorize
def both(a, b):
    return a // b, a % b


SCALE = 2


@dc.vectorize
def scaled(x):
    return SCALE * x


def plain(function: Any, *operands: Any) -> Any:
    """Plain Python over NumPy's scalars."""
    given = np.broadcast_arrays(*operands)
    with np.errstate(all="ignore"):
        return [function.pyfunc(*row) for row in zip(*[x.ravel() for x in given])]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [10, 100_000])
def test_a_formula(device: str, dtype: Any, size: int) -> None:
    x = np.linspace(-1, 2, size, dtype=dtype)
    got = leaky_log(dc.asarray(x, device=device), 0.0)
    assert got.dtype == dtype
    assert str(got.device) == device
    with np.errstate(all="ignore"):
        want = np.where(x > 0, np.log(x), dtype(0))
    tolerance = 0 if device in ("auto", "cpu") else 16 * np.finfo(dtype).eps
    np.testing.assert_allclose(got.get(), want, rtol=tolerance)


def test_it_fuses(device: str) -> None:
    x = dc.asarray(np.linspace(-1, 2, 100_000), device=device)
    with dc.profile() as events:
        (leaky_log(x, 0.5) * 2 + 1).sum()
    assert len(events.groups) == 1
    assert not events.fallbacks


def test_loops_and_broadcasting(device: str) -> None:
    re = np.linspace(-2, 1, 30)
    im = np.linspace(-1, 1, 20)[:, None]
    with dc.config(fallback="error"):
        got = steps(dc.asarray(re, device=device), dc.asarray(im, device=device))
    assert got.shape == (20, 30)
    assert got.dtype == np.int64
    assert got.get().ravel().tolist() == plain(steps, re, im)
    assert steps(dc.asarray(re, device=device), 0.25).get().tolist() == plain(
        steps, re, 0.25
    )


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_several_results(device: str, dtype: Any) -> None:
    a = np.arange(-5, 6).astype(dtype)
    quotient, rest = both(dc.asarray(a, device=device), 3)
    assert quotient.dtype == rest.dtype == dtype
    assert quotient.get().tolist() == (a // dtype(3)).tolist()
    assert rest.get().tolist() == (a % dtype(3)).tolist()


def test_names_are_looked_up_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    assert scaled(dc.ones(2)).tolist() == [2.0, 2.0]
    monkeypatch.setitem(globals(), "SCALE", 5)
    assert scaled(dc.ones(2)).tolist() == [5.0, 5.0]


def by_scale(x):
    return x * SCALE


@dc.vectorize
def through_helper(x):
    return by_scale(x) + 1


def test_names_of_helpers_are_looked_up_anew(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = dc.ones(2, dtype=np.float32, device=device)
    before = through_helper(x)  # pending, and it keeps what the name means now
    monkeypatch.setitem(globals(), "SCALE", 5)
    assert through_helper(x).get().tolist() == [6.0, 6.0]
    assert before.get().tolist() == [3.0, 3.0]
    monkeypatch.setitem(globals(), "by_scale", lambda x: x - SCALE)
    assert through_helper(x).get().tolist() == [-3.0, -3.0]


def test_numbers_alone() -> None:
    assert float(leaky_log(2.0, 1.0)) == np.log(2.0)
    assert int(steps(0.1, 0.1)) == 50


def test_in_a_kernel(device: str) -> None:
    @dc.kernel
    def fill(x, out):
        i = dc.kernel.global_id(0)
        out[i] = leaky_log(x[i], 1.0)

    out = dc.zeros(3, device=device)
    fill(dc.asarray(np.array([0.5, 1.0, 4.0]), device=device), out)
    np.testing.assert_allclose(out.get(), [0.5, 0.5, np.log(4.0)], rtol=1e-15)


@dc.vectorize
def clipped(x, low=1.0, high=2.0):
    return min(max(x, low), high)


def test_names_and_defaults(device: str) -> None:
    x = dc.asarray(np.arange(5.0), device=device)
    with dc.config(fallback="error"):
        assert clipped(x).get().tolist() == [1.0, 1.0, 2.0, 2.0, 2.0]
        assert clipped(x, high=3).get().tolist() == [1.0, 1.0, 2.0, 3.0, 3.0]
        assert clipped(low=x, x=0.5).get().tolist() == [0.5, 1.0, 2.0, 2.0, 2.0]
        assert clipped(x[:0]).shape == (0,)
    with pytest.raises(TypeError, match="middle"):
        clipped(x, middle=3)


def test_lambdas(device: str) -> None:
    x = dc.asarray(np.arange(4, dtype=np.int32), device=device)
    pair = dc.vectorize(lambda a: (a > 1, 2 * a))
    with dc.config(fallback="error"):
        above, twice = pair(x)
    assert above.get().tolist() == [False, False, True, True]
    assert twice.dtype == np.int32
    assert twice.get().tolist() == [0, 2, 4, 6]


@dc.kernel
def doubled(x):
    x[dc.kernel.global_id(0)] *= 2


def unwrapped(x: Any) -> Any:
    return x + 1


def test_they_can_be_pickled() -> None:
    for item in (clipped, doubled):
        assert pickle.loads(pickle.dumps(item)) is item
    remade = dc.vectorize(unwrapped)
    assert remade(dc.arange(2)).tolist() == [1, 2]
    assert pickle.loads(pickle.dumps(remade))(dc.arange(2)).tolist() == [1, 2]
    again = pickle.loads(pickle.dumps(dc.kernel(unwrapped)))
    assert again.function is unwrapped


def text_of(x: Any) -> str:
    return f"<{x}>"


def loud(x: Any) -> Any:
    print("seen")
    return x


@pytest.mark.parametrize("function", [text_of, loud, lambda x: {1: x}[1]])
def test_what_is_not_in_the_language_is_numpys(function: Any) -> None:
    got = dc.vectorize(function)(dc.arange(3))
    assert isinstance(got, dc.DeviceArray)
    assert got.tolist() == np.vectorize(function)(np.arange(3)).tolist()


def test_numpys_options_and_programs_are_numpys() -> None:
    x = np.arange(4, dtype=np.float32)
    typed = dc.vectorize(scaled.pyfunc, otypes=[np.int8])
    assert typed(dc.asarray(x)).dtype == np.int8
    with dc.config(scalars="numpy"):
        assert scaled(dc.asarray(x)).dtype == np.vectorize(scaled.pyfunc)(x).dtype
