"""Programs, small, on CUDA or what simulates it; families of kernels on CUDA."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.cuda import rows
from dcarray.backends.cuda.backend import CudaBackend
from dcarray.backends.cuda.blas import Blas
from dcarray.backends.registry import counted
from tests.benchmark_scripts import script
from tests.cuda_simulator import installed
from tests.stress import sanitize

DEVICE = "cuda:0"


programs = script("programs")


@pytest.fixture(scope="module", autouse=True)
def device() -> Iterator[None]:
    if counted("cuda"):
        yield
        return
    with installed(), pytest.MonkeyPatch.context() as patch:
        # There is no cuBLAS: the grid's own kernels multiply matrices.
        for owner in (Blas, CudaBackend):
            patch.setattr(owner, "product", lambda *_: None)
        # Texts in CUDA C++ do not run: the grid's own kernels reduce short rows.
        patch.setattr(rows, "MOST_ROWS", 0)
        yield


@pytest.mark.parametrize("case", programs.CASES, ids=lambda case: case.name)
def test_program(case: Any) -> None:
    """Everything runs on the device, and comes to what NumPy has."""
    scale = 1e-5
    host = case.arrays(np.random.default_rng(5), scale)
    rest = case.rest(scale)
    given = [dc.asarray(x, device=DEVICE) for x in host]
    with dc.config(device=DEVICE, fallback="error"), dc.profile() as p:
        found = programs._many(case.run(dc, *given, *rest))
        dc.evaluate(*found)
    wanted = programs._many(case.run(np, *host, *rest))
    for got, want in zip(found, wanted, strict=True):
        assert (got.device, got.dtype) == (DEVICE, want.dtype)
        np.testing.assert_allclose(got.get(), want, rtol=case.rtol, atol=case.rtol)
    assert {event.device for event in p.groups} == {DEVICE}
    assert all(event.device.startswith("cpu ->") for event in p.of_kind("transfer"))


@pytest.mark.skipif(not counted("cuda"), reason="needs CuPy and a GPU")
@pytest.mark.parametrize("name", sanitize.CASES)
def test_family_of_kernels(name: str) -> None:
    """What `tests.stress.sanitize` runs where memory and races are watched."""
    for got, want in sanitize.CASES[name](lambda host: dc.asarray(host, device=DEVICE)):
        assert not sanitize.wrong(got, want)
