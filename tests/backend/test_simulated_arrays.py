"""What arrays do on a device that NumPy cannot touch, as NumPy does it.

Everything here runs under ``fallback="error"``: nothing is left to the host.
"""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc

DEVICE = "test:0"
_rng = np.random.default_rng(0)

ARRAYS: dict[str, np.ndarray] = {
    "float32": _rng.random((6, 7), dtype=np.float32) - np.float32(0.3),
    "float16": (_rng.random((6, 7)) - 0.5).astype(np.float16),
    "int64": _rng.integers(-50, 50, (6, 7)),
    "uint8": _rng.integers(0, 200, (6, 7)).astype(np.uint8),
    "complex64": (_rng.random((6, 7)) - 1j * _rng.random((6, 7))).astype(np.complex64),
    "bool": _rng.random((6, 7)) > 0.5,
    "empty": np.empty((0, 3), np.float32),
    "scalar": np.array(2.5),
}


@pytest.fixture(autouse=True)
def nothing_on_the_host() -> Iterator[None]:
    with dc.config(fallback="error"), np.errstate(all="ignore"):
        yield


def on_device(x: Any) -> Any:
    return dc.asarray(np.array(x)).to_device(DEVICE)


def same(got: Any, want: Any, tolerance: float) -> None:
    if isinstance(want, tuple):
        assert isinstance(got, tuple)
        for one, other in zip(got, want, strict=True):
            same(one, other, tolerance)
        return
    want = np.asarray(want)
    assert isinstance(got, dc.DeviceArray)
    assert got.device == DEVICE
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    host = got.get()
    assert host.dtype == want.dtype
    if want.dtype.kind in "fc":
        bound = 0.02 if want.dtype == np.float16 else tolerance
        np.testing.assert_allclose(host, want, rtol=bound, atol=bound)
    else:
        np.testing.assert_array_equal(host, want)


def builtin_of(error: BaseException) -> type[BaseException]:
    """The first of Python's own exceptions among an error's classes."""
    return next(c for c in type(error).__mro__ if c.__module__ == "builtins")


@pytest.mark.filterwarnings("ignore")
def check(function: Callable[[Any], Any], x: np.ndarray, tolerance: float) -> None:
    """The same result as NumPy's, or the same kind of error."""
    try:
        want = function(np.array(x))
    except Exception as error:
        with pytest.raises(builtin_of(error)):
            result = function(on_device(x))
            for one in result if isinstance(result, tuple) else (result,):
                one.get()
        return
    same(function(on_device(x)), want, tolerance)


def changed(x: Any, change: Callable[[Any], Any]) -> Any:
    """A copy, after ``change`` has been at it."""
    x = x.copy()
    change(x)
    return x


def rule(name: str, function: Callable[[Any], Any], *only: str) -> list[Any]:
    return [pytest.param(function, x, id=f"{name}-{x}") for x in only or ARRAYS]


REAL = ("float32", "int64", "uint8", "empty", "scalar")

CASES: list[Any] = []
for name in "sum prod min max any all mean var std argmin argmax".split():
    for axis in (None, 0, 1, -1):
        for keep in (False, True):
            CASES += rule(
                f"{name}-{axis}-{keep}",
                lambda x, n=name, a=axis, k=keep: getattr(x, n)(axis=a, keepdims=k),
            )
for name in "sum prod min max any all mean var std".split():
    CASES += rule(f"{name}-both", lambda x, n=name: getattr(x, n)(axis=(0, 1)))
for name in ("cumsum", "cumprod"):
    for axis in (None, 0, 1):
        CASES += rule(f"{name}-{axis}", lambda x, n=name, a=axis: getattr(x, n)(axis=a))


def mask_of(x: Any) -> np.ndarray:
    return np.arange(np.prod(x.shape, dtype=int)).reshape(x.shape) % 3 != 1


for name in "sum prod any all mean var std".split():
    CASES += rule(
        f"{name}-where", lambda x, n=name: getattr(x, n)(axis=0, where=mask_of(x))
    )
for name in "min max".split():
    CASES += rule(
        f"{name}-where",
        lambda x, n=name: getattr(x, n)(axis=0, where=mask_of(x), initial=1),
    )
