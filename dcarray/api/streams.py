"""Streams of CUDA devices, and memory of the host that they reach fastest."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any, Self

import numpy as np

from ..backends.exchange import Streaming
from ..backends.registry import Device, backend_for, counted, device_of
from ..errors import UnsupportedError

__all__ = ["Stream", "pinned_empty", "stream"]


class Stream:
    """A queue of work on a device; made by `dcarray.stream`.

    As a context it is where the calling thread, or task, launches work.  An expression
    runs where it is evaluated: ``dc.evaluate`` inside of the block says so.  Where
    arrays of one stream are used on another one, that one waits by itself.

    Devices other than CUDA's have one queue: there it changes nothing.
    """

    def __init__(self, device: Device, made: Any) -> None:
        self.device = device
        self._made = made
        self._entered = threading.local()

    def __repr__(self) -> str:
        return f"<stream of {self.device}: {self._made!r}>"

    def __enter__(self) -> Self:
        tokens = self._entered.__dict__.setdefault("tokens", [])
        tokens.append(None if self._made is None else self._made.enter())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        token = self._entered.tokens.pop()
        if self._made is not None:
            self._made.leave(token)

    def __cuda_stream__(self) -> tuple[int, int]:
        """Version and address, for other libraries.

        Raises
        ------
        AttributeError
            It is no stream of CUDA's.
        """
        if self._made is None:
            raise AttributeError(f"{self.device} has no streams")
        found: tuple[int, int] = self._made.__cuda_stream__()
        return found

    @property
    def done(self) -> bool:
        """Whether all that was launched on it has ended."""
        if self._made is None:
            backend_for(str(self.device)).synchronize()
            return True
        return bool(self._made.done)

    def synchronize(self) -> None:
        """Wait until all that was launched on it has ended."""
        if self._made is None:
            backend_for(str(self.device)).synchronize()
        else:
            self._made.synchronize()

    def record(self) -> Any:
        """An event after what was launched on it: it has ``done``, ``synchronize()``
        and ``since(earlier)``, the seconds between two events on the device.

        Raises
        ------
        UnsupportedError
            The device has no streams, and no events.
        """
        return self._of_cuda("record").record()

    def wait(self, event: Any) -> None:
        """What is launched on it from now on begins after an event.

        Raises
        ------
        UnsupportedError
            The device has no streams, and no events.
        """
        self._of_cuda("wait").wait(event)

    def _of_cuda(self, what: str) -> Any:
        if self._made is None:
            raise UnsupportedError(f"{what}: {self.device} has no events")
        return self._made


def stream(foreign: Any = None, /, *, device: str | Device | None = None) -> Stream:
    """A stream, to be used as a context.

    Parameters
    ----------
    foreign : optional
        The stream of another library, instead of a new one: CuPy's, PyTorch's, any
        object with ``__cuda_stream__``, or its address.  0 is the default stream.
    device : str or Device, optional
        The first CUDA device if there is one, else ``"cpu"``.

    Returns
    -------
    Stream

    Raises
    ------
    TypeError
        ``foreign`` is no stream.

    Examples
    --------
    >>> import dcarray as dc
    >>> x = dc.ones(1000)
    >>> with dc.stream():
    ...     y = x * 2
    ...     dc.evaluate(y)
    """
    if device is None:
        device = "cuda:0" if counted("cuda") else "cpu"
    found = device_of(device, "cpu")
    backend: object = None
    if found.kind not in ("auto", "cpu"):
        backend = backend_for(str(found))
    made = backend.stream(foreign) if isinstance(backend, Streaming) else None
    return Stream(found, made)


def pinned_empty(
    shape: int | tuple[int, ...], dtype: Any = float, order: Any = "C"
) -> np.ndarray[Any, Any]:
    """A NumPy array whose memory GPUs reach directly, with no particular content.

    Arrays go to a CUDA device and come back (`DeviceArray.get` with ``out=``) some
    times as fast from it as from other memory.  There is not much of it: keep it and
    use it again.  Without a CUDA device it is ordinary memory.

    Parameters
    ----------
    shape, dtype, order
        As in `numpy.empty`.

    Returns
    -------
    numpy.ndarray

    Examples
    --------
    >>> import dcarray as dc
    >>> host = dc.pinned_empty((1000, 1000), dc.float32)
    >>> host[...] = 1
    >>> x = dc.asarray(host)
    """
    wanted = np.dtype(dtype)
    if not counted("cuda") or wanted.hasobject:
        return np.empty(shape, wanted, order)
    from ..backends.cuda.transfers import pinned  # needs CuPy

    lengths = (shape,) if isinstance(shape, int) else tuple(shape)
    size = int(np.prod(lengths, dtype=np.int64)) * wanted.itemsize
    flat = pinned(size).view(wanted)
    shaped: np.ndarray[Any, Any] = flat.reshape(lengths, order=order)
    return shaped
