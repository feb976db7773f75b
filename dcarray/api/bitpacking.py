"""Bits of bytes, one an element, and back.

On a named device they are made of operations that fuse; on the host NumPy does them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .conversion import as_array
from .creation import asarray, zeros
from .hosted import hosted
from .joining import concatenate
from .manipulation import moveaxis

__all__ = ["packbits", "unpackbits"]


def _places(like: Any, bitorder: Any) -> Any:
    """The place of each of eight bits in their byte."""
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    places = np.arange(8, dtype=np.uint8)
    return asarray(places[::-1] if bitorder == "big" else places, device=like._device)


def _rows(a: Any, axis: Any) -> tuple[Any, int]:
    """An array with an axis at its end, and where that belongs."""
    x = as_array(a)
    if axis is None:
        return x.ravel(), 0
    place = np.lib.array_utils.normalize_axis_index(axis, x.ndim)
    return moveaxis(x, place, -1), place


@hosted(np.packbits)
def packbits(a: Any, /, axis: Any = None, bitorder: Any = "big") -> Any:
    """Bytes whose bits say which elements are not zero, as `numpy.packbits`.

    Parameters
    ----------
    a : array_like of int or bool
    axis : int, optional
        The flattened array, if it is None.
    bitorder : {"big", "little"}
        Whether the first element is the highest or the lowest bit.
    """
    x, place = _rows(a, axis)
    if x.dtype.kind not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    bits = (x != 0).astype(np.uint8)
    missing = -x.shape[-1] % 8
    if missing:
        rest = zeros((*x.shape[:-1], missing), np.uint8, device=x._device)
        bits = concatenate([bits, rest], axis=-1)
    bits = bits.reshape((*x.shape[:-1], bits.shape[-1] // 8, 8))
    found = (bits << _places(x, bitorder)).sum(-1, dtype=np.uint8)
    return moveaxis(found, -1, place)


@hosted(np.unpackbits)
def unpackbits(
    a: Any, /, axis: Any = None, count: Any = None, bitorder: Any = "big"
) -> Any:
    """The bits of bytes, as `numpy.unpackbits`.

    Parameters
    ----------
    a : array_like of uint8
    axis : int, optional
        The flattened array, if it is None.
    count : int, optional
        How many bits; of a negative number, how many are left out at the end.
    bitorder : {"big", "little"}
        Whether the highest or the lowest bit comes first.
    """
    x, place = _rows(a, axis)
    if x.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    bits = x[..., None] >> _places(x, bitorder) & np.uint8(1)
    length = 8 * x.shape[-1]
    found = bits.reshape((*x.shape[:-1], length))
    if count is not None:
        wanted = count if count >= 0 else length + count
        if wanted < 0:
            raise ValueError(
                f"-count larger than number of elements along axis: {-count}"
            )
        found = found[..., :wanted]
        if wanted > length:
            shape = (*x.shape[:-1], wanted - length)
            rest = zeros(shape, np.uint8, device=x._device)
            found = concatenate([found, rest], axis=-1)
    return moveaxis(found, -1, place)
