"""Trying again what failed transiently."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from ..config import current
from ..errors import DeviceError
from ..profile import Event, emit

__all__ = ["retried"]

Result = TypeVar("Result")


def retried(work: Callable[[], Result], name: str, device: str) -> Result:
    """The result of ``work``, tried again while it fails transiently.

    The settings `retries` and `retry_delay` say how often, and after what pause; the
    pause doubles each time.

    Raises
    ------
    DeviceError
        It failed for good, or too often.
    """
    settings = current()
    delay = settings.retry_delay
    for tries in range(settings.retries + 1):
        try:
            return work()
        except DeviceError as error:
            if not error.transient or tries == settings.retries:
                raise
        # Outside of the handler, so that the failed attempt holds no memory.
        emit(Event("retry", name, device))
        time.sleep(delay)
        delay *= 2
    raise AssertionError("unreachable")
