"""The exceptions that dcarray adds to Python's and NumPy's own.

::

    Exception
    ├── RuntimeError
    │   └── DeviceError              something went wrong on a device
    │       ├── CompileError         a kernel did not compile
    │       ├── LaunchError          a kernel did not start, or failed while it ran
    │       ├── OutOfMemoryError     (also a MemoryError)
    │       ├── DeviceLostError      the device will not answer again
    │       ├── CaptureError         a function cannot become a graph, see graph()
    │       └── ValidationError      two devices disagree, see config(validate=...)
    ├── ValueError
    │   ├── DeviceMismatchError      one operation, two named devices
    │   └── ConfigError              a setting that is unknown or has a wrong value
    └── TypeError
        ├── UnsupportedError         the device has no such dtype or operation
        ├── DTypeError               an operation does not take this dtype
        └── KernelTypeError          a kernel does not take these types
    SyntaxError
        └── KernelSyntaxError        a construct outside the kernel language

Mistakes that NumPy knows keep NumPy's own types (`ValueError`, `IndexError`,
`numpy.exceptions.AxisError` ...).
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "CaptureError",
    "CompileError",
    "ConfigError",
    "DTypeError",
    "DeviceError",
    "DeviceLostError",
    "DeviceMismatchError",
    "KernelSyntaxError",
    "KernelTypeError",
    "LaunchError",
    "OutOfMemoryError",
    "UnsupportedError",
    "ValidationError",
]


class DeviceError(RuntimeError):
    """A device failed at work that was right in itself.

    Parameters
    ----------
    message : str
        What happened.
    device : str
        Label of the device, ``"cuda:0"`` for example.
    code : int or str, optional
        The driver's own error code.
    kernel : str, optional
        Name of the kernel.
    source : str, optional
        The generated source text.
    source_line : str, optional
        ``file:line`` of the user's code that recorded the operation.
    grid : tuple of int, optional
        Launch size.
    memory : str, optional
        Memory statistics at the time.
    hint : str, optional
        What the user can do about it.
    transient : bool
        Whether the same work may succeed when it is tried again.
    """

    def __init__(
        self,
        message: str,
        *,
        device: str = "",
        code: int | str | None = None,
        kernel: str | None = None,
        source: str | None = None,
        source_line: str | None = None,
        grid: tuple[int, ...] | None = None,
        memory: str | None = None,
        hint: str | None = None,
        transient: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.device = device
        self.code = code
        self.kernel = kernel
        self.source = source
        self.source_line = source_line
        self.grid = grid
        self.memory = memory
        self.hint = hint
        self.transient = transient

    def __str__(self) -> str:
        facts = {
            "device": self.device or None,
            "code": self.code,
            "kernel": self.kernel,
            "recorded at": self.source_line,
            "grid": self.grid,
            "memory": self.memory,
            "hint": self.hint,
        }
        known = [
            f"{name}: {value}" for name, value in facts.items() if value is not None
        ]
        return "; ".join([self.message, *known])


class CompileError(DeviceError):
    """A kernel did not compile; the message carries the compiler's own words."""


class LaunchError(DeviceError):
    """A kernel did not start, or failed while it ran."""


class OutOfMemoryError(DeviceError, MemoryError):
    """A device has no room, also after trimming and spilling."""


class DeviceLostError(DeviceError):
    """The device will not answer again in this process."""


class CaptureError(DeviceError):
    """A function that is captured does what a graph of launches cannot repeat."""


class ValidationError(DeviceError):
    """The result of a group is not what a second device computed.

    `source` is the text of the kernel.

    Parameters
    ----------
    message : str
    index : tuple of int
        The first element that differs, in C order.
    got, wanted : NumPy scalar
        What the device and the second device have there.
    bound : float
        How far apart they may be.
    inputs : dict
        What the group read there, by name: ``leaf0`` ... and ``scalar0`` ...; for a
        reduction the whole row.
    **facts
        As for `DeviceError`.
    """

    def __init__(
        self,
        message: str,
        *,
        index: tuple[int, ...],
        got: Any,
        wanted: Any,
        bound: float,
        inputs: dict[str, Any],
        **facts: Any,
    ) -> None:
        super().__init__(message, **facts)
        self.index = index
        self.got = got
        self.wanted = wanted
        self.bound = bound
        self.inputs = inputs


class DeviceMismatchError(ValueError):
    """Two arrays on two different named devices meet in one operation."""


class ConfigError(ValueError):
    """A setting is unknown, or its value is none that the setting takes."""


class UnsupportedError(TypeError):
    """The device lacks a dtype or an operation, and moving on was not allowed."""


class DTypeError(TypeError):
    """An operation does not take arrays of this dtype."""


class KernelSyntaxError(SyntaxError):
    """Kernel source uses a construct that the kernel language does not have."""


class KernelTypeError(TypeError):
    """A kernel does not take arguments of these types; the message shows the place.

    Parameters
    ----------
    message : str
        What is wrong.
    filename, lineno, offset, text, end_lineno, end_offset
        The place, as for `SyntaxError`.
    """

    def __init__(
        self,
        message: str,
        filename: str = "",
        lineno: int = 0,
        offset: int = 0,
        text: str = "",
        end_lineno: int = 0,
        end_offset: int = 0,
    ) -> None:
        super().__init__(
            message, filename, lineno, offset, text, end_lineno, end_offset
        )
        self.msg = message
        self.filename = filename
        self.lineno = lineno
        self.offset = offset
        self.text = text
        self.end_lineno = end_lineno
        self.end_offset = end_offset

    def __str__(self) -> str:
        if not self.filename:
            return self.msg
        line = self.text.rstrip()
        end = self.end_offset - 1 if self.end_lineno == self.lineno else len(line)
        blank = len(line) - len(line.lstrip())
        carets = "^" * max(1, end - self.offset + 1)
        return (
            f'{self.msg}\n  File "{self.filename}", line {self.lineno}\n'
            f"    {line.lstrip()}\n    {' ' * (self.offset - 1 - blank)}{carets}"
        )
