"""Subgroups: neighbours that exchange values, the same on every device."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends import registry
from dcarray.backends.opencl.platforms import has_warps
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
from dcarray.kernel.specialise import ArrayOf
from dcarray.render.cfamily import render
from dcarray.render.cuda import OPTIONS
from dcarray.render.opencl import NVIDIA
from tests import nvrtc
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


@dc.kernel
def whole(x, out, totals):
    i = global_id(0)
    out[i] = subgroup_shuffle_xor(x[i], 5)
    totals[0, i] = subgroup_add(x[i])
    totals[1, i] = subgroup_min(x[i])
    totals[2, i] = subgroup_max(x[i])
    if dc.kernel.group_id(0) == 1:
        out[i] = subgroup_shuffle(out[i], 40) + subgroup_shuffle(x[i], 0)


@dc.kernel
def turned(z, out):
    i = global_id(0)
    out[i] = subgroup_shuffle_up(z[i], 1)


@pytest.mark.parametrize("device", ["cpu", "metal:0"])
def test_all_kinds_of_numbers(device: str, request: pytest.FixtureRequest) -> None:
    if device == "metal:0":
        request.getfixturevalue("metal")
    group = 84  # subgroups of 32, 32 and 20
    for dtype in (np.int8, np.uint32, np.int64, np.float16):
        x = np.random.default_rng(5).integers(0, 50, 2 * group).astype(dtype)
        x[3] = 100
        want, wanted = np.zeros_like(x), np.zeros((3, len(x)), dtype)
        whole.interpret[len(x), group](x, want, wanted)
        out = dc.zeros(len(x), dtype=dtype, device=device)
        totals = dc.zeros((3, len(x)), dtype=dtype, device=device)
        whole[len(x), group](dc.asarray(x, device=device), out, totals)
        assert out.get().tolist() == want.tolist()
        assert totals.get().tolist() == wanted.tolist()
    z = (np.arange(group) + 1j * np.arange(group)[::-1]).astype(np.complex64)
    moved = dc.zeros(group, dtype=np.complex64, device=device)
    turned[group, group](dc.asarray(z, device=device), moved)
    parts = np.split(z, [32, 64])
    want = np.concatenate([np.concatenate([part[:1], part[:-1]]) for part in parts])
    assert moved.get().tolist() == want.tolist()


@dc.kernel
def parted(x, out):
    i = global_id(0)
    if x[i] > 0:
        out[i] = subgroup_add(x[i])


def test_the_devices_instructions() -> None:
    types = (np.float32, 1), (np.float32, 2)
    cuda, metal, opencl = (
        reductions.source(target, *types, group=(64,))
        for target in ("cuda", "metal", "opencl")
    )
    assert "__shfl_sync(0xffffffffu, " in cuda
    assert "simd_shuffle(" in metal
    for text in (cuda, metal):
        assert "__shared__" not in text and "threadgroup float" not in text
        assert "barrier" not in text and "__syncthreads" not in text
    assert "__local float" in opencl
    assert "__ballot_sync(" in votes.source("cuda", *types, group=(64,))
    for target in ("cuda", "opencl"):
        with pytest.raises(dc.KernelSyntaxError, match="not all work items"):
            parted.source(target, types[0], types[0], group=(64,))


def test_opencl_of_nvidia_has_instructions() -> None:
    types = ArrayOf(np.dtype(np.float32), 1), ArrayOf(np.dtype(np.uint32), 2)
    for kernel, word in ((reductions, "shfl.sync"), (votes, "vote.sync")):
        found = kernel.specialised(types, {}, (64, 1, 1), 0, True, True).kernel
        text = render(found, NVIDIA)
        assert word in text
        assert "dc_lane" in text.split("__kernel", 1)[1] or kernel is votes
        assert "__local" not in text and "barrier" not in text
    device = SimpleNamespace(
        extensions="cl_khr_fp64 cl_nv_device_attribute_query",
        warp_size_nv=32,
        compute_capability_major_nv=9,
    )
    assert has_warps(device)
    device.compute_capability_major_nv = 6
    assert not has_warps(device)
    assert not has_warps(SimpleNamespace(extensions="cl_khr_subgroups"))


@pytest.mark.skipif(not nvrtc.available(), reason="needs NVRTC")
def test_cuda_compiles() -> None:
    types = (np.float64, 1), (np.float64, 2)
    for kernel in (shuffles, reductions, votes):
        text = kernel.source("cuda", *types, group=(64,))
        assert "shfl" in nvrtc.compiled(text, "sm_80", OPTIONS) or kernel is votes


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
