"""What is measured of a device, how it is kept, and who uses it."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.base import DeviceProperties, Rates
from dcarray.backends.buffer import Buffer
from dcarray.backends.calibrate import measured_rates, seconds_of
from dcarray.backends.grid import trials
from dcarray.backends.grid.trials import CANDIDATES, search
from dcarray.backends.grid.tuning import Choice, by_properties, group_items
from dcarray.backends.registry import backend_for
from dcarray.backends.tuned import Tuned, keep, tuned_file, tuned_for
from dcarray.cli import main
from dcarray.lazy import route
from dcarray.testing import SimulatedDevice

from .interpreted_device import InterpretedBackend

RATES = {
    "launch": 1e-5,
    "bandwidth": 2e10,
    "operations": 3e9,
    "transfer_latency": 4e-6,
    "transfer_bandwidth": 5e9,
}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "kernels"
    with dc.config(cache_dir=str(place)):
        yield place


class Named(InterpretedBackend):
    """A device that says what it is."""

    driver = "1.0"

    def properties(self) -> DeviceProperties:
        return DeviceProperties(self.device, name="Abacus", driver=self.driver)


# ---------------------------------------------------------------------------- measuring
@pytest.mark.parametrize("kind", ["cpu", "grid", "test"])
def test_rates_are_measured(kind: str) -> None:
    with SimulatedDevice() as device:
        backends = {
            "cpu": backend_for("cpu"),
            "grid": InterpretedBackend(),
            "test": device.backend,
        }
        found = measured_rates(backends[kind], sizes=(1 << 12, 1 << 12))
    assert all(0 < value < float("inf") for value in found.values())
    assert ("transfer_latency" in found) == (kind != "cpu")
    assert ("transfer_bandwidth" in found) == (kind != "cpu")
    Tuned(found).over(Rates(1, 1, 1))


def test_what_takes_longer_is_seen() -> None:
    with SimulatedDevice() as device:
        device.slow("launch", 0.01)
        device.slow("upload", 0.01)
        found = measured_rates(device.backend, sizes=(1 << 10, 1 << 10))
    assert found["launch"] > 0.009
    assert found["transfer_latency"] > 0.004
    assert found["bandwidth"] < 12 * (1 << 10) / 0.009


def test_the_least_of_several_rounds_counts() -> None:
    delays = iter([0.0, 0.02, 0.0, 0.02] + [0.0] * 10_000)

    def call() -> None:
        import time

        time.sleep(next(delays))

    assert seconds_of(call, lambda: None, budget=0.05, alone=True) < 0.015


# ------------------------------------------------------------------------------ keeping
def test_what_is_kept_is_found_again(folder: Path) -> None:
    backend = Named()
    assert tuned_for(backend) is None
    found = Tuned(RATES, {"map": (32, 1, 4)})
    path = keep(backend, found)
    assert path == folder / "tuned.json" == tuned_file()
    if os.name != "nt":
        assert path.stat().st_mode & 0o777 == 0o600
    assert tuned_for(Named("other:7")) == found  # the same hardware and driver
    newer = Named()
    newer.driver = "1.1"
    assert tuned_for(newer) is None
    keep(newer, Tuned({"launch": 1.0}))
    assert tuned_for(backend) == found  # both are kept
    assert tuned_for(newer) == Tuned({"launch": 1.0}, {})


def test_compiled_kernels_come_and_go_without_it(folder: Path) -> None:
    keep(Named(), Tuned(RATES))
    assert main(["cache", "clear"]) == 0
    assert tuned_for(Named()) == Tuned(RATES)


def test_a_shared_folder_may_hold_it(folder: Path, tmp_path: Path) -> None:
    keep(Named(), Tuned(RATES))
    with dc.config(cache_dir=str(tmp_path / "own"), shared_cache_dir=str(folder)):
        assert tuned_for(Named()) == Tuned(RATES)
        keep(Named(), Tuned({"launch": 1.0}))
        assert tuned_for(Named()) == Tuned({"launch": 1.0})
    folder.chmod(0o777)
    if os.name != "nt":
        with dc.config(cache_dir=str(tmp_path / "new"), shared_cache_dir=str(folder)):
            assert tuned_for(Named()) is None


BROKEN = [
    b"{",
    b"\xff\xfe",
    b"[]",
    b'{"version": 99, "devices": {}}',
    b'{"version": 1}',
    b'{"version": 1, "devices": {"x": {"rates": {"launch": -1}, "layouts": {}}}}',
    b'{"version": 1, "devices": {"x": {"rates": {"speed": 1}, "layouts": {}}}}',
    b'{"version": 1, "devices": {"x": {"rates": {}, "layouts": {"map": ["a"]}}}}',
]


@pytest.mark.parametrize("content", BROKEN)
def test_a_broken_file_is_ignored_with_one_warning(
    folder: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    folder.mkdir(mode=0o700)
    (folder / "tuned.json").write_bytes(content)
    with caplog.at_level(logging.WARNING, logger="dcarray"):
        assert tuned_for(Named()) is None
        assert tuned_for(Named()) is None
    assert len(caplog.records) == 1
    assert "tuned.json" in caplog.text
    keep(Named(), Tuned(RATES))  # replaces it
    assert tuned_for(Named()) == Tuned(RATES)


# ------------------------------------------------------------------------- the router
def test_the_router_goes_by_what_was_measured(folder: Path) -> None:
    with SimulatedDevice() as device:
        backend = device.backend
        here = Buffer.of_host(np.zeros(1000, np.float32))
        work = route.Work("add", 1000, 2, (here,), 4000)
        assert route.rates_of(backend) is backend.rates
        route.forget(device.label)
        keep(backend, Tuned(RATES))
        found = route.predict(backend, work)
        assert found.transfer == pytest.approx(4e-6 + 4000 / 5e9)
        rest = 1e-5 + 8000 / 2e10 + 2000 / 3e9
        assert found.seconds == pytest.approx(found.transfer + rest)
    assert device.label not in route._tuned


def test_the_host_pays_for_what_it_reads_from_a_device() -> None:
    rates = Rates(1e-5, 1e10, 1e9, transfer_latency=1e-3, transfer_bandwidth=1e6)
    with SimulatedDevice(rates=rates) as device:
        buffer = Buffer.of_host(np.zeros(1000, np.float32))
        work = route.Work("add", 1000, 1, (buffer,), 4000)
        cpu = backend_for("cpu")
        assert route.predict(cpu, work).transfer == 0
        buffer.write_on(device.backend)
        assert route.predict(device.backend, work).transfer == 0
        assert route.predict(cpu, work).transfer == pytest.approx(1e-3 + 4e-3)


# ----------------------------------------------------------------- layouts of kernels
def test_groups_by_properties() -> None:
    assert group_items(1024, 32, coalesces=True) == 128  # NVIDIA
    assert group_items(256, 64, coalesces=True) == 256  # AMD
    assert group_items(256, 8, coalesces=True) == 64  # Intel
    assert group_items(4096, 8, coalesces=False) == 64  # PoCL
    assert group_items(1, 1, coalesces=False) == 1
    assert group_items(48, 32, coalesces=True) == 32


def results(backend: Any) -> list[Any]:
    """A map, a reduction and a product, on a device."""
    from dcarray.backends import registry

    registry.install(backend)
    try:
        x = dc.arange(1000, dtype=np.float32, device=backend.device).reshape(25, 40)
        y = (x * 2 + 1).T.copy(order="C")
        return [y.get(), y.sum().get(), y.sum(axis=0).get(), (y @ x).get()]
    finally:
        registry.remove(backend.device)


def test_a_layout_that_was_found_is_used(folder: Path) -> None:
    plain = Named()
    wanted = results(plain)
    assert plain.layouts == by_properties(plain.limits)
    layouts = {
        "map": (16, 2, 3),
        "turn": (32, 1, 1),
        "reduce": (32, 4, 2),
        "product": (16, 2, 1),
    }
    keep(Named(), Tuned({}, layouts))
    tuned = Named()
    found = results(tuned)
    assert {kind: astuple(one) for kind, one in tuned.layouts.items()} == layouts
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize(
    "numbers", [(65, 1, 8), (128, 1, 8), (0, 1, 8), (64, 0, 8), (64, 1, 0), (64, 1)]
)
def test_a_layout_that_the_device_cannot_run_is_left(
    folder: Path, numbers: tuple[int, ...]
) -> None:
    keep(Named(), Tuned({}, {"map": numbers, "dance": (64, 1, 8)}))
    found = Named()
    assert found.layouts == by_properties(found.limits)


def test_the_search_uses_the_fastest(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a stopwatch that knows what is best."""
    backend = Named(group=256, items=64, coalesces=True, ahead=2)
    best = {
        "map": Choice(256, 4, 8),
        "turn": Choice(128, 1, 1),
        "reduce": Choice(128, 8, 32),
        "product": Choice(64, 8, 1),
    }

    def seconds(_: Any, kind: str, layout: Choice, __: Any) -> float:
        pairs = zip(astuple(layout), astuple(best[kind]), strict=True)
        return 1.0 + sum(abs(np.log2(a / b)) for a, b in pairs)

    monkeypatch.setattr(trials, "_seconds", seconds)
    told: list[str] = []
    found = search(backend, 16, tell=lambda kind, *_: told.append(kind))
    assert told == list(CANDIDATES)
    assert found == {kind: astuple(layout) for kind, layout in best.items()}
    assert backend.layouts == best


