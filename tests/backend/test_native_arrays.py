"""Small arrays of the host: the same as NumPy's, bit for bit, however they lie."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dcarray as dc

DTYPES = "?bBhHiIlLqQefdgFDG"
BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.eq,
    operator.ne,
    operator.lt,
    operator.ge,
    operator.and_,
    operator.lshift,
]
IN_PLACE = [
    operator.iadd,
    operator.isub,
    operator.imul,
    operator.itruediv,
    operator.ifloordiv,
    operator.imod,
]
UNARY = [operator.neg, operator.pos, operator.invert, abs, np.sqrt, np.exp, np.sign]

MAKERS: dict[str, Callable[[Any], Any]] = {
    "vector": lambda a: a[:7],
    "strided": lambda a: a[:14:2],
    "backwards": lambda a: a[6::-1],
    "one": lambda a: a[:1],
    "none": lambda a: a[:0],
    "number": lambda a: a[3:4].reshape(()),
    "matrix": lambda a: a[:21].reshape(3, 7),
    "turned": lambda a: a[:21].reshape(7, 3).T,
    "column": lambda a: a[:7].reshape(7, 1),
    "row": lambda a: a[:7].reshape(1, 7),
    "slice": lambda a: a[:24].reshape(3, 8)[:, 1:],
    "spread": lambda a: np.broadcast_to(a[:7], (3, 7)),
}


def values(dtype: str, seed: int) -> Any:
    generator = np.random.default_rng(seed)
    found = generator.integers(0, 5, 40)
    if dtype in "efdgFDG":
        found = found + generator.standard_normal(40)
    return found.astype(dtype)


def ours(x: Any) -> Any:
    """The same array, lying as it does, of memory that nobody else has."""
    root = x
    while isinstance(root.base, np.ndarray):
        root = root.base
    made = dc.DeviceArray._of_host(root)
    return made if root is x else made._host_sibling(x)


def told(function: Callable[..., Any], *operands: Any) -> tuple[Any, ...]:
    """The result as it lies, or the error; and the warnings."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            result = function(*operands)
        except Exception as error:
            return type(error), str(error), [str(one.message) for one in heard]
    found = result._array() if isinstance(result, dc.DeviceArray) else result
    found = np.asarray(found)
    bits: Any = found.tobytes()
    if found.dtype.char in "gG":  # which have bytes of no meaning
        bits = repr(found.tolist())
    return (
        found.dtype,
        found.shape,
        found.strides,
        bits,
        [str(one.message) for one in heard],
    )


@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", DTYPES)
def test_operators(dtype: str, function: Callable[..., Any]) -> None:
    a, b = values(dtype, 1), values(dtype, 2)
    for first, make in MAKERS.items():
        for second in (first, "vector", "number", "row", "matrix"):
            x, y = make(a.copy()), MAKERS[second](b.copy())
            expected = told(function, x, y)
            assert told(function, ours(x), ours(y)) == expected, (first, second)


