"""Settings of the whole test suite."""

from __future__ import annotations

import importlib
import os
import tempfile

import hypothesis
import pytest

hypothesis.settings.register_profile(
    "default", deadline=None, derandomize=bool(os.environ.get("CI"))
)
hypothesis.settings.load_profile("default")


# Compiled kernels of a test run stay out of the user's cache folder.  The settings are
# read when dcarray is imported, which the test files do.
# Processes of one run (pytest -n) share a folder: that of the one that started them.
if "PYTEST_XDIST_WORKER" not in os.environ:
    _cache_folder = tempfile.TemporaryDirectory(prefix="dcarray-tests-")
    os.environ["DCARRAY_CACHE_DIR"] = _cache_folder.name

# PoCL optimises a kernel with barriers for seconds, and unoptimised ones compute the
# same.  A driver that is to be tested as users have it: set the variable to nothing.
os.environ.setdefault("PYOPENCL_BUILD_OPTIONS", "-cl-opt-disable")


def pytest_configure() -> None:
    # So that a broken rule names the pass that breaks it.
    importlib.import_module("dcarray.kernel.verify").thorough = True
    # Tests on auto want the CPU's bits, also on a machine with a GPU.
    importlib.import_module("dcarray.lazy.joining")._Waiting.likely = False


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--long", action="store_true", help="also run the tests that take minutes"
    )


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    if config.getoption("--long"):
        return
    chosen = [item for item in items if "long" not in item.keywords]
    left_out = [item for item in items if "long" in item.keywords]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = chosen
