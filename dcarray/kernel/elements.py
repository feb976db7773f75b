"""Elements of arrays in the kernel language, and what writes statements down.

An index may be checked: then the kernel says where it met one that is outside, and goes
on with another element.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from . import infer, nodes
from .source import Source
from .views import FLAG, FOUND, Site, View, plus, sliced, times

__all__ = ["Elements", "Frame", "both", "describe"]


@dataclass(slots=True)
class Frame:
    """One function that is being read, and what its local names stand for."""

    source: Source
    names: dict[str, Any] = field(default_factory=dict)

    def branch(self) -> Frame:
        """A frame for statements that may not run."""
        return Frame(self.source, dict(self.names))


class Elements:
    """Writes statements; reads and addresses elements.

    Attributes
    ----------
    statements : list
        Where statements go.
    taken : set of str
        Names that the kernel uses.
    checks : bool
        Whether indices are checked.
    sites : list of Site
        Those that are.
    lookups : list
        Names that are not local: where, which, and what it was.
    learns : bool
        Whether numbers of Python take the dtype of what they meet, also where they are
        not known: as in NumPy's eyes.
    dtypes, atomics : dict
        Where a dtype, or an atomic operation, is met first.
    barriers : list
        Where work items meet: the statement, and where it stands.
    marks : list
        Those of them that are none for the device.
    """

    learns = False

    def __init__(self, checks: bool = False) -> None:
        self.statements: list[nodes.Statement] = []
        self.taken: set[str] = set()
        self.checks = checks
        self.sites: list[Site] = []
        self.lookups: list[tuple[Source, str, Any]] = []
        self.dtypes: dict[np.dtype[Any], tuple[Source, ast.AST]] = {}
        self.atomics: dict[tuple[str, np.dtype[Any]], tuple[Source, ast.AST]] = {}
        self.barriers: list[tuple[nodes.Barrier, Source, ast.AST]] = []
        self.marks: list[nodes.Barrier] = []

    # ----------------------------------------------------------------- variables
    def fresh(self, name: str) -> str:
        """A name that the kernel does not use yet, like ``name``."""
        if not name.isascii():
            name = "local"
        found = name
        count = 1
        while found in self.taken:
            found = f"{name}_{count}"
            count += 1
        self.taken.add(found)
        return found

    def bind(self, name: str, value: nodes.Scalar) -> nodes.Scalar:
        """Give a value a name, unless it is one or is a constant."""
        if isinstance(value, (nodes.Name, nodes.Constant)):
            return value
        local = self.fresh(name)
        self.statements.append(nodes.Let(local, value))
        return nodes.Name(local, value.dtype)

    def promote(self, *operands: Any) -> np.dtype[Any]:
        """The common dtype of operands."""
        return infer.promote(*operands, weak=self.learns)

    def select(self, condition: nodes.Scalar, x: Any, y: Any) -> nodes.Scalar:
        """``x if condition else y``, with the common dtype."""
        return infer.select(condition, x, y, weak=self.learns)

    def marked(self, name: str, value: nodes.Scalar, dtype: Any) -> nodes.Scalar:
        """A value as one of this dtype, which may be weak or not."""
        if value.dtype.metadata is dtype.metadata or isinstance(value, nodes.Constant):
            return value
        local = self.fresh(name)
        self.statements.append(nodes.Let(local, value))
        return nodes.Name(local, dtype)

    # -------------------------------------------------------------------- elements
    def index(self, frame: Frame, node: ast.AST, found: Any) -> nodes.Scalar:
        """An index of an array as a typed integer."""
        if isinstance(found, int) and not isinstance(found, bool):
            return infer.convert(found, np.dtype(np.int64))
        if infer.is_typed(found) and found.dtype.kind in "iu":
            return self.bind("index", found)
        frame.source.mistype(node, f"an index is an integer, got {describe(found)}")

    def picked(
        self, frame: Frame, node: ast.AST, base: nodes.Array | View, found: Any
    ) -> Any:
        """An element, or the view that slices, or fewer indices than axes, leave."""
        if isinstance(base, View):
            given = found if isinstance(found, tuple) else (found,)
            if len(given) < len(base.shape) or any(isinstance(x, slice) for x in given):
                return self._part(frame, node, base, given)
        index, inside = self.element(frame, node, base, found)
        if inside is not None:
            zero = infer.convert(0, index.dtype)
            index = self.bind("index", infer.select(inside, index, zero))
        array = base.array if isinstance(base, View) else base
        load = nodes.Load(array.name, index, array.dtype)
        # What comes later in the same statement may store to the array.
        return self.bind("element", load) if self.learns else load

    def _part(
        self, frame: Frame, node: ast.AST, base: View, given: tuple[Any, ...]
    ) -> View:
        """The view of a part of an array."""
        if len(given) > len(base.shape):
            message = f"{base.label} has {len(base.shape)} axes"
            frame.source.mistype(node, f"{message}, got {len(given)} indices")
        offset, _ = self._reached(frame, node, base, given)
        view = replace(base, offset=offset)
        kept = []
        for axis in range(len(base.shape)):
            item = given[axis] if axis < len(given) else slice(None)
            if isinstance(item, slice):
                kept.append(axis)
                if item != slice(None, None, 1) and axis < len(given):
                    view = sliced(view, axis, (item.start, item.stop), item.step)
        return replace(
            view,
            shape=tuple([self._bound("length", view.shape[axis]) for axis in kept]),
            strides=tuple([self._bound("stride", view.strides[axis]) for axis in kept]),
            offset=self._bound("offset", view.offset),
            axes=tuple([base.axis(axis) for axis in kept]),
        )

    def _bound(self, name: str, found: Any) -> Any:
        return self.bind(name, found) if infer.is_typed(found) else found

    def element(
        self, frame: Frame, node: ast.AST, base: nodes.Array | View, found: Any
    ) -> tuple[nodes.Scalar, nodes.Scalar | None]:
        """Where an element is, and whether it is inside; None if that is not asked."""
        if isinstance(base, nodes.Array):
            return self.index(frame, node, found), None
        count = len(found) if isinstance(found, tuple) else 1
        if count != len(base.shape):
            message = f"{base.label} has {len(base.shape)} axes, got {count} indices"
            frame.source.mistype(node, message)
        place, inside = self._reached(frame, node, base, found)
        return self.index(frame, node, place), inside

    def _reached(
        self, frame: Frame, node: ast.AST, base: View, found: Any
    ) -> tuple[Any, nodes.Scalar | None]:
        """Offset of what indices pick, and whether all of them are inside."""
        indices = found if isinstance(found, tuple) else (found,)
        place = base.offset
        inside: Any = None
        for axis, given in enumerate(indices):
            if isinstance(given, slice):
                continue
            length = base.shape[axis]
            if isinstance(given, int) and not isinstance(given, bool):
                index: Any = plus(length, given) if given < 0 else given
            else:
                index = self.index(frame, node, given)
                index = self.bind("index", infer.convert(index, np.dtype(np.int64)))
            if self.checks:
                label = (frame.source, node, base.label, base.axis(axis))
                ok = self._checked(Site(*label), index, length)
                inside = ok if inside is None else both("bitwise_and", inside, ok)
            place = plus(place, times(index, base.strides[axis]))
        if infer.is_typed(place):
            place = self.bind("index", place)
        return place, self.bind("inside", inside) if infer.is_typed(inside) else None

    def _checked(self, site: Site, index: Any, length: Any) -> Any:
        """Whether an index is inside; where it is not, the kernel says so."""
        if isinstance(index, int) and isinstance(length, int) and 0 <= index < length:
            return True
        self.sites.append(site)
        int64 = np.dtype(np.int64)
        index, length = (infer.convert(item, int64) for item in (index, length))
        number, zero, first = (
            nodes.Constant(value, FLAG.dtype) for value in (len(self.sites), 0, 0)
        )
        ok = self.bind(
            "inside",
            infer.apply(
                "bitwise_and",
                infer.apply("greater_equal", index, 0),
                infer.apply("less", index, length),
            ),
        )
        old = self.fresh("old")
        seen = nodes.Name(old, FLAG.dtype)
        found = tuple(
            nodes.Store(FOUND.name, infer.convert(place, int64), value)
            for place, value in enumerate((index, length))
        )
        report = (
            nodes.Atomic(
                "compare_exchange", FLAG.name, first, number, old, expected=zero
            ),
            nodes.If(infer.apply("equal", seen, 0), found),
        )
        self.statements.append(nodes.If(infer.apply("invert", ok), report))
        return ok


def both(name: str, left: Any, right: Any) -> Any:
    """``left and right``, or ``or``, where either may be known."""
    conjunction = name == "bitwise_and"
    for known, other in ((left, right), (right, left)):
        if isinstance(known, bool):
            return other if known is conjunction else known
    return infer.apply(name, left, right)


def describe(found: Any) -> str:
    if infer.is_typed(found):
        return f"a {found.dtype} value"
    if isinstance(found, View):
        return f"the array {found.label}"
    if isinstance(found, nodes.Array):
        return f"the array {found.name}"
    name = getattr(found, "__qualname__", None) or getattr(found, "__name__", None)
    return name or f"{type(found).__name__} {found!r}"
