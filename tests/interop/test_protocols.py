"""NumPy's protocols: its functions and ufuncs on our arrays, and ours on its."""

from __future__ import annotations

import array
import copy
import pickle
from typing import Any

import numpy as np
import pytest

import dcarray as dc


def ours(x: Any) -> bool:
    return isinstance(x, dc.DeviceArray)


# ------------------------------------------------------------ NumPy's functions on ours
def test_numpys_functions_give_our_arrays() -> None:
    x = np.arange(12.0).reshape(3, 4)
    d = dc.asarray(x)
    for function in (
        lambda a: np.concatenate([a, a]),
        lambda a: np.sum(a, axis=0),
        lambda a: np.where(a > 3, a, 0),
        lambda a: np.sort(a, axis=0),
        lambda a: np.linalg.norm(a, axis=1),
        lambda a: np.fft.fft(a),
        lambda a: np.einsum("ij->j", a),
        lambda a: np.zeros_like(a),
        lambda a: np.clip(a, 2, 5),
        lambda a: np.apply_along_axis(np.cumsum, 0, a),
        lambda a: np.tile(a, 2),
    ):
        found = function(d)
        assert ours(found)
        np.testing.assert_array_equal(np.asarray(found), function(x))


def test_native_functions_are_no_fallbacks() -> None:
    d = dc.arange(6.0)
    with dc.profile() as p:
        np.concatenate([d, d])
        np.stack([d, d])
        np.where(d > 2, d, 0)
        np.fft.fft(d)
        np.linalg.norm(d)
    assert not [e for e in p.events if e.kind == "fallback"]
    with dc.profile() as p:
        np.trim_zeros(d)
    assert [e.name for e in p.events if e.kind == "fallback"] == ["trim_zeros"]


def test_numpys_ufuncs_are_recorded() -> None:
    d = dc.ones(100_000)
    with dc.profile() as p:
        y = np.exp(np.add(d, 1)) * 2
        dc.evaluate(y)
    assert ours(y)
    assert [e.nodes for e in p.events if e.kind == "group"] == [3]


def test_mixed_with_numpys_arrays() -> None:
    x, d = np.arange(3.0), dc.arange(3.0)
    for found in (x + d, d + x, np.add(x, d), dc.add(x, d), x @ d, np.float64(2) * d):
        assert ours(found)
    y = np.ones(3)
    y += d
    assert type(y) is np.ndarray
    assert y.tolist() == [1, 2, 3]
    y[:] = d
    assert y.tolist() == [0, 1, 2]


def test_out_may_be_either() -> None:
    d = dc.arange(3.0)
    host = np.zeros(3)
    assert np.add(d, 1, out=host) is host
    assert host.tolist() == [1, 2, 3]
    out = dc.zeros(3)
    assert np.add(np.arange(3.0), 1, out=out) is out
    assert out.tolist() == [1, 2, 3]


def test_masked_arrays_keep_their_mask() -> None:
    m = np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, True, False])
    found = dc.add(m, 1)
    assert isinstance(found, np.ma.MaskedArray)
    assert found.mask.tolist() == [False, True, False]


class Stubborn:
    __array_ufunc__ = None

    def __radd__(self, other: Any) -> str:
        return "added"

    def __rmatmul__(self, other: Any) -> str:
        return "multiplied"


def test_others_may_refuse() -> None:
    assert dc.ones(3) + Stubborn() == "added"
    assert dc.ones((3, 3)) @ Stubborn() == "multiplied"
    with pytest.raises(TypeError):
        np.add(dc.ones(3), Stubborn())


class Overriding:
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **k: Any) -> Any:
        return ufunc.__name__, method

    def __array_function__(self, function: Any, *rest: Any) -> Any:
        return function.__name__


def test_others_may_override() -> None:
    assert dc.add(Overriding(), 1) == ("add", "__call__")


# ----------------------------------------------------------------------- the standard
def test_array_namespace() -> None:
    x = dc.ones(3)
    assert x.__array_namespace__() is dc
    assert x.__array_namespace__(api_version="2025.12") is dc
    with pytest.raises(ValueError, match="1999"):
        x.__array_namespace__(api_version="1999.01")
    assert dc.__array_api_version__ == "2025.12"


