"""Launches for operands that lie like others did, and begin elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.grid import programs
from dcarray.backends.grid.geometry import ROOM, Axes, is_wide, room_before
from dcarray.backends.grid.shifted import lying, shifted_of
from dcarray.layout import Layout

from .interpreted_device import InterpretedBackend, on, used

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)

Step = Callable[[Any, Any, Any, Any, int, int], None]


def convolved(np_: Any, x: Any, w: Any, out: Any, i: int, j: int) -> None:
    out[:, i, j, :] = np_.sum(
        x[:, i : i + 2, j : j + 3, :, np.newaxis] * w[np.newaxis], axis=(1, 2, 3)
    )


def pooled(np_: Any, x: Any, w: Any, out: Any, i: int, j: int) -> None:
    out[:, i, j, :3] = np_.max(x[:, i : i + 2, j : j + 2, :], axis=(1, 2))


def scaled(np_: Any, x: Any, w: Any, out: Any, i: int, j: int) -> None:
    out[i % 2, i, j:, :3] = x[1, i, j : j + 4 - j, :] * 2.0 + x[0, j, i, :]


def reversed_(np_: Any, x: Any, w: Any, out: Any, i: int, j: int) -> None:
    out[0, :, j, i] = x[0, i : i + 4, j, ::-1][:, 1] - x[1, 3::-1, j, 0]


@pytest.mark.parametrize("step", [convolved, pooled, scaled, reversed_])
def test_every_place(step: Step) -> None:
    random = np.random.default_rng(5)
    x = random.random((2, 7, 8, 3), dtype=np.float32)
    w = random.random((2, 3, 3, 5), dtype=np.float32)
    out = np.zeros((2, 4, 4, 5), np.float32)
    with used(InterpretedBackend()) as device:
        ours = [on(device, a) for a in (x, w, out)]
        for i in range(4):
            for j in range(4):
                step(np, x, w, out, i, j)
                step(dc, *ours, i, j)
        np.testing.assert_allclose(ours[2].get(), out, rtol=1e-5)


@pytest.mark.skipif(
    programs.__file__.endswith(".so"), reason="compiled modules do not see it replaced"
)
def test_a_launch_is_laid_out_once() -> None:
    """Wherever the operands begin; for other strides it is another one."""
    made: list[Any] = []
    in_parts = programs.in_parts

    def counting(*given: Any) -> Any:
        made.append(given[2])
        return in_parts(*given)

    host = np.random.default_rng(6).random((3, 20, 6), dtype=np.float32)
    with used(InterpretedBackend()) as device, pytest.MonkeyPatch.context() as patch:
        patch.setattr(programs, "in_parts", counting)
        x = on(device, host)
        for first in range(12):
            found = (x[:, first : first + 5] * 2.0).sum(axis=1)
            np.testing.assert_allclose(
                found.get(), (host[:, first : first + 5] * 2.0).sum(axis=1), rtol=1e-5
            )
        several = len(made)
        for first in range(12, 15):
            (x[:, first : first + 5] * 2.0).sum(axis=1).get()
        assert len(made) == several < 12


def test_room() -> None:
    """The kernel's indices are as narrow as they were for the first operands."""
    shape, row = (4, 5), (-7, 3)
    limit = room_before(shape, row)
    assert limit == ROOM - 3 * 7 - 4 * 3
    axes = Axes(shape, (row,))
    assert not is_wide([limit - 1], (axes,))
    assert is_wide([limit], (axes,))


class _Noted:
    """A launch that keeps what it is started with."""

    def __init__(self) -> None:
        self.offsets: list[list[int]] = []

    def once(self, backend: Any, memories: Any, scalars: Any, offsets: Any) -> None:
        self.offsets.append(offsets)


def test_what_begins_too_far_or_within_an_element() -> None:
    shape, strides = (4, 5), (40, 8)
    launch: Any = _Noted()
    backend: Any = None

    def places(*offsets: int) -> list[tuple[Layout, np.dtype[Any]]]:
        return [(Layout(shape, strides, offset), F64) for offset in offsets]

    found = shifted_of(launch, shape, places(0, 80), False)
    assert found is not None
    assert found.once(backend, places(16, 8), [], ())
    assert launch.offsets == [[2, 1]]
    far = 8 * room_before(shape, (5, 1))
    assert not found.once(backend, places(far, 8), [], ())
    assert not found.once(backend, places(16, 4), [], ())
    assert found.once(backend, places(far - 8, 8), [], ())
    assert shifted_of(launch, shape, places(0, far), False) is None


def test_maps_count_as_alike_where_they_are_aligned_alike() -> None:
    shape, strides = (4, 16), (64, 4)

    def key(offset: int, is_reduced: bool) -> Any:
        places = [(Layout(shape, strides, offset), F32), (Layout(shape, strides), F32)]
        return lying(shape, places, is_reduced)

    assert key(0, False) == key(64, False) != key(4, False)
    assert key(0, True) == key(4, True)