@pytest.mark.parametrize("function", IN_PLACE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", "bilfdFD")
def test_operators_in_place(dtype: str, function: Callable[..., Any]) -> None:
    a, b = values(dtype, 1), values(dtype, 2)
    for first in ("vector", "strided", "backwards", "matrix", "turned", "slice"):
        for second in (first, "vector", "number", "row"):
            x, y = MAKERS[first](a.copy()), MAKERS[second](b.copy())
            twin = ours(MAKERS[first](a.copy()))
            expected = told(function, x, y)
            assert told(function, twin, ours(y)) == expected, (first, second)
            assert twin._array().tobytes() == x.tobytes()


@pytest.mark.parametrize("shift", [-2, -1, 0, 1, 2])
@pytest.mark.parametrize("step", [-2, -1, 1, 2])
def test_operands_that_overlap_the_result(shift: int, step: int) -> None:
    def program(a: Any) -> None:
        x = a[10:17]
        x += a[10 + shift + (6 * -step if step < 0 else 0) :][: 7 * abs(step)][::step]
        x *= a[12:13].reshape(())

    a = np.arange(40.0)
    b = dc.asarray(a.copy())
    program(a)
    program(b)
    assert b._array().tobytes() == a.tobytes()


@pytest.mark.parametrize("function", UNARY, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_one(dtype: str, function: Callable[..., Any]) -> None:
    other = getattr(dc, function.__name__, function)
    other = function if function is abs else other
    for name, make in MAKERS.items():
        x = make(values(dtype, 3))
        assert told(other, ours(x)) == told(function, x), name


NUMBERS = [
    2,
    -1,
    0.1,
    -0.0,
    float("nan"),
    np.float64(0.1),
    np.float32(0.1),
    np.int64(3),
]


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
@pytest.mark.parametrize("dtype", "ilfdFD")
def test_numbers_beside_arrays(dtype: str, number: Any) -> None:
    x = values(dtype, 4)
    for name in ("vector", "strided", "matrix", "turned", "none"):
        y = MAKERS[name](x)
        for function in (operator.add, operator.mul, operator.truediv, operator.lt):
            twin = ours(y)
            assert told(function, twin, number) == told(function, y, number)
            assert told(function, number, twin) == told(function, number, y)
            assert told(dc.add, number, twin) == told(np.add, number, y)


@pytest.mark.parametrize("state", ["warn", "raise", "ignore", "print"])
def test_errors_of_numbers(state: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Each is said once, in NumPy's words, and as the settings have it."""
    x = np.array([1.0, 0.0, -1.0, 1e308, 1e-308])
    y = np.array([0.0, 0.0, 1e-300, 1e-300, 1e300])
    with np.errstate(all=state):
        for function in (*BINARY[:7], *IN_PLACE):
            twin, same = ours(x.copy()), x.copy()
            assert told(function, twin, ours(y)) == told(function, same, y)
            assert twin._array().tobytes() == same.tobytes()
            printed = capsys.readouterr().out.splitlines()
            half = len(printed) // 2
            assert printed[:half] == printed[half:]
        assert told(np.sqrt, ours(x)) == told(np.sqrt, x)
        large = np.full(3, 1e200)
        for product in (operator.matmul, np.dot):
            assert told(product, ours(large), ours(large)) == told(
                product, large, large
            )


@pytest.mark.parametrize("dtype", "ilfdFD")
def test_products_of_vectors(dtype: str) -> None:
    for length in (0, 1, 2, 3, 7, 16, 33, 100):
        a = values(dtype, 5).repeat(6)[: 2 * length]
        b = values(dtype, 6).repeat(6)[: 2 * length]
        ways = [slice(0, length), slice(None, None, 2), slice(None, None, -2)]
        for first in ways:
            for second in ways:
                x, y = a[first], b[second]
                for ask in (operator.matmul, np.dot):
                    assert told(ask, ours(x), ours(y)) == told(ask, x, y)
    x, y = values(dtype, 7)[:3], values(dtype, 8)[:4]
    for ask in (operator.matmul, np.dot):
        assert told(ask, ours(x), ours(y)) == told(ask, x, y)


KEYS: list[Any] = [
    0,
    -1,
    5,
    9,
    np.int32(2),
    np.uint8(1),
    (1, 2),
    (-1, -7),
    (3, 0),
    (0, 7),
    (1, np.int64(3)),
    slice(None),
    slice(1, None),
    slice(None, None, -1),
    slice(5, 1),
    slice(-2, 100, 3),
    slice(None, None, 0),
    slice(np.int64(1), np.uint32(2)),
    (slice(None), 3),
    (2, slice(0, 0)),
    (slice(2, 0, -1), slice(1, 6, 2)),
    (None, 1),
    (1, None, 2),
    (slice(None), None),
    (Ellipsis, 1),
    (),
    (1, 2, 3),
    True,
    1.5,
    (0, 1.0),
]


@pytest.mark.parametrize("key", KEYS, ids=repr)
@pytest.mark.parametrize("dtype", "?ilfdFgD")
def test_parts(dtype: str, key: Any) -> None:
    for name in ("matrix", "turned", "slice", "vector", "spread", "number"):
        x = MAKERS[name](values(dtype, 9))
        with dc.config(scalars="numpy"):
            assert told(operator.getitem, ours(x), key) == told(
                operator.getitem, x, key
            )


def test_a_part_shares_memory_and_may_be_read_only() -> None:
    host = np.arange(12.0).reshape(3, 4).copy()
    x = dc.DeviceArray._of_host(host)
    part = x[1:, 1]
    part += 1.0
    x[0, 0] = 7.0
    assert host.tolist() == [[7, 1, 2, 3], [4, 6, 6, 7], [8, 10, 10, 11]]
    assert part.base is x
    x.flags.writeable = False
    y = x[1]
    with pytest.raises(ValueError, match="read-only"):
        y[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        y += 1.0
    with pytest.raises(ValueError, match="read-only"):
        y[:2] = x[2, :2]


@pytest.mark.parametrize("key", KEYS, ids=repr)
@pytest.mark.parametrize("dtype", "ilfdF")
def test_storing_in_parts(dtype: str, key: Any) -> None:
    given: list[Any] = [2, 1.5, np.float64(0.1), np.int64(3), 1j]
    for name in ("matrix", "turned", "slice", "vector"):
        for value in given:
            x = MAKERS[name](values(dtype, 10))
            twin = ours(x.copy("K"))
            assert told(operator.setitem, twin, key, value) == told(
                operator.setitem, x, key, value
            )
            assert twin._array().tobytes() == x.tobytes()


@pytest.mark.parametrize("dtype", "ilfdF")
def test_storing_rows(dtype: str) -> None:
    rows = [("d", 7, 1), ("d", 7, 2), ("d", 7, -1), (dtype, 7, 1), (dtype, 1, 1)]
    for kind, length, step in rows:
        row = values(kind, 11)[: length * abs(step)][::step]
        for key in ((1, slice(None)), (slice(None), 1), 1, (0, slice(6, None, -1))):
            x = values(dtype, 12)[:21].reshape(3, 7)
            twin = ours(x.copy())
            expected = told(operator.setitem, x, key, row)
            assert told(operator.setitem, twin, key, ours(row)) == expected
            assert twin._array().tobytes() == x.tobytes()
    a = np.arange(20.0)
    b = dc.asarray(a.copy())
    for x in (a, b):
        x[1:11] = x[:10]
        x[2:12:2] = x[3:8]
        x[15:5:-1] = x[4:14]
    assert b._array().tobytes() == a.tobytes()


def test_elements_that_are_not_aligned() -> None:
    memory = np.arange(65, dtype=np.uint8)[1:].view(np.float64)[:4]
    x = ours(memory)
    for function in (operator.neg, abs):
        assert told(function, x) == told(function, memory)
    assert told(operator.add, x, x) == told(operator.add, memory, memory)
    assert told(operator.getitem, x, 1) == told(operator.getitem, memory, 1)
