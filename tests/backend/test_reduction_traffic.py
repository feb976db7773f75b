"""What reductions of a named device read and write: nothing on the way is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dcarray as dc

pytest.importorskip("pyopencl")

DEVICE = "opencl:0"
COUNT = 4096


@pytest.mark.parametrize(
    ("dtype", "function", "passes"),
    [
        ("float32", lambda x: x.var(), 2),
        ("uint8", lambda x: x.mean(), 1),
        ("float16", lambda x: x.std(ddof=1), 2),
        ("uint8", lambda x: x.sum(dtype="uint32"), 1),
    ],
)
def test_bytes(dtype: str, function: Callable[[Any], Any], passes: int) -> None:
    host = (np.arange(COUNT) % 7).astype(dtype)
    x = dc.asarray(host, device=DEVICE)
    with dc.profile() as seen, dc.config(fallback="error"):
        found = function(x).get()
    groups = [row["nbytes"] for row in seen.table() if row["kind"] == "group"]
    assert sum(groups) // COUNT == passes * host.itemsize  # and some numbers
    np.testing.assert_allclose(found, function(host), rtol=2e-3)


def test_masked() -> None:
    x = np.arange(COUNT, dtype=np.float32)
    mask = x % 3 == 0
    given, there = (dc.asarray(a, device=DEVICE) for a in (x, mask))
    with dc.profile() as seen:
        found = [given.sum(where=there), given.mean(where=there)]
    groups = [row["nbytes"] for row in seen.table() if row["kind"] == "group"]
    read = 2 * (x.nbytes + mask.nbytes) + mask.nbytes  # the mask is counted as well
    assert sum(groups) // COUNT == read // COUNT
    want = [x.sum(where=mask), x.mean(where=mask)]
    np.testing.assert_allclose([y.get() for y in found], want, rtol=1e-6)


@pytest.mark.parametrize(
    ("device", "name"),
    [("auto", "sum"), ("auto", "mean"), ("auto", "max"), (DEVICE, "mean")],
)
def test_operands_that_nobody_keeps(device: str, name: str) -> None:
    function = getattr(dc, name)
    x = dc.asarray(np.ones(COUNT, np.float32), device=device)
    with dc.config(lazy="always"):
        for call in (lambda: function(x * 2), lambda: getattr(x * 2, name)()):
            with dc.profile() as seen:
                found = call()
            groups = [row["nbytes"] for row in seen.table() if row["kind"] == "group"]
            assert sum(groups) // COUNT == x.dtype.itemsize
            assert float(found) == getattr(np.full(COUNT, 2, np.float32), name)()
        kept = x * 2
        assert float(function(kept)) == float(function(kept))
        assert not kept._is_pending()
