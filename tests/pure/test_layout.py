"""Shape and stride algebra, against NumPy's own arrays."""

from __future__ import annotations

import math
from traceback import walk_tb
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dcarray.layout import (
    Layout,
    address_of,
    broadcast_shapes,
    broadcast_strides,
    copied_strides,
    dense_strides,
    inner_axis,
    is_contiguous,
    phantom,
    reduced_strides,
    result_strides,
    view_host,
)
from dcarray.lazy.axis_maps import axis_map

lengths = st.integers(0, 4)
shapes = st.lists(lengths, max_size=4).map(tuple)
some = settings(max_examples=100)


@st.composite
def views(draw: Any, root: np.ndarray | None = None, breaks: bool = False) -> Any:
    """A view of an array: sliced, turned, widened, repeated; joined with ``breaks``."""
    if root is None:
        shape = draw(shapes)
        size = math.prod(shape)
        order = draw(st.sampled_from("CF"))
        root = np.arange(size, dtype=np.int32).reshape(shape, order=order)
    array = root
    for _ in range(draw(st.integers(0, 4))):
        choice = draw(st.integers(0, 5 if breaks else 4))
        if choice == 0 and array.ndim:
            array = array.transpose(draw(st.permutations(range(array.ndim))))
        elif choice == 1 and array.ndim < 6:
            array = np.expand_dims(array, draw(st.integers(0, array.ndim)))
        elif choice == 2 and array.ndim:
            key = draw(st.integers(0, array.ndim - 1))
            start = draw(st.none() | st.integers(-4, 4))
            stop = draw(st.none() | st.integers(-4, 4))
            step = draw(st.sampled_from([None, 1, 2, 3, -1, -2]))
            items: list[Any] = [slice(None)] * array.ndim
            items[key] = slice(start, stop, step)
            array = array[tuple(items)]
        elif choice == 3 and array.ndim and array.shape[-1]:
            array = array[..., draw(st.integers(0, array.shape[-1] - 1)), None]
        elif choice == 4 and array.ndim < 6:
            array = np.broadcast_to(array, (draw(st.integers(1, 3)), *array.shape))
        elif choice == 5 and array.size:
            try:
                array = np.reshape(array, -1, copy=False)
            except ValueError:
                continue
    return root, array


def layout_in(root: np.ndarray, array: np.ndarray) -> Layout:
    low, _ = Layout(root.shape, root.strides).span(root.itemsize)
    return Layout.of(array, address_of(root) + low)


# --------------------------------------------------------------------------- layouts
@some
@given(views(breaks=True))
def test_view_host(pair: Any) -> None:
    root, array = pair
    layout = layout_in(root, array)
    shown = view_host(root, layout, array.dtype)
    assert shown.shape == array.shape
    assert np.array_equal(shown, array)
    if array.size:
        assert shown.strides == array.strides
        assert address_of(shown) == address_of(array)


@some
@given(views())
def test_views_of_views(pair: Any) -> None:
    """`Layout.apply` does to a layout what NumPy does to an array."""
    _, array = pair
    for function in (
        lambda a: a.T,
        lambda a: a[..., ::-1] if a.ndim else a[...],
        lambda a: a[None],
        lambda a: a[1:] if a.ndim else a[...],
        lambda a: np.broadcast_to(a, (2, *a.shape)),
        lambda a: a.view(np.float32),
    ):
        want = function(array)
        layout, dtype = Layout.of(array, address_of(array)).apply(array.dtype, function)
        assert layout.shape == want.shape
        assert layout.strides == want.strides
        assert dtype == want.dtype
        if want.size:
            assert layout.offset == address_of(want) - address_of(array)


