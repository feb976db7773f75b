"""Mistakes that users reported to other array libraries, as tests of our own.

One class for each kind of mistake.  Every test runs the same lines with NumPy and with
dcarray, small and (where laziness matters) recorded, and compares the outcomes: dtype,
shape and values, or the exception's type.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from tests.stress.compare import bits

inf, nan = float("inf"), float("nan")


@pytest.fixture(params=["auto", "always"], autouse=True)
def lazy(request: pytest.FixtureRequest) -> Iterator[str]:
    with dc.config(lazy=request.param), np.errstate(all="ignore"):
        yield request.param


def settled(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [settled(one) for one in value]
    if isinstance(value, dc.ndarray | np.ndarray | np.generic):
        return np.array(value)
    return value


def outcome(call: Callable[[Any], Any], module: Any) -> Any:
    try:
        return settled(call(module))
    except Exception as error:
        return error


def agree(got: Any, want: Any) -> None:
    if isinstance(got, BaseException):
        raise got
    if isinstance(want, list):
        assert isinstance(got, list), f"got {got!r}"
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            agree(one, other)
    elif isinstance(want, np.ndarray):
        assert isinstance(got, np.ndarray), f"got {got!r}, want {want!r}"
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        assert bits(got, want) is None, bits(got, want)
    else:
        assert type(got) is type(want)
        assert got == want


def same(call: Callable[[Any], Any]) -> None:
    """``call(module)`` gives the same with NumPy and with dcarray."""
    want = outcome(call, np)
    assert not isinstance(want, BaseException), want
    agree(outcome(call, dc), want)


def attempt(call: Callable[[], Any]) -> Any:
    """The result, or the name of the builtin type of what was raised."""
    try:
        return call()
    except Exception as error:
        base = next(c for c in type(error).__mro__ if c.__module__ == "builtins")
        return base.__name__


# ------------------------------------------------------------------- elementwise
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
class TestFloorDivision:
    """Infinities, zeros and signs in ``//``, ``%`` and ``divmod``."""

    values = (0.0, -0.0, 1.0, -1.0, 7.5, -7.5, inf, -inf, nan, 5e-5)

    def test_every_pair(self, dtype: str) -> None:
        def run(m: Any) -> Any:
            x = m.array(self.values, dtype=dtype)
            y = x[:, None]
            return x // y, x % y, *m.divmod(x, y), m.fmod(x, y), (x // y) * 1

        same(run)

    def test_signs_of_zeros(self, dtype: str) -> None:
        def run(m: Any) -> Any:
            x = m.array(self.values, dtype=dtype)
            return m.signbit(x[:, None] // x), m.signbit(x[:, None] % x)

        same(run)

    def test_scalars_on_either_side(self, dtype: str) -> None:
        def run(m: Any) -> Any:
            x = m.array(self.values, dtype=dtype)
            return x // 2, 2 // x, x % -3.0, -3.0 % x, x // inf, x // 0.0

        same(run)


class TestIntegerPowers:
    """Negative exponents of integers are refused; of floats, not truncated."""

    @pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
    def test_negative_integer_exponents_raise(self, dtype: str) -> None:
        def run(m: Any) -> Any:
            a = m.array([1, 2, 3], dtype=dtype)
            e = m.array([-1, 0, 1], dtype=dtype)
            return (
                attempt(lambda: a**-2),
                attempt(lambda: a**e),
                attempt(lambda: 10**e),
                attempt(lambda: m.power(a, -1)),
                a ** m.abs(e),
                a**0,
            )

        same(run)

    def test_the_call_raises_not_the_reading(self) -> None:
        a = dc.arange(1, 5)
        with pytest.raises(ValueError, match="negative integer"):
            a ** dc.array([1, 1, 1, -1])

    def test_float_exponents(self) -> None:
        def run(m: Any) -> Any:
            a = m.array([1, 2, 3])
            return a**-2.0, m.power(2.0, a - 2), m.float_power(a, -1), a**0.5

        same(run)

    def test_unsigned_wrap(self) -> None:
        def run(m: Any) -> Any:
            a = m.array([2, 3, 255], dtype=m.uint8)
            return a**3, a ** m.array([8, 8, 8], dtype=m.uint8), a**2

        same(run)

    def test_in_place_leaves_the_operand(self) -> None:
        def run(m: Any) -> Any:
            a = m.array([2, 3, 4])
            return attempt(lambda: a.__ipow__(-1)), a

        same(run)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(
    "name",
    [
        "sqrt",
        "log",
        "log2",
        "log10",
        "log1p",
        "arcsin",
        "arccos",
        "arctan",
        "arcsinh",
        "arccosh",
        "arctanh",
        "exp",
        "tanh",
        "square",
        "reciprocal",
    ],
)
def test_the_sign_of_zero_chooses_the_side_of_a_branch_cut(
    name: str, dtype: str
) -> None:
    def run(m: Any) -> Any:
        real = m.array([-4.0, -1.0, -0.25, 0.0, -0.0, 0.25, 2.0, inf, -inf])
        above = real.astype(dtype)
        below = m.conj(above)
        sideways = (real * 1j).astype(dtype)
        found = [getattr(m, name)(z) for z in (above, below, sideways)]
        return [*found, *[m.signbit(z.imag) for z in found]]

    same(run)


@pytest.mark.parametrize(
    "dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
)
class TestWrapping:
    """Integers wrap after every operation, also in the middle of an expression."""

    def test_in_the_middle(self, dtype: str) -> None:
        info = np.iinfo(dtype)

        def run(m: Any) -> Any:
            a = m.array([0, 1, info.max, info.min, 100], dtype=dtype)
            b = m.array([1, 2, info.max - 1, info.max, 27], dtype=dtype)
            return (
                (-a).astype(m.int64),
                (a - b) // 2,
                (a + b) / 2,
                a * b > 100,
                m.abs(a) - 1,
                (a << 1) >> 1,
                ~a + b,
                (a * a).astype(m.float64),
            )

        same(run)

    def test_shifts_past_the_width(self, dtype: str) -> None:
        def run(m: Any) -> Any:
            a = m.array([1, 3, 100], dtype=dtype)
            return [(a << n) >> 1 for n in (7, 8, 31, 32, 63, 64)]

        same(run)

    def test_division_by_zero_and_of_the_least(self, dtype: str) -> None:
        info = np.iinfo(dtype)

        def run(m: Any) -> Any:
            a = m.array([info.min, info.max, 7, 0], dtype=dtype)
            zero = m.zeros(4, dtype=dtype)
            back = zero - 1
            return a // zero, a % zero, a // back, a % back, *m.divmod(a, back)

        same(run)


# --------------------------------------------------------------------- promotion
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "uint64", "int64"])
class TestPythonIntegersOutOfRange:
    def test_arithmetic_raises_and_comparison_does_not(self, dtype: str) -> None:
        def run(m: Any) -> Any:
            a = m.array([1, 100], dtype=dtype)
            found: list[Any] = []
            for n in (-1, 300, -300, 2**31, 2**63, 2**64, -(2**63) - 1, 10**30):
                found += [
                    attempt(lambda n=n: a + n),
                    attempt(lambda n=n: n - a),
                    attempt(lambda n=n: m.multiply(a, n)),
                    attempt(lambda n=n: m.maximum(a, n)),
                    attempt(lambda n=n: m.array([n], dtype=dtype)),
                    a < n,
                    a == n,
                    n >= a,
                    a != n,
                ]
            return found

        same(run)

    def test_in_place_and_assignment(self, dtype: str) -> None:
        def run(m: Any) -> Any:
            a = m.array([1, 100], dtype=dtype)

            def store() -> None:
                a[0] = 10**25

            return attempt(lambda: a.__iadd__(10**25)), attempt(store), a

        same(run)


