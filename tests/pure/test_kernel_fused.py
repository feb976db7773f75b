"""The fused multiply-add of the kernel language rounds once."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dcarray.kernel.language import fma


def nearest(exact: Fraction, dtype: type[np.floating]) -> float:
    """The number of a dtype that is nearest, found from its neighbours."""
    middle = dtype(float(exact))
    around = [np.nextafter(middle, dtype(s)) for s in (-np.inf, np.inf)] + [middle]
    return float(min(around, key=lambda x: (abs(Fraction(float(x)) - exact), _odd(x))))


def _odd(x: np.floating) -> int:
    return int(x.view(f"i{x.dtype.itemsize}")) & 1


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_rounds_once(dtype: type[np.floating]) -> None:
    rng = np.random.default_rng(3)
    x, y = (rng.uniform(0.5, 2, 400).astype(dtype) for _ in range(2))
    # Sums that cancel, and addends that decide a tie.
    z = np.where(np.arange(400) % 2, -(x * y), x * y * dtype(2.0**-9)).astype(dtype)
    z[:100] = (rng.uniform(-1, 1, 100) * np.finfo(dtype).eps ** 2 * 8).astype(dtype)
    got = fma(x, y, z)
    assert got.dtype == dtype
    for a, b, c, found in zip(x, y, z, got, strict=True):
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        assert float(found) == nearest(exact, dtype)


def test_ends_of_the_range() -> None:
    big = np.float64(1e300)
    assert fma(big, big, -np.inf) == -np.inf
    assert fma(big, big, big) == np.inf
    assert fma(-big, big, big) == -np.inf
    assert math.isnan(fma(np.inf, 0.0, 1.0))
    assert math.copysign(1, fma(-0.0, 1.0, -0.0)) == -1


@pytest.mark.parametrize("reach", [3, 60, 440, 560, 1074])
def test_doubles_of_all_sizes(reach: int) -> None:
    """Within the range where products are exact in two numbers, about its ends, and
    where results overflow and underflow."""
    rng = np.random.default_rng(reach)
    powers = rng.integers(-reach, min(reach, 1023), (2, 500))
    x, y = np.ldexp(rng.uniform(1, 2, (2, 500)) * rng.choice([-1, 1], (2, 500)), powers)
    with np.errstate(all="ignore"):
        product = x * y
        addends = [
            -product,
            product * 2.0**-53,
            product * 2.0 ** rng.integers(-110, 110, 500),
            np.where(rng.random(500) < 0.5, 0.0, -0.0),
        ]
    for z in addends:
        z[~np.isfinite(z)] = 1.0
        for a, b, c, found in zip(x, y, z, fma(x, y, z), strict=True):
            exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
            try:
                wanted = float(exact)
            except OverflowError:
                wanted = math.inf if exact > 0 else -math.inf
            assert found == wanted
            assert exact == 0 or (math.copysign(1, found) > 0) == (exact > 0)


def test_takes_floating_point_numbers_alone() -> None:
    from dcarray.kernel import infer, nodes

    operands = [nodes.Name(name, np.dtype(np.int32)) for name in "xyz"]
    with pytest.raises(TypeError, match="floating-point"):
        infer.apply("fma", *operands)
