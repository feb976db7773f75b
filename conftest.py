"""Settings of the whole test suite."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

hypothesis.settings.register_profile(
    "default", deadline=None, derandomize=bool(os.environ.get("CI"))
)
hypothesis.settings.load_profile("default")


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


@pytest.fixture(scope="session", autouse=True)
def own_cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Compiled kernels of a test run stay out of the user's cache folder."""
    folder = tmp_path_factory.mktemp("kernel-cache")
    folder.chmod(0o700)
    before = os.environ.get("DCARRAY_CACHE_FOLDER")
    os.environ["DCARRAY_CACHE_FOLDER"] = str(folder)
    yield folder
    if before is None:
        del os.environ["DCARRAY_CACHE_FOLDER"]
    else:
        os.environ["DCARRAY_CACHE_FOLDER"] = before
