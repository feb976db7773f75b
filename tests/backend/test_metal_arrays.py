"""What arrays do on Metal, as NumPy does it: on the simulated device."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends import registry
from dcarray.backends.base import Rates
from dcarray.errors import UnsupportedError
from dcarray.lazy import route
from tests.backend import test_simulated_arrays as arrays
from tests.metal_simulator import Simulator, installed
from tests.metal_simulator.library import compiler

DEVICE = "metal:0"
pytestmark = pytest.mark.skipif(not compiler(), reason="needs g++")

DOUBLES = {"float64", "complex128"}


@pytest.fixture(autouse=True, scope="module")
def simulator() -> Iterator[Simulator]:
    with installed(Simulator()) as found:
        yield found
        registry.remove(DEVICE)


def in_single(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32) if x.dtype == np.float64 else x


ARRAYS = {name: in_single(x) for name, x in arrays.ARRAYS.items()}
# Doubles do not exist there.
CASES = [
    pytest.param(*case.values, id=case.id)
    for case in arrays.CASES
    if not case.id.startswith("astype-float64")
]


def on_device(x: Any) -> Any:
    return dc.asarray(np.array(x)).to_device(DEVICE)


def same(got: Any, want: Any) -> None:
    if isinstance(want, tuple):
        assert isinstance(got, tuple)
        for one, other in zip(got, want, strict=True):
            same(one, other)
        return
    want = np.asarray(want)
    assert isinstance(got, dc.DeviceArray)
    assert got.device == DEVICE
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    host = got.get()
    if want.dtype.kind in "fc":
        bound = 0.02 if want.dtype == np.float16 else 1e-4
        np.testing.assert_allclose(host, want, rtol=bound, atol=bound)
    else:
        np.testing.assert_array_equal(host, want)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("function", "name"), CASES)
def test_as_numpy(function: Callable[[Any], Any], name: str) -> None:
    """The same as NumPy, or the refusal of a dtype that Metal lacks."""
    x = ARRAYS[name]
    try:
        want = function(np.array(x))
    except Exception as error:
        with pytest.raises(arrays.builtin_of(error)):
            result = function(on_device(x))
            for one in result if isinstance(result, tuple) else (result,):
                one.get()
        return
    try:
        with dc.config(fallback="error"), np.errstate(all="ignore"):
            same(function(on_device(x)), want)
    except UnsupportedError as error:
        assert re.search("float64|complex128", str(error))


def test_doubles_are_refused_when_an_array_is_made() -> None:
    for dtype in sorted(DOUBLES):
        with pytest.raises(UnsupportedError, match=dtype):
            dc.zeros(3, dtype=dtype, device=DEVICE)
        with pytest.raises(UnsupportedError, match=dtype):
            dc.ones(3, dtype=dtype).to_device(DEVICE)


def test_doubles_go_elsewhere_under_auto(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = registry.backend_for(DEVICE)
    monkeypatch.setattr(backend, "rates", Rates(0.0, 1e15, 1e15, 0.0, 1e15))
    monkeypatch.setattr(route, "auto_devices", ["cpu", DEVICE])
    with dc.config(small_array=0), dc.profile() as p:
        single = dc.ones(100_000, dtype=np.float32) * 3
        double = dc.ones(100_000, dtype=np.float64) * 3
        assert float(single.sum()) == float(double.sum()) == 300_000
    ran_on = {event.device for event in p.of_kind("group")}
    assert ran_on == {"cpu", DEVICE}


def test_labels_and_properties() -> None:
    assert DEVICE in dc.devices()
    x = dc.ones(1000, dtype=np.float32, device=DEVICE)
    assert x.device == DEVICE
    found = dc.Device(DEVICE).properties()
    assert found.vendor == "Apple"
    assert found.unified_memory
    assert 0 < found.memory_free < found.memory_total
    assert found.pools[0].in_use >= 4000
    assert np.dtype(np.float64) not in found.dtypes
    assert found.status == "ok"


def test_a_lost_kernel_falls_back(simulator: Simulator) -> None:
    """What does not compile there is computed by the host, and counted."""
    x = on_device(ARRAYS["float32"])
    with dc.config(fallback="allow"), dc.profile() as p:
        simulator.refusing = True
        try:
            got = (x * 3 - 7) / 5
            got.get()
        finally:
            simulator.refusing = False
    assert p.fallbacks
    same(got, (ARRAYS["float32"] * 3 - 7) / 5)


def test_bfloat16() -> None:
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    a = np.linspace(-2, 3, 1001).astype(bfloat16)
    x = dc.asarray(a).to_device(DEVICE)
    with dc.config(fallback="error"):
        for function in (
            lambda x: x * x + x,
            lambda x: x / 3,
            lambda x: x > 1,
            lambda x: x.astype(np.float32),
            lambda x: x[::-3].copy(),
            lambda x: x.max(),
        ):
            got, want = function(x), np.asarray(function(a))
            assert (got.device, got.dtype) == (DEVICE, want.dtype)
            assert got.get().tobytes() == want.tobytes()
        total = float(x.sum())
    assert total == pytest.approx(500.5, rel=1e-2)
