"""Streams of a device, and the order of work on memory that several of them use.

As long as a program makes no stream, all runs on the default stream, which is in order
by itself.  From the first other one on, each block of memory remembers the stream that
wrote it last and those that read it since, and a stream waits for another one where it
meets its memory: for all that the other one was given until then.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Sequence
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any

from ...errors import CaptureError
from .driver import failure, failures, runtime

if TYPE_CHECKING:
    from .capture import Capture
    from .memory import Block, Borrowed

__all__ = ["LEGACY", "Event", "Stream", "Streams", "address_of"]

MOST = 32
"""Streams of our own on one device; the next one asked for is one of them again."""

MOST_LANES = 511
"""Of the pool: those of streams, then those of graphs."""

LEGACY = 1
"""What CUDA, and with it DLPack, calls the default stream."""


class Event:
    """A point in the work of a stream.

    Attributes
    ----------
    handle : int
        CUDA's event.
    """

    __slots__ = ("__weakref__", "_home", "handle")

    def __init__(self, home: Streams) -> None:
        self._home = home
        with home.entered():
            home.destroy_dropped()
            self.handle = int(runtime().eventCreate())

    def __del__(self) -> None:
        handle = getattr(self, "handle", 0)
        if handle:
            self._home._dropped.append(handle)  # destroyed later, by who may wait

    @property
    def done(self) -> bool:
        """Whether the work before it has ended."""
        with self._home.entered():
            return int(runtime().eventQuery(self.handle)) == 0

    def synchronize(self) -> None:
        """Wait until the work before it has ended."""
        with self._home.entered():
            runtime().eventSynchronize(self.handle)

    def since(self, earlier: Event) -> float:
        """Seconds from another event to this one, by the device's clock; waits."""
        self.synchronize()
        with self._home.entered():
            return float(runtime().eventElapsedTime(earlier.handle, self.handle)) * 1e-3


class Stream:
    """A stream of a device.

    Attributes
    ----------
    pointer : int
        CUDA's stream; 0 is the default one.
    lane : int
        Of the pool: blocks of a stream are kept for that stream.  Lane 0 is in the
        order of the default stream.
    owner : object
        Whose stream it is, if not ours.
    capture : Capture or None
        What is being captured on it.
    """

    __slots__ = ("__weakref__", "_cupy", "_home", "capture", "lane", "owner", "pointer")

    def __init__(self, home: Streams, pointer: int, lane: int, owner: Any) -> None:
        self._home = home
        self._cupy: Any = None
        self.pointer = pointer
        self.lane = lane
        self.owner = owner
        self.capture: Capture | None = None

    def __repr__(self) -> str:
        return f"<stream {self.pointer:#x} of {self._home.device}>"

    @property
    def of_cupy(self) -> Any:
        """The same stream, for CuPy."""
        found = self._cupy
        if found is None:
            import cupy

            found = cupy.cuda.Stream.null
            if self.pointer:
                found = cupy.cuda.Stream.from_external(self)
            self._cupy = found
        return found

    def __cuda_stream__(self) -> tuple[int, int]:
        """The protocol by which libraries for CUDA exchange streams."""
        return (0, self.pointer)

    @property
    def done(self) -> bool:
        """Whether all that it was given has ended."""
        with self._home.entered():
            return int(runtime().streamQuery(self.pointer)) == 0

    def synchronize(self) -> None:
        """Wait until all that it was given has ended."""
        with self._home.entered():
            runtime().streamSynchronize(self.pointer)

    def record(self, again: Event | None = None) -> Event:
        """An event after what it was given until now; one that there is, if given."""
        event = again or Event(self._home)
        with self._home.entered():
            runtime().eventRecord(event.handle, self.pointer)
        return event

    def wait(self, event: Event) -> None:
        """What it is given from now on begins after an event."""
        with self._home.entered():
            runtime().streamWaitEvent(self.pointer, event.handle)

    def enter(self) -> Token[Stream | None]:
        """Make it the current stream of the calling thread or task."""
        return self._home.enter(self)

    def leave(self, token: Token[Stream | None]) -> None:
        """Make the earlier one current again."""
        self._home.leave(token)


