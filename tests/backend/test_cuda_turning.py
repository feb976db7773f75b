"""Stacks of matrices turned by our own text in CUDA C++, on the host."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from dcarray.backends.cuda.kernels import turning
from dcarray.backends.cuda.raw import Raw
from dcarray.backends.cuda.turning import Turn, turner

from ..cuda_emulator import EmulatedDevice, compiler

pytestmark = [
    pytest.mark.skipif(compiler() is None, reason="needs g++"),
    pytest.mark.long,
]

RNG = np.random.default_rng(5)


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Raw:
    return Raw(cast(Any, EmulatedDevice(tmp_path_factory.mktemp("cuda"))))


@pytest.mark.parametrize(
    ("turns", "starts"),
    [
        # Images and weights: tiles of both forms, some of them not full.
        ([Turn(2, 2, 72, 136, 72), Turn(2, 5, 16, 9, 16)], (16, 0)),
        # Few channels, filled up with zeros, and rows of an odd length.
        ([Turn(2, 2, 3, 600, 8), Turn(2, 3, 5, 49, 8)], (0, 16)),
        ([Turn(4, 2, 33, 100, 36)], (16,)),
        ([Turn(2, 2, 49, 72, 49)], (0,)),  # halves are written one by one
    ],
)
def test_turns(raw: Raw, turns: list[Turn], starts: tuple[int, ...]) -> None:
    allocate = raw.backend.allocate
    hosts, memories, places, end = [], [], [], 0
    for turn, start in zip(turns, starts, strict=True):
        shape = (turn.stack, turn.rows, turn.columns)
        host = RNG.integers(1, 60000, shape).astype(f"u{turn.size}")
        memory = cast(Any, allocate(start + host.nbytes))
        memory.seen_as("u1")[start:] = host.reshape(-1).view("u1")
        hosts.append(host)
        memories.append(memory)
        places.append(end)
        end += turn.nbytes
    room = cast(Any, allocate(end))
    start_all = turner(raw, list(zip(turns, starts, places, strict=True)))
    start_all([*memories, room], ())
    for turn, host, place in zip(turns, hosts, places, strict=True):
        flat = room.seen_as("u1")[place : place + turn.nbytes].view(host.dtype)
        got = flat.reshape(turn.stack, turn.columns, turn.pitch)
        assert np.array_equal(got[..., : turn.rows], host.swapaxes(1, 2))
        assert not got[..., turn.rows :].any()


def test_large_results_pass_by_the_cache(
    raw: Raw, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turning, "LARGE", 1)
    test_turns(raw, [Turn(4, 2, 36, 132, 36)], (16,))
    test_turns(raw, [Turn(2, 2, 16, 600, 16), Turn(2, 3, 8, 49, 8)], (0, 16))