CASES += rule("min-where-alone", lambda x: x.min(where=mask_of(x)))
CASES += rule("sum-initial", lambda x: x.sum(axis=-1, initial=3))
CASES += rule("max-initial", lambda x: x.max(axis=-1, initial=30))
CASES += rule("sum-dtype", lambda x: x.sum(axis=0, dtype=np.float64))
CASES += rule("mean-dtype", lambda x: x.mean(dtype=np.float32))
CASES += rule("var-ddof", lambda x: x.var(axis=0, ddof=1))

for name, function in {
    "sort": lambda x: changed(x, lambda y: y.sort()),
    "sort-0": lambda x: changed(x, lambda y: y.sort(axis=0)),
    "argsort": lambda x: x.argsort(kind="stable"),
    "argsort-none": lambda x: x.argsort(axis=None, kind="stable"),
    "partition": lambda x: (
        np.sort(changed(x, lambda y: y.partition(2))[..., :3])
        if isinstance(x, np.ndarray)
        else _sorted(changed(x, lambda y: y.partition(2))[..., :3])
    ),
    "take": lambda x: x.take([0, 2, 1]),
    "take-1": lambda x: x.take([[0, 2], [1, 1]], axis=1),
    "take-clip": lambda x: x.take([-1, 100], mode="clip"),
    "nonzero": lambda x: x.nonzero(),
    "repeat": lambda x: x.repeat(2, axis=0),
    "repeats": lambda x: x.repeat([2] * 42),
    "compress": lambda x: x.compress([True, False, True], axis=0),
    "put": lambda x: changed(x, lambda y: y.put([0, 1, -1], [1, 0, 1])),
    "fill": lambda x: changed(x, lambda y: y.fill(1)),
    "transpose": lambda x: x.T,
    "mT": lambda x: x.mT,
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "ravel": lambda x: x.ravel(),
    "ravel-F": lambda x: x.ravel("F"),
    "ravel-K": lambda x: x.T.ravel("K"),
    "ravel-A": lambda x: x.T.ravel("A"),
    "flatten": lambda x: x.T.flatten(),
    "flatten-F": lambda x: x.flatten("F"),
    "reshape": lambda x: x.reshape(7, 6),
    "reshape-F": lambda x: x.reshape((7, 6), order="F"),
    "reshape-of-a-transpose": lambda x: x.T.reshape(6, 7),
    "reshape-of-a-slice": lambda x: x[::2, ::3].reshape(-1),
    "squeeze": lambda x: x[None].squeeze(),
    "diagonal": lambda x: x.diagonal(1),
    "trace": lambda x: x.trace(),
    "copy": lambda x: x.copy(),
    "copy-F": lambda x: x.copy("F"),
    "copy-K": lambda x: x.T.copy("K"),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "round": lambda x: x.round(),
    "round-2": lambda x: x.round(2),
    "round-minus-1": lambda x: x.round(-1),
    "conj": lambda x: x.conj(),
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "neg": operator.neg,
    "pos": operator.pos,
    "abs": operator.abs,
    "invert": operator.invert,
    "iterate": tuple,
    "astype-float64": lambda x: x.astype(np.float64),
    "astype-bool": lambda x: x.astype(bool),
    "astype-same": lambda x: x.astype(x.dtype, copy=False),
    "astype-refused": lambda x: x.astype(np.int8, casting="safe"),
}.items():
    CASES += rule(name, function)
for name, function in {
    "clip": lambda x: x.clip(0, 1),
    "clip-min": lambda x: x.clip(0),
    "clip-max": lambda x: x.clip(max=1),
    "astype-int32": lambda x: (x > 0).astype(np.int32),
    "astype-float32-F": lambda x: x.astype(np.float32, order="F"),
    "searchsorted": lambda x: _sorted(x.ravel()).searchsorted(x.ravel()),
    "view": lambda x: x.copy().view(np.uint8),
}.items():
    CASES += rule(name, function, *REAL[:3])
CASES += rule("matmul", lambda x: x @ x.T)
CASES += rule("dot", lambda x: x.dot(x.T))
CASES += rule("choose", lambda x: (x % 2).astype(int).choose([x, -x]), "int64")


def _sorted(x: Any) -> Any:
    return changed(x, lambda y: y.sort())


