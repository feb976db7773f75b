"""Convolutions by cuDNN, see `graphs`.

Tensor cores want the channels behind the positions, and cuDNN is slow to bring them
there; so that is done here, where it is faster in all.  What a call needs is found by
the layouts of its operands and its options; only memory is filled in when it comes
again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...config import current
from ...layout import Layout, dense_strides
from ..base import Start
from ..grid.views import GridView
from .graphs import KINDS, Plan, aligned, fastest, kind_of, module, widened
from .turning import Turn, turner

if TYPE_CHECKING:
    from .raw import Raw

__all__ = ["TABLE"]

INEXACT = ("TENSOR_CORE", "DOWN_CONVERT_INPUTS", "WINOGRAD", "FFT")
"""What may round a product or a sum of float32 more than float32 itself does."""

STEADY = "NONDETERMINISTIC"
"""What is only taken if there is nothing else: bits that are others each time."""

WORTH = 1 << 24
"""Products for which it is worth to time several ways."""

TOGETHER = 16
"""Bytes of channels side by side that tensor cores take."""

APART = 512
"""Bytes of which what shares a block takes multiples."""

Sizes = tuple[int, ...]


class _Call(NamedTuple):
    """What a graph is built for.

    Attributes
    ----------
    kind : str
        ``"fprop"``, ``"dgrad"`` or ``"wgrad"``.
    dtype : str
    shapes, strides : tuple of tuple of int
        Of the two operands and of the result, in elements.
    low, high, stride, dilation : tuple of int
    exact : bool
        Whether float32 is float32.
    """

    kind: str
    dtype: str
    shapes: tuple[Sizes, ...]
    strides: tuple[Sizes, ...]
    low: Sizes
    high: Sizes
    stride: Sizes
    dilation: Sizes
    exact: bool


@dataclass(slots=True)
class _Way:
    """One way to compute a call.

    Attributes
    ----------
    plan : Plan
    offsets : tuple of int
        Where what the plan takes and makes begins: in its memory, or in the room.
    inside : tuple of bool
        What is in the room: turned operands, and the result before it is turned back.
    turn, back : callable or None
        What turns operands, and the result.
    room : int
        Bytes for these; behind them is the plan's own.
    """

    plan: Plan
    offsets: tuple[int, int, int]
    inside: tuple[bool, bool, bool]
    turn: Any
    back: Any
    room: int

    def starter(self, raw: Raw) -> Start:
        """What computes, given the blocks of both operands and of the result."""
        allocate, run = raw.backend.allocate, raw.backend.graphs.run
        plan, turn, back, own = self.plan, self.turn, self.back, self.room
        a, b, c = self.offsets
        is_a, is_b, is_c = self.inside

        def start(memories: Sequence[Any], scalars: Sequence[Any]) -> None:
            x, w, target = memories
            room = allocate(own + plan.way.room)
            base = room.pointer
            if turn is not None:
                turn((x, w, room) if is_a and is_b else (x if is_a else w, room), ())
            addresses = (
                a + (base if is_a else x.pointer),
                b + (base if is_b else w.pointer),
                c + (base if is_c else target.pointer),
            )
            run(plan, (x, w), addresses, base + own)
            if back is not None:
                back((room, target), ())

        return start


@dataclass(slots=True)
class _Ready:
    """A call that comes again.

    Attributes
    ----------
    copied : tuple of bool
        Which operands have to be copied before.
    starts : list of callable
        The ways.  The one that runs is the first one, and the only one after they were
        timed.
    layout : Layout
        Of the result.
    """

    copied: tuple[bool, ...]
    starts: list[Start]
    layout: Layout


# -------------------------------------------------------------------------------- calls
def _run(
    kind: str, raw: Raw, first: GridView, second: GridView, options: dict[str, Any]
) -> GridView | None:
    """Convolve; None where cuDNN has no way to."""
    precision = current().matmul_precision
    dtypes = first.dtype, second.dtype
    key = (kind, first.layout, second.layout, dtypes, precision, *options.values())
    graphs, operands = raw.backend.graphs, (first, second)
    ready = graphs.call(key, _ready, raw, kind, operands, precision, options)
    if ready is None:
        return None
    x, w = first.memory, second.memory
    if not ready.starts or (x.pointer | w.pointer) % TOGETHER:
        views = [
            aligned(raw, view, not is_copied)
            for view, is_copied in zip(operands, ready.copied, strict=True)
        ]
        return _run(kind, raw, views[0], views[1], options)
    found = raw.new(ready.layout.shape, first.dtype)
    blocks = (x, w, found.memory)
    if len(ready.starts) > 1:
        if raw.backend.is_capturing:
            raw.forget()
        else:
            ways = [partial(start, blocks, ()) for start in ready.starts]
            ready.starts = [ready.starts[fastest(raw.backend, ways)]]
    raw.did(ready.starts[0], first, second, found)
    ready.starts[0](blocks, ())
    return GridView(found.memory, ready.layout, first.dtype)


def _ready(
    raw: Raw,
    kind: str,
    operands: Sequence[GridView],
    precision: str,
    options: dict[str, Any],
) -> _Ready | None:
    """What such a call needs; None where cuDNN has no way to."""
    first, second = operands
    dtype: np.dtype[Any] = first.dtype
    size: Sizes = options["kernel" if kind == "wgrad" else "size"]
    last, groups = options["channels_last"], options["groups"]
    if dtype.name not in KINDS or second.dtype != dtype or module() is None:
        return None
    if 0 in (*first.shape, *second.shape, *size) or not 3 <= first.ndim <= 5:
        return None
    one, two = (
        (x.shape[0], x.shape[-1], *x.shape[1:-1]) if is_last else x.shape
        for x, is_last in zip(operands, (last, last and kind == "wgrad"), strict=True)
    )
    if kind == "fprop":
        shape: Sizes = (one[0], two[0], *size)
    elif kind == "dgrad":
        shape = (one[0], groups * two[1], *size)
    else:
        shape = (two[1], one[1] // groups, *size)
    seen = (one, two, shape)
    if last and kind != "wgrad":
        shape = (shape[0], *size, shape[1])
    ready = _Ready(
        tuple([not _is_plain(view) for view in operands]),
        [],
        Layout.plain_for(shape, dtype.itemsize),
    )
    if not any(ready.copied):
        exact = dtype.itemsize == 4 and precision == "ieee"
        ways = _ways(raw, kind, operands, seen, exact, options)
        ready.starts = [way.starter(raw) for way in ways]
        return ready if ways else None
    return ready


def _is_plain(view: GridView) -> bool:
    """Whether a view lies without gaps, from where cuDNN can read it."""
    lies = zip(
        view.shape,
        view.layout.strides,
        dense_strides(view.shape, view.dtype.itemsize),
        strict=True,
    )
    return view.layout.offset % TOGETHER == 0 and all(
        [n == 1 or step == wanted for n, step, wanted in lies]
    )


def _ways(
    raw: Raw,
    kind: str,
    operands: Sequence[GridView],
    seen: tuple[Sizes, Sizes, Sizes],
    exact: bool,
    options: dict[str, Any],
) -> list[_Way]:
    """The ways to compute a call, the best guess first.

    ``seen`` are the shapes of operands and result, channels first.
    """
    dtype, last = operands[0].dtype, options["channels_last"]
    weights = {"fprop": 1, "dgrad": 1, "wgrad": 2}[kind]
    lies = [last and k != weights for k in range(3)]
    products = math.prod(seen[{"fprop": 2, "dgrad": 0, "wgrad": 1}[kind]])
    worth = products * math.prod(seen[weights][1:]) >= WORTH
    found: list[_Way] = []

    def add(turns: list[Turn | None], shapes: list[Sizes], lasts: list[bool]) -> None:
        call = _call(kind, dtype, shapes, lasts, exact, options)
        if call is None:
            return
        notes = INEXACT if exact else ()
        describe = partial(_describe, call, dtype)
        graphs = raw.backend.graphs
        plan = graphs.plan((*call, STEADY), describe, (*notes, STEADY), worth)
        plan = plan or graphs.plan(call, describe, notes, worth)
        if plan is None:
            return
        room, offsets = 0, [view.layout.offset for view in operands]
        given = []
        for k, turn in enumerate(turns[:2]):
            if turn is not None:
                given.append((turn, offsets[k], room))
                offsets[k] = room
                room += -(-turn.nbytes // APART) * APART
        back, offset = None, 0
        if turns[2] is not None:
            offset, size = room, math.prod(shapes[2]) * dtype.itemsize
            room += -(-size // APART) * APART
            back = turner(raw, [(turns[2], offset, 0)])
        found.append(
            _Way(
                plan,
                (offsets[0], offsets[1], offset),
                (turns[0] is not None, turns[1] is not None, back is not None),
                turner(raw, given) if given else None,
                back,
                room,
            )
        )

    if worth and options["groups"] == 1 and not exact:
        together = TOGETHER // dtype.itemsize
        few = seen[0][1] <= together // 2  # of which there are kernels of their own
        for room in (together // 2, together) if few else (together,):
            turned = _turned(kind, seen, lies, dtype.itemsize, room)
            if turned is not None:
                turns, shapes = turned
                add(turns, shapes, [True, True, True])
                if turns[2] is not None:
                    add([*turns[:2], None], shapes, [True, True, lies[2]])
    add([None, None, None], list(seen), lies)
    return found


def _turned(
    kind: str,
    seen: tuple[Sizes, Sizes, Sizes],
    lies: list[bool],
    size: int,
    together: int,
) -> tuple[list[Turn | None], list[Sizes]] | None:
    """What is turned so that all channels are behind, and the shapes that the plan
    sees: channels may be filled up with zeros, to multiples of ``together``.  None
    where that is not to be done."""
    turns: list[Turn | None] = []
    shapes: list[Sizes] = []
    for k, shape in enumerate(seen):
        count, channels, *positions = shape
        room = -(-channels // together) * together
        if room != channels and (kind != "fprop" or k == 2 or lies[0]):
            return None
        places = math.prod(positions)
        turn = Turn(size, count, channels, places, room)
        if k == 2:
            turn = Turn(size, count, places, channels, places)
        is_same = lies[k] or (room == channels and 1 in (channels, places))
        turns.append(None if is_same else turn)
        shapes.append((count, room, *positions))
    return turns, shapes


def _call(
    kind: str,
    dtype: np.dtype[Any],
    shapes: Sequence[Sizes],
    lasts: Sequence[bool],
    exact: bool,
    options: dict[str, Any],
) -> _Call | None:
    """What a graph is to be built for; None where cuDNN would have another size."""
    first, second, result = (_two(shape, 1, 4) for shape in shapes)
    image, weights, outer = {
        "fprop": (first, second, result),
        "dgrad": (result, second, first),
        "wgrad": (first, result, second),
    }[kind]
    low, steps, wide = (
        _two(options[name], fill, 2)
        for name, fill in (("low", 0), ("stride", 1), ("dilation", 1))
    )
    high = _behind(outer[2:], image[2:], weights[2:], low, steps, wide)
    if high is None:
        return None
    seen = (first, second, result)
    strides = [_strides(x, last) for x, last in zip(seen, lasts, strict=True)]
    return _Call(kind, dtype.name, seen, tuple(strides), low, high, steps, wide, exact)


def _two(numbers: Sequence[int], fill: int, least: int) -> Sizes:
    """Numbers for two axes of positions or more."""
    found = tuple([int(n) for n in numbers])
    return (*found, fill) if len(found) < least else found


def _strides(shape: Sizes, last: bool) -> Sizes:
    """Strides of an array without gaps, its channels first or last, in elements."""
    if not last:
        return dense_strides(shape, 1)
    step, *positions, channel = dense_strides((shape[0], *shape[2:], shape[1]), 1)
    return (step, channel, *positions)


def _behind(
    size: Sizes, extent: Sizes, kernel: Sizes, low: Sizes, stride: Sizes, wide: Sizes
) -> Sizes | None:
    """Padding behind, for results of this size; None where cuDNN would have others."""
    found = []
    for n, length, taps, before, step, dilation in zip(
        size, extent, kernel, low, stride, wide, strict=True
    ):
        reach = (taps - 1) * dilation + 1
        after = max(0, (n - 1) * step + reach - before - length)
        if before < 0 or (length + before + after - reach) // step + 1 != n:
            return None
        found.append(after)
    return tuple(found)


def _describe(
    call: _Call, dtype: np.dtype[Any], cudnn: Any, handle: Any
) -> tuple[Any, Sequence[Any]]:
    """The graph of a call."""
    kind, single = kind_of(dtype), cudnn.data_type.FLOAT
    graph = cudnn.pygraph(
        name=call.kind,
        io_data_type=kind,
        intermediate_data_type=single,
        compute_data_type=single,
        handle=handle,
    )
    first, second = (
        graph.tensor(name=f"x{k}", dim=list(dim), stride=list(stride), data_type=kind)
        for k, (dim, stride) in enumerate(
            zip(call.shapes[:2], call.strides[:2], strict=True)
        )
    )
    options: dict[str, Any] = {
        "pre_padding": list(call.low),
        "post_padding": list(call.high),
        "stride": list(call.stride),
        "dilation": list(call.dilation),
    }
    if call.kind == "fprop":
        out = graph.conv_fprop(image=first, weight=second, **options)
    elif call.kind == "dgrad":
        out = graph.conv_dgrad(loss=first, filter=second, **options)
    else:
        out = graph.conv_wgrad(image=first, loss=second, **options)
    out.set_output(True).set_data_type(kind)
    out.set_dim(list(call.shapes[2])).set_stride(list(call.strides[2]))
    return graph, (first, second, out)


# --------------------------------------------------------------------------------- rows
NAMES = {
    "nn.convolution": "fprop",
    "nn.convolution_input_gradient": "dgrad",
    "nn.convolution_weight_gradient": "wgrad",
}


def _row(name: str, kind: str) -> Callable[..., Any]:
    def row(raw: Raw, first: Any, second: Any, **options: Any) -> Any:
        if not (type(first) is GridView and type(second) is GridView):
            return None
        found = _run(kind, raw, first, second, options)
        return found or widened(raw, name, (first, second), options)

    return row


TABLE = {name: _row(name, kind) for name, kind in NAMES.items()}
"""Functions by the name of their rows; each takes a `Raw` first."""
