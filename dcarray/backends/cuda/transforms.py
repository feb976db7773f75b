"""Fourier transforms by cuFFT, with NumPy's rules for lengths and axes.

Each row is tried twice: by a plan of our own, and, where there is none, by CuPy.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...layout import Layout
from ...ops.elementwise import CAST, CONJUGATE
from ...ops.program import Inner, Node, Program
from ..base import Start
from ..grid.views import GridView
from .fourier import Fourier, Lies
from .kernels.scaling import SCALED, THREADS, scale_text
from .raw import Raw, signature

__all__ = ["TABLE", "rows"]

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
MANY = {
    "fftn": None,
    "ifftn": None,
    "rfftn": None,
    "irfftn": None,
    "fft2": (-2, -1),
    "ifft2": (-2, -1),
    "rfft2": (-2, -1),
    "irfft2": (-2, -1),
}
"""Transforms along several axes, and their default axes."""

ALIGNED = 16
"""Bytes of a number at most, at a multiple of which cuFFT wants what it reads."""

MOST_AXES = 3
"""Of a plan."""

_SCALE = signature("scale", "wqd")
_INNER = (Inner.CONTIGUOUS,)

DType = np.dtype[Any]


# ------------------------------------------------------------------- plans of our own
@dataclass(frozen=True, slots=True)
class _Copy:
    """How what cuFFT reads is made, where it is not the operand.

    Attributes
    ----------
    start : callable
        Copies what is there.
    layout, dtype
        Of the copy.
    is_longer : bool
        Whether the rest of it is zeros.
    """

    start: Start
    layout: Layout
    dtype: DType
    is_longer: bool

    def of(self, raw: Raw, x: GridView) -> GridView:
        """The copy of an operand."""
        made = raw.new((self.layout.size,), self.dtype)
        if self.is_longer:
            raw.clear(made)
        raw.did(self.start, x, made)
        self.start([x.memory, made.memory], ())
        return GridView(made.memory, self.layout, self.dtype)


@dataclass(frozen=True, slots=True)
class _Recipe:
    """What a transform of arrays that lie alike takes.

    Attributes
    ----------
    copy : _Copy or None
    lengths, count, lies
        As of `Fourier.run`.
    layout, dtype
        Of what cuFFT writes.
    seen : Layout
        Of the result.
    forward : bool
    scale : callable or None
        Multiplies the result by what the norm asks for.
    """

    copy: _Copy | None
    lengths: tuple[int, ...]
    count: int
    lies: tuple[Lies, Lies] | None
    layout: Layout
    dtype: DType
    seen: Layout
    forward: bool
    scale: Start | None


_NOTHING = Layout((), ())
_REFUSED = _Recipe(None, (), 0, None, _NOTHING, np.dtype(bool), _NOTHING, True, None)
"""In the place of a recipe: there is none."""


def _row(name: str, make: Any, raw: Raw, x: Any, *rest: Any, **named: Any) -> Any:
    """A transform, by the recipe for the way in which its operand lies."""
    if not isinstance(x, GridView):
        return None
    for option in ("s", "axes"):
        if type(named.get(option)) is list:
            named[option] = tuple(named[option])
    key = (name, x.layout, x.dtype, *rest, *named.items())
    recipe: _Recipe = raw.kept(key, lambda raw, key: make(name, raw, x, *rest, **named))
    if recipe is _REFUSED:
        return None
    source = x if recipe.copy is None else recipe.copy.of(raw, x)
    dtype, layout = recipe.dtype, recipe.layout
    fourier: Fourier = raw.kept("fourier", lambda raw, key: Fourier(raw.backend))
    start = fourier.starter(
        (source.dtype, dtype),
        *(recipe.lengths, recipe.count, recipe.lies),
        not recipe.forward,
        source.layout.offset,
    )
    if start is None:
        return None
    out = raw.new((layout.size,), dtype)
    raw.did(start, source, out)
    start([source.memory, out.memory], ())
    if recipe.scale is not None:
        raw.did(recipe.scale, out)
        recipe.scale([out.memory], ())
    return GridView(out.memory, recipe.seen, dtype)


def _one(
    name: str,
    raw: Raw,
    x: GridView,
    n: Any = None,
    axis: Any = -1,
    norm: str | None = None,
) -> _Recipe:
    """The recipe for a transform along one axis."""
    given = _given(name, x, norm)
    if given is None or not -x.ndim <= axis < x.ndim or not x.size:
        return _REFUSED
    axis = operator.index(axis) % x.ndim
    length = operator.index(n) if n is not None else x.shape[axis]
    if name == "irfft" and n is None:
        length = 2 * (length - 1)
    if length < 1:
        return _REFUSED
    needed = length // 2 + 1 if name == "irfft" else length
    made = length // 2 + 1 if name == "rfft" else length
    dtype, shape, strides = _made(name, given), x.shape, x.layout.strides
    source = (*shape[:axis], needed, *shape[axis + 1 :])
    is_copied = source != shape or _is_copied(name, x, given)
    if is_copied:
        strides = Layout.plain_for(source, given.itemsize).strides
    target = (*shape[:axis], made, *shape[axis + 1 :])
    layout = Layout.plain_for(target, dtype.itemsize)
    inside = _lies(source, strides, axis, given.itemsize)
    outside = _lies(target, layout.strides, axis, dtype.itemsize)
    is_moved = False
    if inside is None or outside is None:
        inside, outside, is_copied = Lies(1, needed), Lies(1, made), True
        if axis != x.ndim - 1:
            is_moved = True
            rest = (*shape[:axis], *shape[axis + 1 :])
            layout = Layout.plain_for((*rest, made), dtype.itemsize)
    seen = layout
    if is_moved:
        seen, _ = layout.apply(dtype, lambda a: np.moveaxis(a, -1, axis))
    forward = not name.startswith("i")
    return _Recipe(
        _copied(raw, x, axis, needed, given, is_moved) if is_copied else None,
        (length,),
        math.prod(source) // needed,
        (inside, outside),
        layout,
        dtype,
        seen,
        forward,
        _scale(raw, layout, dtype, _factor(length, forward, norm)),
    )


def _many(
    name: str,
    raw: Raw,
    x: GridView,
    s: Any = None,
    axes: Any = ...,
    norm: str | None = None,
) -> _Recipe:
    """The recipe for a transform along the last axes, up to three of them."""
    kind = name[:-1]
    given = _given(kind, x, norm)
    chosen = MANY[name] if axes is ... else axes
    if given is None or s is not None or not x.size:
        return _REFUSED  # CuPy's way knows the rules for lengths
    wanted = list(range(x.ndim)) if chosen is None else [k % x.ndim for k in chosen]
    first = x.ndim - len(wanted)
    is_last = sorted(wanted) == list(range(first, x.ndim))
    if not 1 <= len(wanted) <= MOST_AXES or not is_last:
        return _REFUSED
    if kind in ("rfft", "irfft") and wanted[-1] != x.ndim - 1:
        return _REFUSED
    *before, last = x.shape[first:]
    if kind == "irfft":
        last = 2 * (last - 1)
    if last < 1:
        return _REFUSED
    made = last // 2 + 1 if kind == "rfft" else last
    dtype = _made(kind, given)
    dense = Layout.plain_for(x.shape, x.dtype.itemsize).strides
    is_copied = _is_copied(kind, x, given) or x.layout.strides != dense
    forward = not kind.startswith("i")
    layout = Layout.plain_for((*x.shape[:-1], made), dtype.itemsize)
    factor = _factor(math.prod(before) * last, forward, norm)
    return _Recipe(
        _copied(raw, x, -1, x.shape[-1], given, False) if is_copied else None,
        (*before, last),
        math.prod(x.shape[:first]),
        None,
        layout,
        dtype,
        layout,
        forward,
        _scale(raw, layout, dtype, factor),
    )


def _given(name: str, x: GridView, norm: Any) -> DType | None:
    """The dtype of what goes in; None for what has rules of its own."""
    if not x.ndim or norm not in (None, "backward", "ortho", "forward"):
        return None
    code, kind = x.dtype.char, x.dtype.kind
    if kind not in "biufc" or (code, name) == ("e", "irfft"):
        return None
    if name == "rfft":
        if kind == "c":
            return None
        return np.dtype(np.float32 if code in "ef" else np.float64)
    return np.dtype(np.complex64 if code in "efF" else np.complex128)


def _made(name: str, given: DType) -> DType:
    """The dtype of what comes out."""
    if name == "rfft":
        return np.dtype(given.char.upper())
    return np.dtype(given.char.lower()) if name == "irfft" else given


def _is_copied(name: str, x: GridView, given: DType) -> bool:
    """Whether cuFFT must not have the operand itself: it writes what it turns back
    into real numbers."""
    return name == "irfft" or x.dtype != given or x.layout.offset % ALIGNED != 0


def _copied(
    raw: Raw, x: GridView, axis: int, length: int, dtype: DType, is_moved: bool
) -> _Copy:
    """A dense copy with another length along an axis, cut off or filled up with zeros;
    the axis is its last one where it is moved."""
    if is_moved:
        x = x.through(lambda a: np.moveaxis(a, axis, -1))
        axis = -1
    axis %= x.ndim
    shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
    target = GridView(None, Layout.plain_for(shape, dtype.itemsize), dtype)
    is_longer = x.shape[axis] < length
    here = (*(slice(None),) * axis, slice(min(length, x.shape[axis])))
    part, there = (v.through(lambda a: a[here]) for v in (x, target))
    casts = () if dtype == x.dtype else (Node(CAST, (0,), (dtype,), _INNER),)
    program = Program((x.dtype,), (), casts, (len(casts),))
    executable = raw.backend.compile(program)
    start = executable.prepare(part.shape, [part, there], None)
    return _Copy(start, target.layout, dtype, is_longer)


def _scale(raw: Raw, layout: Layout, dtype: DType, factor: float) -> Start | None:
    if factor == 1:
        return None
    real = np.dtype(dtype.char.lower())
    size = layout.size * (dtype.itemsize // real.itemsize)
    groups = (-(-size // SCALED),)
    found: Start
    found = raw.start(scale_text(real), _SCALE, groups, THREADS, size, factor)
    return found


def _lies(
    shape: Sequence[int], strides: Sequence[int], axis: int, size: int
) -> Lies | None:
    """How transforms along an axis lie; None where two numbers do not say it."""
    step = size if shape[axis] == 1 else strides[axis]
    apart = wanted = 0
    for other in range(len(shape) - 1, -1, -1):
        if other == axis or shape[other] == 1:
            continue
        if not apart:
            apart = wanted = strides[other]
        if strides[other] != wanted or wanted <= 0:
            return None
        wanted *= shape[other]
    apart = apart or step * shape[axis]  # cuFFT refuses 0, also for one transform
    if step <= 0 or step % size or apart % size:
        return None
    return Lies(step // size, apart // size)


def _factor(length: int, forward: bool, norm: str | None) -> float:
    if norm == "ortho":
        return 1 / math.sqrt(length)
    return 1 / length if (norm == "forward") is forward else 1.0


SWAPPED = {None: "forward", "backward": "forward", "forward": None, "ortho": "ortho"}


def _hermitian(
    raw: Raw, x: Any, n: Any = None, axis: Any = -1, norm: str | None = None
) -> GridView | None:
    """`numpy.fft.hfft`."""
    if not isinstance(x, GridView) or norm not in SWAPPED:
        return None
    if x.dtype.kind == "c":
        x = raw.work.map(CONJUGATE, x)
    found: GridView | None = _row("irfft", _one, raw, x, n, axis, SWAPPED[norm])
    return found


def _inverse_hermitian(
    raw: Raw, x: Any, n: Any = None, axis: Any = -1, norm: str | None = None
) -> GridView | None:
    """`numpy.fft.ihfft`."""
    if norm not in SWAPPED:
        return None
    found = _row("rfft", _one, raw, x, n, axis, SWAPPED[norm])
    return None if found is None else raw.work.map(CONJUGATE, found, out=found)


TABLE: Mapping[str, Callable[..., GridView | None]] = {
    "fft.hfft": _hermitian,
    "fft.ihfft": _inverse_hermitian,
    **{f"fft.{name}": partial(_row, name, _one) for name in ONE[:4]},
    **{f"fft.{name}": partial(_row, name, _many) for name in MANY},
}
"""Functions by the name of their rows."""


# ------------------------------------------------------------------------- CuPy's way
def rows() -> dict[str, Callable[..., Any]]:
    """The functions by the names of their rows; they take CuPy's arrays."""
    from cupy import fft

    found = {f"fft.{name}": getattr(fft, name) for name in ONE}
    return found | {
        f"fft.{name}": partial(_along, name, axes) for name, axes in MANY.items()
    }