OPERATORS = (
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv),
    *(operator.mod, operator.pow, operator.and_, operator.or_, operator.xor),
    *(operator.lshift, operator.rshift, operator.eq, operator.ne, operator.lt),
    *(operator.ge, divmod),
)
for op in OPERATORS:
    for number in (2, 2.5, True, 3 - 1j, 0, -1, np.float32(2), np.int64(3)):
        label = f"{op.__name__}-{type(number).__name__}-{number}"
        CASES += rule(label, lambda x, o=op, n=number: o(x, n))
        CASES += rule(f"r{label}", lambda x, o=op, n=number: o(n, x))
    CASES += rule(f"{op.__name__}-itself", lambda x, o=op: o(x, x))
    CASES += rule(f"{op.__name__}-row", lambda x, o=op: o(x, x[:1]), *REAL[:3])

KEYS: dict[str, Any] = {
    "0": 0,
    "-1": -1,
    "1:3": slice(1, 3),
    "1,2": (1, 2),
    ":,0": (slice(None), 0),
    "...": Ellipsis,
    "None": None,
    "::-1": slice(None, None, -1),
    "[0,2]": [0, 2],
    "[0,2],[1,3]": ([0, 2], [1, 3]),
    "1:4,[0,2]": (slice(1, 4), [0, 2]),
    "[1,2],:,None": ([1, 2], slice(None), None),
    "mask": "mask",
    "0,...": (0, Ellipsis),
    "0,0,...": (0, 0, Ellipsis),
    "()": (),
    "False": False,
    "100": 100,
    "int64(1)": np.int64(1),
    "array(1)": np.array(1),
    "array2d": np.array([[0, 1], [2, 3]]),
}


def get(x: Any, key: Any) -> Any:
    return x[mask_of(x) if isinstance(key, str) else key]


def put(x: Any, key: Any, value: Any) -> Any:
    def change(y: Any) -> None:
        place = mask_of(y) if isinstance(key, str) else key
        if value == "itself":
            y[place] = y[place]
        elif value == "plus":
            y[place] += 1
        else:
            y[place] = value

    return changed(x, change)


for name, key in KEYS.items():
    CASES += rule(f"get {name}", lambda x, k=key: get(x, k))
    CASES += rule(f"put {name}", lambda x, k=key: put(x, k, 1))
    CASES += rule(f"put itself {name}", lambda x, k=key: put(x, k, "itself"))
    CASES += rule(f"put plus {name}", lambda x, k=key: put(x, k, "plus"), *REAL[:2])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("function", "name"), CASES)
def test_as_numpy(function: Callable[[Any], Any], name: str) -> None:
    check(function, ARRAYS[name], 1e-4)


# ------------------------------------------------------------------------ out and where
A, B = ARRAYS["float32"], ARRAYS["float32"][::-1].copy()


def test_out() -> None:
    x, y = on_device(A), on_device(B)
    out = on_device(np.zeros((6, 7)))
    assert np.add(x, y, out=out) is out
    same(out, (A + B).astype(np.float64), 1e-6)
    view = out.T[2:4]
    np.multiply(x.T[2:4], 2, out=view)
    want = (A + B).astype(np.float64)
    want.T[2:4] = A.T[2:4] * 2
    same(out, want, 1e-6)
    x.sum(axis=0, out=out[0])
    same(out[0], A.sum(axis=0).astype(np.float64), 1e-5)
    with pytest.raises(TypeError, match="Cannot cast"):
        np.add(x, y, out=on_device(np.zeros((6, 7), np.int32)))
    with pytest.raises(ValueError):
        np.add(x, y, out=on_device(np.zeros((5, 7), np.float32)))
    np.divmod(x, y, out=(out, None))
    same(out, np.divmod(A, B)[0].astype(np.float64), 1e-5)


def test_where_with_out() -> None:
    x, out = on_device(A), on_device(B)
    mask = mask_of(A)
    np.sqrt(x, out=out, where=on_device(mask))
    want = B.copy()
    np.sqrt(A, out=want, where=mask)
    same(out, want, 1e-6)


@pytest.mark.parametrize("op", [operator.iadd, operator.imul, operator.isub])
def test_in_place(op: Any) -> None:
    x, want = on_device(A), A.copy()
    for other in (2, np.float32(0.5)):
        kept = x
        x, want = op(x, other), op(want, other)
        assert x is kept
    x, want = op(x, on_device(B)), op(want, B)
    x[1:3], want[1:3] = op(x[1:3], 3), op(want[1:3], 3)
    part, host = x[::-2, 1::3], want[::-2, 1::3]
    op(part, part.sum())
    op(host, host.sum())
    same(x, want, 1e-5)


def test_in_place_that_would_change_the_dtype() -> None:
    x = on_device(ARRAYS["int64"])
    with pytest.raises(TypeError):
        x += 1.5
    with pytest.raises(TypeError):
        x /= 2
    same(x, ARRAYS["int64"], 0)


