"""``config(math="fast")``: what it gives, and what it does not touch."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.cpu.execute import Executable
from dcarray.ops.bodies import body_kernel
from dcarray.ops.elementwise import EXP
from dcarray.ops.fast import FUNCTIONS, ULP, fast_row, in_force
from tests.stress.fast_operands import BINARY
from tests.stress.fast_table import FOUND, PAGE, with_table

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


def test_repeated_under_both_settings() -> None:
    """Whatever is remembered of an expression is remembered for its setting."""
    host = np.linspace(-3, 3, 50000)
    x = dc.asarray(host)
    wanted = (np.expm1(host) * 2).tobytes()
    found = set()
    for _ in range(4):
        assert np.asarray(dc.expm1(x) * 2).tobytes() == wanted
        with dc.config(math="fast"):
            found.add(np.asarray(dc.expm1(x) * 2).tobytes())
    assert len(found) == 1 and wanted not in found


@pytest.mark.parametrize("ignored", [False, True])
def test_numpy_computes_what_a_body_does_not(ignored: bool) -> None:
    host = np.linspace(-3, 3, 6000).reshape(60, 100)
    host[7, 9], host[50, 0] = 1e300, 2.0**60
    x = dc.asarray(host)
    wanted = np.sin(host)
    with (
        dc.config(**FAST),
        np.errstate(all="ignore" if ignored else "warn"),
    ):
        close = {"rtol": 1e-15, "atol": 1e-18}
        np.testing.assert_allclose(np.asarray(dc.sin(x)), wanted, **close)
        np.testing.assert_allclose(np.asarray(dc.sin(x.T)), wanted.T, **close)
        close = {"rtol": 1e-12}
        np.testing.assert_allclose(dc.sin(x).sum(), wanted.sum(), **close)
        np.testing.assert_allclose(dc.sin(x).sum(0), wanted.sum(0), **close)
        np.testing.assert_allclose(dc.sin(x).max(1), wanted.max(1), **close)
        rows = x[:, :3]
        np.testing.assert_allclose(np.asarray(dc.sin(rows)), wanted[:, :3], **close)
        y = dc.asarray(host.copy())
        y += dc.sin(y)
        np.testing.assert_allclose(np.asarray(y), host + wanted, **close)


VALUES = (np.nan, -np.nan, np.inf, -np.inf, 0.0, -1.0, 1.0, 2.0, 1e300, -1e300)


def raised(function: Any, *operands: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        dc.evaluate(function(*operands))
    return sorted(str(item.message) for item in found)


@pytest.mark.parametrize("name", sorted(FUNCTIONS - {"erf"}))
def test_flags_are_numpys(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the blocks need not be computed again to know that."""
    again = []
    repair = Executable._repair
    monkeypatch.setattr(
        Executable,
        "_repair",
        lambda self, *given: again.append(given) or repair(self, *given),
    )
    function = getattr(dc, name)
    for value in VALUES:
        x = dc.asarray(np.full(5000, value))
        given = (x, x) if name in BINARY else (x,)
        with dc.config(lazy="always"):
            wanted = raised(function, *given)
            again.clear()
            with dc.config(math="fast"):
                assert raised(function, *given) == wanted, value
        assert wanted or not again or not -1e300 < value < 1e300, value


def test_other_devices_take_a_row_for_the_usual_one() -> None:
    row = fast_row(EXP)
    dtypes = (np.dtype(np.float64),)
    assert body_kernel(row, dtypes) == body_kernel(EXP, dtypes)
    assert in_force(EXP, "auto") is EXP
    with dc.config(math="fast"):
        assert in_force(EXP, "auto") is in_force(EXP, "cpu") is row
        assert in_force(row, "cpu") is row
        assert in_force(EXP, "opencl") is EXP


def test_short_powers_are_numpys() -> None:
    host = np.linspace(0.1, 3, 5000)
    x = dc.asarray(host)
    with dc.config(**FAST):
        assert "power*" in str(dc.explain(x**2.5))
        assert "power*" in str(dc.explain(dc.power(2.0, x)))
        for exponent in (-1, 0.5, np.float64(2)):
            y = dc.power(x, exponent)
            assert "power*" not in str(dc.explain(y))
            assert np.asarray(y).tobytes() == np.power(host, exponent).tobytes()
        whole = dc.asarray(np.arange(1, 5000))
        with pytest.raises(ValueError, match="negative integer powers"):
            dc.power(whole, -whole)


def test_the_page_is_up_to_date() -> None:
    """``python -m tests.stress.fast_table`` has been run."""
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page) == page
    for name, row in json.loads(FOUND.read_text(encoding="utf-8")).items():
        for units, tried in row.values():
            assert units <= ULP and tried > 10**5, name
