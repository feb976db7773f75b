"""The contract, checked: `pytest test_example.py`."""

from __future__ import annotations

import dcarray_example

from dcarray.testing import BackendSuite


class TestExample(BackendSuite):
    def make(self):
        return dcarray_example.factory(0)
