"""Small arrays of the host: one NumPy call, with NumPy's answer to everything."""

from __future__ import annotations

import operator
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.array import immediate, indexing, operators
from dcarray.array.operands import spreads
from dcarray.config import current
from dcarray.lazy.graph import State

Result = tuple[Any, list[str]]

DTYPES = ["?", "i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.and_,
    operator.lshift,
    operator.lt,
    operator.eq,
    divmod,
]


@pytest.fixture(params=["array", "numpy"], autouse=True)
def scalars(request: pytest.FixtureRequest) -> Iterator[str]:
    with dc.config(scalars=request.param):
        yield request.param


def outcome(function: Callable[..., Any], *operands: Any) -> Result:
    """What a call gives, or the error that it raises, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*operands)
        except Exception as error:  # whatever NumPy raises
            result = (type(error), str(error))
    return result, [str(warning.message) for warning in caught]


def check_same(ours: Any, numpys: Any) -> None:
    """The same bits, dtype, shape and strides; elements as the setting has them."""
    if isinstance(numpys, tuple):
        assert type(ours) is tuple and len(ours) == len(numpys)
        for one, other in zip(ours, numpys, strict=True):
            check_same(one, other)
        return
    if isinstance(numpys, np.generic) and current().scalars == "numpy":
        assert type(ours) is type(numpys)
    elif isinstance(numpys, (np.ndarray, np.generic)):
        assert type(ours) is dc.DeviceArray
        found = ours.get()
        assert (found.dtype, found.shape) == (numpys.dtype, numpys.shape)
        if isinstance(numpys, np.ndarray):
            assert ours.strides == numpys.strides
        assert found.tobytes() == numpys.tobytes()
        return
    assert repr(ours) == repr(numpys)


def numbers(code: str) -> np.ndarray[Any, Any]:
    return (np.arange(6).reshape(2, 3) % 5).astype(code)


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("code", DTYPES)
def test_numpys_numbers_beside_arrays(kind: str, code: str) -> None:
    host = numbers(code)
    number = np.dtype(kind).type(3)
    x = dc.asarray(host)
    for function in OPERATORS:
        for reflected in (False, True):
            given = (number, host) if reflected else (host, number)
            mine = (number, x) if reflected else (x, number)
            wanted, warned = outcome(function, *given)
            found, told = outcome(function, *mine)
            check_same(found, wanted)
            assert told == warned


PYTHONS: list[Any] = [0.0, -0.0, 0, 1, 1.0, True, 2, 2.0, -1, -1.5, 0.1, 255, 300]
PYTHONS += [1e39, -1e39, 1e300, 5e-324, float("inf"), float("-inf"), float("nan")]
PYTHONS += [
    2**24 + 1,
    -(2**24),
    2**31,
    2**53,
    2**53 + 1,
    -(2**53) - 1,
    2**63,
    10**400,
    1j,
]

IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv]


@pytest.mark.parametrize("code", DTYPES)
def test_pythons_numbers_beside_arrays(code: str) -> None:
    host = numbers(code)
    x = dc.asarray(host)
    functions = [np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum]
    for number in [*PYTHONS, *PYTHONS[::-1]]:  # whichever of two equal ones comes first
        for function in (*OPERATORS, *functions, np.ldexp, np.copysign):
            for place in (0, 1):
                given = (number, host) if place else (host, number)
                mine = (number, x) if place else (x, number)
                ours_of = function
                if isinstance(function, np.ufunc):
                    ours_of = getattr(dc, function.__name__)
                wanted, warned = outcome(function, *given)
                found, told = outcome(ours_of, *mine)
                check_same(found, wanted)
                assert told == warned
        for function in IN_PLACE:
            target, mine_too = host.copy(), dc.asarray(host)
            wanted, warned = outcome(function, target, number)
            found, told = outcome(function, mine_too, number)
            check_same(mine_too, target)
            assert told == warned
            if isinstance(wanted, tuple):
                assert found == wanted


@pytest.mark.parametrize("code", ["f4", "f8", "i8"])
def test_many_numbers_beside_arrays(code: str) -> None:
    host = np.arange(4).astype(code)
    x = dc.asarray(host)
    for place in range(immediate.MOST_CONSTANTS + 10):
        check_same(x * place, host * place)
        check_same(x - place / 3, host - place / 3)
    dtype = np.dtype(code)
    made = immediate.constant(dtype, 3)
    assert immediate.constant(dtype, 3) is made
    assert type(made) is np.ndarray and made.dtype == dtype


@pytest.mark.parametrize("name", ["multiply", "maximum", "hypot", "divmod", "sqrt"])
def test_numpys_functions_and_numbers_take_the_short_way(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = np.linspace(1, 2, 7)
    x = dc.asarray(host)

    def refuse(*arguments: Any, **keywords: Any) -> None:
        raise AssertionError("the long way")

    monkeypatch.setattr(dc.DeviceArray, "_on_ufunc", refuse)
    function = getattr(np, name)
    two = np.float64(2)
    for operands in ((x, two), (two, x), (x, host), (host, x), (x, x), (x, 2)):
        mine = operands[: function.nin]
        given = [host if y is x else y for y in mine]
        if any(y is x for y in mine):
            check_same(function(*mine), function(*given))
    check_same(np.float64(2) * x, np.float64(2) * host)
    out = dc.zeros(7)
    assert np.add(x, host, out=out) is out
    check_same(out, host + host)


def test_numbers_alone() -> None:
    for function in ("sqrt", "sign", "negative"):
        for number in (2, 2.5, np.float32(2), np.int8(-3), 1j, np.complex64(2j)):
            wanted, warned = outcome(getattr(np, function), number)
            found, told = outcome(getattr(dc, function), number)
            check_same(found, wanted)
            assert told == warned
    check_same(dc.maximum(np.float32(1), 2.0), np.maximum(np.float32(1), 2.0))


def test_numpys_arrays_beside_ours() -> None:
    host = np.arange(12.0).reshape(3, 4)
    x = dc.asarray(host)
    for other in (host, host[1], host[:, :1], np.array(3), np.ones((3, 4), "c8")):
        check_same(x + other, host + other)
        check_same(other - x, other - host)
        check_same(dc.maximum(x, other), np.maximum(host, other))
    x += host
    check_same(x, host + host)
    wanted, _ = outcome(operator.add, host, np.ones(3))
    assert outcome(operator.add, x, np.ones(3))[0] == wanted


def test_memory_of_others_is_read_at_once() -> None:
    host = np.arange(4.0)
    x = dc.ones(4)
    y = x + host
    host[:] = 9
    assert y.tolist() == [1, 2, 3, 4]


# ---------------------------------------------------------------------- large results
SHAPES = [(), (1,), (4,), (2, 1), (3, 1), (1, 4), (3, 4), (2, 3, 1), (0,), (5, 1, 1)]


@pytest.mark.parametrize("limit", [0, 1, 4, 5, 12, 24, 1000])
def test_which_results_are_large(limit: int) -> None:
    for a in SHAPES:
        for b in SHAPES:
            arrays = [np.empty(a), 2.0, np.empty(b), np.float32(1)]
            if any(np.size(x) >= limit for x in arrays):
                continue
            try:
                shape = np.broadcast_shapes(a, b)
            except ValueError:
                assert not spreads(arrays, limit)
            else:
                assert spreads(arrays, limit) == (np.prod(shape) >= limit)


def test_a_row_and_a_column_are_recorded() -> None:
    row, column = dc.ones(300), dc.ones((300, 1))
    for made in (row * column, dc.add(row, column), np.add(row, column)):
        assert made._binding.value.state != State.STORED
        assert made[5, 7] == made[0, 0]
    square = dc.ones((150, 150))
    assert (square * square)._host is not None
    assert (square.T * 2.0)._host is not None
    part = dc.ones((150, 151))[:, 1:]
    for made in (part * 2.0, 2.0 - part, part * square):
        assert made._binding.value.state != State.STORED
    assert (part[:50] * 2.0)._host is not None


# ------------------------------------------------------------------------------- out
def test_small_results_go_where_they_are_wanted() -> None:
    for other in (2, 2.5, np.float32(3), "same", "row"):
        host = np.arange(12.0).reshape(3, 4)
        x = dc.asarray(host)
        given = {"same": (host, x), "row": (host[0], x[0])}.get(str(other))
        theirs, mine = given or (other, other)
        target, out = np.zeros((3, 4)), dc.zeros((3, 4))
        np.multiply(host, theirs, out=target)
        assert dc.multiply(x, mine, out=out) is out
        check_same(out, target)
        assert dc.add(x[:, 1:], x[:, :-1], out=x[:, :-1]).shape == (3, 3)  # overlapping
        np.add(host[:, 1:], host[:, :-1], out=host[:, :-1])
        check_same(x, host)


def test_what_out_cannot_hold_is_refused() -> None:
    host = np.arange(3.0)
    x = dc.asarray(host)
    for target in (np.zeros(3, int), np.zeros(2), np.zeros((2, 3), "f4")):
        out = dc.asarray(target)
        wanted = outcome(lambda t: np.add(host, 1, out=t), target)[0]
        found = outcome(lambda t: dc.add(x, 1, out=t), out)[0]
        if isinstance(wanted, tuple):
            assert found == wanted
        else:
            check_same(out, target)
    locked = dc.broadcast_to(dc.zeros(1), (3,))
    with pytest.raises(ValueError, match="read-only"):
        dc.add(x, 1, out=locked)


def test_comparisons_into_numbers() -> None:
    """An int beyond the dtype, and an ``out`` that holds no truth."""
    host = np.arange(3, dtype=np.int8)
    x = dc.asarray(host)
    for dtype in (np.bool, np.int8):
        out = dc.zeros(3, dtype=dtype)
        assert dc.less(x, 1000, out=out) is out
        assert np.less(x, 1000, out=out) is out
        check_same(out, np.ones(3, dtype))


def test_values_that_are_fixed_stay_as_they_are() -> None:
    with dc.config(lazy="always"):
        a = dc.arange(5.0)
        y = a + 1
    out = a
    dc.add(a, 10, out=out)
    assert y.tolist() == [1, 2, 3, 4, 5]
    assert out.tolist() == [10, 11, 12, 13, 14]
    with dc.config(lazy="always"):
        z = a * 2
    a[np.int64(0)] = 7
    a[dc.asarray([1, 2])] = np.float32(8)
    assert z.tolist() == [20, 22, 24, 26, 28]
    assert a.tolist() == [7, 8, 8, 13, 14]


# ------------------------------------------------------------------------------- keys
def keys() -> list[Any]:
    three, mask = np.array([2, 0, 2]), np.array([True, False, True])
    table = np.arange(12).reshape(3, 4) % 3 == 0
    return [
        np.int64(1),
        np.uint8(2),
        (np.int8(-1), 2),
        (np.int64(1), slice(None, None, -1)),
        None,
        ...,
        (..., 1),
        (1, 2, ...),
        (None, ..., None),
        (slice(1, None), None, 2),
        three,
        mask,
        table,
        np.array(1),
        (three, three),
        (three, 1),
        (1, three),
        (slice(None), three),
        (..., three),
        (three, None),
        (mask, slice(1, 3)),
        (np.array(1), 2),
        np.zeros((0,), int),
        np.zeros((2, 2), np.uint8),
        (three[:, None], three),
        True,
        np.False_,
        [2, 0],
        (0, [1, 2]),
        ((0, 1), 2),
    ]


def ours(key: Any) -> Any:
    """A key with arrays of ours."""
    if type(key) is tuple:
        return tuple([ours(item) for item in key])
    return dc.asarray(key) if isinstance(key, np.ndarray) else key


@pytest.mark.parametrize("place", range(len(keys())))
@pytest.mark.parametrize("mine", [True, False])
def test_keys(place: int, mine: bool) -> None:
    key = keys()[place]
    given = ours(key) if mine else key
    host = np.arange(12.0).reshape(3, 4)
    x = dc.asarray(host)
    check_same(x[given], host[key])
    part, view = host[key], x[given]
    for value in (5, 2.5, np.float32(3), 1j, host[0, 0], np.full(part.shape, 7.0)):
        stored = dc.asarray(value) if isinstance(value, np.ndarray) else value
        for wanted in (value, stored):
            want = outcome(operator.setitem, host, key, value)
            assert outcome(operator.setitem, x, given, wanted) == want
            check_same(x, host)
    if isinstance(part, np.ndarray):
        check_same(view, part)  # views show what was written, copies do not


@pytest.mark.parametrize(
    "key",
    [
        5,
        np.int64(5),
        (0, np.int8(-9)),
        (0, 0, 0),
        (..., ...),
        np.array([9]),
        np.array([1.5]),
        np.array([True, False]),
        (np.array([0, 1]), np.array([0, 1, 2])),
        1.5,
        "name",
    ],
)
def test_keys_that_are_wrong(key: Any) -> None:
    host = np.arange(12.0).reshape(3, 4)
    x = dc.asarray(host)
    wanted = outcome(operator.getitem, host, key)
    assert outcome(operator.getitem, x, ours(key)) == wanted
    wanted = outcome(operator.setitem, host, key, 1.0)
    assert outcome(operator.setitem, x, ours(key), 1.0) == wanted


def test_keys_of_another_label() -> None:
    x = dc.arange(5.0, device="cpu")
    index = dc.asarray([1, 3])
    assert x[index].device == "cpu"
    assert dc.arange(5.0)[dc.asarray([1, 3], device="cpu")].device == "cpu"
    x[index] = 0
    assert x.tolist() == [0, 0, 2, 0, 4]


def test_pending_keys() -> None:
    with dc.config(lazy="always"):
        index = dc.asarray([0, 1]) + 1
        x = dc.arange(4.0) * 2
        assert x[index].tolist() == [2, 4]
        x[index] = 1
    assert x.tolist() == [0, 1, 1, 6]


def test_keys_take_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> None:
        raise AssertionError("the long way")

    monkeypatch.setattr(indexing, "normalised", refuse)
    x = dc.arange(12.0).reshape(3, 4)
    index = dc.asarray([0, 2])
    for key in (np.int64(1), None, (..., 1), index, index.get(), x > 3, (1, index)):
        part = x[key] + 0
        x[key] = 1
        x[key] = part
    assert x.ravel().tolist() == list(range(12))


def test_elements_are_not_deleted() -> None:
    x, host = dc.arange(3.0), np.arange(3.0)
    for key in (0, slice(1), ...):
        wanted = outcome(operator.delitem, host, key)
        assert outcome(operator.delitem, x, key) == wanted


def test_iteration_and_length() -> None:
    host = np.arange(6.0).reshape(3, 2)
    x = dc.asarray(host)
    assert len(x) == len(host)
    for part, wanted in zip(x, host, strict=True):
        check_same(part, wanted)
    for element, number in zip(x[0], host[0], strict=True):
        check_same(element, number)
    zero = dc.asarray(5.0)
    for function in (len, iter):
        assert outcome(function, zero) == outcome(function, np.array(5.0))
    with dc.config(lazy="always"):
        pending = x + 1
        assert len(pending) == 3
        first = dc.asarray(5.0) + dc.asarray(1)
        if isinstance(first, dc.DeviceArray):
            assert outcome(len, first) == outcome(len, np.array(5.0))


def test_views_that_live_see_what_is_written_later() -> None:
    """However many views came and went before them."""
    x = dc.zeros(40)
    kept = []
    for start in range(40):
        x[start:]
        if start % 2:
            kept.append(x[start:])
    with dc.config(lazy="always"):
        x += dc.arange(40.0) * 2
        x += 1
    for view in kept:
        start = 40 - len(view)
        assert view[0] == 2 * start + 1
        view[0] = -1
        assert x[start] == -1


def test_recorded_operators_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    host, other = np.linspace(-3, 3, 60), np.linspace(1, 2, 60)
    with dc.config(lazy="always"):
        x, y = dc.asarray(host), dc.asarray(other)
        before = x + 1
        view = x[20:]
        old = host + 1
        with monkeypatch.context() as patch:

            def refuse(*arguments: Any, **keywords: Any) -> None:
                raise AssertionError("the long way")

            patch.setattr(operators, "elementwise", refuse)
            for operand, theirs in ((y, other), (2.5, 2.5), (y * 2, other * 2)):
                x += operand
                host += theirs
                x[10:] *= y[10:]
                host[10:] *= other[10:]
                x -= x[::-1]
                host -= host[::-1]
        check_same(before, old)
        check_same(view, host[20:])
        check_same(x, host)
        for operand in (dc.ones(3), dc.ones((2, 60)), 1j, dc.ones(60, dtype="c16")):
            given = operand.get() if isinstance(operand, dc.DeviceArray) else operand
            (error, _), _ = outcome(operator.iadd, host, given)
            with pytest.raises((TypeError, ValueError)) as caught:
                x += operand
            assert issubclass(error, caught.type)
        check_same(x, host)
        whole = dc.arange(60)
        for operand in (2, dc.ones(3), dc.ones(60)):
            with pytest.raises(TypeError, match="Cannot cast ufunc 'divide' output"):
                whole /= operand
        check_same(whole, np.arange(60))
        f, single = dc.ones(60, dtype="f4"), np.ones(60, "f4")
        f += y
        single += other
        check_same(f, single)
        locked = dc.broadcast_to(y, (60,))
        with pytest.raises(ValueError, match="read-only"):
            locked += 1


def test_views_of_many_threads_see_what_is_written_later() -> None:
    x = dc.zeros(64)
    kept: list[dc.DeviceArray] = []

    def view() -> None:
        for start in range(64):
            x[start:]
            kept.append(x[start:])
            x[:start]

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=view) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    with dc.config(lazy="always"):
        x += dc.arange(64.0)
    assert len(kept) == 256
    for part in kept:
        assert part[0] == 64 - len(part)