def _along(
    name: str,
    default: Sequence[int] | None,
    x: Any,
    s: Any = None,
    axes: Any = ...,
    norm: str | None = None,
) -> Any:
    """A transform along several axes, each of which may stand there more than once."""
    from cupy import fft

    chosen = default if axes is ... else axes
    lengths, wanted = _lengths(x.shape, s, chosen, name.startswith("irfft"))
    if not wanted:
        raise TypeError(f"{name}: CuPy takes one axis or more")
    if len(set(wanted)) == len(wanted):
        return getattr(fft, name)(x, s=lengths, axes=wanted, norm=norm)
    one = name[:-1]  # fftn, rfft2
    inner = "ifft" if one.startswith("i") else "fft"
    steps = list(zip(lengths, wanted, strict=True))
    if one == "irfft":
        for length, axis in steps[:-1]:
            x = fft.ifft(x, length, axis, norm)
        return fft.irfft(x, *steps[-1], norm)
    x = getattr(fft, one)(x, *steps[-1], norm)
    for length, axis in reversed(steps[:-1]):
        x = getattr(fft, inner)(x, length, axis, norm)
    return x


def _lengths(
    shape: Sequence[int], s: Any, axes: Any, is_real_inverse: bool
) -> tuple[list[int], list[int]]:
    """The length along each axis, as `numpy.fft.fftn` understands its arguments.

    Raises
    ------
    ValueError
        ``s`` and ``axes`` have different lengths.
    AxisError
        There is no such axis.
    """
    ndim = len(shape)
    if axes is None:
        axes = list(range(ndim)) if s is None else list(range(-len(s), 0))
        if s is not None:
            warnings.warn(
                "`axes` should not be `None` if `s` is not `None`: NumPy deprecated it",
                DeprecationWarning,
                stacklevel=2,
            )
    normal = np.lib.array_utils.normalize_axis_index
    wanted = [int(normal(axis, ndim)) for axis in axes]
    given = [-1] * len(wanted) if s is None else list(s)
    if len(given) != len(wanted):
        raise ValueError("Shape and axes have different lengths.")
    if None in given:
        warnings.warn(
            "Passing an array containing `None` values to `s` is deprecated by NumPy: "
            "-1 means the same",
            DeprecationWarning,
            stacklevel=2,
        )
    lengths = [
        shape[axis] if n is None or n == -1 else int(n)
        for n, axis in zip(given, wanted, strict=True)
    ]
    if is_real_inverse and wanted and s is None:
        lengths[-1] = (shape[wanted[-1]] - 1) * 2
    return lengths, wanted
