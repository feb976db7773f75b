"""Every public name of NumPy is there, and what is said to be native is."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import array_api_strict as strict
import numpy
import pytest

import dcarray
from dcarray.api import coverage
from dcarray.api.ufunc import UFunc
from dcarray.backends.registry import install, remove
from dcarray.errors import UnsupportedError

from ..backend.interpreted_device import InterpretedBackend
from .native_calls import CALLS, named, operands

MODULES = {
    "": dcarray,
    "linalg": dcarray.linalg,
    "fft": dcarray.fft,
    "random": dcarray.random,
    "nn": dcarray.nn,
}

ROWS = {
    f"{row.module}.{row.name}".strip("."): row.kind for row in coverage.rows(MODULES)
}


# ------------------------------------------------------------------------------- names
@pytest.mark.parametrize("module", ["", "linalg", "fft", "random"])
def test_every_public_name_of_numpy_is_there(module: str) -> None:
    theirs = getattr(numpy, module) if module else numpy
    ours = getattr(dcarray, module) if module else dcarray
    public = [name for name in theirs.__all__ if not name.startswith("_")]
    assert len(public) >= 10
    missing = [name for name in public if not hasattr(ours, name)]
    assert not missing
    if not module:
        unlisted = set(public) - set(ours.__all__)
        assert not unlisted


def test_every_listed_name_exists() -> None:
    for module in MODULES.values():
        assert not [name for name in module.__all__ if not hasattr(module, name)]
        assert set(module.__all__) <= set(dir(module))


def test_dtypes_and_constants_are_numpys_own() -> None:
    for name in ("float32", "dtype", "generic", "bool", "int_", "nan", "newaxis", "pi"):
        assert getattr(dcarray, name) is getattr(numpy, name)


def test_modules_of_subclasses_are_numpys_own() -> None:
    for name in ("ma", "polynomial", "char", "strings", "rec", "exceptions", "typing"):
        assert getattr(dcarray, name) is getattr(numpy, name)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'frobnicate'"):
        dcarray.frobnicate  # noqa: B018


def test_public_functions_are_documented() -> None:
    for module in MODULES.values():
        for name in module.__all__:
            value = getattr(module, name)
            if callable(value) and not isinstance(value, type):
                assert value.__doc__, name


def test_import_loads_nothing_heavy() -> None:
    program = (
        "import sys, dcarray;"
        "print([m for m in ('llvmlite', 'platformdirs', 'ml_dtypes', 'rich',"
        "'importlib.metadata', 'dcarray.linalg', 'dcarray.fft', 'dcarray.random',"
        "'dcarray.nn', 'dcarray.testing', 'numpy.random', 'numpy.fft', 'numpy.ma')"
        " if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


# ------------------------------------------------------------------------------ ufuncs
UFUNCS = sorted(n for n in numpy.__all__ if isinstance(getattr(numpy, n), numpy.ufunc))


@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs_are_objects_with_numpys_attributes(name: str) -> None:
    ours, theirs = getattr(dcarray, name), getattr(numpy, name)
    assert type(ours) is UFunc or isinstance(ours, UFunc)
    assert isinstance(ours, dcarray.ufunc)
    for attribute in "nin nout nargs ntypes types identity signature __name__".split():
        assert getattr(ours, attribute) == getattr(theirs, attribute)
    assert repr(ours) == repr(theirs)


def test_ufunc_methods() -> None:
    x = numpy.arange(12.0).reshape(3, 4)
    d = dcarray.asarray(x)
    for name in ("add", "multiply", "maximum", "minimum", "logical_or", "subtract"):
        ours, theirs = getattr(dcarray, name), getattr(numpy, name)
        for axis in (0, 1) if name == "subtract" else (0, 1, None, (0, 1)):
            assert_same(ours.reduce(d, axis=axis), theirs.reduce(x, axis=axis))
        assert_same(ours.accumulate(d, 1), theirs.accumulate(x, 1))
        assert_same(ours.outer(d[0], d[1]), theirs.outer(x[0], x[1]))
        assert_same(ours.reduceat(d, [0, 2]), theirs.reduceat(x, [0, 2]))
        mine, other = dcarray.asarray(x), x.copy()
        ours.at(mine, [0, 0, 1], 2)
        theirs.at(other, [0, 0, 1], 2)
        assert_same(mine, other)


def test_ufunc_options() -> None:
    x = numpy.arange(6, dtype=numpy.float32)
    d = dcarray.asarray(x)
    out = dcarray.zeros(6)
    assert dcarray.add(d, 1, out=out) is out
    assert_same(out, numpy.add(x, 1, out=numpy.zeros(6)))
    assert dcarray.add(d, 2, out) is out
    host = numpy.zeros(6)
    assert dcarray.add(d, 3, out=host) is host
    assert_same(host, numpy.add(x, 3, out=numpy.zeros(6)))
    mask = dcarray.asarray([True, False] * 3)
    assert_same(
        dcarray.sqrt(d, where=mask, out=dcarray.full(6, 9.0)),
        numpy.sqrt(x, where=numpy.asarray(mask), out=numpy.full(6, 9.0)),
    )
    assert dcarray.add(d, d, dtype=float).dtype == numpy.add(x, x, dtype=float).dtype
    with pytest.raises(TypeError):
        dcarray.add(d)
    with pytest.raises(TypeError):
        dcarray.add(d, d, d, d)
    with pytest.raises(TypeError):
        dcarray.add(d, 1, out, out=out)
    with pytest.raises(numpy._core._exceptions._UFuncCastingError):
        dcarray.add(d, d, out=dcarray.zeros(6, int), casting="same_kind")


# ----------------------------------------------------------------------------- coverage
def test_at_least_two_hundred_functions_are_native() -> None:
    assert sum(kind == coverage.NATIVE for kind in ROWS.values()) >= 200


def test_every_native_function_has_a_call() -> None:
    called = {named(call) for call in CALLS}
    native = {
        name
        for name, kind in ROWS.items()
        if kind == coverage.NATIVE and not name.startswith("random.")
    }
    assert not native - called
    assert not called - native


@pytest.mark.parametrize("call", CALLS)
def test_native_functions_agree_with_numpy(call: str) -> None:
    _check(call, "test:0")


@pytest.fixture(scope="module")
def grid() -> Iterator[str]:
    made = InterpretedBackend()
    install(made)
    yield made.device
    remove(made.device)


@pytest.mark.parametrize("call", CALLS)
def test_native_functions_on_grids(call: str, grid: str) -> None:
    if named(call) in coverage.NOT_ON_GRIDS:
        with pytest.raises(UnsupportedError, match=f"not native on {grid}"):
            _check(call, grid)
    else:
        _check(call, grid)


def test_the_standards_own_functions_run_on_grids() -> None:
    names = {
        name
        for name in strict.__all__
        if isinstance(getattr(strict, name), FunctionType) and name in dcarray.__all__
    }
    names -= {"__array_namespace_info__", "finfo", "iinfo"}  # not of arrays
    assert len(names) > 125
    assert {ROWS[name] for name in names} == {coverage.NATIVE}
    assert not coverage.NOT_ON_GRIDS & names


def _check(call: str, device: str) -> None:
    expected = _expected(call)
    with dcarray.config(device=device, fallback="error", implicit_transfer="allow"):
        given = operands(lambda x: dcarray.asarray(x, device=device))
        found = _evaluated(call, dcarray, given)
        assert_same(found, expected, rtol=1e-9, atol=1e-12)


def _evaluated(call: str, module: Any, given: dict[str, Any]) -> Any:
    scope = {"np": module, "numpy": numpy, "io": io, "__file__": __file__, **given}
    return eval(call, scope)


def _expected(call: str) -> Any:
    if "np.nn." in call or "np.linalg.gemm" in call:
        with dcarray.config(device="cpu"):
            return _evaluated(call, dcarray, operands(dcarray.asarray))
    if not hasattr(numpy, "row_stack"):  # NumPy 2.5 has dropped it
        call = call.replace("np.row_stack", "np.vstack")
    if not hasattr(numpy, "matvec"):  # NumPy has it since 2.2
        call = re.sub(r"^np\.(?:vecmat|matvec)\((.*), (.*)\)$", r"\1 @ \2", call)
    return _evaluated(call, numpy, operands(lambda x: x.copy()))


def assert_same(found: Any, expected: Any, rtol: float = 0, atol: float = 0) -> None:
    """The same structure, dtypes, shapes and values."""
    if isinstance(expected, (list, tuple)):
        assert isinstance(found, (list, tuple)) and len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other, rtol, atol)
        return
    if isinstance(found, dcarray.DeviceArray):
        found = found.get()
    if isinstance(expected, dcarray.DeviceArray):
        expected = expected.get()
    if not isinstance(expected, (numpy.ndarray, numpy.generic)):
        assert found == expected
        return
    assert numpy.shape(found) == numpy.shape(expected)
    assert numpy.asarray(found).dtype == numpy.asarray(expected).dtype
    if rtol and numpy.asarray(expected).dtype.kind in "fc":
        numpy.testing.assert_allclose(found, expected, rtol, atol)
    else:
        numpy.testing.assert_array_equal(found, expected)
