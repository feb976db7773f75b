"""Convolutions by cuDNN, through its Python front end where that is installed.

A call is a graph of one node.  Building one takes long, so graphs are kept by the
shapes, strides and options that they were built for.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...config import current, logger
from ...errors import LaunchError
from ...layout import Layout
from ...profile import Event, emit
from ..grid.views import GridView

if TYPE_CHECKING:
    from .backend import CudaBackend
    from .raw import Raw

__all__ = ["TABLE", "Convolver"]

SINGLE = np.dtype(np.float32)
"""What cuDNN convolves: `dcarray.nn` computes shorter floats in it as well."""

INEXACT = ("TENSOR_CORE", "DOWN_CONVERT_INPUTS", "WINOGRAD", "FFT")
"""What may round a product or a sum of float32 more than float32 itself does."""

Sizes = tuple[int, ...]


@cache
def _module() -> Any:
    """cuDNN's front end, or None."""
    if importlib.util.find_spec("cudnn") is None:
        return None
    try:
        import cudnn

        cudnn.backend_version()
    except Exception as error:  # of its loader, whatever that raises
        logger().info("cuDNN: %s", error)
        return None
    return cudnn


@dataclass(frozen=True, slots=True)
class _Call:
    """What a graph is built for.

    Attributes
    ----------
    kind : str
        ``"fprop"``, ``"dgrad"`` or ``"wgrad"``.
    shapes, strides : tuple of tuple of int
        Of the two operands and of the result, in elements.
    low, high, stride, dilation : tuple of int
    exact : bool
        Whether float32 is float32.
    """

    kind: str
    shapes: tuple[Sizes, Sizes, Sizes]
    strides: tuple[Sizes, Sizes, Sizes]
    low: Sizes
    high: Sizes
    stride: Sizes
    dilation: Sizes
    exact: bool


@dataclass(frozen=True, slots=True)
class _Graph:
    graph: Any
    tensors: tuple[Any, Any, Any]
    workspace: int


class Convolver:
    """cuDNN on one device.

    Parameters
    ----------
    backend : CudaBackend
    """

    def __init__(self, backend: CudaBackend) -> None:
        self._backend = backend
        self._handle: Any = None
        self._lock = threading.Lock()
        self._graphs: dict[_Call, _Graph | None] = {}

    def run(self, call: _Call, operands: Sequence[GridView], out: GridView) -> bool:
        """Convolve into ``out``; False where cuDNN has no way to."""
        with self._lock:
            if call in self._graphs:
                found = self._graphs[call]
            else:
                found = self._graphs[call] = self._built(call)
            if found is None:
                return False
            self._execute(found, operands, out)
        return True

    def _execute(
        self, found: _Graph, operands: Sequence[GridView], out: GridView
    ) -> None:
        cudnn, backend = _module(), self._backend
        streams = backend.streams
        stream = streams.current
        room = backend.allocate(max(1, found.workspace))
        pointers = [
            view.memory.pointer + view.layout.offset for view in (*operands, out)
        ]
        with streams.entered():
            if streams.several:
                for view in operands:
                    streams.use(view.memory, False, stream)
            cudnn.set_stream(self._handle, stream.pointer)
            try:
                found.graph.execute(
                    dict(zip(found.tensors, pointers, strict=True)),
                    room.pointer,
                    self._handle,
                )
            except RuntimeError as error:
                raise LaunchError(f"cuDNN: {error}", device=backend.device) from None

    def _built(self, call: _Call) -> _Graph | None:
        cudnn, backend = _module(), self._backend
        with backend.streams.entered():
            if self._handle is None:
                self._handle = cudnn.create_handle()
            try:
                found = _graph(cudnn, self._handle, call)
            except (cudnn.cudnnGraphNotSupportedError, RuntimeError) as error:
                logger().info("cuDNN: %s", error)
                return None
        emit(Event("compile", f"cudnn {call.kind}", backend.device))
        return found


