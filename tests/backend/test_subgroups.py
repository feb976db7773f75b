"""Subgroups: neighbours that exchange values, the same on every device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends import registry
from dcarray.backends.registry import counted
from dcarray.kernel import (
    global_id,
    lane_id,
    subgroup_add,
    subgroup_any,
    subgroup_ballot,
    subgroup_id,
    subgroup_max,
    subgroup_min,
    subgroup_shuffle,
    subgroup_shuffle_down,
    subgroup_shuffle_up,
    subgroup_shuffle_xor,
)
from tests.metal_simulator import Simulator, installed
from tests.metal_simulator.library import compiler

GROUP = 80  # subgroups of 32, 32 and 16


@dc.kernel
def shuffles(x, out):
    i = global_id(0)
    value = x[i]
    out[0, i] = subgroup_shuffle(value, 31 - lane_id())
    out[1, i] = subgroup_shuffle_up(value, 2)
    out[2, i] = subgroup_shuffle_down(value, 3)
    out[3, i] = subgroup_shuffle_xor(value, 5)


@dc.kernel
def reductions(x, out):
    i = global_id(0)
    value = x[i]
    out[0, i] = subgroup_add(value)
    out[1, i] = subgroup_min(value)
    out[2, i] = subgroup_max(value)
    out[3, i] = subgroup_id()


@dc.kernel
def votes(x, out):
    i = global_id(0)
    positive = x[i] > 0
    out[0, i] = subgroup_ballot(positive)
    out[1, i] = 1 if subgroup_any(positive) else 0
    out[2, i] = 1 if dc.kernel.subgroup_all(positive) else 0


def subgroups(x: Any) -> list[Any]:
    groups = x.reshape(-1, GROUP)
    return [part for row in groups for part in np.split(row, [32, 64])]


def swapped(part: Any, wanted: Any) -> Any:
    """Lanes that a part does not have give their own value."""
    lanes = np.arange(len(part))
    good = (wanted >= 0) & (wanted < len(part))
    return part[np.where(good, wanted, lanes)]


@pytest.fixture
def metal() -> Iterator[str]:
    if not compiler():
        pytest.skip("needs g++")
    with installed(Simulator()):
        yield "metal:0"
        registry.remove("metal:0")


@pytest.mark.parametrize("device", ["cpu", "in step", "opencl:0", "plain"])
def test_subgroups(device: str) -> None:
    if device == "opencl:0" and not counted("opencl"):
        pytest.skip("no OpenCL device here")
    check(device)


def test_subgroups_on_metal(metal: str) -> None:
    check(metal)


@dc.kernel
def beyond(x, out):
    i = global_id(0)
    out[i] = x[i + 1]


def test_bounds_and_lacking_dtypes_on_metal(metal: str) -> None:
    x = dc.zeros(4, dtype=np.float32, device=metal)
    with dc.config(bounds_check=True), pytest.raises(IndexError, match=r"index 4 .* x"):
        beyond(x, x)

    @dc.kernel
    def doubled(x):
        i = global_id(0)
        x[i] = np.float64(x[i]) * 2

    line = doubled.function.__code__.co_firstlineno + 3
    with pytest.raises(dc.UnsupportedError, match=f"float64\n.*line {line}"):
        doubled(x)


def check(device: str) -> None:
    x = np.random.default_rng(3).normal(size=2 * GROUP).astype(np.float32)
    x[:32] = np.abs(x[:32])
    x[64:80] = -np.abs(x[64:80])
    engine = "interpreter" if device == "in step" else "auto"
    home = "cpu" if device in ("in step", "plain") else device

    def run(kernel: Any, rows: int, dtype: Any) -> Any:
        out = dc.zeros((rows, len(x)), dtype=dtype, device=home)
        with dc.config(engine=engine):
            launch = kernel.interpret if device == "plain" else kernel
            launch[len(x), GROUP](dc.asarray(x, device=home), out)
        return out.get()

    got = run(shuffles, 4, np.float32)
    for place, lane in enumerate(
        (lambda n: 31 - n, lambda n: n - 2, lambda n: n + 3, lambda n: n ^ 5)
    ):
        want = [swapped(part, lane(np.arange(len(part)))) for part in subgroups(x)]
        assert got[place].tolist() == np.concatenate(want).tolist()
    got = run(reductions, 4, np.float32)
    for place, function in enumerate((np.cumsum, np.minimum.reduce, np.maximum.reduce)):
        want = [
            np.full(len(part), np.atleast_1d(function(part))[-1])
            for part in subgroups(x)
        ]
        assert got[place].tolist() == np.concatenate(want).tolist()
    numbers = [np.full(len(part), k % 3) for k, part in enumerate(subgroups(x))]
    assert got[3].tolist() == np.concatenate(numbers).tolist()
    got = run(votes, 3, np.uint32)
    for place, count in enumerate((bits, any, all)):
        want = [np.full(len(part), count(part > 0)) for part in subgroups(x)]
        assert got[place].tolist() == np.concatenate(want).tolist()


def bits(flags: Any) -> int:
    return sum(1 << k for k, flag in enumerate(flags.tolist()) if flag)