# -------------------------------------------------------------------------- the outside
def test_no_unasked_transfer() -> None:
    x = on_device(A)
    for attempt in (
        lambda: np.asarray(x),
        lambda: np.array(x),
        lambda: x.__array_interface__,
        lambda: x.data,
        lambda: x.ctypes,
        lambda: np.asarray(x.flat),
    ):
        with pytest.raises(TypeError, match="to_device"):
            attempt()
    with dc.config(implicit_transfer="allow"):
        assert (np.asarray(x) == A).all()
        assert np.asarray(x).flags.writeable
    assert (x.get() == A).all()


def test_dlpack_shares_memory_on_the_host() -> None:
    """DLPack has no number for this device: what it exports is the host's copy."""
    x = on_device(A)
    exported = np.from_dlpack(x)
    assert (exported == A).all()
    x += 0
    x[0, 0] = 5
    with dc.config(fallback="allow"), dc.profile() as p:
        x += 1
    assert x.device == DEVICE
    if p.fallbacks:
        assert exported[0, 0] == 6
    same(x[0, 0], np.float32(6), 0)
    copied = np.from_dlpack(x, copy=True)
    x[0, 0] = 9
    assert copied[0, 0] == 6


def test_host_reads_are_explicit() -> None:
    x = on_device(A)
    assert x.tolist() == A.tolist()
    assert x[1, 2].item() == A[1, 2].item()
    assert float(x[0, 0]) == A[0, 0]
    assert bool(x[0, 0] == A[0, 0])
    assert int(on_device(np.array(7))) == 7
    assert [1, 2, 3][on_device(np.array(1))] == 2
    assert repr(x) == repr(A)
    assert str(x) == str(A)
    assert f"{x[0, 0]:.3f}" == f"{A[0, 0]:.3f}"
    assert x.tobytes() == A.tobytes()
    assert len(x) == 6
    assert A[2, 3] in x
    assert 1000.0 not in x


def test_pickles_keep_the_label() -> None:
    for protocol in range(2, 6):
        x = pickle.loads(pickle.dumps(on_device(A) + 1, protocol))
        same(x, A + 1, 1e-6)


def test_flags_move_nothing() -> None:
    x = on_device(A)
    with dc.profile() as p:
        assert x.flags.c_contiguous
        assert x.T.flags.f_contiguous
        assert not x[:, ::2].flags.forc
        assert x.strides == A.strides
        assert x.base is None
        x.setflags(write=False)
        assert not x.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1
        with pytest.raises(ValueError, match="read-only"):
            x += 1
    assert not p.of_kind("transfer")


def test_scalars_of_numpy_programs() -> None:
    with dc.config(scalars="numpy"):
        x = on_device(A)
        assert isinstance(x.sum(), np.float32)
        assert isinstance(x[0, 0], np.float32)
        assert isinstance(x.max(), np.float32)
        assert isinstance(x[0, 0] + 1, np.float32)
        assert isinstance(x.mean(), np.float32)


def test_ufunc_methods() -> None:
    x = on_device(A)
    with dc.config(fallback="allow"), dc.profile() as p:
        same(np.add.reduce(x, axis=0), A.sum(axis=0), 1e-5)
        same(np.add.accumulate(x, axis=1), np.add.accumulate(A, axis=1), 1e-5)
        same(np.multiply.outer(x, x[0]), np.multiply.outer(A, A[0]), 1e-5)
    assert {e.device for e in p.fallbacks} <= {"cpu"}


def test_large_arrays() -> None:
    """More than one block of work items."""
    rng = np.random.default_rng(5)
    a = rng.random((700, 301), dtype=np.float32)
    x = on_device(a)
    same(((x * 2 + 1) / 3)[::-1].T, ((a * 2 + 1) / 3)[::-1].T, 1e-6)
    same((x - x.mean(axis=0)).sum(axis=1), (a - a.mean(axis=0)).sum(axis=1), 1e-3)
    same(x.max(axis=0), a.max(axis=0), 0)


def test_empty_arrays_that_begin_past_their_memory() -> None:
    x = dc.zeros((2, 0), dtype=dc.complex64, device="test:0")
    with dc.config(fallback="error"):
        for part in (x.imag, x[1:], x.T[:, 1:].imag):
            result = part * 2
            assert result.shape == part.shape
            assert result.get().size == 0
