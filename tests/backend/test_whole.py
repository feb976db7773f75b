"""Whole functions of small arrays: the short way gives what the long one does."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.api.coverage import NATIVE
from dcarray.array.small import LONGEST, short
from dcarray.array.whole import FUNCTIONS, METHODS
from dcarray.config import current

Case = Callable[[Any, Any], Any]

MATRIX = np.array([[3.0, -1.5, 0.0, 2.0], [7.0, 5.5, -0.0, 1.0]] * 2)
MATRIX[2:] += np.eye(4)[:2]

LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda x: x,
    "turned": lambda x: x.T,
    "backwards": lambda x: x[::-1, ::-1],
    "strided": lambda x: x.repeat(2, 1)[:, ::2],
}
DTYPES = ("f8", "f4", "i8", "i4", "u1", "?", "c16", "f2")

# What each function is called with: f itself, and arrays x (4 x 4), v, m (mask), n.
CALLS: dict[Any, list[Case]] = {
    np.dot: [
        lambda f, s: f(s.x, s.x),
        lambda f, s: f(s.v, s.v),
        lambda f, s: f(2, s.v),
    ],
    np.vdot: [lambda f, s: f(s.x, s.x)],
    np.inner: [lambda f, s: f(s.x, s.v)],
    np.outer: [lambda f, s: f(s.v, s.x)],
    np.kron: [lambda f, s: f(s.x, s.v)],
    np.tensordot: [lambda f, s: f(s.x, s.x), lambda f, s: f(s.x, s.v, axes=1)],
    np.cross: [lambda f, s: f(s.x[:, :3], s.v[:3])],
    np.einsum: [
        lambda f, s: f("ij,jk->ik", s.x, s.x),
        lambda f, s: f("ii->i", s.x),
        lambda f, s: f(s.x, [0, 1], [1]),
    ],
    np.trace: [lambda f, s: f(s.x), lambda f, s: f(s.x, offset=1)],
    np.convolve: [lambda f, s: f(s.v, s.v), lambda f, s: f(s.v, s.v[:2], mode="same")],
    np.correlate: [lambda f, s: f(s.v, s.v)],
    np.var: [lambda f, s: f(s.x), lambda f, s: f(s.x, 0), lambda f, s: f(s.x, ddof=1)],
    np.std: [lambda f, s: f(s.x), lambda f, s: f(s.x, axis=1, keepdims=True)],
    np.argmax: [lambda f, s: f(s.x), lambda f, s: f(s.x, 0)],
    np.argmin: [lambda f, s: f(s.x), lambda f, s: f(s.x, axis=1, keepdims=True)],
    np.ptp: [lambda f, s: f(s.x), lambda f, s: f(s.x, 0)],
    np.median: [lambda f, s: f(s.x), lambda f, s: f(s.x, axis=0)],
    np.percentile: [lambda f, s: f(s.x, 30), lambda f, s: f(s.x, [10, 90], axis=0)],
    np.quantile: [lambda f, s: f(s.x, 0.3)],
    np.average: [lambda f, s: f(s.x), lambda f, s: f(s.x, 1)],
    np.count_nonzero: [lambda f, s: f(s.x), lambda f, s: f(s.x, axis=0)],
    np.cumsum: [lambda f, s: f(s.x), lambda f, s: f(s.x, 1)],
    np.cumprod: [lambda f, s: f(s.x), lambda f, s: f(s.x, axis=0)],
    np.diff: [lambda f, s: f(s.x), lambda f, s: f(s.x, axis=0)],
    np.trapezoid: [lambda f, s: f(s.v), lambda f, s: f(s.x, dx=2.0)],
    np.where: [
        lambda f, s: f(s.m, s.x, 0),
        lambda f, s: f(s.m),
        lambda f, s: f(s.m[0, 0].reshape(()), s.v[:1].reshape(()), 0),
    ],
    np.clip: [
        lambda f, s: f(s.x, 0, 1),
        lambda f, s: f(s.x, s.v, 300),
        lambda f, s: f(s.x, max=9),
    ],
    np.round: [lambda f, s: f(s.x), lambda f, s: f(s.x, decimals=1)],
    np.isclose: [lambda f, s: f(s.x, s.v), lambda f, s: f(s.x, 1, atol=0.5)],
    np.zeros: [lambda f, s: f(3), lambda f, s: f((2, 3), dtype=np.float32)],
    np.empty: [lambda f, s: f(0), lambda f, s: f((2, 0), "i4", "F")],
    np.ones: [lambda f, s: f(()), lambda f, s: f((2, 3), order="F")],
    np.full: [lambda f, s: f(3, 2), lambda f, s: f((2, 2), 1j)],
    np.arange: [lambda f, s: f(5), lambda f, s: f(1, 2, 0.25), lambda f, s: f(0, None)],
    np.linspace: [lambda f, s: f(0, 1, 5), lambda f, s: f(0, 1, num=3, endpoint=False)],
    np.eye: [lambda f, s: f(3), lambda f, s: f(2, 3, k=1, dtype=int)],
    np.identity: [lambda f, s: f(3)],
    np.tri: [lambda f, s: f(3), lambda f, s: f(2, 3, -1)],
    np.zeros_like: [lambda f, s: f(s.x), lambda f, s: f(s.x, dtype=int, shape=(2, 3))],
    np.empty_like: [lambda f, s: f(s.x[:0])],
    np.ones_like: [lambda f, s: f(s.x), lambda f, s: f(s.v[:1].reshape(()))],
    np.full_like: [lambda f, s: f(s.x, 3)],
    np.array: [
        lambda f, s: f([1, 2.5]),
        lambda f, s: f(s.x),
        lambda f, s: f([s.v, [1, 2, 3, 4]], dtype="f4"),
        lambda f, s: f(3),
        lambda f, s: f(["a", "bc"]),
    ],
    np.asarray: [
        lambda f, s: f(s.x),
        lambda f, s: f(s.x, dtype=np.complex128),
        lambda f, s: f(s.x, order="F"),
        lambda f, s: f([[1, 2], [3, 4]]),
        lambda f, s: f(2.5),
    ],
    np.asanyarray: [lambda f, s: f(s.x), lambda f, s: f((1, 2))],
    np.ascontiguousarray: [lambda f, s: f(s.x), lambda f, s: f(s.v[:1].reshape(()))],
    np.copy: [lambda f, s: f(s.x), lambda f, s: f(s.x, order="C"), lambda f, s: f(1)],
    np.diag: [lambda f, s: f(s.x), lambda f, s: f(s.v, 1), lambda f, s: f(s.x, k=-1)],
    np.tril: [lambda f, s: f(s.x), lambda f, s: f(s.v)],
    np.triu: [lambda f, s: f(s.x, 1)],
    np.reshape: [
        lambda f, s: f(s.x, -1),
        lambda f, s: f(s.x, (2, 8)),
        lambda f, s: f(s.x, (2, -1), order="F"),
        lambda f, s: f(s.v[:1], ()),
    ],
    np.ravel: [lambda f, s: f(s.x), lambda f, s: f(s.x, "F"), lambda f, s: f(s.v)],
    np.transpose: [lambda f, s: f(s.x), lambda f, s: f(s.x, (0, 1))],
    np.permute_dims: [lambda f, s: f(s.x)],
    np.matrix_transpose: [lambda f, s: f(s.x)],
    np.squeeze: [lambda f, s: f(s.x[:1]), lambda f, s: f(s.x[:1], axis=0)],
    np.expand_dims: [lambda f, s: f(s.x, 0), lambda f, s: f(s.x, axis=(0, 2))],
    np.swapaxes: [lambda f, s: f(s.x, 0, 1)],
    np.moveaxis: [lambda f, s: f(s.x, 0, -1)],
    np.rollaxis: [lambda f, s: f(s.x, 1)],
    np.diagonal: [lambda f, s: f(s.x), lambda f, s: f(s.x, offset=1)],
    np.broadcast_to: [lambda f, s: f(s.v, (2, 4)), lambda f, s: f(s.x, (4, 4))],
    np.flip: [lambda f, s: f(s.x), lambda f, s: f(s.x, 1), lambda f, s: f(s.v)],
    np.flipud: [lambda f, s: f(s.x)],
    np.fliplr: [lambda f, s: f(s.x)],
    np.rot90: [lambda f, s: f(s.x), lambda f, s: f(s.x, 2)],
    np.atleast_1d: [lambda f, s: f(s.x), lambda f, s: f(s.v[:1].reshape(()))],
    np.atleast_2d: [lambda f, s: f(s.v)],
    np.split: [lambda f, s: f(s.x, 2), lambda f, s: f(s.x, [1, 3], axis=1)],
    np.array_split: [lambda f, s: f(s.x, 3)],
    np.concatenate: [
        lambda f, s: f((s.x, s.x)),
        lambda f, s: f([s.x, s.m], axis=1),
        lambda f, s: f([s.v, [1.5]]),
        lambda f, s: f((s.x, s.v), axis=None),
    ],
    np.stack: [lambda f, s: f([s.x, s.x]), lambda f, s: f((s.v, s.v), axis=-1)],
    np.vstack: [lambda f, s: f((s.x, s.v))],
    np.hstack: [lambda f, s: f((s.v, s.v))],
    np.dstack: [lambda f, s: f((s.x, s.x))],
    np.column_stack: [lambda f, s: f((s.v, s.x))],
    np.append: [lambda f, s: f(s.x, 1), lambda f, s: f(s.x, s.x, axis=0)],
    np.tile: [lambda f, s: f(s.x, 2), lambda f, s: f(s.v, (2, 1))],
    np.repeat: [lambda f, s: f(s.x, 2), lambda f, s: f(s.v, s.n)],
    np.roll: [lambda f, s: f(s.x, 1), lambda f, s: f(s.x, (1, 2), axis=(0, 1))],
    np.pad: [
        lambda f, s: f(s.x, 1),
        lambda f, s: f(s.x, ((1, 0), (0, 2)), "edge"),
        lambda f, s: f(s.v, 2, mode="constant", constant_values=3),
    ],
    np.nonzero: [lambda f, s: f(s.x)],
    np.flatnonzero: [lambda f, s: f(s.x)],
    np.argwhere: [lambda f, s: f(s.m)],
    np.searchsorted: [lambda f, s: f(s.n, 1), lambda f, s: f(s.n, s.v, side="right")],
    np.sort: [
        lambda f, s: f(s.x),
        lambda f, s: f(s.x, 0),
        lambda f, s: f(s.x, axis=None),
    ],
    np.take: [
        lambda f, s: f(s.x, 3),
        lambda f, s: f(s.x, s.n),
        lambda f, s: f(s.x, [1, 0], axis=1),
        lambda f, s: f(s.v, 9, mode="wrap"),
    ],
    np.take_along_axis: [lambda f, s: f(s.x, s.n[:, None], 1)],
    np.histogram: [lambda f, s: f(s.v, 3), lambda f, s: f(s.v, bins=[0, 1, 9])],
    np.bincount: [lambda f, s: f(s.n), lambda f, s: f(s.n, minlength=9)],
    np.digitize: [lambda f, s: f(s.v, s.n)],
    np.interp: [lambda f, s: f(s.v, [0, 1, 2], [1, 2, 5])],
    np.linalg.norm: [lambda f, s: f(s.x), lambda f, s: f(s.x, 1), lambda f, s: f(s.v)],
    np.linalg.solve: [lambda f, s: f(s.x + 9 * s.e, s.v)],
    np.linalg.inv: [lambda f, s: f(s.x + 9 * s.e)],
    np.linalg.det: [lambda f, s: f(s.x)],
    np.linalg.cholesky: [lambda f, s: f(9.0 * s.e)],
    np.linalg.eigvalsh: [lambda f, s: f(s.x)],
    np.linalg.matrix_power: [lambda f, s: f(s.x, 2)],
}

METHOD_CALLS: dict[str, list[Case]] = {
    "sum": [
        lambda f, s: f(s.x),
        lambda f, s: f(s.x, 0),
        lambda f, s: f(s.x, dtype="f4"),
    ],
    "prod": [lambda f, s: f(s.x), lambda f, s: f(s.x, axis=(0, 1))],
    "mean": [lambda f, s: f(s.x), lambda f, s: f(s.x, axis=1, keepdims=True)],
    "min": [lambda f, s: f(s.x), lambda f, s: f(s.x, 0)],
    "max": [lambda f, s: f(s.x), lambda f, s: f(s.x, 1, None, True)],
    "any": [lambda f, s: f(s.m), lambda f, s: f(s.x, 0)],
    "all": [lambda f, s: f(s.m), lambda f, s: f(s.x, axis=0, keepdims=True)],
    "dot": [lambda f, s: f(s.x, s.x), lambda f, s: f(s.v, s.v)],
    "astype": [
        lambda f, s: f(s.x, "c8"),
        lambda f, s: f(s.x, s.x.dtype, copy=False),
        lambda f, s: f(s.x, np.int16),
    ],
    "copy": [lambda f, s: f(s.x), lambda f, s: f(s.x, order="K")],
    "reshape": [lambda f, s: f(s.x, 2, 8), lambda f, s: f(s.x, (16,), order="F")],
    "flatten": [lambda f, s: f(s.x), lambda f, s: f(s.x, "F")],
    "transpose": [lambda f, s: f(s.x), lambda f, s: f(s.x, 1, 0)],
    "T": [lambda f, s: f(s.x), lambda f, s: f(s.v)],
    "mT": [lambda f, s: f(s.x)],
    "real": [lambda f, s: f(s.x)],
}


def method_of(name: str) -> Any:
    """The public method, or what reads the attribute."""
    found = getattr(dc.DeviceArray, name)
    return found.fget if isinstance(found, property) else found


def public_of(function: Any) -> Any:
    home = dc.linalg if "linalg" in function.__module__ else dc
    return getattr(home, function.__name__)


ROWS: list[Any] = [
    *[
        pytest.param(rule, public_of(f), f, CALLS[f], id=f.__name__)
        for f, rule in FUNCTIONS.items()
    ],
    *[
        pytest.param(
            *(METHODS[name], method_of(name), METHODS[name].function, calls),
            id=f"ndarray.{name}",
        )
        for name, calls in METHOD_CALLS.items()
    ],
]


def arrays(dtype: str, layout: str) -> SimpleNamespace:
    """Arrays of NumPy."""
    with np.errstate(all="ignore"):
        x = LAYOUTS[layout](MATRIX.astype(dtype))
        v = x[1]
    return SimpleNamespace(
        x=x, v=v, m=LAYOUTS[layout](MATRIX > 0), n=np.array([0, 1, 1, 3]), e=np.eye(4)
    )


def ours(given: SimpleNamespace) -> SimpleNamespace:
    """The same arrays, lying as they do there."""

    def placed(host: Any) -> Any:
        made = dc.DeviceArray._of_host(host.base if host.base is not None else host)
        return made if host.base is None else made._host_sibling(host)

    return SimpleNamespace(**{name: placed(x) for name, x in vars(given).items()})


def refuse(*arguments: Any, **keywords: Any) -> Any:
    raise AssertionError("the long way")


def told(call: Case, function: Any, given: Any) -> Any:
    """What a call gives or raises, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call(function, given)
        except AssertionError:
            raise
        except Exception as error:
            result = error
    return result, sorted([str(w.message) for w in caught])


