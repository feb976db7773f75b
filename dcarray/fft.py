"""Fourier transforms, `numpy.fft` with the standard's keywords."""

from __future__ import annotations

from typing import Any

import numpy as np

from .api.calling import served
from .api.conversion import default_dtype
from .api.coverage import native
from .array import DeviceArray
from .backends.registry import device_of
from .config import current
from .ops import transforms as rows

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

fft = served(rows.FFT)
ifft = served(rows.IFFT)
rfft = served(rows.RFFT)
irfft = served(rows.IRFFT)
hfft = served(rows.HFFT)
ihfft = served(rows.IHFFT)
fftn = served(rows.FFTN)
ifftn = served(rows.IFFTN)
rfftn = served(rows.RFFTN)
irfftn = served(rows.IRFFTN)
fft2 = served(rows.FFT2)
ifft2 = served(rows.IFFT2)
rfft2 = served(rows.RFFT2)
irfft2 = served(rows.IRFFT2)
fftshift = served(rows.FFTSHIFT)
ifftshift = served(rows.IFFTSHIFT)


@native
def fftfreq(n: int, d: float = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    """Frequencies of the bins of a transform, as `numpy.fft.fftfreq`.

    Parameters
    ----------
    n : int
        Length of the transform.
    d : float
        Spacing of the samples.
    device : str or Device, optional
        Where the result is made.
    dtype : dtype, optional
        A real floating-point one.
    """
    return _made(np.fft.fftfreq(n, d), dtype, device)


@native
def rfftfreq(n: int, d: float = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    """Frequencies of the bins of a real transform; parameters as for `fftfreq`."""
    return _made(np.fft.rfftfreq(n, d), dtype, device)


def _made(result: Any, dtype: Any, device: Any) -> DeviceArray:
    target = device_of(device, current().device)
    result = result.astype(
        default_dtype(result.dtype, target) if dtype is None else dtype
    )
    array = DeviceArray._of_host(result)
    if target.kind in ("auto", "cpu"):
        array._device = target
        return array
    return array.to_device(target)  # type: ignore[no-any-return]
