"""Writing to parts of arrays on a device: right, and without a second kernel."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from dcarray.array.kept import _part
from dcarray.layout import Layout

from .interpreted_device import InterpretedBackend, on, used

Statement = Callable[[Any, Any, Any], Any]


@pytest.fixture(scope="module")
def device() -> Iterator[InterpretedBackend]:
    with used(InterpretedBackend()) as made:
        yield made


def launches(device: InterpretedBackend, statement: Statement) -> int:
    """Of a statement that was run before; what it wrote is compared with NumPy's."""
    hosts = [np.arange(k, k + 42.0).reshape(6, 7) % 11 + 1 for k in (0, 3, 8)]
    arrays = [on(device, x.copy()) for x in hosts]
    for _ in range(2):
        device.launched.clear()
        statement(*arrays)
        statement(*hosts)
        count = len(device.launched)
        for host, array in zip(hosts, arrays, strict=True):
            np.testing.assert_array_equal(array.get(), host)
    return count


def in_place(a: Any, b: Any, c: Any) -> None:
    a[1:] -= 0.5 * (b[1:] - b[:-1])


def assigned(a: Any, b: Any, c: Any) -> None:
    a[1:-1, 1:-1] = b[1:-1, 1:-1] + c[1:-1, :-2]


def from_its_other_columns(a: Any, b: Any, c: Any) -> None:
    a[:, -1] = a[:, -2]


def rank_one(a: Any, b: Any, c: Any) -> None:
    a[2:, 3:] -= a[2:, 2:3] * a[1:2, 3:]


def a_row_of_it(a: Any, b: Any, c: Any) -> None:
    a[2, :] = a[2, :] * 2 + b[2, :]


def an_element(a: Any, b: Any, c: Any) -> None:
    a[0, :] = b[3, 4]


def by_an_element(a: Any, b: Any, c: Any) -> None:
    a[:, 2] += b[:, 2] * c[3, 3]


def by_an_element_times_a_number(a: Any, b: Any, c: Any) -> None:
    a[:3, 2] += (0.5 * b[0, 1]) * c[:3, 2]


def by_a_number_from_numpy(a: Any, b: Any, c: Any) -> None:
    a[:3, 2] += np.float64(0.5) * b[0, 1] * c[:3, 2]


def by_elements(a: Any, b: Any, c: Any) -> None:
    a[:3, 2] -= c[:3, 2] / (b[0, 1] + b[2, 2] * 0.5)


def a_number(a: Any, b: Any, c: Any) -> None:
    a[1:3, ::2] = 3.5


def elements(a: Any, b: Any, c: Any) -> None:
    a[1, 1] -= a[1, 0] * b[0, 1]


def along_new_axes(a: Any, b: Any, c: Any) -> None:
    a[..., 1:3] = b[:, 1, None] * c[None, 0, 2:4]


@pytest.mark.parametrize(
    "statement",
    [
        *(in_place, assigned, from_its_other_columns, rank_one, a_row_of_it),
        *(an_element, by_an_element, a_number, elements, along_new_axes),
        *(by_an_element_times_a_number, by_a_number_from_numpy, by_elements),
    ],
)
def test_one_launch(device: InterpretedBackend, statement: Statement) -> None:
    assert launches(device, statement) == 1


def before_it_is_read(a: Any, b: Any, c: Any) -> None:
    a[:, 1:] += 2 * a[:, :-1]


def twice(a: Any, b: Any, c: Any) -> None:
    a[1:, 1] = b[1, 1:6] = c[1:, 1] / 4


@pytest.mark.parametrize("statement", [before_it_is_read, twice])
def test_two_launches(device: InterpretedBackend, statement: Statement) -> None:
    assert launches(device, statement) == 2


def test_a_number_beside_arrays_is_what_it_was(device: InterpretedBackend) -> None:
    for _ in range(3):
        a, b = on(device, np.arange(6.0)), on(device, np.arange(6.0) + 10)
        number = 2 * a[1]
        there = number * b
        a[1] = 7
        np.testing.assert_array_equal(there.get(), 2 * (np.arange(6.0) + 10))
        assert float(number) == 2
        assert (number * b[:0]).shape == (0,)


