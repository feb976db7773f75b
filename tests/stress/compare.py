"""Whether an array of the library is NumPy's array, bit for bit.

The sign and payload of a NaN are exempt: within NumPy itself they depend on position
and processor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["difference", "same_error"]


def difference(got: Any, want: np.ndarray, module: Any = np) -> str | None:
    """None where they agree, else a short reason.

    Compared are dtype, shape, strides, writability and bits.
    """
    if got.dtype != want.dtype:
        return f"dtype {got.dtype}, want {want.dtype}"
    if got.shape != want.shape:
        return f"shape {got.shape}, want {want.shape}"
    if got.strides != want.strides:
        return f"strides {got.strides}, want {want.strides} for shape {want.shape}"
    host = np.asarray(got)
    if host.dtype != want.dtype or host.shape != want.shape:
        return f"exported as {host.dtype} {host.shape}"
    if host.flags.writeable != want.flags.writeable:
        return f"writeable {host.flags.writeable}, want {want.flags.writeable}"
    return bits(host, want)


def bits(got: np.ndarray, want: np.ndarray) -> str | None:
    """None where all elements are the same bits, or NaN on both sides."""
    if want.size == 0 or got.tobytes() == want.tobytes():
        return None
    got, want = np.ascontiguousarray(got).ravel(), np.ascontiguousarray(want).ravel()
    kind = want.dtype.kind
    if kind == "c":
        part = want.real.dtype
        got, want = got.view(part), want.view(part)
    if kind in "fc":
        with np.errstate(all="ignore"):
            equal = (got == want) & (np.signbit(got) == np.signbit(want))
            equal |= np.isnan(got) & np.isnan(want)
    else:
        equal = got == want
        if kind == "b":
            equal = got.view(np.uint8) == want.view(np.uint8)
    wrong = np.flatnonzero(~equal)
    if not wrong.size:
        return None
    at = wrong[:3].tolist()
    some = ", ".join(f"[{i}] {got[i]!r} want {want[i]!r}" for i in at)
    return f"{wrong.size} of {want.size} differ: {some}"


def same_error(got: BaseException | None, want: BaseException | None) -> bool:
    """Whether an error is at least the builtin type of NumPy's."""
    if got is None or want is None:
        return got is want
    base = next(c for c in type(want).__mro__ if c.__module__ == "builtins")
    return isinstance(got, base)