def test_phantoms_hold_no_memory() -> None:
    layout = Layout((1 << 10, 1 << 20, 1 << 20), (1 << 43, 1 << 23, 8), 16)
    shown = phantom(layout, np.dtype(np.float64))
    assert shown.shape == layout.shape
    moved, _ = layout.apply(np.dtype(np.float64), lambda a: a[5, :, ::-1])
    assert moved.offset == 16 + 5 * (1 << 43) + ((1 << 20) - 1) * 8
    for dtype in (np.dtype("V3"), np.dtype([("a", "i4"), ("b", "f8")]), np.dtype("U5")):
        assert phantom(Layout((2,), (64,)), dtype).dtype == dtype


@some
@given(views(breaks=True))
def test_span(pair: Any) -> None:
    root, array = pair
    low, high = Layout.of(array, address_of(root)).span(array.itemsize)
    if not array.size:
        assert low == high
        return
    first, end = np.lib.array_utils.byte_bounds(array)
    assert (low, high) == (first - address_of(root), end - address_of(root))


@some
@given(shapes, st.sampled_from("CF"), st.sampled_from([1, 2, 8, 16]))
def test_dense(shape: tuple[int, ...], order: Any, itemsize: int) -> None:
    want = np.empty(shape, f"V{itemsize}", order=order)
    strides = dense_strides(shape, itemsize, order)
    if want.size:
        assert strides == want.strides
    assert is_contiguous(shape, strides, itemsize, order)
    layout = Layout.dense(shape, itemsize, order)
    assert (layout.ndim, layout.size) == (want.ndim, want.size)


@some
@given(views(breaks=True))
def test_is_contiguous(pair: Any) -> None:
    _, array = pair
    for order, flag in (("C", "C_CONTIGUOUS"), ("F", "F_CONTIGUOUS")):
        got = is_contiguous(array.shape, array.strides, array.itemsize, order)
        assert got == array.flags[flag]


# ------------------------------------------------------------------------ broadcasting
@some
@given(st.lists(shapes, min_size=1, max_size=3))
def test_broadcast_shapes(given_shapes: Any) -> None:
    try:
        want = np.broadcast_shapes(*given_shapes)
    except ValueError:
        with pytest.raises(ValueError, match="could not be broadcast together"):
            broadcast_shapes(given_shapes)
        return
    assert broadcast_shapes(given_shapes) == want


def test_broadcast_error_in_the_words_of_numpy() -> None:
    with pytest.raises(ValueError) as caught:
        np.add(np.ones((3, 4)), np.ones(5))
    with pytest.raises(ValueError) as ours:
        broadcast_shapes([(3, 4), (5,)])
    assert str(ours.value) == str(caught.value)


@some
@given(views(), st.lists(st.integers(1, 3), max_size=2))
def test_broadcast_strides(pair: Any, front: list[int]) -> None:
    _, array = pair
    shape = (*front, *[3 if n == 1 else n for n in array.shape])
    want = np.broadcast_to(array, shape)
    got = broadcast_strides(Layout(array.shape, array.strides), shape)
    if want.size:
        used = [
            (one, other)
            for one, other, n in zip(got, want.strides, shape, strict=True)
            if n > 1
        ]
        assert all(one == other for one, other in used)


# -------------------------------------------------------------- strides of new arrays
@st.composite
def operands(draw: Any) -> list[np.ndarray]:
    """One or two arrays that broadcast, of any layout."""
    shape = tuple(draw(st.lists(st.integers(1, 4), max_size=4)))
    found = []
    for _ in range(draw(st.integers(1, 2))):
        own = [draw(st.sampled_from([n, n, n, 1])) for n in shape]
        own = own[draw(st.integers(0, len(own))) if draw(st.booleans()) else 0 :]
        order = draw(st.permutations(range(len(own))))
        steps = [draw(st.sampled_from([1, 1, 2])) for _ in own]
        dtype = draw(st.sampled_from([np.float32, np.float64]))
        memory = np.zeros([own[k] * steps[k] for k in order], dtype)
        array = memory.transpose(np.argsort(order)) if own else memory
        array = array[tuple([slice(None, None, step) for step in steps])]
        if own and draw(st.booleans()):
            array = array[..., ::-1]
        found.append(array)
    return found


