"""Tools for tests: those of NumPy, a device that fails on demand, and the suite with
which a backend proves itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.testing import (
    assert_ as assert_,
    assert_allclose as assert_allclose,
    assert_almost_equal as assert_almost_equal,
    assert_approx_equal as assert_approx_equal,
    assert_array_almost_equal as assert_array_almost_equal,
    assert_array_almost_equal_nulp as assert_array_almost_equal_nulp,
    assert_array_compare as assert_array_compare,
    assert_array_equal as assert_array_equal,
    assert_array_less as assert_array_less,
    assert_array_max_ulp as assert_array_max_ulp,
    assert_equal as assert_equal,
    assert_no_gc_cycles as assert_no_gc_cycles,
    assert_no_warnings as assert_no_warnings,
    assert_raises as assert_raises,
    assert_raises_regex as assert_raises_regex,
    assert_string_equal as assert_string_equal,
    assert_warns as assert_warns,
    break_cycles as break_cycles,
    clear_and_catch_warnings as clear_and_catch_warnings,
    suppress_warnings as suppress_warnings,
    tempdir as tempdir,
    temppath as temppath,
)

from .backend_suite import BackendSuite
from .simulated_device import SimulatedDevice

__all__ = [
    "BackendSuite",
    "SimulatedDevice",
    "assert_",
    "assert_allclose",
    "assert_almost_equal",
    "assert_approx_equal",
    "assert_array_almost_equal",
    "assert_array_almost_equal_nulp",
    "assert_array_compare",
    "assert_array_equal",
    "assert_array_less",
    "assert_array_max_ulp",
    "assert_equal",
    "assert_no_gc_cycles",
    "assert_no_warnings",
    "assert_raises",
    "assert_raises_regex",
    "assert_string_equal",
    "assert_warns",
    "break_cycles",
    "clear_and_catch_warnings",
    "suppress_warnings",
    "tempdir",
    "temppath",
]


def __getattr__(name: str) -> Any:
    """The rest of `numpy.testing`, which differs between versions of NumPy."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(np.testing, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *np.testing.__all__})
