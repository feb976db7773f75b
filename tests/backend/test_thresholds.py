"""Sizes from which the CPU does otherwise: how they are measured, kept and used."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends import calibrate, tuned
from dcarray.backends.cpu.execute import Executable
from dcarray.backends.cpu.threads import cut
from dcarray.backends.registry import backend_for
from dcarray.backends.tuned import Tuned, keep, tuned_for
from dcarray.cli import main, thresholds, tuning
from dcarray.cli.thresholds import crossing, measured_settings
from dcarray.config import Settings, current, measured_here

configuring = importlib.import_module("dcarray.config")
SIZES = (1024, 2048, 4096, 8192)
FOUND = {"small_array": 5000, "thread_work": 70_000, "block_bytes": 1 << 15}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with dc.config(cache_dir=str(tmp_path / "kernels")):
        yield tmp_path / "kernels"


# ---------------------------------------------------------------------------- measuring
def test_the_size_from_which_the_second_way_is_faster() -> None:
    before = [1.0, 2.0, 4.0, 8.0]
    assert crossing(SIZES, before, [3.0, 3.0, 3.0, 3.0], 1024) == 4096
    assert crossing(SIZES, before, [0.5, 1.0, 2.0, 4.0], 8192) == 1024
    assert crossing(SIZES, before, [2.0, 4.0, 8.0, 16.0], 1024) == 16384


def test_one_size_at_which_the_machine_was_busy_does_not_decide() -> None:
    before = [1.0, 2.0, 4.0, 8.0]
    assert crossing(SIZES, before, [3.0, 1.0, 5.0, 1.0], 16384) == 2048


def test_what_is_as_good_but_for_chance_stays() -> None:
    before = [1.0, 2.0, 4.0, 8.0]
    assert crossing(SIZES, before, [3.0, 1.99, 2.0, 4.0], 3000) is None
    assert crossing(SIZES, before, before, 12) is None


def stopwatch(times: dict[Any, float]) -> Any:
    """For `_in_turn`, with times by the name of the contender."""

    def read(calls: Any, rounds: int) -> dict[Any, float]:
        for call in calls.values():
            call()
        return {name: times[name] for name in calls}

    return read


@pytest.mark.parametrize(
    ("best", "gain", "wanted"), [(1 << 15, 0.9, 1 << 15), (1 << 13, 0.99, 1 << 14)]
)
def test_the_fastest_block_if_it_is_faster(
    monkeypatch: pytest.MonkeyPatch, best: int, gain: float, wanted: int
) -> None:
    times: dict[Any, float] = dict.fromkeys(thresholds.BLOCKS, 1.0)
    monkeypatch.setattr(thresholds, "_in_turn", stopwatch(times | {best: gain}))
    with dc.config(block_bytes=1 << 14):
        assert thresholds._block_bytes(backend_for("cpu"), 1 << 12, 1) == wanted


@pytest.mark.parametrize(
    ("together", "wanted"), [(0.5, 6 * 1024), (2.0, 6 * 2 * 8192), (1.0, 20_000)]
)
def test_threads_if_they_are_faster(
    monkeypatch: pytest.MonkeyPatch, together: float, wanted: int
) -> None:
    assert len(calibrate.CHAIN.nodes) == 6
    times = stopwatch({1: 1.0, 2: together})
    monkeypatch.setattr(thresholds, "_in_turn", times)
    with dc.config(threads=2, thread_work=20_000):
        assert thresholds._thread_work(backend_for("cpu"), SIZES, 1) == wanted


@pytest.mark.parametrize(
    ("recorded", "wanted"), [(0.5, 1024), (2.0, 2 * 8192), (1.0, 7000)]
)
def test_results_are_recorded_if_that_is_faster(
    monkeypatch: pytest.MonkeyPatch, recorded: float, wanted: int
) -> None:
    times = stopwatch({"never": 1.0, "always": recorded})
    monkeypatch.setattr(thresholds, "_in_turn", times)
    with dc.config(small_array=7000):
        assert thresholds._small_array(SIZES, 1) == wanted


@pytest.mark.parametrize("threads", [1, 2])
def test_all_are_measured(threads: int) -> None:
    with dc.config(threads=threads):
        found = measured_settings(backend_for("cpu"), SIZES[:2], 1 << 12, 2)
    wanted = {"block_bytes", "small_array"} | (
        {"thread_work"} if threads > 1 else set()
    )
    assert set(found) == wanted
    assert found["block_bytes"] in thresholds.BLOCKS
    assert all(1 <= value <= tuned.LARGEST for value in found.values())


def test_the_least_time_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 0.0, 3.0, 0.0, 2.0, 0.0, 5.0])
    monkeypatch.setattr(thresholds.time, "perf_counter", lambda: next(clock))
    found = thresholds._in_turn({"a": lambda: None}, 3)
    assert found == {"a": 2.0}


# ------------------------------------------------------------------- what they mean
def test_threads_share_work_from_the_setting_on() -> None:
    with dc.config(thread_work=1000):
        assert len(cut(16, 100, 9, 2)) == 1
        assert len(cut(16, 100, 10, 2)) > 1
    with dc.config(thread_work=2000):
        assert len(cut(16, 100, 10, 2)) == 1


def test_blocks_fill_the_setting() -> None:
    lengths = []
    for nbytes in (1 << 13, 1 << 15):
        with dc.config(block_bytes=nbytes, threads=1):
            executable = backend_for("cpu").compile(thresholds.STEPS)
            assert isinstance(executable, Executable)
            x = np.ones(10_000, np.float32)
            executable.run(x.shape, [x, x], (), [np.empty_like(x)])
        lengths += [built.plan.block for built in executable._built.values() if built]
    assert len(lengths) == 2
    assert lengths[1] == 4 * lengths[0]


# ------------------------------------------------------------------------------ keeping
def test_they_are_kept_and_found_again(folder: Path) -> None:
    backend = backend_for("cpu")
    keep(backend, Tuned({}, {}, FOUND))
    assert tuned_for(backend) == Tuned({}, {}, FOUND)


@pytest.mark.parametrize(
    "settings", [{"small_array": 0}, {"threads": 2}, {"block_bytes": 1 << 50}, [1], "a"]
)
def test_settings_that_make_no_sense_are_not_used(
    folder: Path, settings: object, caplog: pytest.LogCaptureFixture
) -> None:
    backend = backend_for("cpu")
    path = keep(backend, Tuned({}, {}, FOUND))
    assert path is not None
    content = json.loads(path.read_text())
    (device,) = content["devices"].values()
    device["settings"] = settings
    path.write_text(json.dumps(content))
    tuned._read.cache_clear()
    assert tuned_for(backend) is None
    assert "makes no sense" in caplog.text


def test_a_file_from_before_there_were_settings_is_read(folder: Path) -> None:
    backend = backend_for("cpu")
    path = keep(backend, Tuned({"launch": 1.0}, {}, FOUND))
    assert path is not None
    content = json.loads(path.read_text())
    (device,) = content["devices"].values()
    del device["settings"]
    path.write_text(json.dumps(content))
    tuned._read.cache_clear()
    assert tuned_for(backend) == Tuned({"launch": 1.0})


# ------------------------------------------------------------------------------- in use
def test_what_was_measured_gives_way_to_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(configuring, "_process", Settings())
    monkeypatch.setattr(configuring, "_given", {"small_array"})
    monkeypatch.setattr(configuring, "_active", ContextVar("unset"))
    measured_here(**FOUND)
    assert current().small_array == Settings().small_array
    assert current().thread_work == FOUND["thread_work"]
    configuring.set_process_default(thread_work=3)
    measured_here(**FOUND)
    assert current().thread_work == 3
    with dc.config(block_bytes=9):
        assert current().block_bytes == 9


SHOW = """
import numpy as np, dcarray as dc
from dcarray.config import current
dc.evaluate(dc.asarray(np.ones(4)) + 1)
found = current()
print(found.small_array, found.thread_work, found.block_bytes)
"""


def shown(folder: Path, **environment: str) -> list[int]:
    """The settings of a process that has computed something."""
    here = {k: v for k, v in os.environ.items() if k not in environment}
    done = subprocess.run(
        [sys.executable, "-c", SHOW],
        capture_output=True,
        text=True,
        check=True,
        env={**here, "DCARRAY_CACHE_DIR": str(folder), **environment},
    )
    return [int(word) for word in done.stdout.split()]


USUAL = [Settings().small_array, Settings().thread_work, Settings().block_bytes]


def test_another_process_uses_them(folder: Path) -> None:
    keep(backend_for("cpu"), Tuned({}, {}, FOUND))
    assert shown(folder) == list(FOUND.values())
    assert shown(folder, DCARRAY_SMALL_ARRAY="77") == [77, *list(FOUND.values())[1:]]


def test_those_of_another_machine_are_not_used(folder: Path) -> None:
    path = keep(backend_for("cpu"), Tuned({}, {}, FOUND))
    assert path is not None
    content = json.loads(path.read_text())
    (device,) = content["devices"].values()
    content["devices"] = {"Abacus, NumPy 1.0, 1 units": device}
    path.write_text(json.dumps(content))
    assert shown(folder) == USUAL


def test_an_unreadable_file_is_not_used(folder: Path) -> None:
    path = keep(backend_for("cpu"), Tuned({}, {}, FOUND))
    assert path is not None
    path.write_bytes(b"\xff{")
    assert shown(folder) == USUAL


# -------------------------------------------------------------------- the command line
def test_tune_measures_and_keeps_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tuning, "measured_rates", lambda _: {"launch": 1e-6})
    monkeypatch.setattr(tuning, "measured_settings", lambda _: FOUND)
    assert main(["tune", "--device", "cpu"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "small array" in told
    assert "5000 elements from which results are recorded" in told
    assert shown(folder) == list(FOUND.values())
