"""Fourier transforms.  A row is named as in NumPy, ``fft.rfft``."""

from __future__ import annotations

import numpy as np

from .spec import Kind, Op

__all__ = [
    "FFT",
    "FFT2",
    "FFTN",
    "FFTSHIFT",
    "HFFT",
    "IFFT",
    "IFFT2",
    "IFFTN",
    "IFFTSHIFT",
    "IHFFT",
    "IRFFT",
    "IRFFT2",
    "IRFFTN",
    "RFFT",
    "RFFT2",
    "RFFTN",
    "TABLE",
]

FFT = Op("fft.fft", Kind.TRANSFORM, np.fft.fft)
IFFT = Op("fft.ifft", Kind.TRANSFORM, np.fft.ifft)
RFFT = Op("fft.rfft", Kind.TRANSFORM, np.fft.rfft)
IRFFT = Op("fft.irfft", Kind.TRANSFORM, np.fft.irfft)
HFFT = Op("fft.hfft", Kind.TRANSFORM, np.fft.hfft)
IHFFT = Op("fft.ihfft", Kind.TRANSFORM, np.fft.ihfft)
FFTN = Op("fft.fftn", Kind.TRANSFORM, np.fft.fftn)
IFFTN = Op("fft.ifftn", Kind.TRANSFORM, np.fft.ifftn)
RFFTN = Op("fft.rfftn", Kind.TRANSFORM, np.fft.rfftn)
IRFFTN = Op("fft.irfftn", Kind.TRANSFORM, np.fft.irfftn)
FFT2 = Op("fft.fft2", Kind.TRANSFORM, np.fft.fft2)
IFFT2 = Op("fft.ifft2", Kind.TRANSFORM, np.fft.ifft2)
RFFT2 = Op("fft.rfft2", Kind.TRANSFORM, np.fft.rfft2)
IRFFT2 = Op("fft.irfft2", Kind.TRANSFORM, np.fft.irfft2)
FFTSHIFT = Op("fft.fftshift", Kind.TRANSFORM, np.fft.fftshift)
IFFTSHIFT = Op("fft.ifftshift", Kind.TRANSFORM, np.fft.ifftshift)

TABLE: dict[str, Op] = {
    row.name: row
    for row in (
        *(FFT, IFFT, RFFT, IRFFT, HFFT, IHFFT),
        *(FFTN, IFFTN, RFFTN, IRFFTN, FFT2, IFFT2),
        *(RFFT2, IRFFT2, FFTSHIFT, IFFTSHIFT),
    )
}
"""Rows by name."""