def _graph(cudnn: Any, handle: Any, call: _Call) -> _Graph:
    kind = cudnn.data_type.FLOAT
    graph = cudnn.pygraph(
        name=call.kind,
        io_data_type=kind,
        intermediate_data_type=kind,
        compute_data_type=kind,
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
    graph.validate()
    graph.build_operation_graph()
    graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    if call.exact:
        notes = [getattr(cudnn.numerical_note, name) for name in INEXACT]
        graph.deselect_numeric_notes(notes)
    graph.check_support()
    graph.build_plans()
    return _Graph(graph, (first, second, out), int(graph.get_workspace_size()))


# -------------------------------------------------------------------------------- rows
def _image(raw: Raw, x: GridView, channels_last: bool) -> GridView:
    """Images as (batch, channels, positions), without gaps."""
    x = raw.work.dense(x)
    if channels_last:
        x = x.through(lambda a: np.moveaxis(a, -1, 1))
    return x.through(lambda a: a[..., None]) if x.ndim == 3 else x


def _weights(raw: Raw, w: GridView) -> GridView:
    w = raw.work.dense(w)
    return w.through(lambda a: a[..., None]) if w.ndim == 3 else w


def _steps(x: GridView) -> Sizes:
    """Strides in elements; those of axes of length 1 as if nothing were beside them."""
    size = x.dtype.itemsize
    return tuple([max(1, stride // size) for stride in x.layout.strides])


def _two(numbers: Sequence[int], fill: int) -> Sizes:
    """One number for each of two axes or more."""
    found = tuple([int(n) for n in numbers])
    return (*found, fill) if len(found) == 1 else found


def _fits(x: Any, y: Any) -> bool:
    return (
        isinstance(x, GridView)
        and isinstance(y, GridView)
        and x.dtype == y.dtype == SINGLE
        and 0 not in x.shape
        and 0 not in y.shape
        and 3 <= x.ndim <= 5
        and _module() is not None
    )


def _high(
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


def _run(
    raw: Raw,
    kind: str,
    operands: tuple[GridView, GridView],
    out: GridView,
    seen: GridView,
    extents: tuple[Sizes, Sizes, Sizes],
    options: dict[str, Any],
) -> GridView | None:
    """Convolve into ``out``, of which ``seen`` is what cuDNN is shown."""
    size, extent, kernel = extents
    low = _two(options["low"], 0)
    stride, dilation = _two(options["stride"], 1), _two(options["dilation"], 1)
    high = _high(size, extent, kernel, low, stride, dilation)
    if high is None:
        return None
    views = (*operands, seen)
    shapes = tuple([view.shape for view in views])
    steps = tuple([_steps(view) for view in views])
    exact = current().matmul_precision == "ieee"
    call = _Call(
        kind,
        shapes,  # type: ignore[arg-type]
        steps,  # type: ignore[arg-type]
        low,
        high,
        stride,
        dilation,
        exact,
    )
    done = raw.backend.convolver.run(call, operands, seen)
    return out if done else None


def _new(
    raw: Raw, shape: Sizes, dtype: Any, channels_last: bool
) -> tuple[GridView, GridView]:
    """A result of shape (batch, channels, positions), and how cuDNN sees it."""
    if channels_last:
        shape = (shape[0], *shape[2:], shape[1])
    layout = Layout.dense(shape, dtype.itemsize)
    memory = raw.backend.allocate(max(1, layout.size * dtype.itemsize))
    out = GridView(memory, layout, dtype)
    return out, _image(raw, out, channels_last)


def _convolution(
    raw: Raw,
    x: Any,
    w: Any,
    *,
    size: Sizes,
    groups: int,
    channels_last: bool,
    **rest: Any,
) -> GridView | None:
    """``nn.convolution``."""
    if not _fits(x, w) or 0 in size:
        return None
    image, weights = _image(raw, x, channels_last), _weights(raw, w)
    shape = (image.shape[0], weights.shape[0], *size)
    out, seen = _new(raw, shape, x.dtype, channels_last)
    extents = (seen.shape[2:], image.shape[2:], weights.shape[2:])
    return _run(raw, "fprop", (image, weights), out, seen, extents, rest)


def _input_gradient(
    raw: Raw,
    g: Any,
    w: Any,
    *,
    size: Sizes,
    groups: int,
    channels_last: bool,
    **rest: Any,
) -> GridView | None:
    """``nn.convolution_input_gradient``."""
    if not _fits(g, w) or 0 in size:
        return None
    loss, weights = _image(raw, g, channels_last), _weights(raw, w)
    shape = (loss.shape[0], groups * weights.shape[1], *size)
    out, seen = _new(raw, shape, g.dtype, channels_last)
    extents = (loss.shape[2:], seen.shape[2:], weights.shape[2:])
    return _run(raw, "dgrad", (loss, weights), out, seen, extents, rest)


def _weight_gradient(
    raw: Raw,
    x: Any,
    g: Any,
    *,
    kernel: Sizes,
    groups: int,
    channels_last: bool,
    **rest: Any,
) -> GridView | None:
    """``nn.convolution_weight_gradient``."""
    if not _fits(x, g) or 0 in kernel:
        return None
    image, loss = (_image(raw, one, channels_last) for one in (x, g))
    shape = (loss.shape[1], image.shape[1] // groups, *kernel)
    layout = Layout.dense(shape, x.dtype.itemsize)
    memory = raw.backend.allocate(layout.size * x.dtype.itemsize)
    out = GridView(memory, layout, x.dtype)
    seen = _weights(raw, out)
    extents = (loss.shape[2:], image.shape[2:], seen.shape[2:])
    return _run(raw, "wgrad", (image, loss), out, seen, extents, rest)


TABLE: dict[str, Callable[..., GridView | None]] = {
    "nn.convolution": _convolution,
    "nn.convolution_input_gradient": _input_gradient,
    "nn.convolution_weight_gradient": _weight_gradient,
}
"""Functions by the name of their rows; each takes a `Raw` first."""
