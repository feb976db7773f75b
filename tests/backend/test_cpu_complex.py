"""Complex numbers in LLVM, part by part: NumPy's bits and flags."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.cpu.same_loops import products_agree

SIZE = 5003


@pytest.fixture(autouse=True)
def always_lazy():
    with dc.config(lazy="always"):
        yield


def numbers(dtype, seed):
    rng = np.random.default_rng(seed)
    parts = rng.standard_normal((SIZE, 2)) * 10.0 ** rng.integers(-9, 9, (SIZE, 2))
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e30, 1e-30]
    parts = np.where(
        rng.random(parts.shape) < 0.3,
        rng.choice(special, SIZE * 2).reshape(parts.shape),
        parts,
    )
    return parts.astype(np.dtype(dtype.lower())).view(dtype)[:, 0]


def same(found, wanted):
    found = np.asarray(found)
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    if wanted.dtype.kind == "c":
        part = wanted.real.dtype
        found, wanted = (np.ascontiguousarray(x).view(part) for x in (found, wanted))
    alike = (found == wanted) & (np.signbit(found) == np.signbit(wanted))
    assert np.all(alike | (np.isnan(found) & np.isnan(wanted)))


def mixed(np, a, b, f):
    z = a * b + np.square(a) - b * 2.5
    return np.where(f > 0, z + f, -np.conj(b)) * (1 - 2j)


@pytest.mark.parametrize("dtype", ["F", "D"])
def test_a_chain_has_numpys_bits(dtype):
    a, b = numbers(dtype, 1), numbers(dtype, 2)
    f = np.random.default_rng(3).standard_normal(SIZE, np.float32)
    with np.errstate(all="ignore"):
        wanted = mixed(np, a, b, f)
        with dc.profile() as p:
            found = mixed(dc, dc.asarray(a), dc.asarray(b), dc.asarray(f))
            same(found, wanted)
        assert len(p.groups) == 1
        found = mixed(dc, *(dc.asarray(x)[::2] for x in (a, b, f)))
        same(found, mixed(np, a[::2], b[::2], f[::2]))


@pytest.mark.parametrize("dtype", ["F", "D"])
def test_products_have_numpys_bits_at_any_length(dtype):
    if not products_agree(np.dtype(dtype)):
        pytest.skip("NumPy multiplies otherwise here")
    a, b = numbers(dtype, 4), numbers(dtype, 5)
    x, y = dc.asarray(a), dc.asarray(b)
    with np.errstate(all="ignore"):
        for length in range(2, 40):
            part = slice(7 * length, 8 * length)
            same(x[part] * y[part] + 1, a[part] * b[part] + 1)
            same(x[part] * y[part][:1] + x[part], a[part] * b[part][:1] + a[part])


def test_parts_of_what_is_pending_join_its_group():
    a = numbers("D", 6).reshape(-1, 1)[:5000].reshape(50, 100)
    x = dc.asarray(a)

    def parts(a):
        z = a * a + 1
        return (z.real + z.imag * z.real).T[::-1]

    def several(a):
        z = a * a + 1
        z = z * a
        return z.T.real + z[::-1].imag.T, z.imag, z

    with np.errstate(all="ignore"):
        with dc.profile() as p:
            same(parts(x), parts(a))
        assert len(p.groups) == 1
        for found, wanted in zip(several(x), several(a), strict=True):
            same(found, wanted)


def test_a_write_to_a_part_comes_after_what_was_recorded():
    a = numbers("D", 7)
    with np.errstate(all="ignore"):
        z, w = dc.asarray(a) * 2, a * 2
    later, before = z.real + 1, w.real + 1
    z.imag[...] = 5
    w.imag[...] = 5
    same(later, before)
    same(z, w)


def test_a_part_that_nobody_reads_raises_its_flags():
    a = np.full(SIZE, 1e200 + 1e200j)
    b = np.full(SIZE, 1e200 - 1e200j)  # only the real part of the product overflows

    def messages(np, a, b):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            dc.evaluate(dc.asarray((a * b).imag + 1))
        return {str(x.message) for x in caught}

    wanted = messages(np, a, b)
    assert wanted
    assert messages(dc, dc.asarray(a), dc.asarray(b)) == wanted