def test_chance_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine was busy at first: then everything else seems faster."""
    backend = Named(group=256, items=64, coalesces=True, ahead=2)
    before = dict(backend.layouts)
    busy = dict.fromkeys(CANDIDATES, 1)

    def seconds(_: Any, kind: str, layout: Choice, __: Any) -> float:
        found = 2.0 if busy[kind] else 1.0
        busy[kind] = 0
        return found

    monkeypatch.setattr(trials, "_seconds", seconds)
    gains: list[float] = []
    search(backend, 16, tell=lambda _, __, gain: gains.append(gain))
    assert backend.layouts == before
    assert gains == [1.0] * len(CANDIDATES)


@pytest.fixture
def briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is timed more than once."""
    monkeypatch.setattr(trials, "seconds_of", partial(seconds_of, budget=0))


@pytest.mark.usefixtures("briefly")
def test_the_search_leaves_what_does_not_run() -> None:
    class Small(Named):
        def enqueue(
            self, function: Any, kernel: Any, grid: Any, group: Any, arguments: Any
        ) -> None:
            if np.prod(group) > 64:
                raise dc.LaunchError("too many registers", device=self.device)
            super().enqueue(function, kernel, grid, group, arguments)

    found = search(Small(group=256, items=64, coalesces=True), 16)
    assert all(items <= 64 for items, _, _ in found.values())


