"""Groups of the host that were met before but for where their arrays lie."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.cpu.geometry import Geometry
from dcarray.backends.cpu.walks import slices_of
from dcarray.lazy import known
from dcarray.ops.elementwise import MULTIPLY

RNG = np.random.default_rng(7)


@pytest.fixture(autouse=True)
def _recorded() -> Iterator[None]:
    with dc.config(lazy="always"):
        yield


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Groups that are planned."""
    made: list[Any] = []
    before = known.planned

    def counting(*given: Any) -> Any:
        made.append(given)
        return before(*given)

    monkeypatch.setattr(known, "planned", counting)
    return made


def convolved(np: Any, x: Any, w: Any) -> Any:
    size = w.shape[0]
    rows, columns = x.shape[1] - size + 1, x.shape[2] - size + 1
    found = np.empty((x.shape[0], rows, columns, w.shape[3]), x.dtype)
    for i in range(rows):
        for j in range(columns):
            part = x[:, i : i + size, j : j + size, :, np.newaxis]
            found[:, i, j, :] = np.sum(part * w[np.newaxis], axis=(1, 2, 3))
    return found


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "c16"])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_products_that_are_summed(dtype: str, size: int, planned: list[Any]) -> None:
    x = (RNG.standard_normal((2, 9, 8, 3)) * 9).astype(dtype)
    w = (RNG.standard_normal((size, size, 3, 5)) * 9).astype(dtype)
    found = convolved(dc, dc.asarray(x), dc.asarray(w))
    assert np.asarray(found).tobytes() == convolved(np, x, w).tobytes()
    assert len(planned) <= 2


def block(a: Any, v: Any, i: int, j: int) -> None:
    a[i:, j:] += a[i:, j:] * 0.5 + v[j:]


def beside(a: Any, v: Any, i: int, j: int) -> None:
    a[i, 1 : j + 1] += a[i, :j] + a[i - 1, 1 : j + 1]


def turned(a: Any, v: Any, i: int, j: int) -> None:
    v[:j] = v[:j][::-1] + a[:j, i] * a[i, :j]


def column(a: Any, v: Any, i: int, j: int) -> None:
    a[:i, j] += v[:i] * v[j] - a[:i, j] * v[:i]


def total(a: Any, v: Any, i: int, j: int) -> None:
    v[j] = a[i, :j].sum() + (a[:j, i] * v[:j]).sum() * (a[:, j:] + v[0]).max()


def extremes(a: Any, v: Any, i: int, j: int) -> None:
    v[: 12 - i] = (a[i:, j:] - a[0, 0]).min(axis=1) - (a[:, :j] * 2.0).max()


STEPS = [block, beside, turned, column, total, extremes]

Step = Callable[[Any, Any, int, int], None]


@pytest.mark.parametrize("step", STEPS)
def test_every_place(step: Step) -> None:
    """Also where operands overlap, and places that come again."""
    a, v = RNG.standard_normal((12, 12)), RNG.standard_normal(12)
    x, y = dc.asarray(a), dc.asarray(v)
    for _ in range(2):
        for i in range(1, 6):
            for j in range(1, 8):
                step(a, v, i, j)
                step(x, y, i, j)
                a *= 0.5
                x *= 0.5
    assert np.asarray(x).tobytes() == a.tobytes()
    assert np.asarray(y).tobytes() == v.tobytes()


def test_places_are_not_kept(planned: list[Any]) -> None:
    """Only the first group of its kind is planned, and those that come often."""
    x = dc.asarray(RNG.standard_normal((12, 12)))
    for i in range(2, 10):
        for j in range(2, 10):
            x[i, :j] = x[i, :j] - x[j, :j] * x[0, :j]
            (x[i, 1:j] * x[j, 1:j]).sum()
    assert len(planned) <= 12


def test_flags_are_named_at_other_places() -> None:
    a = np.array([[1.0, 2.0, 3.0], [1.0, 0.0, 2.0], [1e308, 1e308, 1e308]])
    x = dc.asarray(a)

    def both(work: Callable[[Any, Any], Any]) -> None:
        said = []
        for module, given in ((np, a), (dc, x)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found = np.asarray(work(module, given))
            said.append((found.tobytes(), [str(w.message) for w in caught]))
        assert said[0] == said[1]

    for i in range(3):
        both(lambda m, y, i=i: (1.0 / y[i]) * y[0] - y[1])
        both(lambda m, y, i=i: (y[i] * y[0]).sum())
        both(lambda m, y, i=i: (y[i] + y[2]).sum())
        both(lambda m, y, i=i: (y[i] * y[2]).prod())


def test_elements_that_are_not_aligned() -> None:
    memory = np.zeros(8 * 40 + 4, np.uint8)
    for offset in (0, 8, 4, 16, 12):
        a = memory[offset : offset + 8 * 30].view("f8")
        a[:] = RNG.standard_normal(30)
        x = dc.asarray(a, copy=False)
        found = ((x * x[::-1] + 1.0).sum(), x * 2.0 + x)
        wanted = ((a * a[::-1] + 1.0).sum(), a * 2.0 + a)
        for one, other in zip(found, wanted, strict=True):
            assert np.asarray(one).tobytes() == other.tobytes()


def test_what_is_stored_while_it_is_read_elsewhere() -> None:
    """Values that wait for the memory are computed before it is written."""
    a = RNG.standard_normal((6, 50))
    x = dc.asarray(a)
    for i in range(5):
        waits = x[i] * 2.0 + x[i + 1]
        kept = a[i] * 2.0 + a[i + 1]
        x[i + 1] = x[i] * 3.0 - x[i + 1]
        a[i + 1] = a[i] * 3.0 - a[i + 1]
        assert np.asarray(waits).tobytes() == kept.tobytes()
    assert np.asarray(x).tobytes() == a.tobytes()


@pytest.mark.parametrize(
    ("rows", "step", "slices"), [(512, 0, 1), (512, 1024, 8), (2048, 0, 8)]
)
def test_threads_wait_for_more_work_on_little_memory(
    rows: int, step: int, slices: int
) -> None:
    """What is read again and again is in the cache; what is read once is not."""
    program = SimpleNamespace(
        nodes=[SimpleNamespace(op=MULTIPLY)], leaves=[np.dtype(np.float32)]
    )
    executable: Any = SimpleNamespace(program=program)
    marks = (False, False)
    walk = Geometry((rows, 256), ((step, 4),), (0,), marks, (0, 1), marks)
    with dc.config(thread_work=1 << 16):
        found = slices_of(executable, walk, 64, 1, 2)
    assert len(found) - 1 == slices
