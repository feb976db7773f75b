"""Launches, captured as a graph of CUDA's that runs again at one call."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...errors import CaptureError
from .driver import failure, failures, runtime

if TYPE_CHECKING:
    from .backend import CudaBackend
    from .memory import Block, Borrowed
    from .streams import Stream

__all__ = ["Capture", "Graph", "captured"]


class Capture:
    """What the launches use that are captured.

    Attributes
    ----------
    own : dict
        Blocks that were made meanwhile, by identity: nobody else gets them as long as
        the graph lives.
    others : dict
        Blocks that are read, by identity.
    workspace : Block or None
        Memory for cuBLAS.
    kept : list
        What else has to live as long as the graph.
    """

    def __init__(self, device: str) -> None:
        self._device = device
        self.workspace: Block | None = None
        self.own: dict[int, Block] = {}
        self.others: dict[int, Block | Borrowed] = {}
        self.kept: list[Any] = []

    def use(self, block: Block | Borrowed, is_written: bool) -> None:
        """A kernel or a copy uses a block.

        Raises
        ------
        CaptureError
            It writes one that is not of the graph's own making.
        """
        if id(block) in self.own:
            return
        if is_written:
            self.refuse(
                "writes an array that was there before",
                "return the new values instead of assigning them",
            )
        self.others[id(block)] = block

    def refuse(self, what: str, hint: str) -> None:
        """Say what a captured function must not do.

        Raises
        ------
        CaptureError
            Always.
        """
        raise CaptureError(f"the function {what}", device=self._device, hint=hint)

    def refuse_reading(self) -> None:
        """The same of what the host reads.

        Raises
        ------
        CaptureError
            Always.
        """
        self.refuse(
            "reads an array on the host",
            "such values, and shapes that depend on them, differ at each call",
        )


class Graph:
    """Captured launches.

    Attributes
    ----------
    own, others : dict
        As of `Capture`.
    """

    def __init__(
        self, backend: CudaBackend, stream: Stream, capture: Capture, handle: int
    ) -> None:
        self._backend = backend
        self._stream = stream
        self._last = stream
        self._handle = handle
        self.own = capture.own
        self.others = capture.others
        self._kept = capture.kept

    def launch(self) -> None:
        """Run it on the current stream.

        Raises
        ------
        DeviceError
            It failed.
        """
        streams = self._backend.streams
        stream = streams.current
        if stream.capture is not None:
            raise CaptureError(
                "a graph runs inside of a function that is captured",
                device=self._backend.device,
            )
        with streams.entered():
            streams.order(self._last, stream)
            for block in self.others.values():
                streams.reading(block, stream)
            runtime().graphLaunch(self._handle, stream.pointer)
        self._last = stream

    def copy_in(self, source: Any, start: int, target: Block, nbytes: int) -> None:
        """Bytes of a block, from ``start`` on, become those of one that it reads."""
        backend = self._backend
        stream = backend.streams.current
        if stream is not self._last:
            with backend.streams.entered():
                backend.streams.order(self._last, stream)
            self._last = stream
        backend.copy(source, start, target, nbytes)

    def __del__(self, is_ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if is_ending():
            return
        for block in self.own.values():
            block.writer = self._last
        backend = self._backend
        with contextlib.suppress(*backend._failures):
            backend._enter()
            backend._runtime.graphExecDestroy(self._handle)
        backend.streams.give_back(self._stream)


def captured(backend: CudaBackend, function: Callable[[], Any]) -> tuple[Any, Graph]:
    """Call a function; its launches do not run, and become a graph.

    Raises
    ------
    CaptureError
        The function does what cannot be repeated.
    """
    streams = backend.streams
    backend.synchronize()
    stream = streams.for_graph()
    capture = Capture(backend.device)
    graph = 0
    token = stream.enter()
    stream.capture = capture
    try:
        with streams.entered():
            mode = runtime().streamCaptureModeRelaxed
            runtime().streamBeginCapture(stream.pointer, mode)
        try:
            result = function()
        except BaseException:
            with contextlib.suppress(*failures()):
                runtime().graphDestroy(runtime().streamEndCapture(stream.pointer))
            raise
        graph = int(runtime().streamEndCapture(stream.pointer))
        handle = int(runtime().graphInstantiate(graph))
    except BaseException as error:
        streams.give_back(stream)
        if isinstance(error, failures()):
            raise failure(error, backend.device, CaptureError) from None
        raise
    finally:
        stream.capture = None
        stream.leave(token)
        if graph:
            runtime().graphDestroy(graph)
    return result, Graph(backend, stream, capture, handle)
