"""Many threads: recording, evaluating what others recorded, writing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import dcarray as dc

WORKERS = 8


@pytest.fixture(params=["always", "auto"], autouse=True)
def lazy(request: pytest.FixtureRequest) -> Iterator[str]:
    with dc.config(lazy=request.param):
        yield request.param


def together(work: Callable[[int], Any], count: int = WORKERS) -> list[Any]:
    """Run ``work(0) .. work(count - 1)`` at the same moment, in threads."""
    gate = threading.Barrier(count)
    lazy = current_lazy()

    def one(index: int) -> Any:
        with dc.config(lazy=lazy):
            gate.wait()
            return work(index)

    with ThreadPoolExecutor(count) as pool:
        return [
            f.result(timeout=60) for f in [pool.submit(one, i) for i in range(count)]
        ]


def chain(m: Any, x: Any, index: int) -> Any:
    return m.exp(x * (0.25 + index)) * 0.5 - m.sqrt(m.abs(x) + index)


@pytest.mark.parametrize("size", [7, 1000, 100_001])
def test_each_thread_records_its_own(size: int) -> None:
    base = np.linspace(-2, 2, size).astype(np.float32)
    shared = dc.asarray(base)

    def work(index: int) -> list[np.ndarray]:
        return [np.asarray(chain(dc, shared, index + n)).copy() for n in range(5)]

    for index, found in enumerate(together(work)):
        for n, one in enumerate(found):
            assert one.tobytes() == chain(np, base, index + n).tobytes()


@pytest.mark.parametrize("size", [5, 100_001])
def test_threads_read_one_pending_value(size: int) -> None:
    for _ in range(20):
        base = np.arange(size) * 0.5
        pending = chain(dc, dc.asarray(base), 1)
        halves = (pending + 1, pending[::-1] * 2, pending)
        wanted = chain(np, base, 1)
        expected = (wanted + 1, wanted[::-1] * 2, wanted)

        def work(index: int, halves: Any = halves) -> bytes:
            return np.asarray(halves[index % 3]).tobytes()

        for index, found in enumerate(together(work)):
            assert found == expected[index % 3].tobytes()


def test_threads_extend_one_pending_value() -> None:
    base = np.arange(50_000.0)
    pending = dc.asarray(base) * 3

    def work(index: int) -> float:
        total = pending
        for n in range(10):
            total = total + n * index
        return float(total.sum())

    for index, found in enumerate(together(work)):
        wanted = base * 3
        for n in range(10):
            wanted = wanted + n * index
        assert found == float(wanted.sum())


def test_threads_write_into_arrays_of_their_own() -> None:
    common = np.arange(40_000.0)
    shared = dc.asarray(common)

    def work(index: int) -> bytes:
        mine = dc.zeros(40_000) + index
        for n in range(20):
            before = mine * 2
            mine += shared * n
            mine[::3] -= 1
            mine[1::3] = before[1::3]
        return np.asarray(mine).tobytes()

    for index, found in enumerate(together(work)):
        mine = np.zeros(40_000) + index
        for n in range(20):
            before = mine * 2
            mine += common * n
            mine[::3] -= 1
            mine[1::3] = before[1::3]
        assert found == mine.tobytes()


def test_threads_write_into_parts_of_one_array() -> None:
    whole = dc.zeros((WORKERS, 20_000))

    def work(index: int) -> None:
        row = whole[index]
        for n in range(15):
            row += n
            row *= 1.5

    together(work)
    wanted = np.zeros(20_000)
    for n in range(15):
        wanted += n
        wanted *= 1.5
    found = np.asarray(whole)
    assert all(found[index].tobytes() == wanted.tobytes() for index in range(WORKERS))


def test_a_reader_beside_a_writer_sees_old_or_new_whole_elements() -> None:
    array = dc.zeros(100_000)
    seen: list[bool] = []

    def work(index: int) -> None:
        for n in range(30):
            if index == 0:
                array[...] = float(n)
            else:
                values = np.asarray(array + 0.0)
                seen.append(bool(np.isin(values, np.arange(30.0)).all()))

    together(work, 3)
    assert seen
    assert all(seen)


def test_dropping_while_others_evaluate() -> None:
    base = np.arange(1000.0)

    def work(index: int) -> float:
        total = 0.0
        for n in range(100):
            a = dc.asarray(base)
            b = a * n
            c = b + 1
            d = b - 1
            del a, b
            if n % 2:
                del c
                total += float(d[0])
            else:
                total += float(c[0])
        return total

    assert len(set(together(work))) == 1


def test_settings_belong_to_a_thread() -> None:
    def work(index: int) -> bool:
        with dc.config(lazy=("always", "never")[index % 2]):
            return current_lazy() == ("always", "never")[index % 2]

    before = current_lazy()
    assert all(together(work))
    assert current_lazy() == before


def test_an_error_in_one_thread_leaves_the_others() -> None:
    base = dc.arange(10.0)

    def work(index: int) -> float | str:
        if index % 2:
            try:
                base + dc.zeros(3)
            except ValueError:
                return "refused"
        return float((base * 2).sum())

    assert together(work) == [90.0, "refused"] * (WORKERS // 2)


def test_answers_do_not_depend_on_the_number_of_threads() -> None:
    base = (np.random.default_rng(1).standard_normal(300_007) * 9).astype(np.float32)
    for threads in (1, 2, 3, 7):
        with dc.config(threads=threads):
            x = dc.asarray(base)
            y = chain(dc, x, 1)
            results = (y, y.sum(), (x * x).mean(), y[::-3].sum(), y.max())
            found = [np.asarray(one).tobytes() for one in results]
        z = chain(np, base, 1)
        wanted = (z, z.sum(), (base * base).mean(), z[::-3].sum(), z.max())
        assert found == [one.tobytes() for one in wanted], threads


def current_lazy() -> str:
    with dc.config() as settings:
        return settings.lazy
