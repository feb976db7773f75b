"""What devices say about themselves."""

from __future__ import annotations

import os

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends import registry, troubles
from dcarray.backends.base import DeviceProperties
from dcarray.backends.cpu.properties import host_memory, processor
from dcarray.errors import UnsupportedError
from dcarray.testing import SimulatedDevice


def test_the_cpu() -> None:
    kept = dc.ones(100_000) + 1
    dc.evaluate(kept)
    found = dc.Device("cpu").properties()
    assert isinstance(found, DeviceProperties)
    assert found.device == "cpu"
    assert found.name
    assert 1 <= found.compute_units <= (os.cpu_count() or 1)
    assert found.unified_memory
    assert found.status == "ok"
    assert {np.dtype(np.float64), np.dtype(np.int8)} <= found.dtypes
    (pool,) = found.pools
    assert pool.held >= kept.nbytes
    assert found.memory_total is None or found.memory_total > 1 << 27
    if found.memory_total is not None and found.memory_free is not None:
        assert 0 < found.memory_free <= found.memory_total


def test_auto_has_those_of_the_cpu() -> None:
    auto, cpu = dc.Device("auto").properties(), dc.Device("cpu").properties()
    assert auto.device == "auto"
    assert auto.dtypes == cpu.dtypes
    assert auto.compute_units == cpu.compute_units
    assert auto.name != cpu.name


def test_a_device_that_says_nothing_of_the_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from dcarray.backends.cpu import properties

    monkeypatch.setattr(properties, "_pairs", lambda path, stop="": {})
    total, free = host_memory()
    assert free is None
    assert total is None or total > 1 << 27
    assert processor()[0]


def test_a_file_that_is_not_there() -> None:
    from dcarray.backends.cpu.properties import _pairs

    assert _pairs("/no/such/file") == {}


def test_the_simulated_device() -> None:
    with SimulatedDevice(memory=1 << 20, without=["float64"]) as device:
        found = dc.Device(device.label).properties()
        assert found.device == device.label
        assert found.memory_total == found.memory_free == 1 << 20
        assert not found.unified_memory
        assert np.dtype(np.float64) not in found.dtypes
        kept = dc.ones(50_000, device=device.label, dtype=np.float32)
        now = dc.Device(device.label).properties()
        assert now.memory_free is not None
        assert now.memory_free <= (1 << 20) - kept.nbytes
        assert now.pools[0].in_use >= kept.nbytes
        device.lose()
        assert dc.Device(device.label).properties().status == "lost"


class Silent:
    """A backend without the optional method."""

    device = "silent:0"
    supported = frozenset({np.dtype(np.float32)})


def test_a_backend_without_properties() -> None:
    registry.install(Silent())  # type: ignore[arg-type]
    try:
        found = dc.Device("silent:0").properties()
    finally:
        registry.remove("silent:0")
    assert found == DeviceProperties("silent:0", dtypes=Silent.supported)


def test_properties_of_no_device() -> None:
    with pytest.raises(UnsupportedError, match="no device"):
        dc.Device("nothing:0").properties()


def test_the_house_has_its_own_kinds_of_trouble(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A kind that is no plugin and cannot count is skipped in the same way."""
    monkeypatch.setattr(registry, "_factories", dict(registry._factories))
    monkeypatch.setattr(troubles, "_troubles", {})
    sick = [True]

    def count() -> int:
        if sick[0]:
            raise OSError("driver is sick")
        return 2

    registry.register("moody", registry._simulated, count)
    with pytest.warns(RuntimeWarning, match="'moody' is skipped.*driver is sick"):
        assert "moody:0" not in dc.devices()
    with pytest.raises(UnsupportedError, match="driver is sick"):
        dc.Device("moody:0").properties()
    assert [r.status for r in dc.backends.health() if r.name == "moody"]
    sick[0] = False
    assert "moody:1" in dc.devices()
    assert not [r for r in dc.backends.health() if r.name == "moody"]