def test_a_large_python_float_overflows_a_small_dtype() -> None:
    def run(m: Any) -> Any:
        a = m.array([1, 2, 0], dtype=m.float32)
        return a * 1e300, a + 1e39, a.astype(m.float16) * 70000.0, 1e300 / a

    same(run)


class TestBooleans:
    def test_arithmetic(self) -> None:
        def run(m: Any) -> Any:
            b = m.array([True, False, True])
            return (
                b + b,
                b * b,
                b * 2.5,
                b + 1,
                b ^ True,
                1 - b,
                b / b,
                b // True,
                b**b,
                m.maximum(b, False),
                m.maximum(True, True),
                attempt(lambda: b - b),
                attempt(lambda: -b),
                attempt(lambda: +b),
                ~b,
                m.add(b, b) + b,
            )

        same(run)

    def test_reductions_count(self) -> None:
        def run(m: Any) -> Any:
            b = m.array([[True, False, True], [True, True, True]])
            return (
                m.sum(b),
                m.prod(b),
                b.sum(axis=0),
                b.mean(),
                b.var(),
                b.max(axis=1),
                m.cumsum(b),
                b.sum(dtype=bool),
                (b & b).sum(),
                (b == b).mean(axis=1),
            )

        same(run)


# ------------------------------------------------------------------ broadcasting
class TestBroadcastViews:
    def test_are_read_only(self) -> None:
        def run(m: Any) -> Any:
            base = m.ones((1,), dtype=m.float32)
            v = m.broadcast_to(base, (3, 4))

            def poke() -> None:
                v[1, 2] = 5

            return (
                attempt(lambda: v.__iadd__(1)),
                attempt(poke),
                attempt(lambda: v.fill(3)),
                attempt(lambda: m.add(v, 1, out=v)),
                attempt(lambda: v[0].__imul__(2)),
                attempt(lambda: v.T.__imul__(2)),
                attempt(lambda: v.sort()),
                v.flags.writeable,
                base,
                v + 1,
            )

        same(run)

    def test_of_a_pending_value(self) -> None:
        def run(m: Any) -> Any:
            base = m.arange(3.0)
            v = m.broadcast_to(base * 2, (2, 3))
            return attempt(lambda: v.__iadd__(1)), v, v + base

        same(run)

    def test_pairs_of_arrays(self) -> None:
        def run(m: Any) -> Any:
            x, y = m.broadcast_arrays(m.arange(3.0), m.ones((2, 1)))
            return x + y, x.shape, y.shape, (x * y).sum()

        same(run)


