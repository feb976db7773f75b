"""Groups that end as another one did: known by comparison, and only then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.lazy import again, alike, graph

from .interpreted_device import InterpretedBackend, on, used

F4 = np.arange(12, dtype=np.float32).reshape(3, 4) + 1

Program = Callable[[Any, Any], Any]


@pytest.fixture
def device() -> Iterator[InterpretedBackend]:
    with used(InterpretedBackend()) as made:
        yield made


def value_of(x: Any) -> Any:
    return x._binding._value


def found(x: Any) -> Any:
    """What a pending array is known to be."""
    value = value_of(x)
    with graph.lock:
        return again.matched(value.expr.form, value, None, True)


def chain(a: Any, b: Any) -> Any:
    return dc.exp(a * b + a) * 0.5 - dc.sqrt(a)


PROGRAMS: list[Program] = [
    chain,
    lambda a, b: (a + b) * (a + b) + a,
    lambda a, b: (lambda t: dc.exp(t) + t)(a + b),
    lambda a, b: a[0] * b + a[1],
    lambda a, b: a[::2] * 2.0 - b[:2] * 3.0,
    lambda a, b: dc.where(a > b, a * 2.0, b + 2.0),
    lambda a, b: (a.T + b.T) * a.T,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_known_the_second_time(device: InterpretedBackend, program: Program) -> None:
    """Also with other arrays, which give other results."""
    a, b = on(device, F4), on(device, F4[::-1] * 2)
    wanted = program(a, b).get()
    third = program(b, a)
    group = found(third)
    assert group is not None
    assert [value.expr is None for value in group.leaves] == [True] * len(group.leaves)
    assert group.stored == [value_of(third)]
    assert value_of(third) is group.values[-1]
    assert (program(a, b).get() == wanted).all()
    with dc.config(max_group_nodes=63):  # found the long way
        assert found(program(b, a)) is None
        other = program(b, a).get()
    assert (third.get() == other).all()


PAIRS: list[tuple[Program, Program]] = [
    (lambda a, b: (a + b) * a - b, lambda a, b: (a + b) * b - b),
    (lambda a, b: (a + b) * a - b, lambda a, b: (a + a) * a - b),
    (lambda a, b: a * 2.0 + b * 3.0, lambda a, b: a * 2.0 + b * 2.0),
    (lambda a, b: a * 2.0 + b * 2.0, lambda a, b: a * 2.0 + b * 3.0),
    (lambda a, b: (a + b) * (a + b) + a, lambda a, b: (lambda t: t * t + a)(a + b)),
    (lambda a, b: (lambda t: t * t + a)(a + b), lambda a, b: (a + b) * (a + b) + a),
    (lambda a, b: a[0] * b[0] + 1.0, lambda a, b: a[0] * a[0] + 1.0),
    (lambda a, b: a * b - a, lambda a, b: a / b - a),
]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_what_differs_is_not_known(
    device: InterpretedBackend, first: Program, second: Program
) -> None:
    """Neither other operations nor operands that are the same elsewhere."""
    a, b = on(device, F4), on(device, F4[::-1] * 2)
    host = (F4, F4[::-1] * 2)
    for program in (first, second, first, second):
        x = program(a, b)
        np.testing.assert_allclose(x.get(), program(*host), rtol=1e-6)
    x = first(a, b)
    form = value_of(x).expr.form
    form.patterns = form.kin = None
    alike._kins.clear()
    x.get()
    assert found(first(b, a)) is not None
    other = second(a, b)
    assert value_of(other).expr.form is not form or found(other) is None


def test_what_is_kept_is_stored(device: InterpretedBackend) -> None:
    """A temporary that an array shows, or that another value reads, is no temporary."""
    a, b = on(device, F4), on(device, F4[::-1] * 2)
    chain(a, b).get()

    kept = a * b
    x = dc.exp(kept + a) * 0.5 - dc.sqrt(a)
    assert found(x) is None
    x.get()
    assert value_of(kept).expr is None
    assert (kept.get() == F4 * F4[::-1] * 2).all()

    kept = a * b
    reader = kept + 7.0
    x = dc.exp(kept + a) * 0.5 - dc.sqrt(a)
    del kept
    assert found(x) is None
    x.get()
    assert (reader.get() == F4 * F4[::-1] * 2 + 7).all()


def test_reductions_know_their_axes(device: InterpretedBackend) -> None:
    a, b = on(device, F4), on(device, F4[::-1] * 2)
    wanted = F4 * (F4[::-1] * 2) + F4
    for _ in range(3):
        for axis in (0, 1, None):
            got = (a * b + a).sum(axis=axis).get()
            np.testing.assert_allclose(got, wanted.sum(axis=axis), rtol=1e-6)


def test_a_bound_value_that_is_reduced_is_stored(device: InterpretedBackend) -> None:
    a, b = on(device, F4), on(device, F4[::-1] * 2)
    for _ in range(2):
        (a * b + a).sum().get()
    t = a * b + a
    t.sum().get()
    assert value_of(t).expr is None
    assert (t.get() == F4 * (F4[::-1] * 2) + F4).all()


def test_few_patterns_are_kept(device: InterpretedBackend) -> None:
    a, b = on(device, F4), on(device, F4[::-1] * 2)
    functions = (dc.exp, dc.sin, dc.cos, dc.tanh, dc.sqrt, dc.abs)
    for function in functions:
        (function(a) + b).get()
    x = dc.abs(a) + b
    assert found(x) is not None
    assert len(value_of(x).expr.form.patterns) <= again.MOST
    assert found(dc.exp(a) + b) is None  # forgotten, and found the long way
    np.testing.assert_allclose(
        (dc.exp(a) + b).get(), np.exp(F4) + F4[::-1] * 2, rtol=1e-5
    )


def test_those_that_take_turns_are_described_once(device: InterpretedBackend) -> None:
    """More of them than are kept: each is found by its key, and kept in turn."""
    a, b = on(device, F4), on(device, F4[::-1] * 2)
    functions = (dc.exp, dc.sin, dc.cos, dc.tanh, dc.sqrt, dc.abs)
    seen: dict[Any, set[int]] = {}
    for _ in range(3):
        for function in functions:
            x = function(a) + b
            form = value_of(x).expr.form
            x.get()
            assert len(form.patterns) <= again.MOST
            seen.setdefault(function, set()).add(id(form.patterns[0]))
    assert [len(patterns) for patterns in seen.values()] == [1] * len(functions)


def test_large_groups_are_not_kept(device: InterpretedBackend) -> None:
    with dc.config(max_group_nodes=1000):
        for _ in range(2):
            x = on(device, F4)
            start = x
            for _ in range(again.NODES + 1):
                x = x + start
            value = value_of(x)
            assert found(x) is None
            np.testing.assert_allclose(x.get(), F4 * (again.NODES + 2))
            assert value.state == "stored"
