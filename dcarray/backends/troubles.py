"""Why kinds of devices are skipped."""

from __future__ import annotations

import warnings

__all__ = ["clear", "known", "report", "trouble", "words"]

_troubles: dict[str, str] = {}


def report(kind: str, text: str) -> None:
    """Warn, once for each text, that a kind of device is skipped."""
    if _troubles.get(kind) != text:
        _troubles[kind] = text
        warnings.warn(
            f"backend {kind!r} is skipped: {text}", RuntimeWarning, stacklevel=3
        )


def trouble(kind: str) -> str:
    """What was reported last; empty if nothing was."""
    return _troubles.get(kind, "")


def clear(kind: str) -> None:
    """It works now."""
    _troubles.pop(kind, None)


def known() -> dict[str, str]:
    """All that was reported, by kind."""
    return dict(_troubles)


def words(error: BaseException) -> str:
    """An error as text for a report."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