class Streams:
    """The streams of one device.

    Parameters
    ----------
    device : str
    enter : callable
        Makes the device that of the calling thread.

    Attributes
    ----------
    main : Stream
        The default stream, which CuPy and PyTorch use by default, too.
    several : bool
        Whether there ever was another one.
    passed : dict
        Blocks that were given back while other streams than their lane's were using
        them, by their address: the streams.
    """

    def __init__(self, device: str, enter: Any) -> None:
        self.device = device
        self.main = Stream(self, 0, 0, None)
        self.several = False
        self.passed: dict[int, tuple[Stream, ...]] = {}
        self._enter = enter
        self._current: ContextVar[Stream | None] = ContextVar(device, default=None)
        self._made: list[int] = []
        self._given = 0
        self._known: weakref.WeakValueDictionary[int, Stream]
        self._known = weakref.WeakValueDictionary()
        self._lock = threading.RLock()
        self._event = 0
        self._dropped: list[int] = []
        self._lane = MOST
        self._spare: list[Stream] = []

    def entered(self) -> _Entered:
        """The device is that of the calling thread, and errors are dcarray's."""
        return _Entered(self.device, self._enter)

    def destroy_dropped(self) -> None:
        """Destroy the events that nobody has any more."""
        with self._lock:
            while self._dropped:
                runtime().eventDestroy(self._dropped.pop())

    # ----------------------------------------------------------------------- streams
    @property
    def current(self) -> Stream:
        """The stream on which the calling thread or task works."""
        return self._current.get() or self.main

    def enter(self, stream: Stream) -> Token[Stream | None]:
        """See `Stream.enter`.

        Raises
        ------
        CaptureError
            A graph is being captured.
        """
        if self.current.capture is not None:
            raise CaptureError(
                "a function that is captured works on one stream", device=self.device
            )
        return self._current.set(stream)

    def leave(self, token: Token[Stream | None]) -> None:
        """See `Stream.leave`."""
        self._current.reset(token)

    def new(self) -> Stream:
        """A stream of our own."""
        with self._lock:
            self.several = True
            place = self._given % MOST
            self._given += 1
            if place == len(self._made):
                with self.entered():
                    made = runtime().streamCreateWithFlags(runtime().streamNonBlocking)
                self._made.append(int(made))
            return self._of(self._made[place], place + 1, None)

    def of(self, pointer: int, owner: Any = None) -> Stream:
        """The stream of somebody else."""
        with self._lock:
            if pointer in (0, LEGACY):
                return self.main
            self.several = True
            return self._of(pointer, 0, owner)

    def _of(self, pointer: int, lane: int, owner: Any) -> Stream:
        found = self._known.get(pointer)
        if found is None:
            found = self._known[pointer] = Stream(self, pointer, lane, owner)
        return found

    def for_graph(self) -> Stream:
        """A stream on which to capture; nobody else has it until `give_back`.

        Raises
        ------
        CaptureError
            There are as many graphs as there are lanes.
        """
        with self._lock:
            self.several = True
            if self._spare:
                return self._spare.pop()
            if self._lane == MOST_LANES:
                raise CaptureError("too many graphs", device=self.device)
            with self.entered():
                made = runtime().streamCreateWithFlags(runtime().streamNonBlocking)
            self._lane += 1
            return Stream(self, int(made), self._lane, None)

    def give_back(self, stream: Stream) -> None:
        """The graph is gone."""
        self._spare.append(stream)

    # ------------------------------------------------------------------------- order
    def order(self, before: Stream | None, after: Stream) -> None:
        """What ``after`` is given from now on begins after what ``before`` has."""
        before = before or self.main
        if before is after:
            return
        with self._lock:
            if not self._event:
                flags = runtime().eventDisableTiming
                self._event = int(runtime().eventCreateWithFlags(flags))
            runtime().eventRecord(self._event, before.pointer)
            runtime().streamWaitEvent(after.pointer, self._event)
            self.destroy_dropped()

    def reading(self, block: Block | Borrowed, stream: Stream) -> None:
        """A stream is going to read a block."""
        if stream is (block.writer or self.main) or stream in block.readers:
            return
        with self._lock:
            self.order(block.writer, stream)
            block.readers = (*block.readers, stream)

    def writing(self, block: Block | Borrowed, stream: Stream) -> None:
        """A stream is going to write a block."""
        if stream is (block.writer or self.main) and not block.readers:
            return
        with self._lock:
            self.after((block.writer, *block.readers), stream)
            block.writer = stream
            block.readers = ()

    def after(self, streams: Iterable[Stream | None], stream: Stream) -> None:
        """A stream waits for others."""
        for other in dict.fromkeys(streams):
            self.order(other, stream)

    def settle(self, pointer: int, stream: Stream) -> None:
        """A stream gets a block that others may be using still.

        Whoever captures has waited for the whole device before.
        """
        others = self.passed.pop(pointer, None)
        if others is not None and stream.capture is None:
            self.after(others, stream)

    def hand_over(self, block: Block | Borrowed, stream: int | None) -> None:
        """Somebody else is going to use a block, on a stream as DLPack says it.

        Raises
        ------
        BufferError
            DLPack has no such stream.
        """
        if stream == -1:
            return
        if stream == 0 or (stream is not None and stream < 0):
            raise BufferError(
                f"__dlpack__: got stream={stream}, takes None, -1 (no wait), 1, 2 or "
                "the address of a stream"
            )
        if self.current.capture is not None:
            raise CaptureError("nothing leaves a function that is captured")
        after = self.main
        if stream is not None and stream != LEGACY:
            after = Stream(self, stream, 0, None)
        with self.entered():
            self.after((block.writer, *block.readers), after)

    def in_order(self, blocks: Sequence[Any], writes: Sequence[bool]) -> int | None:
        """The address of the current stream if it may use these blocks at once; None if
        there is something to be done before."""
        stream = self._current.get() or self.main
        if stream.capture is not None:
            return None
        for block, is_written in zip(blocks, writes, strict=False):
            if stream is block.writer:
                if is_written and block.readers:
                    return None
            elif is_written or stream not in block.readers:
                return None
        return stream.pointer

    def using(self, arguments: Sequence[Any], writes: Sequence[bool]) -> Stream:
        """The current stream, once it may start a kernel with these arguments.

        Raises
        ------
        CaptureError
            The kernel must not be part of what is captured.
        """
        stream = self.current
        for argument, is_written in zip(arguments, writes, strict=False):
            if hasattr(argument, "pointer"):
                self.use(argument, is_written, stream)
        return stream

    def use(self, block: Block | Borrowed, is_written: bool, stream: Stream) -> None:
        """A stream is going to use a block; see `using`."""
        if stream.capture is not None:
            stream.capture.use(block, is_written)
        elif is_written:
            self.writing(block, stream)
        else:
            self.reading(block, stream)


class _Entered:
    """See `Streams.entered`."""

    __slots__ = ("_device", "_enter")

    def __init__(self, device: str, enter: Any) -> None:
        self._device = device
        self._enter = enter

    def __enter__(self) -> None:
        try:
            self._enter()
        except failures() as error:
            raise failure(error, self._device) from None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, failures()):
            raise failure(error, self._device) from None


def address_of(foreign: Any) -> int:
    """The address of a stream, as the libraries for CUDA say it.

    Raises
    ------
    TypeError
        It is no stream.
    """
    if isinstance(foreign, int):
        return foreign
    protocol = getattr(foreign, "__cuda_stream__", None)
    if protocol is not None:
        found = protocol() if callable(protocol) else protocol
        return int(found[1])
    for name in ("cuda_stream", "ptr", "handle"):
        found = getattr(foreign, name, None)
        if found is not None:
            return int(found)
    raise TypeError(
        f"stream: got {type(foreign).__name__}, takes a stream of CuPy or PyTorch, its "
        "address, or an object with __cuda_stream__"
    )
