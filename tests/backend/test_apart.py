"""Kernels that write over memory of which they read small parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.lazy import apart, execute

SIZE = 96

UPDATES: dict[str, Callable[[Any, Any, int], None]] = {
    "row and column": lambda m, a, k: a.__setitem__(
        slice(None), m.minimum(a[:], m.add.outer(a[:, k], a[k, :]))
    ),
    "backwards": lambda m, a, k: a.__setitem__(
        slice(None), a[::-1] - a[:, k, None] * a[k, ::-1]
    ),
    "part of it": lambda m, a, k: a[k + 1 :, k + 1 :].__isub__(
        m.outer(a[k + 1 :, k], a[k, k + 1 :]) / 64
    ),
    "an element": lambda m, a, k: a.__setitem__(slice(None), a + a[k, k : k + 1]),
    "twice": lambda m, a, k: a.__setitem__(
        slice(None), a * a[k] + m.sqrt(m.abs(a[k])) - a[:, k, None]
    ),
    "converted": lambda m, a, k: a.__setitem__(
        slice(None), (a[k].astype(m.float32) + a[:, k, None]).astype(a.dtype)
    ),
    "part of a pending array": lambda m, a, k: a.__setitem__(
        slice(None), (a * 2)[k] + (a[k] - 1) + a[:, : k + 1].sum()
    ),
}


@pytest.fixture(autouse=True)
def always_lazy() -> Any:
    with dc.config(lazy="always"):
        yield


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", UPDATES)
def test_what_is_read_is_what_was_there(name: str, order: Any, dtype: Any) -> None:
    host = np.random.default_rng(5).integers(1, 9, (SIZE, SIZE)).astype(dtype, order)
    ours = dc.asarray(host)
    if name == "part of it" and dtype is np.int32:
        pytest.skip("a quotient does not go into integers")
    for k in (0, 40, SIZE - 2):
        UPDATES[name](np, host, k)
        UPDATES[name](dc, ours, k)
    found = np.asarray(ours)
    assert found.dtype == host.dtype
    assert found.tobytes() == host.tobytes()


def test_one_kernel_writes_where_the_array_lies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("through memory of its own")

    monkeypatch.setattr(execute, "_copy", refuse)
    host = np.random.default_rng(6).random((SIZE, SIZE))
    ours = dc.asarray(host)
    update = UPDATES["row and column"]
    with dc.profile() as p:
        for k in range(5):
            update(dc, ours, k)
            update(np, host, k)
    assert [event.name for event in p.groups] == ["add minimum"] * 5
    assert np.asarray(ours).tobytes() == host.tobytes()


def test_others_still_see_what_was_recorded() -> None:
    host = np.random.default_rng(7).random((SIZE, SIZE))
    ours = dc.asarray(host)
    row, both = ours[2] * 3, dc.outer(ours[1], ours[:, 1])
    ours[:] = ours - both
    ours[:] = 0
    assert np.asarray(row).tobytes() == (host[2] * 3).tobytes()
    assert np.asarray(both).tobytes() == np.outer(host[1], host[:, 1]).tobytes()


def test_large_parts_are_read_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[Any] = []
    real = apart._copy
    monkeypatch.setattr(
        apart, "_copy", lambda *part: copied.append(part) or real(*part)
    )
    ours = dc.asarray(np.arange(64.0).reshape(8, 8))
    ours[:] = ours[:, ::-1] + ours.T
    assert not copied
    ours[:] = ours + ours[0]
    assert len(copied) == 1
