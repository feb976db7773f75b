"""`numpy.lib`: NumPy's own, but for `stride_tricks`, whose views are `DeviceArray`s."""

from typing import Any

import numpy as _np

from . import stride_tricks

__all__ = ["stride_tricks"]


def __getattr__(name: str) -> Any:
    return getattr(_np.lib, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_np.lib)})
