"""Views of values that are pending, as maps of indices."""

from __future__ import annotations

from dataclasses import dataclass

from ..layout import Layout, Shape

__all__ = ["AxisMap", "axis_map"]


@dataclass(frozen=True, slots=True)
class AxisMap:
    """A view as a map of indices: element ``i`` of the view is element
    ``start + sum(step[k] * i[k])`` of the source, axis ``source[k]`` each.

    ``source[k]`` is None where the view repeats one element along axis ``k``.
    """

    shape: Shape
    source: tuple[int | None, ...]
    step: tuple[int, ...]
    start: tuple[int, ...]

    def through(self, layout: Layout) -> Layout:
        """The same view of another array that has the source's shape."""
        offset = layout.offset
        for index, stride in zip(self.start, layout.strides, strict=True):
            offset += index * stride
        strides = tuple(
            0 if axis is None else step * layout.strides[axis]
            for axis, step in zip(self.source, self.step, strict=True)
        )
        return Layout(self.shape, strides, offset)


def axis_map(dense: Layout, view: Layout) -> AxisMap | None:
    """How ``view`` picks its elements from an array that fills its memory.

    None if the view is no such pick axis by axis (a reshape that splits or joins axes),
    and where there are no elements.
    """
    if dense == view:
        ndim = len(dense.shape)
        return AxisMap(dense.shape, tuple(range(ndim)), (1,) * ndim, (0,) * ndim)
    if not dense.size:
        return None
    axes = [axis for axis, length in enumerate(dense.shape) if length > 1]
    axes.sort(key=lambda axis: -dense.strides[axis])
    start = [0] * len(dense.shape)
    rest = view.offset - dense.offset
    for axis in axes:
        start[axis], rest = divmod(rest, dense.strides[axis])
    if rest:
        return None
    source: list[int | None] = []
    steps: list[int] = []
    for length, stride in zip(view.shape, view.strides, strict=True):
        if length <= 1 or stride == 0:
            source.append(None)
            steps.append(0)
            continue
        for axis in axes:
            unit = dense.strides[axis]
            if abs(stride) >= unit and stride % unit == 0:
                break
        else:
            return None
        step = stride // unit
        last = start[axis] + step * (length - 1)
        if axis in source or not 0 <= last < dense.shape[axis]:
            return None
        source.append(axis)
        steps.append(step)
    if any(not 0 <= start[axis] < dense.shape[axis] for axis in axes):
        return None
    return AxisMap(view.shape, tuple(source), tuple(steps), tuple(start))
