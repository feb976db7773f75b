"""Where the user's code is: what goes wrong later still names its line."""

from __future__ import annotations

import sys
import types
from typing import Any, TypeAlias

from .. import native
from ..errors import DeviceError

__all__ = ["Place", "line_of", "name_line", "user_frame", "user_place"]

Place: TypeAlias = tuple[types.CodeType, int, dict[str, Any]]
"""Code, instruction and globals."""

_PACKAGE = __name__.partition(".")[0]
_INSIDE = _PACKAGE + "."


def user_place() -> Place:
    """Where the code that called into dcarray is: code, instruction and globals."""
    global _theirs
    frame: Any = native.frame()
    place: Any = native.place(frame)
    if place[0] is _theirs:
        return place  # type: ignore[no-any-return]
    while id(place[2]) in _ours or _is_ours(place[2]):
        frame = frame.f_back
        if frame is None:
            return place  # type: ignore[no-any-return]
        place = native.place(frame)
    _theirs = place[0]
    return place  # type: ignore[no-any-return]


def line_of(place: Place) -> tuple[str, int, dict[str, Any]]:
    """File, line and globals of a place: counting lines takes longer than recording."""
    code, instruction, space = place
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= instruction < end:
            line = number or line
            break
    return code.co_filename, line, space


def user_frame() -> tuple[str, int, dict[str, Any]]:
    """File, line and globals of the code that called into dcarray."""
    return line_of(user_place())


def name_line(error: BaseException, frame: tuple[str, int, Any] | None) -> None:
    """Have an error of a device name the user's line that recorded the work."""
    if isinstance(error, DeviceError) and error.source_line is None and frame:
        error.source_line = f"{frame[0]}:{frame[1]}"


_ours: set[int] = set()
"""Identities of the globals of dcarray's modules, which live as long as the process."""


_theirs: types.CodeType | None = None
"""The code that called last: a loop records much of what it does from one place."""


def _is_ours(space: dict[str, Any]) -> bool:
    package = space.get("__package__")
    if not package or not (package == _PACKAGE or package.startswith(_INSIDE)):
        return False
    module = sys.modules.get(space.get("__name__", ""))
    if module is not None and module.__dict__ is space:
        _ours.add(id(space))
    return True