def test_what_was_assigned_lives_on(device: InterpretedBackend) -> None:
    """The right side keeps its elements, whoever writes afterwards."""
    a, b = on(device, np.arange(6.0)), on(device, np.arange(6.0) + 10)
    there = b[:3] * 2
    a[3:] = there
    a[3:] += 1
    b[:3] = 0
    own = a[:2] + 1
    a[:2] = own
    a[:2] = 7
    assert there.get().tolist() == [20, 22, 24]
    assert own.get().tolist() == [1, 2]
    assert a.get().tolist() == [7, 7, 2, 21, 23, 25]


def test_an_element_is_read_when_it_is_named(device: InterpretedBackend) -> None:
    a, b = on(device, np.arange(4.0)), on(device, np.zeros(4))
    element = a[2]
    later = b + element
    a[2] = 99
    b[:] = element
    assert later.get().tolist() == [2] * 4
    assert b.get().tolist() == [2] * 4


def test_an_ellipsis_gives_a_view(device: InterpretedBackend) -> None:
    a = on(device, np.arange(4.0))
    view, element = a[2, ...], a[2]
    a[2] = 9
    assert view.get() == 9
    assert element.get() == 2


def test_random_programs(device: InterpretedBackend) -> None:
    for seed in range(40):
        rng = random.Random(seed)
        hosts = [np.arange(k, k + 30.0).reshape(5, 6) % 7 + 1 for k in range(3)]
        arrays = [on(device, x.copy()) for x in hosts]
        held: list[tuple[Any, Any]] = []
        for _ in range(12):
            key = tuple(_slice(rng, n) for n in (5, 6))
            i, j, k = (rng.randrange(3) for _ in range(3))
            kind = rng.randrange(6)
            found = [_step(x, kind, key, i, j, k) for x in (hosts, arrays)]
            held.append((found[0], found[1]))
        for host, array in (*zip(hosts, arrays, strict=True), *held):
            np.testing.assert_allclose(array.get(), host)


def _slice(rng: random.Random, length: int) -> slice:
    begin = rng.randrange(length)
    end = rng.randrange(begin + 1, length + 1)
    return slice(begin, end) if rng.random() < 0.7 else slice(end - 1, None, -1)


def _step(x: Any, kind: int, key: Any, i: int, j: int, k: int) -> Any:
    if kind == 0:
        x[i][key] += x[j][key] / 4 - x[k][key]
    elif kind == 1:
        x[i][key] = x[j][key] / 2 + x[i][key]
    elif kind == 2:
        x[i][key] = x[j][1, 2]
    elif kind == 3:
        x[i][key] = x[j][key]
    elif kind == 4:
        there = x[j][key] - 1
        part = x[i][key]
        part -= there
        x[k][key] = there
        return there
    return x[i][key] * 2


def test_parts_lie_as_numpy_says() -> None:
    rng = random.Random(1)

    def bound() -> Any:
        return rng.choice([None, rng.randint(-8, 8)])

    for _ in range(600):
        shape = tuple(rng.randint(1, 6) for _ in range(rng.randint(1, 3)))
        strides = np.empty(shape)[..., :: rng.choice([1, -1, 2])].strides
        whole = Layout(shape, strides, 8 * rng.randint(0, 9))
        key = tuple(
            rng.randint(-7, 6)
            if rng.random() < 0.4
            else slice(bound(), bound(), rng.choice([None, 1, 2, -1, -3]))
            for _ in range(rng.randint(1, len(shape) + 1))
        )
        part = _part(whole, key)
        try:
            wanted, _ = whole.apply(np.dtype("f8"), lambda a, k=key: a[(*k, ...)])  # type: ignore[misc]
        except IndexError:
            assert part is None
        else:
            assert part == wanted or (part is None and 0 in wanted.shape)
