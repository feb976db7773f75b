"""Python source → IR: what the language means, and what it refuses."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dcarray.errors import KernelSyntaxError, KernelTypeError
from dcarray.kernel import nodes
from dcarray.kernel.interpret import interpret
from dcarray.kernel.language import (
    Scalar,
    cast,
    exp,
    is_complex,
    is_floating,
    sqrt,
    widen,
)
from dcarray.kernel.parse import parse
from dcarray.kernel.rewrite import simplify
from dcarray.kernel.verify import verify

F32 = np.dtype(np.float32)
F64 = np.dtype(np.float64)
I32 = np.dtype(np.int32)
I64 = np.dtype(np.int64)
BOOL = np.dtype(np.bool_)

SCALE = 3.0


# --------------------------------------------------------------- functions to parse
def silu(x: Scalar) -> Scalar:
    return x / (1.0 + exp(-x))


def statements(x: Scalar, y: Scalar) -> Scalar:
    total: Scalar = x
    total += y
    total = total * SCALE
    a, b = total, x
    a, b = b, a
    return a - b


def early_return(x: Scalar) -> Scalar:
    if x < 0:
        return -x
    if x > 10:
        y = x - 10
        if y > 10:
            return y
        x = x + 1
    return x * 2


def chained(x: Scalar) -> Scalar:
    return 0 < x <= 10 and not (x == 5 or x == 6)


def factorial(n: Scalar) -> Scalar:
    result = cast(1, n)
    for i in range(1, n + 1):
        result = result * i
    return result


def collatz(n: Scalar) -> Scalar:
    steps = cast(0, n)
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def swapped(n: Scalar) -> Scalar:
    a = cast(0, n)
    b = cast(1, n)
    i = cast(0, n)
    while i < n:
        a, b = b, a + b
        i = i + 1
    return a


def long_condition(n: Scalar) -> Scalar:
    i = cast(0, n)
    while factorial(i) < n:
        i = i + 1
    return i


def loop_in_branch(n: Scalar) -> Scalar:
    if n > 3:
        result = factorial(n)
    else:
        result = -n
    return result


def by_dtype(x: Scalar) -> Scalar:
    if is_complex(x):
        return x.real
    if is_floating(x):
        return sqrt(x)
    return x // 2


def horner(x: Scalar) -> Scalar:
    result = cast(0, x)
    for coefficient in (3, 2, 1):
        result = result * x + coefficient
    return result


def two_results(x: Scalar, y: Scalar = 2) -> tuple[Scalar, Scalar]:
    return x // y, x % y


def picks_one(x: Scalar) -> Scalar:
    return two_results(x)[1]


def powers(x: Scalar, y: Scalar) -> Scalar:
    return x**y


def builtins_(x: Scalar) -> Scalar:
    return max(abs(x), 1) + min(x, float(3)) + int(x) + math.sqrt(4.0)


def gather(n: Scalar, source: Scalar, index: Scalar, out: Scalar) -> None:
    for i in range(n):
        out[i] = source[index[i]] if index[i] >= 0 else 0
        out[i] += 1


def first_divisor(n: Scalar) -> Scalar:
    found = cast(0, n)
    for i in range(2, n):
        if n % i != 0:
            continue
        found = i
        break
    return found


def leaves_twice(n: Scalar) -> Scalar:
    total = cast(0, n)
    while True:
        n = n - 1
        if n < 0:
            break
        if n % 3 == 0:
            total = total + 1
            if n % 2 == 0:
                continue
            total = total + 10
        elif n > 20:
            break
        else:
            for k in range(n, 0, -2):
                if k == 4:
                    break
                total = total + k
        total = total + 100
    return total


def over_tuple(n: Scalar) -> Scalar:
    total = cast(0, n)
    for k in (5, 7, 9):
        if n % k == 0:
            break
        total = total + k
    return total


def reference(function: Callable[..., Any], *columns: Any) -> list[Any]:
    return [function(*row) for row in zip(*columns)]


def run(function: Callable[..., Any], *arguments: np.ndarray[Any, Any]) -> Any:
    kernel = verify(parse(function, [item.dtype for item in arguments]))
    simple = simplify(kernel)
    results = interpret(kernel, arguments)
    for got, want in zip(interpret(simple, arguments), results):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    return results[0] if len(results) == 1 else results


# ---------------------------------------------------------------------------- meaning
def test_weak_literals_keep_the_dtype() -> None:
    x = np.array([-1.0, 0.0, 2.5], np.float32)
    got = run(silu, x)
    assert got.dtype == F32
    np.testing.assert_array_equal(got, x / (1 + np.exp(-x)))


@pytest.mark.parametrize(
    ("function", "values"),
    [
        (early_return, np.arange(-5.0, 40.0)),
        (chained, np.arange(-2.0, 14.0)),
        (collatz, np.arange(1, 40)),
        (loop_in_branch, np.arange(-2, 9)),
    ],
)
def test_control_flow_is_pythons(
    function: Callable[..., Any], values: np.ndarray[Any, Any]
) -> None:
    got = run(function, values)
    if function is loop_in_branch:
        want = [math.factorial(n) if n > 3 else -n for n in values.tolist()]
    elif function is collatz:
        want = [plain_collatz(n) for n in values.tolist()]
    else:
        want = reference(function, values)
    assert got.tolist() == want


@pytest.mark.parametrize("function", [first_divisor, leaves_twice, over_tuple])
def test_break_and_continue(function: Callable[..., Any]) -> None:
    n = np.arange(2, 60)
    plain = {**globals(), "cast": lambda value, like: value}
    same = types.FunctionType(function.__code__, plain)
    assert run(function, n).tolist() == [same(item) for item in n.tolist()]


def plain_collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def test_statements() -> None:
    x = np.array([1.0, 2.0])
    y = np.array([10.0, 20.0])
    np.testing.assert_array_equal(run(statements, x, y), x - (x + y) * 3)


def test_loops() -> None:
    n = np.arange(12)
    want = [math.factorial(int(i)) for i in n]
    assert run(factorial, n).tolist() == want
    assert run(swapped, n).tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89]
    assert run(long_condition, n).tolist() == [0, 0, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4]


def test_known_tuples_are_unrolled() -> None:
    kernel = parse(horner, [F64])
    assert all(isinstance(node, nodes.Let) for node in kernel.body)
    assert run(horner, np.array([2.0])).tolist() == [17.0]


@pytest.mark.parametrize(
    ("dtype", "result", "primitive"),
    [(F32, F32, "sqrt"), (I32, I32, "truncate_divide"), (np.dtype("F"), F32, "real")],
)
def test_facts_choose_while_specialising(
    dtype: np.dtype[Any], result: np.dtype[Any], primitive: str
) -> None:
    kernel = parse(by_dtype, [dtype])
    assert kernel.results[0].dtype == result
    assert primitive in repr(kernel)
    assert not any(isinstance(node, nodes.If) for node in kernel.body)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "i8", "f4", "f8"])
def test_operators_are_numpys(dtype: str) -> None:
    x = np.arange(-7, 8).astype(dtype)
    with np.errstate(all="ignore"):
        quotient, rest = run(two_results, x, np.full_like(x, 3))
        np.testing.assert_array_equal(quotient, x // 3)
        np.testing.assert_array_equal(rest, x % 3)
        np.testing.assert_array_equal(run(picks_one, x), x % 2)
        y = np.abs(x)
        np.testing.assert_array_equal(run(powers, x, y), x**y)


def test_builtins() -> None:
    x = np.array([-2.5, 0.5, 7.0], np.float32)
    want = np.maximum(abs(x), 1) + np.minimum(x, 3) + x.astype(int) + 2
    got = run(builtins_, x)
    assert got.dtype == F64
    np.testing.assert_array_equal(got, want)


def test_arrays() -> None:
    source = nodes.Array("a", F32)
    index = nodes.Array("b", I32)
    out = nodes.Array("c", F32, writable=True)
    kernel = simplify(parse(gather, [I64, source, index, out]))
    assert [item.name for item in kernel.parameters] == ["n", "source", "index", "out"]
    data = np.array([10.0, 20.0, 30.0], np.float32)
    places = np.array([2, -1, 0, 1], np.int32)
    result = np.zeros(4, np.float32)
    interpret(kernel, [np.array(4), data, places, result])
    assert result.tolist() == [31.0, 1.0, 11.0, 21.0]


def root(n: Scalar) -> Scalar:
    k = 0
    while True:
        if k * k > n:
            return k - 1
        k += 1


def split(n: Scalar) -> Scalar:
    """The first two numbers from 2 on whose product is ``n``."""
    for a in range(2, n):
        for b in range(2, n):
            if a * b == n:
                return a, b
            if a * b > n:
                break
    else:
        return 1, n
    return 0, 0


def test_returns_from_loops() -> None:
    numbers = np.arange(1, 30)
    assert run(root, numbers).tolist() == [root(int(n)) for n in numbers]
    kernel = simplify(parse(split, [I64]))
    found = np.array(interpret(kernel, [numbers]))
    assert found.T.tolist() == [list(split(int(n))) for n in numbers]


def test_closures_and_lambdas() -> None:
    factor = 2.5

    def scaled(x: Scalar) -> Scalar:
        return x * factor

    assert run(scaled, np.array([2.0])).tolist() == [5.0]
    several = (lambda x: x + 1, lambda x: (x if x > factor else -x) * 2)
    for function in several:
        want = [function(2.0), function(3.0)]
        assert run(function, np.array([2.0, 3.0])).tolist() == want
    with pytest.raises(KernelSyntaxError, match="lambda_: 'list' is not part"):
        parse(lambda x: [x][0], [F32])
    with pytest.raises(KernelSyntaxError, match="cannot be read"):
        parse(eval("lambda x: x"), [F32])


# --------------------------------------------------------------------------- refusals
def uses_list(x: Scalar) -> Scalar:
    return [x][0]


def uses_with(x: Scalar) -> Scalar:
    with x:
        return x


def uses_undefined(x: Scalar) -> Scalar:
    if x > 0:
        y = x
    return y


def misses_return(x: Scalar) -> Scalar:
    if x > 0:
        return x
    x = x + 1


def uses_keyword(x: Scalar) -> Scalar:
    return exp(x=x)


def changes_dtype(x: Scalar) -> Scalar:
    i = 0
    while i < 10:
        i = i + x
    return i


def recursion(x: Scalar) -> Scalar:
    return recursion(x)


def too_large(x: Scalar) -> Scalar:
    return x + 1000


def calls_numpy(x: Scalar) -> Scalar:
    return np.sort(x)


def wrong_count(x: Scalar) -> Scalar:
    return silu(x, x, x)


def shifts_floats(x: Scalar) -> Scalar:
    return widen(x) << 1


def uses_string(x: Scalar) -> Scalar:
    return "x"


def takes_tuple(x: Scalar) -> Scalar:
    return exp((x, x))


def asks_nothing() -> Scalar:
    return is_floating()  # type: ignore[call-arg]


def nothing_asked(x: Scalar) -> Scalar:
    return asks_nothing()


def unpacks(x: Scalar) -> Scalar:
    a, b = x
    return a + b


def varied(*x: Scalar) -> Scalar:
    return x


@pytest.mark.parametrize(
    ("function", "dtype", "message", "code"),
    [
        (uses_list, F32, "'list' is not part", "[x]"),
        (uses_with, F32, "'with' is not part", "with x:"),
        (uses_undefined, F32, "'y' may not have a value", "y"),
        (misses_return, F32, "ends without a return", "if x > 0:"),
        (uses_keyword, F32, "by position", "exp(x=x)"),
        (changes_dtype, F64, "is int64 and becomes float64", "while i < 10:"),
        (recursion, F32, "calls itself", "recursion(x)"),
        (too_large, np.dtype("i1"), "1000 does not fit into int8", "x + 1000"),
        (calls_numpy, F32, "sort cannot be called", "np.sort(x)"),
        (wrong_count, F32, "takes 1 arguments, got 3", "silu(x, x, x)"),
        (shifts_floats, F32, "left_shift", "widen(x) << 1"),
        (uses_string, F32, "not a number", '"x"'),
        (takes_tuple, F32, "expected numbers, got tuple", "exp((x, x))"),
        (nothing_asked, F32, "expected one argument", "is_floating()"),
        (unpacks, F32, "needs 2 values", "a, b"),
        (varied, F32, "fixed number", "x: Scalar"),
    ],
    ids=lambda item: getattr(item, "__name__", None),
)
def test_refusal_points_at_the_source(
    function: Callable[..., Any], dtype: np.dtype[Any], message: str, code: str
) -> None:
    with pytest.raises((KernelSyntaxError, KernelTypeError), match=message) as caught:
        parse(function, [dtype])
    error = caught.value
    mistyped = (changes_dtype, too_large, shifts_floats, takes_tuple, nothing_asked)
    assert isinstance(error, KernelTypeError) is (function in mistyped)
    assert error.filename == __file__
    assert error.text is not None
    assert error.lineno is not None
    assert error.offset is not None
    assert error.text[error.offset - 1 :].startswith(code)
    with open(__file__) as file:
        assert file.read().splitlines()[error.lineno - 1] == error.text.rstrip("\n")


def test_wrong_number_of_operands() -> None:
    with pytest.raises(KernelSyntaxError, match="takes 1 arguments, got 2"):
        parse(silu, [F32, F32])


def test_stores_to_read_only_arrays_are_refused() -> None:
    index = nodes.Array("i", I32)
    with pytest.raises(KernelSyntaxError, match="read-only"):
        parse(gather, [I64, nodes.Array("a", F32), index, nodes.Array("c", F32)])
