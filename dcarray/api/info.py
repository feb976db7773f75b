"""What the standard's inspection API answers, and which devices there are."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.registry import Device, backend_for, devices
from .conversion import chosen_device, default_dtype

__all__ = ["Info", "devices"]


class Info:
    """The inspection API of the Python Array API standard."""

    __slots__ = ()

    def capabilities(self) -> dict[str, Any]:
        """What depends on data is there; an array has at most 64 axes."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": 64,
        }

    def default_device(self) -> Device:
        """The device on which new arrays are made."""
        return chosen_device(None)

    def default_dtypes(
        self, *, device: str | Device | None = None
    ) -> dict[str, np.dtype[Any]]:
        """The dtypes that new arrays have unless told otherwise.

        On a device without double precision they are those of half the width.

        Parameters
        ----------
        device : str or Device, optional
        """
        target = chosen_device(device)
        found: Any = np.__array_namespace_info__().default_dtypes()
        if target.kind in ("auto", "cpu"):
            return found  # type: ignore[no-any-return]
        return {name: default_dtype(dtype, target) for name, dtype in found.items()}

    def dtypes(
        self, *, device: str | Device | None = None, kind: Any = None
    ) -> dict[str, np.dtype[Any]]:
        """The dtypes of arrays on a device.

        Parameters
        ----------
        device : str or Device, optional
        kind : str or tuple of str, optional
            Only dtypes of these kinds, as for `isdtype`.
        """
        target = chosen_device(device)
        found: dict[str, Any] = dict(np.__array_namespace_info__().dtypes(kind=kind))
        if target.kind in ("auto", "cpu"):
            return found
        supported = backend_for(str(target)).supported
        return {name: dtype for name, dtype in found.items() if dtype in supported}

    def devices(self) -> tuple[Device, ...]:
        """The devices that arrays can be made on."""
        found = devices()
        default = self.default_device()
        return tuple(found if default in found else [*found, default])
