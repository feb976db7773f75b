"""Fourier transforms."""

from __future__ import annotations

import numpy as np
import pytest

import dcarray as dc

from .against_numpy import Case, case, everywhere, numbers, run

X = numbers(4, 6)
Z = numbers(4, 6, dtype=complex)
ONE = "fft ifft hfft irfft".split()
MANY = "fftn ifftn fft2 ifft2 irfftn irfft2".split()
CASES = [
    case("fft.rfft", X),
    case("fft.rfft", X.astype(np.float32), axis=0),
    case("fft.ihfft", X),
    case("fft.rfftn", X),
    case("fft.rfft2", X, norm="ortho"),
    case("fft.fftshift", X),
    case("fft.ifftshift", X, axes=1),
    case("fft.fft", Z, 0),
    case("fft.fft", Z, axis=5),
    case("fft.fft", Z, norm="other"),
]
CASES += [
    case(f"fft.{name}", Z, **o) for name in ONE for o in ({}, {"n": 9}, {"axis": 0})
]
CASES += [case(f"fft.{name}", Z, **o) for name in MANY for o in ({}, {"s": (3, 3)})]


@everywhere
@pytest.mark.parametrize("one", CASES, ids=repr)
def test_transforms(one: Case, place: str) -> None:
    run(one, place)


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
@pytest.mark.parametrize("device", ["auto", "cpu", "test:0"])
def test_frequencies(name: str, device: str) -> None:
    expected = getattr(np.fft, name)(9, 0.5)
    got = getattr(dc.fft, name)(9, d=0.5, device=device)
    assert got.device == device
    assert got.get().tobytes() == expected.tobytes()
    assert getattr(dc.fft, name)(4, dtype=np.float32).dtype == np.float32


def test_out_is_returned() -> None:
    out = dc.empty((4, 6), dtype=complex)
    assert dc.fft.fft(dc.asarray(Z), out=out) is out
    assert out.get().tobytes() == np.fft.fft(Z).tobytes()