@some
@given(operands())
def test_result_strides(arrays: list[np.ndarray]) -> None:
    want = np.add(*arrays) if len(arrays) == 2 else np.negative(*arrays)
    want = np.asarray(want)
    got = result_strides(
        want.shape,
        [(a.shape, a.strides, a.itemsize, a.dtype != want.dtype) for a in arrays],
        want.itemsize,
    )
    assert got == want.strides


@some
@given(operands())
def test_copied_strides(arrays: list[np.ndarray]) -> None:
    array = arrays[0]
    want = array.copy("K")
    got = copied_strides(Layout.of(array, 0), array.itemsize, array.itemsize)
    assert got == want.strides
    wide = array.astype(np.complex128)
    assert copied_strides(Layout.of(array, 0), array.itemsize, 16) == wide.strides


@some
@given(operands(), st.data())
def test_reduced_strides(arrays: list[np.ndarray], data: Any) -> None:
    array = arrays[0]
    if not array.ndim:
        return
    axes = tuple(sorted(data.draw(st.sets(st.integers(0, array.ndim - 1), min_size=1))))
    want = np.add.reduce(array, axis=axes, keepdims=True)
    got = reduced_strides(Layout.of(array, 0), axes, array.itemsize)
    for axis, n in enumerate(array.shape):
        if n != 1 and axis not in axes:
            assert got[axis] == want.strides[axis]


def test_inner_axis() -> None:
    assert inner_axis((3, 4), [(32, 8)]) == 1
    assert inner_axis((3, 4), [(8, 24)]) == 0
    assert inner_axis((3, 1), [(8, 8)]) == 0
    assert inner_axis((1, 1), [(8, 8)]) is None
    assert inner_axis((), [()]) is None
    assert inner_axis((3, 4), [(8, 24), (32, 8)]) == 1


# ------------------------------------------------------------------------- maps of axes
@some
@given(st.data())
def test_axis_map(data: Any) -> None:
    """What a map says about one array holds for any other of the same shape."""
    shape = tuple(data.draw(st.lists(st.integers(1, 4), max_size=4)))
    order = data.draw(st.permutations(range(len(shape))))
    size = math.prod(shape)
    memory = np.arange(size).reshape([shape[k] for k in order])
    dense = memory.transpose(np.argsort(order)) if shape else memory
    _, view = data.draw(views(dense, breaks=True))
    found = axis_map(layout_in(dense, dense), layout_in(dense, view))
    if found is None:
        return
    assert found.shape == view.shape
    other = np.empty((2, *shape[::-1]), np.int64).T[..., ::2][..., 0]
    other[...] = dense
    through = found.through(layout_in(other, other))
    assert np.array_equal(view_host(other, through, other.dtype), view)


@some
@given(st.data())
def test_axis_map_is_found(data: Any) -> None:
    """Slices, transposes and repetitions always have a map."""
    shape = tuple(data.draw(st.lists(st.integers(2, 4), max_size=3)))
    dense = np.arange(math.prod(shape)).reshape(shape)
    _, view = data.draw(views(dense))
    if view.size:
        assert axis_map(layout_in(dense, dense), layout_in(dense, view)) is not None


def test_no_map() -> None:
    dense = np.arange(12).reshape(3, 4)
    layout = layout_in(dense, dense)
    for view in (dense.reshape(-1), dense.reshape(4, 3), dense.diagonal()):
        assert axis_map(layout, layout_in(dense, view)) is None


def test_an_error_shows_no_array_without_memory() -> None:
    with pytest.raises(IndexError) as caught:
        Layout.dense((3,), 8).apply(np.dtype(np.float64), lambda a: a[5])
    frames = [frame.f_locals for frame, _ in walk_tb(caught.value.__traceback__)]
    shown = [value for names in frames for value in names.values()]
    assert len(frames) == 2
    assert not [value for value in shown if isinstance(value, np.ndarray)]