def seen(x: Any, given: SimpleNamespace) -> Any:
    """All that can be seen of a result."""
    if isinstance(x, (tuple, list)):
        return type(x), [seen(item, given) for item in x]
    if isinstance(x, Exception):
        return type(x), str(x)
    if type(x) is dc.DeviceArray:
        mine = [a for a in vars(given).values() if a._binding is x._binding is not None]
        same = [a is x for a in vars(given).values()]
        x = x._array()
        return "array", shown(x), x.flags.writeable, bool(mine), same
    if isinstance(x, np.ndarray):
        hosts = vars(given).values()
        shares = any(np.may_share_memory(a, x) for a in hosts)
        return "array", shown(x), x.flags.writeable, shares, [a is x for a in hosts]
    return type(x), repr(x)


def shown(x: Any) -> Any:
    text = x.tolist() if x.dtype.kind in "UO" else x.tobytes()
    return x.dtype, x.shape, x.strides, text


@pytest.fixture(params=["array", "numpy"])
def scalars(request: pytest.FixtureRequest) -> Iterator[str]:
    with dc.config(scalars=request.param):
        yield request.param


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("rule", "public", "theirs", "calls"), ROWS)
def test_both_ways_give_the_same(
    rule: Any, public: Any, theirs: Any, calls: list[Case], layout: str, scalars: str
) -> None:
    for dtype in DTYPES:
        for place, call in enumerate(calls):
            expected = told(call, theirs, arrays(dtype, layout))
            one, other = ours(arrays(dtype, layout)), ours(arrays(dtype, layout))
            found = told(call, public, one)
            long = told(call, public.__wrapped__, other)
            where = f"{dtype}, call {place}"
            assert seen(found[0], one) == seen(long[0], other), where
            assert found[1] == long[1], where
            if isinstance(expected[0], Exception):
                assert isinstance(found[0], type(expected[0])), where
                continue
            three = ours(arrays(dtype, layout))
            taken = told(call, short(rule, refuse), three)
            assert seen(taken[0], three) == seen(found[0], one), where
            assert found[1] == expected[1], where
            assert _bits(found[0]) == _bits(expected[0]), where


