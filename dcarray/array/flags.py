"""The flags of an array that no NumPy array shows."""

from __future__ import annotations

from typing import Any

from ..layout import phantom
from .state import ArrayState

__all__ = ["DeviceFlags"]


class DeviceFlags:
    """What `numpy.ndarray.flags` is, for memory that is not the host's.

    Parameters
    ----------
    array : ArrayState
    """

    __slots__ = ("_array",)

    _array: ArrayState

    def __init__(self, array: ArrayState) -> None:
        object.__setattr__(self, "_array", array)

    def _shown(self) -> Any:
        array = self._array
        shown = phantom(array._layout, array.dtype)
        if array._locked:
            shown.flags.writeable = False
        return shown.flags

    @property
    def owndata(self) -> bool:
        """Whether the array shows all of its memory, and is no view of a part."""
        return self._array.base is None  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shown(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "writeable":
            self._array._locked = not value
        else:
            setattr(self._shown(), name, value)

    def __getitem__(self, key: Any) -> Any:
        if key in ("OWNDATA", "O"):
            return self.owndata
        return self._shown()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        if key in ("WRITEABLE", "W"):
            self.writeable = value
        else:
            self._shown()[key] = value

    def __eq__(self, other: object) -> bool:
        return bool(self._shown() == getattr(other, "_shown", lambda: other)())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._shown())
