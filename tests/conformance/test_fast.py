"""``config(math="fast")``: what it gives, and what it does not touch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dcarray as dc

HostArray = np.ndarray[Any, Any]

FAST = {"math": "fast", "lazy": "always"}


def test_the_plan_says_so_and_is_kept_apart() -> None:
    host = np.linspace(-3, 3, 50000)
    x = dc.asarray(host)
    usual = dc.exp(x) * 2
    with dc.config(**FAST):
        fast = dc.exp(x) * 2
    assert "exp multiply" in str(dc.explain(usual))
    assert "exp* multiply" in str(dc.explain(fast))
    # The setting is that of the call, not of the evaluation.
    with dc.config(math="fast"):
        assert np.asarray(usual).tobytes() == (np.exp(host) * 2).tobytes()
    found = np.asarray(fast)
    np.testing.assert_allclose(found, np.exp(host) * 2, rtol=5e-16)
    assert np.asarray(dc.exp(x) * 2).tobytes() == (np.exp(host) * 2).tobytes()


def test_only_float32_and_float64() -> None:
    for code in "eFDg":
        host = np.linspace(-3, 3, 5000).astype(code)
        with dc.config(**FAST):
            y = dc.exp(dc.asarray(host)) + 1
            if code != "g":
                assert "exp add" in str(dc.explain(y))
        np.testing.assert_array_equal(np.asarray(y), np.exp(host) + 1)


def test_warnings_are_numpys() -> None:
    host = np.linspace(0, 1, 50000)
    host[20000] = 1000
    x = dc.asarray(host)
    with dc.config(**FAST), pytest.warns(RuntimeWarning, match="overflow .* exp"):
        assert np.asarray(dc.exp(x))[20000] == np.inf
    host[20000] = np.nan
    with dc.config(**FAST), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("default")
        assert np.isnan(np.asarray(dc.exp(dc.asarray(host)))[20000])


def test_the_interpreter_has_numpys_bits() -> None:
    host = np.linspace(-3, 3, 5000)
    with dc.config(engine="interpreter", **FAST):
        y = dc.exp(dc.asarray(host)) * 2
        assert np.asarray(y).tobytes() == (np.exp(host) * 2).tobytes()