def _bits(x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return [_bits(item) for item in x]
    host = x._array() if type(x) is dc.DeviceArray else np.asarray(x)
    return shown(host)


def test_every_row_serves_a_native_function() -> None:
    """What counts as a fallback must not be called past the count."""
    for function in FUNCTIONS:
        public = public_of(function)
        assert public.__dcarray_coverage__ == NATIVE
        assert public.__wrapped__ is not public
        assert function in CALLS
    assert {*METHOD_CALLS} >= {
        name for name, rule in METHODS.items() if rule not in FUNCTIONS.values()
    }


# ------------------------------------------------------------------ the long way
def is_short(rule: Any, *given: Any, **options: Any) -> bool:
    try:
        short(rule, refuse)(*given, **options)
    except AssertionError:
        return False
    return True


SUM, DOT = METHODS["sum"], FUNCTIONS[np.dot]
FLIP, SORT = FUNCTIONS[np.flip], FUNCTIONS[np.sort]


def test_what_is_not_plain_goes_the_long_way() -> None:
    host = np.arange(4.0)
    x, out = dc.asarray(host), dc.zeros(())
    assert is_short(SUM, x) and is_short(SUM, x, 0, np.float32, None, True)
    assert not is_short(SUM, x, out=out)
    assert not is_short(SUM, x, 0, None, out)
    assert not is_short(SUM, x, initial=3)
    assert not is_short(SUM, x, where=x > 1)
    assert not is_short(SUM, x, axis=dc.asarray(0))
    assert not is_short(DOT, x, host)
    assert not is_short(DOT, [1.0], [2.0])
    assert not is_short(DOT, x, x, out)
    assert not is_short(FLIP, np.ma.array([1, 2]))
    assert not is_short(FLIP, dc.asarray(["a", "b"]))
    assert not is_short(FLIP, dc.asarray([None, 1]))
    assert is_short(FUNCTIONS[np.concatenate], (x,) * 100)
    assert not is_short(FUNCTIONS[np.concatenate], (x,) * (LONGEST + 1))
    assert not is_short(FUNCTIONS[np.copy], x, subok=True)
    assert not is_short(FUNCTIONS[np.zeros], 3, device="cpu")
    assert not is_short(FUNCTIONS[np.median], x, None, None, True)  # would be sorted


def test_a_list_within_itself_ends() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert not is_short(FUNCTIONS[np.array], endless)
    with pytest.raises(TypeError):
        dc.asarray([1.0]).sum(axis=endless)


def test_a_subclass_keeps_its_way() -> None:
    class Mine(dc.DeviceArray):
        pass

    x = Mine._of_host(np.arange(4.0))
    assert not is_short(SUM, x)
    assert float(dc.sum(x)) == 6
    assert type(x.copy()) is Mine


def test_large_arrays_go_the_long_way() -> None:
    below = dc.zeros(current().whole_below - 1)
    above = dc.zeros(below.size + 1)
    assert is_short(SORT, below) and not is_short(SORT, above)
    assert is_short(FLIP, above)  # nothing but a view
    pending = above + 1
    assert not is_short(FLIP, pending)
    dc.evaluate(pending)
    assert not is_short(FLIP, pending)
    assert is_short(DOT, above, above)
    assert not is_short(DOT, above.astype(int), above.astype(int))
    assert is_short(SUM, above) and not is_short(SUM, dc.zeros(1 << 20))


def test_settings_choose() -> None:
    x = dc.asarray([1.0, 2.0])
    with dc.config(lazy="always"):
        assert not is_short(SUM, x) and float(dc.sum(x)) == 3
    with dc.config(lazy="never"):
        assert is_short(SORT, dc.zeros(1 << 17))
    with dc.config(device="cpu"):
        assert not is_short(FUNCTIONS[np.zeros], 3)
        assert str(dc.zeros(3).device) == "cpu"
        assert str(dc.array([x, x]).device) == "cpu"
    y = x.to_device("cpu")
    assert is_short(SUM, y) and not is_short(DOT, x, y)
    assert str(dc.flip(y).device) == str(dc.cumsum(y).device) == "cpu"
    with dc.config(fallback="error"):
        assert float(dc.dot(x, x)) == 5


def test_pending_values_are_fixed_before_a_view_is_written() -> None:
    with dc.config(lazy="always"):
        x = dc.zeros(5)
        dc.evaluate(x)
        y = x + 1
    view = dc.flip(x)
    view[0] = 7.0
    assert x.tolist() == [0, 0, 0, 0, 7]
    assert y.tolist() == [1] * 5


def test_pending_operands_are_computed() -> None:
    with dc.config(lazy="always"):
        x = dc.arange(5) * 2
    assert not is_short(SUM, x)
    assert int(dc.sum(x)) == 20 and dc.flip(x).tolist() == [8, 6, 4, 2, 0]


def test_what_was_computed_is_on_the_host() -> None:
    with dc.config(lazy="always"):
        x = dc.arange(5) * 2
        dc.evaluate(x)
    assert x._host is None and is_short(FLIP, x)
    view = dc.flip(x)
    view[0] = 1
    assert x.tolist() == [0, 2, 4, 6, 1]


def test_shared_memory_is_read_when_it_is_asked_for() -> None:
    host = np.arange(4.0)
    x = dc.asarray(host, copy=False)
    turned = dc.flip(x)
    host[0] = 9
    assert float(dc.sum(x)) == 15 and turned.tolist() == [3, 2, 1, 9]
    exported = np.asarray(dc.copy(x))
    y = dc.asarray(exported, copy=False)
    exported[:] = 1
    assert float(dc.dot(y, y)) == 4


def test_errors_are_those_of_the_long_way() -> None:
    x = dc.asarray([[1.0, 2.0]])
    with pytest.raises(np.exceptions.AxisError):
        dc.sum(x, axis=2)
    with pytest.raises(ValueError, match="not aligned"):
        dc.dot(x, x)
    with pytest.raises(np.linalg.LinAlgError):
        dc.linalg.inv(dc.zeros((2, 2)))
    with dc.errstate(all="raise"), pytest.raises(FloatingPointError):
        dc.dot(dc.asarray([1e200]), dc.asarray([1e200]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            dc.mean(dc.zeros(0))


def test_warnings_are_said_once() -> None:
    with pytest.warns(RuntimeWarning) as caught:
        dc.mean(dc.zeros((2, 0)), axis=1)
    assert len(caught) == 2  # as NumPy: of the slice, and of the division


def test_nothing_is_counted() -> None:
    x = dc.asarray(MATRIX)
    with dc.profile() as seen_events:
        dc.dot(x, x)
        dc.flip(x)
        x.sum()
    assert not list(seen_events.events)


def test_threads_have_their_own_settings() -> None:
    found: dict[str, set[type]] = {"array": set(), "numpy": set()}

    def work(scalars: str) -> None:
        with dc.config(scalars=scalars):
            x = dc.arange(9.0)
            for _ in range(2000):
                found[scalars].add(type(x.sum()))

    threads = [threading.Thread(target=work, args=(name,)) for name in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {"array": {dc.DeviceArray}, "numpy": {np.float64}}


def test_a_temporary_is_still_known() -> None:
    """What only a reduction reads is not stored."""
    x = dc.zeros(1 << 21)
    with dc.profile() as events:
        dc.sum(x * 2.0)
    one = [event.nbytes for event in events.events if event.kind == "group"]
    with dc.profile() as events:
        (x * 2.0).sum()
    other = [event.nbytes for event in events.events if event.kind == "group"]
    with dc.profile() as events:
        kept = x * 2.0
        dc.sum(kept)
    stored = [event.nbytes for event in events.events if event.kind == "group"]
    assert one == other and sum(one) < sum(stored)
