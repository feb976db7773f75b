"""Ranges and matrices with a pattern, made by a named device itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.api import patterns
from dcarray.backends.registry import install, remove

from .interpreted_device import InterpretedBackend


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    made = InterpretedBackend()
    install(made)
    monkeypatch.setattr(patterns, "LARGE", 64)
    monkeypatch.setattr(patterns, "SIDE", 8)
    with dc.config(device=made.device, fallback="error"):
        yield made.device
    remove(made.device)


def same(got: Any, wanted: Any) -> None:
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    assert np.array_equal(got.get(), wanted)


@pytest.mark.parametrize("shift", [0, 3, -5, 40, -40])
def test_matrices_with_a_pattern(device: str, shift: int) -> None:
    for rows, columns in ((12, 9), (9, 12), (11, None)):
        for dtype in (float, "i2", bool):
            for name in ("eye", "tri"):
                given = (rows, columns, shift, dtype)
                same(getattr(dc, name)(*given), getattr(np, name)(*given))
        turned = dc.eye(rows, columns, shift, order="F")
        same(turned, np.eye(rows, columns, shift))
        assert turned.flags.f_contiguous
        host = np.arange(2.0 * rows * 7).reshape(2, rows, 7)
        for name in ("tril", "triu"):
            for x in (host, host[0], host[0, 0], host.swapaxes(1, 2)):
                got = getattr(dc, name)(dc.asarray(x), shift)
                same(got, getattr(np, name)(x, shift))


def test_integers_in_order(device: str) -> None:
    for given in ((100,), (-3, 99), (7, 300, 3), (99, -7, -2), (5, 5), (9, 3)):
        same(dc.arange(*given), np.arange(*given))
    far = (2**61, 2**61 + 50)
    same(dc.arange(*far), np.arange(*far))
    with pytest.raises(ZeroDivisionError):
        dc.arange(0, 100, 0)


def test_grids(device: str) -> None:
    same(dc.mgrid[0:5, 0:20], np.mgrid[0:5, 0:20])
    same(dc.mgrid[3:19:2, :4, -9:40:7], np.mgrid[3:19:2, :4, -9:40:7])
    same(dc.mgrid[0:5, 0:2:20j], np.mgrid[0:5, 0:2:20j])
    with pytest.raises(ValueError, match="negative"):
        dc.mgrid[0:5, 8:3]
    rows, columns = dc.mgrid[0:5, 0:20]
    rows.shape = columns.shape = 100
    same(rows * 20 + columns, np.arange(100))
    for dtype in (int, "f4", float):
        same(dc.indices((5, 20), dtype), np.indices((5, 20), dtype))


def test_what_a_device_makes_takes_no_large_transfer(device: str) -> None:
    with dc.profile() as profile:
        found = [dc.eye(60), dc.tri(60), dc.triu(dc.ones((60, 60))), dc.mgrid[:60, :60]]
        dc.evaluate(*found)
    sizes = [event.nbytes for event in profile.events if event.kind == "transfer"]
    assert max(sizes, default=0) <= 60 * 2 * 8
