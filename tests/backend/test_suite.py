"""The suite for backends, on those that are always there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcarray.backends.cpu import CpuBackend
from dcarray.backends.simulated import SimulatedBackend
from dcarray.testing import BackendSuite


class TestCpu(BackendSuite):
    def make(self) -> Any:
        return CpuBackend()


class TestSimulated(BackendSuite):
    def make(self) -> Any:
        return SimulatedBackend()


class TestSimulatedWithoutDoubles(BackendSuite):
    def make(self) -> Any:
        return SimulatedBackend(without=["float64", "complex128", "int64", "uint64"])


class Broken(SimulatedBackend):
    """Forgets the last element of what it is sent."""

    def upload(self, source: np.ndarray, target: Any) -> None:
        super().upload(source[:-1], target)


def test_a_broken_backend_is_found() -> None:
    class Suite(BackendSuite):
        def make(self) -> Any:
            return Broken()

    with pytest.raises(AssertionError):
        Suite().test_bytes_come_back()


def test_without_pytest() -> None:
    class Suite(BackendSuite):
        def make(self) -> Any:
            return SimulatedBackend()

    assert Suite().run() > 20