@pytest.mark.usefixtures("briefly")
def test_the_numbers_that_only_gpus_need_are_spared() -> None:
    backend = Named()
    before = dict(backend.layouts)
    told: list[str] = []
    found = search(backend, 16, tell=lambda kind, *_: told.append(kind))
    assert told == ["map", "reduce", "product"]
    assert found["turn"] == astuple(before["turn"])
    assert found["map"][1] == before["map"].ahead


# -------------------------------------------------------------------- the command line
def test_tune_and_info(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dcarray.cli import tuning

    def quick(backend: Any) -> dict[str, float]:
        return measured_rates(backend, sizes=(1 << 12, 1 << 12))

    assert main(["info"]) == 0
    assert "no, see dcarray tune" in capsys.readouterr().out
    monkeypatch.setattr(tuning, "measured_rates", quick)
    assert main(["tune", "--device", "cpu"]) == 0
    shown = capsys.readouterr().out
    assert "GB/s of memory" in shown and "tuned.json" in shown
    content = json.loads((folder / "tuned.json").read_text())
    (rates,) = [device["rates"] for device in content["devices"].values()]
    assert set(rates) == {"launch", "bandwidth", "operations"}
    assert main(["info"]) == 0
    assert "│ tuned         │ yes" in capsys.readouterr().out
    assert main(["tune", "--device", "abacus:0", "--device", "cpu"]) == 1
    told = capsys.readouterr()
    assert "abacus:0: no device 'abacus:0'" in told.err
    assert "Device cpu" in told.out
    with SimulatedDevice(without=["float32"]) as device:
        assert main(["tune", "--device", device.label]) == 1
    told = capsys.readouterr()
    assert "has no float32" in told.err and "kept in" not in told.out


def test_tune_needs_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    with dc.config(cache_size=0):
        assert main(["tune", "--device", "cpu"]) == 1
    assert "no cache folder" in capsys.readouterr().err
