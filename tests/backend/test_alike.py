"""Groups that were met before but for where their arrays lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dcarray.lazy import known

from .interpreted_device import InterpretedBackend, on, used

HOST = np.random.default_rng(3).random((12, 12))

Step = Callable[[Any, Any, int, int], None]


def element(a: Any, v: Any, i: int, j: int) -> None:
    a[i, j] /= a[j, j] + 2.0


def row(a: Any, v: Any, i: int, j: int) -> None:
    a[i, :j] -= a[i, j] * v[:j]


def column(a: Any, v: Any, i: int, j: int) -> None:
    a[:i, j] += v[:i] * v[j] - a[:i, j] * v[:i]


def shifted(a: Any, v: Any, i: int, j: int) -> None:
    a[i, 1 : j + 1] += a[i, :j] + a[i - 1, 1 : j + 1]


def block(a: Any, v: Any, i: int, j: int) -> None:
    a[i:, j:] += a[i:, j:] * 0.5 + v[j:]


def turned(a: Any, v: Any, i: int, j: int) -> None:
    v[:j] = v[:j][::-1] + a[:j, i] * a[i, :j]


def total(a: Any, v: Any, i: int, j: int) -> None:
    v[j] = a[i, :j].sum() + (a[:j, i] * v[:j]).sum()


def same(a: Any, v: Any, i: int, j: int) -> None:
    a[i, j] = a[i, j] * a[j, i] + a[i, i]


STEPS = [element, row, column, shifted, block, turned, total, same]


@pytest.mark.parametrize("step", STEPS)
def test_every_place(step: Step) -> None:
    """Also where operands are the same elements, and places that come again."""
    with used(InterpretedBackend()) as device:
        a, v = HOST.copy(), HOST[0].copy()
        x, y = on(device, a), on(device, v)
        for _ in range(2):
            for i in range(1, 6):
                for j in range(1, 8):
                    step(a, v, i, j)
                    step(x, y, i, j)
        np.testing.assert_allclose(x.get(), a, rtol=1e-10)
        np.testing.assert_allclose(y.get(), v, rtol=1e-10)


def test_places_are_not_kept() -> None:
    """Only the first group of its kind is planned, and those that come often."""
    made: list[Any] = []
    planned = known.planned

    def counting(*given: Any) -> Any:
        made.append(given)
        return planned(*given)

    with used(InterpretedBackend()) as device, pytest.MonkeyPatch.context() as patch:
        patch.setattr(known, "planned", counting)
        x = on(device, HOST)
        for i in range(2, 10):
            for j in range(2, 10):
                x[i, :j] += x[j, :j]
                x[i, 1:j].sum()
        assert len(made) <= 4
        before = len(made)
        for _ in range(20):
            x[3, :5] += x[4, :5]
            x[5, 2:5].sum()
        assert before < len(made) <= before + 3


def test_errors_and_empty_parts() -> None:
    with used(InterpretedBackend()) as device:
        x = on(device, HOST)
        for j in (5, 4, 3, 0):
            x[1, :j] += x[2, :j]
            assert np.isfinite(float(x[1, :j].sum()))
        with pytest.raises(ValueError, match="broadcast"):
            x[1, :4] += x[2, :3]
