"""Fourier transforms through SciPy: NumPy's dtypes, layouts, errors and warnings, and
its values within rounding."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.cpu.wholes import splitting, transforms

scipy = pytest.importorskip("scipy")
pytest.importorskip("scipy.fft")

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = ("fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2")


@pytest.fixture(autouse=True)
def short_ones_too(monkeypatch: Any) -> None:
    monkeypatch.setattr(transforms, "LEAST", 1)


def operand(char: str, shape: tuple[int, ...] = (6, 8, 10)) -> Any:
    rng = np.random.default_rng(2)
    x = rng.normal(size=shape) * 10
    return (x + 1j * rng.normal(size=shape) if char in "FD" else x).astype(char)


def compare(name: str, x: Any, *arguments: Any, **options: Any) -> None:
    wanted = getattr(np.fft, name)(x, *arguments, **options)
    found = getattr(dc.fft, name)(dc.asarray(x), *arguments, **options)._array()
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    assert found.strides == wanted.strides
    near = 1e-4 if found.dtype.char in "fF" else 1e-12
    np.testing.assert_allclose(found, wanted, near, near * abs(wanted).max())


def takes(name: str, char: str) -> bool:
    return char not in "FD" or name.strip("2n") not in ("rfft", "ihfft")


@pytest.mark.parametrize("char", "fdFDiBe")
@pytest.mark.parametrize("name", ONE)
def test_one_axis(name: str, char: str) -> None:
    if not takes(name, char):
        with pytest.raises(TypeError):
            getattr(dc.fft, name)(dc.asarray(operand(char)))
        return
    x = operand(char)
    compare(name, x)
    for norm in ("backward", "ortho", "forward"):
        compare(name, x, 7, 1, norm)
    compare(name, x, axis=0, n=12)
    for view in (np.asfortranarray(x), x[:, ::-1], x[::2], x.transpose(1, 0, 2)):
        for axis in (-1, 0, 1):
            compare(name, view, axis=axis)


@pytest.mark.parametrize("char", "fdFDi")
@pytest.mark.parametrize("name", SEVERAL)
def test_several_axes(name: str, char: str) -> None:
    if takes(name, char):
        x = operand(char)
        compare(name, x)
        compare(name, x, axes=(2, 0), norm="ortho")
        compare(name, x, s=(5, 12), axes=(0, 1))
        compare(name, np.asfortranarray(x))
        compare(name, x, axes=[1])


@pytest.mark.parametrize("char", "FD")
@pytest.mark.parametrize("name", ["fft", "ifft"])
def test_one_long_row(name: str, char: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(splitting, "LEAST", 1)
    monkeypatch.setattr(splitting, "FEWEST", 5)
    # Blocks of the same width and not, and what has few divisors.
    for count in (65536, 5000, 29 * 431, 4099):
        x = operand(char, (2 * count,))[::2]
        in_blocks = splitting.transformed(scipy.fft, x, name == "ifft", None)
        assert (in_blocks is None) == (count == 4099)
        for norm in (None, "ortho", "forward"):
            for threads in (1, 3):
                with dc.config(threads=threads):
                    compare(name, x, norm=norm)
        compare(name, x, n=count)
        compare(name, x, n=count - 1)


def test_threads_and_out() -> None:
    x = operand("d")
    with dc.config(threads=3):
        compare("rfft2", x)
    out = dc.zeros((6, 8, 10), dtype=dc.complex128)
    assert dc.fft.fft(dc.asarray(x), out=out) is out
    np.testing.assert_allclose(out._array(), np.fft.fft(x))


@pytest.mark.parametrize(
    "arguments",
    [{"n": 0}, {"n": -1}, {"axis": 3}, {"norm": "odd"}, {"norm": 1}, {"n": 2.5}],
)
def test_errors(arguments: Any) -> None:
    x = operand("d")
    with pytest.raises(Exception) as theirs:
        np.fft.fft(x, **arguments)
    with pytest.raises(theirs.type) as ours:
        dc.fft.fft(dc.asarray(x), **arguments)
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize("value", [np.inf, np.nan, complex(0, np.inf)])
def test_warnings(value: complex) -> None:
    x = operand("D", (4, 50))
    x[2, 11] = value
    for name in ("fft", "irfft", "fftn"):
        told = []
        for module, a in ((np.fft, x), (dc.fft, dc.asarray(x))):
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                getattr(module, name)(a)
            told.append([str(w.message) for w in found])
        assert told[0] == told[1]


def test_without_scipy(monkeypatch: Any) -> None:
    monkeypatch.setattr(transforms, "_scipy", lambda: None)
    x = operand("d")
    wanted = np.fft.rfft2(x)
    assert dc.fft.rfft2(dc.asarray(x))._array().tobytes() == wanted.tobytes()


def test_short_transforms_load_nothing() -> None:
    code = (
        "import sys, dcarray as dc; dc.fft.fft(dc.ones(1000))\n"
        "assert not any(name.startswith('scipy') for name in sys.modules)\n"
        "dc.fft.fft(dc.ones(1 << 16))\n"
        "assert 'scipy.fft' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
