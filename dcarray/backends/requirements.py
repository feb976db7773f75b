"""Whether what a plugin needs is installed."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

__all__ = ["unmet"]

_PACKAGE = __name__.partition(".")[0]
_WHOLE = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*\(?([^()]*)\)?\s*")
_PART = re.compile(r"(>=|<=|==|!=|>|<)\s*([0-9][\w.+!-]*)")
_MEANING: dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}


def unmet(requirement: str) -> str:
    """What is wrong with the installed packages; empty if nothing is.

    Parameters
    ----------
    requirement : str
        A name, alone or with bounds: ``"numpy>=2.1,<3"``.
    """
    from importlib.metadata import PackageNotFoundError, version  # takes 15 ms

    whole = _WHOLE.fullmatch(requirement)
    if whole is None:
        return f"{requirement!r} is no requirement"
    name, bounds = whole.groups()
    try:
        installed = version(name)
    except PackageNotFoundError:
        # dcarray itself runs from its source tree as well.
        return "" if name == _PACKAGE else f"needs {requirement}, not installed"
    for bound in filter(None, (part.strip() for part in bounds.split(","))):
        part = _PART.fullmatch(bound)
        if part is None:
            return f"{requirement!r} is no requirement"
        sign, wanted = part.groups()
        if not _MEANING[sign](_release(installed), _release(wanted)):
            return f"needs {requirement}, {installed} is installed"
    return ""


def _release(version: str) -> tuple[int, ...]:
    """``"2.1.0rc1"`` as (2, 1): the numbers at the front, without zeros at the end."""
    found = re.match(r"\d+(\.\d+)*", version)
    numbers = [int(part) for part in found.group().split(".")] if found else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
