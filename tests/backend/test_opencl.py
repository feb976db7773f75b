"""The OpenCL backend, on PoCL: a CPU is a device, too."""

from __future__ import annotations

from typing import Any

import pytest

from dcarray.backends.opencl import OpenClBackend, count
from dcarray.testing import BackendSuite

pytestmark = pytest.mark.skipif(not count(), reason="needs pyopencl and a driver")


class TestOpenCl(BackendSuite):
    def make(self) -> Any:
        return OpenClBackend()
