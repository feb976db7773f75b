"""A plugin of pytest, for test suites of others: ``metal:0`` is the simulated device.

``DCARRAY_DEVICE=metal:0 python -m pytest -p tests.metal_simulator.plugin ...``
"""

from __future__ import annotations

import contextlib

import pytest

from .module import Simulator, installed

_open = contextlib.ExitStack()
_open.enter_context(installed(Simulator()))


def pytest_unconfigure(config: pytest.Config) -> None:
    """The module ``Metal`` is as before."""
    _open.close()