# -------------------------------------------------------------------- reductions
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("length", [1, 7, 16, 100, 1025])
class TestReductionsOfNaN:
    def test_position_of_the_first(self, dtype: str, length: int) -> None:
        def run(m: Any) -> Any:
            found: list[Any] = []
            for place in {0, length // 2, length - 1}:
                x = m.arange(length).astype(dtype)
                x[place:] = nan
                found += [x.argmin(), x.argmax(), x.min(), x.max(), (x + 1).argmax()]
            every = m.full(length, nan, dtype=dtype)
            return [*found, every.argmin(), every.argmax()]

        same(run)

    def test_along_axes(self, dtype: str, length: int) -> None:
        def run(m: Any) -> Any:
            x = m.ones((3, length), dtype=dtype)
            x[1, length // 2] = nan
            return (
                x.argmax(axis=0),
                x.argmin(axis=1),
                x.max(axis=1),
                x.min(axis=0),
                m.argmax(x.T, axis=0, keepdims=True),
            )

        same(run)


@pytest.mark.parametrize("name", ["min", "max", "argmin", "argmax"])
def test_signed_zeros_in_extrema(name: str) -> None:
    def run(m: Any) -> Any:
        found: list[Any] = []
        for values in (
            [0.0, -0.0],
            [-0.0, 0.0],
            [-0.0] * 9 + [0.0],
            [0.0] * 9 + [-0.0],
        ):
            for dtype in (m.float32, m.float64):
                x = m.array(values * 5, dtype=dtype)
                found += [getattr(x, name)(), m.signbit(getattr(x + 0 * x, name)())]
        return found

    same(run)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_long_sums_are_pairwise(dtype: str) -> None:
    def run(m: Any) -> Any:
        n = 100_000
        tenth = m.full(n, 0.1, dtype=dtype)
        flags = m.ones(n, dtype=m.uint8) / m.float32(255)
        grid = tenth.reshape(100, 1000)
        return (
            flags.sum(),
            tenth.sum(),
            tenth.mean(),
            (tenth * tenth).sum(),
            (tenth[::2] + 1).sum(),
            grid.sum(axis=0),
            grid.T.sum(axis=0),
            (grid + grid).sum(axis=1),
            grid.var(axis=0),
            tenth.std(),
        )

    same(run)


def test_masked_and_started_reductions() -> None:
    def run(m: Any) -> Any:
        x = m.array([[4.0, -1.0, 7.0], [2.0, 9.0, -3.0]])
        mask = m.array([[True, False, True], [False, False, True]])
        never = m.zeros((2, 3), dtype=bool)
        return (
            m.max(x, where=mask, initial=-1.0),
            m.sum(x, where=mask, axis=0),
            m.mean(x, where=mask),
            m.var(x, where=mask),
            m.std(x * 2, where=mask, axis=1),
            m.min(x, where=never, initial=7.0),
            attempt(lambda: m.max(x, where=mask)),
            attempt(lambda: m.max(x[:0])),
            m.sum(x, initial=100.0),
            m.prod(x, where=x > 0, initial=2.0),
            m.any(x, where=never),
            m.all(x > 100, where=never),
            (x + 1).sum(where=x > 2, axis=1, keepdims=True),
            m.sum(x[:0], axis=0, initial=3.0),
        )

    same(run)


# ------------------------------------------------------------------------- views
class TestOperandsThatOverlap:
    @pytest.mark.parametrize("symbol", ["+", "-", "*"])
    @pytest.mark.parametrize("size", [3, 100, 200])
    def test_a_matrix_and_its_transpose(self, size: int, symbol: str) -> None:
        def run(m: Any) -> Any:
            x = m.arange(size * size).reshape(size, size)
            exec(f"x {symbol}= x.T", {"x": x})
            return x

        same(run)

    @pytest.mark.parametrize(
        ("target", "source"),
        [("1:", ":-1"), (":-1", "1:"), ("::-1", ":"), ("::2", ":1000"), ("5:", "4:-1")],
    )
    def test_shifted_views(self, target: str, source: str) -> None:
        def run(m: Any) -> Any:
            x = m.arange(2000.0)
            exec(f"x[{target}] += x[{source}]", {"x": x})
            y = m.arange(2000.0)
            exec(f"y[{target}] = y[{source}] * 2 + 1", {"y": y})
            z = m.arange(2000)
            exec(f"m.add(z[{source}], 1, out=z[{target}])", {"z": z, "m": m})
            return x, y, z

        same(run)

    def test_assignment_from_a_view_of_itself(self) -> None:
        def run(m: Any) -> Any:
            x = m.arange(5)
            x[[4, 3, 2, 1, 0]] = x
            y = m.arange(2000)
            y[...] = y[::-1]
            z = m.arange(12).reshape(3, 4)
            z[::-1, ::-1] = z
            t = m.arange(16).reshape(4, 4)
            t[...] = t.T
            u = m.arange(6)
            u[u > 2] = u[:3]
            return x, y, z, t, u

        same(run)

    def test_an_output_that_is_also_an_input_of_another_shape(self) -> None:
        def run(m: Any) -> Any:
            x = m.arange(9.0).reshape(3, 3)
            m.multiply(x, x[0], out=x)
            y = m.arange(9.0).reshape(3, 3)
            y += y[:, :1]
            return x, y

        same(run)


class TestRecordedValues:
    def test_keep_what_was_there(self) -> None:
        def run(m: Any) -> Any:
            a = m.arange(6, dtype=m.float64)
            view = a[1:4]
            later = a + 1
            part = view * 10
            a[0:3] = 100
            a *= 2
            return later, part, view, a

        same(run)

    def test_through_every_way_of_writing(self) -> None:
        def run(m: Any) -> Any:
            a = m.arange(8.0)
            found = []
            for write in (
                lambda: a.__setitem__(0, 50.0),
                lambda: a.fill(7.0),
                lambda: a.sort(),
                lambda: m.add(a, a, out=a),
                lambda: a.put([1, 2], 9.0),
                lambda: m.copyto(a, 3.0),
                lambda: a[::2].__iadd__(1),
                lambda: a.reshape(2, 4).T.__imul__(2),
                lambda: a.__setitem__(a > 2, 4.0),
                lambda: np.asarray(a).__setitem__(3, -1.0),
            ):
                found.append(a * 2 + 1)
                write()
            return [*found, a]

        same(run)

    def test_a_chain_of_pending_values(self) -> None:
        def run(m: Any) -> Any:
            a = m.arange(5.0)
            b = a + 1
            c = b * 2
            b[1] = 99
            d = b + c
            c += 1
            a[:] = 0
            return a, b, c, d

        same(run)

    def test_views_of_a_pending_value_see_writes(self) -> None:
        def run(m: Any) -> Any:
            a = m.arange(12.0).reshape(3, 4)
            b = a * 2
            row, column, turned = b[1], b[:, 2], b.T
            b[1, 2] = -5
            turned[0, 0] = 77
            return b, row, column, turned, row + column[:1]

        same(run)


class TestInPlaceCasting:
    def test_same_kind_only(self) -> None:
        def run(m: Any) -> Any:
            found: list[Any] = []
            for left in ("int8", "uint8", "int64", "float32", "complex64", "bool"):
                for right in (1.5, 2, 1j, True, m.ones(1), m.ones(1, dtype=m.int64)):
                    a = m.array([1, 0, 3], dtype=left)
                    alias = a
                    found.append(attempt(lambda a=a, right=right: a.__iadd__(right)))
                    found += [alias, alias.dtype == left]
            return found

        same(run)

    def test_keeps_the_left_operand(self) -> None:
        def run(m: Any) -> Any:
            small = m.array([1], dtype=m.int8)
            alias = small
            small += m.array([4099], dtype=m.int16)
            single = m.array([1.5], dtype=m.float32)
            other = single
            single *= m.array([2.0])
            return alias, other, alias is small, single is other

        same(run)

    def test_division_of_integers(self) -> None:
        def run(m: Any) -> Any:
            a = m.arange(4)
            return (
                attempt(lambda: a.__itruediv__(2)),
                attempt(lambda: m.divide(a, 2, out=a)),
                attempt(lambda: m.add(a, 1.5, out=a, casting="unsafe")),
                a,
                attempt(lambda: a.__ifloordiv__(2)),
            )

        same(run)


# ---------------------------------------------------------------------- indexing
class TestIndexing:
    def test_slices_are_clamped_beside_a_list(self) -> None:
        def run(m: Any) -> Any:
            a = m.arange(20, dtype=m.int32).reshape(4, 5)
            chosen = m.array([0, 1])
            b = a.copy()
            b[-100:2, chosen] = 7
            c = a * 2
            return (
                a[-100:4, chosen],
                a[2:99, chosen],
                a[9:99, chosen],
                a[99:0:-2, chosen],
                a[[0, 1], 3:99],
                c[chosen, -99:99:2],
                b,
            )

        same(run)

    @pytest.mark.parametrize(
        "index", [[0, 1, 5], [-6], 5, -6, [[0], [9]], (0, 0), 2**70]
    )
    def test_out_of_range(self, index: Any) -> None:
        def run(m: Any) -> Any:
            a = m.arange(5)

            def store() -> None:
                a[index] = 0

            return (
                attempt(lambda: a[index]),
                attempt(lambda: (a + 1)[index]),
                attempt(store),
                attempt(lambda: m.take(a, index)),
                a,
            )

        same(run)

    def test_modes_of_take(self) -> None:
        def run(m: Any) -> Any:
            a, far = m.arange(5), [0, 1, 7, -6]
            return (
                attempt(lambda: m.take(a, far)),
                m.take(a, far, mode="wrap"),
                m.take(a, far, mode="clip"),
                attempt(lambda: m.take(a[:0], [0])),
                attempt(lambda: a.put([9], 1)),
            )

        same(run)

    def test_lists_newaxis_and_nothing(self) -> None:
        def run(m: Any) -> Any:
            x = m.arange(25).reshape(5, 5)
            y = x + 1
            none = m.array([], dtype=m.int64)
            return (
                x[[0, 1]][None],
                x[[]],
                x[:, []],
                x[[0, 1], None, :],
                x[none, 2],
                x[None, [0, 1], ..., None],
                y[[0, 1]][None],
                y[[]],
                attempt(lambda: x[m.array([])]),
                x[m.zeros(5, dtype=bool)],
                x[True],
                x[False],
                x[[0, 1], :, None][..., 0],
            )

        same(run)


# ----------------------------------------------------------------------- sorting
class TestSearching:
    @pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
    def test_nan_belongs_at_the_end(self, dtype: str) -> None:
        def run(m: Any) -> Any:
            hay = m.array([-0.4, -0.39, -0.32], dtype=dtype)
            pins = m.array([0.005, nan, -0.39, -1.0], dtype=dtype)
            with_nan = m.array([1.0, 2.0, nan, nan], dtype=dtype)
            return [
                m.searchsorted(h, p, side=side)
                for h in (hay, with_nan)
                for p in (pins, with_nan, nan)
                for side in ("left", "right")
            ]

        same(run)

    def test_sorter_and_empty(self) -> None:
        def run(m: Any) -> Any:
            mixed = m.array([5, 1, 3])
            order = m.argsort(mixed)
            return (
                m.searchsorted(mixed, [0, 3, 4], side="right", sorter=order),
                m.searchsorted(mixed, m.array([[0, 9]]), sorter=order),
                m.searchsorted(mixed[:0], 2),
                m.searchsorted(m.sort(mixed), []),
                attempt(lambda: m.searchsorted(mixed, 1, sorter=[0, 1])),
            )

        same(run)


@pytest.mark.parametrize(
    "dtype", ["int8", "int16", "int32", "uint64", "float32", "bool"]
)
def test_stable_sorts(dtype: str) -> None:
    def run(m: Any) -> Any:
        values = m.array([0, 1, 10, 2, 100, 1, 0, 3] * 40).astype(dtype)
        if np.dtype(dtype).kind in "if":
            values = values - m.array([5], dtype=dtype)
        keys = m.arange(600) % 3
        return (
            m.sort(values, kind="stable"),
            m.argsort(values, kind="stable"),
            m.argsort(keys, kind="stable"),
            m.sort(values.reshape(16, 20), axis=0, kind="stable"),
            m.sort(values[::-3], kind="stable"),
            attempt(lambda: m.sort(m.array(2.5))),
        )

    same(run)


def test_sort_at_the_ends_of_the_range() -> None:
    def run(m: Any) -> Any:
        return (
            m.sort(m.array([0, -1, 10, -10, 127, -128], dtype=m.int8), kind="stable"),
            m.sort(m.array([2**63, 1, 2**64 - 1], dtype=m.uint64)),
            m.sort(m.array([-(2**63), 2**63 - 1, 0])),
            m.sort(m.array([nan, inf, -inf, 0.0])),
        )

    same(run)


# ------------------------------------------------------------------------ matmul
def test_forms_of_tensordot_axes() -> None:
    def run(m: Any) -> Any:
        a = m.arange(12.0).reshape(3, 4)
        b = m.arange(20.0).reshape(4, 5)
        return (
            m.tensordot(a, b, axes=[[-1], [0]]),
            m.tensordot(m.ones((2, 3)), m.ones(4), 0),
            m.tensordot(m.array(3.0), m.array(4.0), ([], [])),
            m.tensordot(a, b, axes=((1,), (-2,))),
            m.tensordot(a, a, axes=2),
            m.tensordot(a, b, axes=1),
            attempt(lambda: m.tensordot(a, b, axes=[[0], [0]])),
            attempt(lambda: m.tensordot(a, b, axes=[[0, 1], [0]])),
            attempt(lambda: m.tensordot(a, b, axes=[[5], [0]])),
        )

    same(run)


def test_repeated_labels_of_einsum() -> None:
    def run(m: Any) -> Any:
        a = m.arange(12).reshape(2, 2, 3)
        b = m.arange(18).reshape(2, 3, 3)
        v = m.array([1, 10, 100])
        square = m.arange(9).reshape(3, 3)
        return (
            m.einsum("iij->ij", a),
            m.einsum("iij->i", a),
            m.einsum("iij,j->ij", a, v),
            m.einsum("iij->ji", a),
            m.einsum("ijj->ij", b),
            m.einsum("ijj->ji", b),
            m.einsum("ii", square),
            m.einsum("ii->i", square),
            m.einsum("...ii->...", b),
            m.einsum("ij,jk,kl->il", square, square, square),
            attempt(lambda: m.einsum("ii", a[0])),
            attempt(lambda: m.einsum("ij->k", square)),
        )

    same(run)


# -------------------------------------------------------------- linalg, transforms
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_singular_matrices(dtype: str) -> None:
    def run(m: Any) -> Any:
        zero = m.zeros((2, 2), dtype=dtype)
        ones = m.ones((2, 2), dtype=dtype)
        sign, logarithm = m.linalg.slogdet(zero)
        return (
            attempt(lambda: m.linalg.inv(zero)),
            attempt(lambda: m.linalg.inv(m.array([[0.0]]))),
            m.linalg.det(zero),
            m.linalg.det(m.zeros((3, 2, 2), dtype=dtype)),
            m.linalg.det(m.zeros((0, 0), dtype=dtype)),
            sign,
            logarithm,
            attempt(lambda: m.linalg.solve(zero, ones)),
            attempt(lambda: m.linalg.inv(m.zeros((3, 2, 2), dtype=dtype))),
            attempt(lambda: m.linalg.cholesky(m.array([[1.0, 2.0], [2.0, 1.0]]))),
            attempt(lambda: m.linalg.inv(m.ones((2, 3)))),
            m.linalg.matrix_rank(ones),
            m.linalg.matrix_rank(zero),
        )

    same(run)


def test_linear_algebra_raises_numpys_own_error() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        dc.linalg.inv(dc.zeros((2, 2)))


@pytest.mark.parametrize("length", [1, 2, 5, 6, 9])
def test_lengths_of_real_transforms(length: int) -> None:
    def run(m: Any) -> Any:
        b = m.arange(length) * 1.5 - 2
        f = m.fft.rfft(b)
        return (
            f,
            m.fft.irfft(f, n=length),
            attempt(lambda: m.fft.irfft(f)),
            m.fft.hfft(f, n=length),
            m.fft.rfft(b, n=length + 3),
            attempt(lambda: m.fft.rfft(b, n=0)),
            m.fft.fftshift(m.arange(length)),
            m.fft.ifftshift(m.fft.fftshift(m.arange(length))),
            m.fft.rfftfreq(length, 0.5),
            m.fft.fftfreq(length),
        )

    same(run)


# ---------------------------------------------------------------------- creation
class TestCreation:
    def test_arange(self) -> None:
        def run(m: Any) -> Any:
            return (
                m.arange(2.5),
                m.arange(0.0, 1.0, 0.1),
                m.arange(125.8, 224.8, 3),
                m.arange(5, 0),
                m.arange(5, 0, -2),
                m.arange(3, dtype=m.float32),
                m.arange(-0.5, 2.5),
                m.arange(2.0000001, 3.0, 0.33),
                m.arange(0),
                m.arange(True, 4),
                m.arange(10, dtype=m.uint8)[::3],
                attempt(lambda: m.arange(0, 1, 0)),
                attempt(lambda: m.arange(nan)),
                attempt(lambda: m.arange()),
            )

        same(run)

    def test_full_takes_the_dtype_of_the_value(self) -> None:
        def run(m: Any) -> Any:
            return (
                m.full(2, 0),
                m.full((2,), True),
                m.full(2, 0.5),
                m.full(2, 1j),
                m.full(2, m.float32(3)),
                m.full(2, m.array([3, 4])),
                m.full((2, 0), 1),
                m.full((), 7),
                attempt(lambda: m.full(2, [1, 2, 3])),
                attempt(lambda: m.full(2, 300, dtype=m.uint8)),
            )

        same(run)

    def test_full_like_takes_the_dtype_of_the_array(self) -> None:
        def run(m: Any) -> Any:
            a = m.arange(3)
            return (
                m.full_like(a, 2.7),
                m.full_like(a, 2.7, dtype=m.float32),
                m.full_like(a, 9, shape=(2, 2)),
                m.full_like(a * 1.0, 3),
                m.ones_like(m.zeros((0, 2), dtype=m.float16)),
                m.zeros_like(a, dtype=bool),
                m.full_like(a.reshape(3, 1).T, m.array([1, 2, 3])),
                m.zeros_like(m.ones((3, 4)).T).strides,
            )

        same(run)

    def test_fill(self) -> None:
        def run(m: Any) -> Any:
            b = m.zeros(2, dtype=m.int64)
            b.fill(m.array(4, dtype=m.int32))
            c = m.zeros(2) + 1
            c.fill(3)
            return b, c, attempt(lambda: b.fill("no")), attempt(lambda: b.fill([1, 2]))

        same(run)


# -------------------------------------------------------------------- conversion
class TestConversion:
    def test_to_a_python_scalar(self) -> None:
        def run(m: Any) -> Any:
            words = ["a", "b", "c"]
            return (
                float(m.array(2.5)),
                int(m.array(7)),
                int(m.array(7.9)),
                complex(m.array(1 + 2j)),
                bool(m.array(0.0)),
                words[m.array(1)],
                words[m.array(1) + 1],
                attempt(lambda: words[m.array(1.0)]),
                attempt(lambda: words[m.array([1])]),
                attempt(lambda: float(m.ones((1,)))),
                attempt(lambda: float(m.ones(2))),
                attempt(lambda: int(m.array([1, 2]) * 2)),
                attempt(lambda: bool(m.array([1, 2]))),
                attempt(lambda: bool(m.array([]))),
                attempt(lambda: float(m.array(1 + 2j).real + 0)),
                m.ones((1, 1)).item(),
                attempt(lambda: m.ones(2).item()),
                list(range(int(m.array(3)))),
                f"{float(m.array(1.5)):.2f}",
                hex(m.array(255)),
            )

        same(run)

    def test_dlpack_of_odd_views(self) -> None:
        def run(m: Any) -> Any:
            a = m.arange(12, dtype=m.uint32).reshape(3, 4)
            return (
                m.from_dlpack(a[:, ::-1].T),
                m.from_dlpack(a[::2, 1]),
                m.from_dlpack(a[::-1, ::-2]),
                m.from_dlpack(a * 2),
                m.from_dlpack(m.array([True, False])),
                m.from_dlpack(m.zeros((1, 8, 0, 2), dtype=m.float32)),
                m.from_dlpack(m.array([1 + 2j])),
                m.from_dlpack(m.array(5)),
                m.from_dlpack(m.array([1.5], dtype=m.float16)),
                attempt(lambda: m.from_dlpack([1, 2])),
            )

        same(run)

    def test_dlpack_between_both(self) -> None:
        a = dc.arange(12.0).reshape(3, 4)
        view = np.from_dlpack(a[:, ::-1])
        assert view.tolist() == np.arange(12.0).reshape(3, 4)[:, ::-1].tolist()
        back = dc.from_dlpack(np.arange(6)[::-2])
        assert back.tolist() == [5, 3, 1]

    def test_copies_are_independent(self) -> None:
        def run(m: Any) -> Any:
            a = m.arange(6.0).reshape(2, 3)
            lazy = a * 2
            shallow, deep = copy.copy(a), copy.deepcopy(a)
            twin = copy.deepcopy([lazy, lazy])
            stored = pickle.loads(pickle.dumps(lazy))
            method, function = lazy.copy(), m.array(lazy)
            a[0] = -1
            lazy[0, 0] = 99
            return (
                a,
                shallow,
                deep,
                twin[0],
                lazy,
                stored,
                method,
                function,
                twin[0] is twin[1],
                m.array(a, copy=True) is a,
                m.asarray(a) is a,
                attempt(lambda: m.array([1, 2], copy=False)),
            )

        same(run)

    def test_copies_keep_their_layout(self) -> None:
        def run(m: Any) -> Any:
            a = m.arange(24).reshape(2, 3, 4).transpose(2, 0, 1)
            copies = (a.copy(), a.copy(order="K"), m.copy(a), copy.deepcopy(a))
            return [one.strides for one in copies]

        same(run)


class TestEmptyStrides:
    """Arrays without elements have NumPy's strides, recorded or not."""

    @pytest.mark.parametrize("shape", [(0, 7), (7, 0), (2, 0, 3)])
    def test_results(self, shape: tuple[int, ...]) -> None:
        def strides(m: Any) -> list[Any]:
            x = m.asarray(np.empty(shape, np.int16))
            made = (x + x, x < 7, m.where(x, x, x), x.astype(m.float64), (x + 1).T)
            kept = (m.any((x + x).T, axis=1, keepdims=True), m.sum(x, 0, keepdims=True))
            return [y.strides for y in (*made, *kept)]

        assert strides(dc) == strides(np)

    def test_view_of_a_pending_array(self) -> None:
        def product(m: Any) -> Any:
            x = m.asarray(np.empty((16, 0, 4)))
            y = (x + x).ravel()
            y *= y
            return y

        agree(outcome(product, dc), outcome(product, np))


class TestClipAtTheLimit:
    """A Python int that no element can cross is no bound, as in NumPy."""

    @pytest.mark.parametrize("bounds", [(0, -0.0), (-3, 255), (0, 300), (1, 255)])
    def test_bounds(self, bounds: tuple[Any, Any]) -> None:
        def clipped(m: Any) -> Any:
            return m.clip(m.asarray(np.array([0, 7, 255], np.uint8)), *bounds)

        agree(outcome(clipped, dc), outcome(clipped, np))


class TestProductOfInfiniteComplexNumbers:
    """NumPy multiplies 1 by the first element, then by the next ones."""

    @pytest.mark.parametrize("shape", [(3, 1), (40, 3), (300, 7)])
    def test_overflow(self, shape: tuple[int, ...]) -> None:
        def product(m: Any) -> Any:
            rng = np.random.default_rng(1)
            parts = (
                rng.normal(size=(*shape, 2))
                * 10.0 ** rng.integers(99, 309, shape)[..., None]
            )
            x = m.asarray(parts.view(np.complex128)[..., 0])
            return m.prod(m.maximum(x, x.conj()), axis=1, keepdims=True)

        agree(outcome(product, dc), outcome(product, np))