def test_inspection() -> None:
    info = dc.__array_namespace_info__()
    assert info.default_device() in info.devices()
    assert info.capabilities()["boolean indexing"] is True
    assert info.default_dtypes()["real floating"] == np.float64
    assert set(info.dtypes(kind="bool")) == {"bool"}
    assert "float64" in info.dtypes(device="cpu")
    on_device = info.dtypes(device="test:0")
    for name, dtype in on_device.items():
        assert dc.zeros(2, dtype=dtype, device="test:0").dtype == dtype, name


def test_limits_are_pythons_numbers_in_the_standard() -> None:
    for dtype in (dc.float32, dc.float64, dc.ones(2, dtype=dc.complex64)):
        limits = dc.finfo(dtype)
        assert type(limits.eps) is type(limits.max) is float
        assert isinstance(limits, dc.finfo)
    with dc.config(scalars="numpy"):
        assert type(dc.finfo(dc.float32).eps) is np.float32
    assert dc.iinfo(dc.ones(2, dtype=dc.int8)).max == 127


# ------------------------------------------------------------------- buffers and copies
def test_asarray_copies_and_shares() -> None:
    x = np.zeros(3)
    copied, shared = dc.asarray(x), dc.asarray(x, copy=False)
    x[0] = 1
    assert copied[0] == 0
    assert shared[0] == 1
    d = dc.ones(3)
    assert dc.asarray(d) is d
    assert dc.array(d) is not d
    assert dc.array(d, copy=None) is d
    with pytest.raises(ValueError, match="copy"):
        dc.asarray(d, dtype=dc.float32, copy=False)
    with pytest.raises(ValueError, match="copy"):
        dc.asarray([1, 2], copy=False)


def test_numpy_asarray_shares() -> None:
    d = dc.zeros(3)
    n = np.asarray(d)
    n[1] = 5
    assert d[1] == 5
    assert np.array(d) is not n
    assert np.asarray(d, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="copy"):
        np.asarray(d, dtype=np.float32, copy=False)


def test_lists_with_arrays_in_them() -> None:
    d = dc.arange(3)
    assert dc.array([d, d + 1]).tolist() == [[0, 1, 2], [1, 2, 3]]
    assert dc.array([d[0], d[1], 7]).tolist() == [0, 1, 7]
    there = d.to_device("test:0")
    assert dc.asarray([there, there]).device == "test:0"


@pytest.mark.parametrize("first", [1, dc.arange(3)], ids=["number", "array"])
def test_lists_that_contain_themselves_are_refused(first: Any) -> None:
    endless: list[Any] = [first]
    endless.append(endless)
    with pytest.raises(ValueError, match=r"inhomogeneous|dimension"):
        dc.array(endless)
    with pytest.raises(ValueError, match=r"inhomogeneous|dimension"):
        dc.arange(2) + endless


def test_buffers() -> None:
    source = array.array("d", [1, 2, 3])
    d = dc.frombuffer(source)
    source[0] = 9
    assert d.tolist() == [9, 2, 3]
    assert dc.asarray(memoryview(b"abc")).tolist() == [97, 98, 99]
    assert bytes(memoryview(np.asarray(dc.asarray([1, 2], dtype=dc.uint8)))) == b"\1\2"


@pytest.mark.parametrize("device", ["auto", "cpu", "test:0"])
def test_pickle_and_copy(device: str) -> None:
    d = dc.asarray([1.5, 2.5], device=device)
    for made in (pickle.loads(pickle.dumps(d)), copy.copy(d), copy.deepcopy(d)):
        assert ours(made)
        assert made.device == device
        assert made.tolist() == [1.5, 2.5]
        made[0] = 0
        assert d.tolist() == [1.5, 2.5]


def test_ufuncs_pickle() -> None:
    assert pickle.loads(pickle.dumps(dc.add)) is dc.add


def test_named_devices_are_not_read_unasked() -> None:
    d = dc.ones(3, device="test:0")
    with pytest.raises(TypeError, match=r"x\.get\(\)"):
        np.asarray(d)
    assert d.get().tolist() == [1, 1, 1]
    with dc.config(implicit_transfer="allow"):
        assert np.asarray(d).tolist() == [1, 1, 1]


def test_dtypes_that_a_device_lacks_are_refused() -> None:
    for dtype in (object, "U3", "M8[s]", np.longdouble):
        with pytest.raises(dc.UnsupportedError, match="test:0"):
            dc.zeros(3, dtype=dtype, device="test:0")
    with pytest.raises(dc.UnsupportedError):
        dc.asarray(["a"], device="test:0")
