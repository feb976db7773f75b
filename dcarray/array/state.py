"""What an array is: a value seen through a layout, or an array of the host.

`ArrayState` holds the four fields and the ways in and out of them.  An array whose
memory is on the host and up to date keeps the NumPy array that shows it in ``_host``;
small results begin that way and get a graph value only when one is needed.
"""

from __future__ import annotations

import weakref
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np

from .. import native
from ..backends.buffer import Buffer
from ..backends.registry import AUTO, Device, backend_for
from ..dtypes import DType
from ..errors import UnsupportedError
from ..layout import Layout, view_host
from ..lazy import execute, graph, recover
from ..lazy.elements import element
from ..lazy.graph import Binding, Read, State, Value, View, binding_of
from ..lazy.host_views import host_layout, host_view

__all__ = [
    "NUMBERS",
    "is_writeable",
    "ArrayState",
    "HostArray",
    "check_dtype",
    "host_sibling",
    "is_foreign",
    "known",
    "of_host",
    "settled",
    "showing",
    "writable",
]

HostArray: TypeAlias = np.ndarray[Any, Any]

NUMBERS = (int, float, complex, bool)
"""Python's types of numbers."""

Array = TypeVar("Array", bound="ArrayState")


class ArrayState:
    """The fields of an array.

    Attributes
    ----------
    _host : numpy.ndarray or None
        The array's elements on the host, while they are up to date there.
    _binding : Binding or None
        The graph's value, shared by all views; None until the graph knows the array.
    _view : View or None
        How the array lies in its value's memory.
    _device : Device
        The label.
    _locked : bool
        Whether the array is read-only although its memory is not.
    """

    __slots__ = ("__weakref__", "_binding", "_device", "_host", "_locked", "_view")

    _host: HostArray | None
    _binding: Binding | None
    _view: View | None
    _device: Device
    _locked: bool

    # ----------------------------------------------------------------------- making
    @classmethod
    def _of_host(cls, array: HostArray, device: Device = AUTO) -> Self:
        """Show memory of the host that nobody else knows.

        On a named device it is copied there when it is first needed.
        """
        if device.is_named:
            check_dtype(array.dtype, device)
            buffer = Buffer.of_host(array)
            layout = Layout.of(array, buffer.start)
            return cls._of_buffer(buffer, layout, array.dtype, device)
        return of_host(cls, array, device)

    @classmethod
    def _of_shared(cls, array: HostArray, device: Device = AUTO) -> Self:
        """Show memory of the host that somebody else can write at any time."""
        self = cls._of_host(array, device)
        self._bind(shared=True)
        return self

    @classmethod
    def _of_value(cls, value: Value) -> Self:
        """Show a value, all of it."""
        return showing(cls, value)

    @classmethod
    def _of_buffer(
        cls, buffer: Buffer, layout: Layout, dtype: DType, device: Device
    ) -> Self:
        """Show memory that the caller hands over."""
        plain = Layout.plain_for(layout.shape, dtype.itemsize)
        if plain == layout:
            layout = plain  # the one that the short ways know
        self = native.new(ArrayState, cls)
        value = graph.stored(buffer, layout, dtype, device)
        self._host = None
        self._binding = binding_of(value)
        self._view = value.view
        self._device = device
        self._locked = False
        return self

    @classmethod
    def _empty(cls, shape: tuple[int, ...], dtype: DType, device: Device) -> Self:
        """Memory with no particular content, in C order."""
        if not device.is_named:
            return cls._of_host(np.empty(shape, dtype), device)
        check_dtype(dtype, device)
        layout = Layout.dense(shape, dtype.itemsize)
        buffer = recover.empty(layout.size * dtype.itemsize, str(device))
        return cls._of_buffer(buffer, layout, dtype, device)

    def _sibling(self, layout: Layout, dtype: DType) -> Self:
        """Another view of the same memory."""
        if not layout.offset and self._device.is_named:
            plain = Layout.plain_for(layout.shape, dtype.itemsize)
            if plain == layout:
                layout = plain  # the one that the short ways know
        return self._seen(View.of(layout, dtype))

    def _seen(self, shown: View) -> Self:
        """Another view of the same memory, given as what the graph has of it."""
        binding = self._bind()
        if self._device.is_named and binding._root is None:
            value = binding._value
            if value is not None and self._view is value.view:
                binding._root = native.reference(self)  # it shows all: the views' base
        view = native.new(ArrayState, type(self))
        view._host = None
        view._binding = binding
        view._view = shown
        view._device = self._device
        view._locked = self._locked
        return view

    def _host_sibling(self, array: HostArray) -> Self:
        """A view of the same memory, given as a NumPy view of ``_host``."""
        return host_sibling(self, array)

    # --------------------------------------------------------------------- the graph
    def _bind(self, shared: bool = False) -> Binding:
        """Make the array known to the graph."""
        binding = self._binding
        if binding is None:
            host = self._host
            assert host is not None
            if shared:
                buffer = Buffer.of_host(host, shared)
                layout = host_layout(host, buffer)
                value = graph.stored(buffer, layout, host.dtype, self._device)
                binding = binding_of(value)
            else:
                binding = binding_of(None, host, self._device)
            self._binding = binding
            binding.hosts.append(weakref.ref(self))
        return binding

    def _read(self) -> Read:
        """The array as an operand."""
        value = known(self)
        view = self._view
        assert view is not None
        return Read(value, view[0], view[1])

    def _is_shared(self) -> bool:
        """Whether somebody outside can write the memory now."""
        binding = self._binding
        if binding is None or binding._value is None:
            return False
        buffer = binding._value.buffer
        return buffer is not None and buffer._sharer is not None and buffer.is_shared

    def _is_pending(self) -> bool:
        binding = self._binding
        return binding is not None and (
            binding._value is not None and binding._value.state != State.STORED
        )

    def _before_write(self) -> None:
        """Run what must happen before somebody writes to the memory."""
        binding = self._binding
        if binding is not None and binding._value is not None:
            value = binding._value
            if value.state != State.STORED:
                execute.evaluate((value,))
            if value.readers is not None:
                execute.flush_readers(value)

    # ---------------------------------------------------------------------- the host
    def _array(self) -> HostArray:
        """The elements as a NumPy array on the host, for reading.

        Evaluates, and copies from the device if it must.  Inside dcarray only: what
        leaves the library goes through `export`.
        """
        host = self._host
        if host is not None:
            return host
        read = self._read()
        if read.value.state != State.STORED:
            if self._device.is_named:
                found = element(read.value)
                if found is not None:
                    return view_host(found, read.layout, read.dtype)
            execute.evaluate((read.value,))
        host = execute.host_view(read)
        if self._locked:
            host.flags.writeable = False
        if not self._device.is_named:
            self._host = host
            assert self._binding is not None
            self._binding.remember_host(self)
        return host

    def _settled(self) -> HostArray | None:
        """The elements on the host if reading them costs nothing, else None."""
        return settled(self)

    def _writable_array(self) -> HostArray:
        """The elements on the host, for writing: what wants to read them has run, and
        copies on other devices are stale afterwards."""
        self._before_write()
        host = self._host
        if host is not None:
            binding = self._binding
            if binding is not None and binding._value is not None:
                buffer = binding._value.buffer
                assert buffer is not None
                buffer.write_on(backend_for("cpu"))
            return host
        host = self._array()
        buffer = self._bind().value.buffer
        assert buffer is not None
        buffer.write_on(backend_for("cpu"))
        return host

    def _forget_host(self) -> None:
        """The memory was written on a device: what the host has is stale."""
        host = self._host
        if host is not None:
            self._read()  # how the array lies in its memory
            if not host.flags.writeable:
                self._locked = True
            self._host = None

    # ------------------------------------------------------------------------- shape
    @property
    def _layout(self) -> Layout:
        if self._view is not None:
            return self._view[0]
        return self._read().layout

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes; assigning reshapes in place."""
        host = self._host
        return host.shape if host is not None else self._view[0].shape  # type: ignore[index]

    @property
    def dtype(self) -> DType:
        """Data type of the elements."""
        host = self._host
        return host.dtype if host is not None else self._view[1]  # type: ignore[index]

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes to step along each axis."""
        host = self._host
        return host.strides if host is not None else self._view[0].strides  # type: ignore[index]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        host = self._host
        return host.ndim if host is not None else len(self._view[0].shape)  # type: ignore[index]

    @property
    def size(self) -> int:
        """Number of elements."""
        host = self._host
        return host.size if host is not None else self._view[0].size  # type: ignore[index]


def showing(cls: type[Array], value: Value) -> Array:
    """An array that shows a value, all of it."""
    array = native.new(ArrayState, cls)
    array._host = None
    array._binding = binding_of(value)
    array._view = value.view
    array._device = value.device
    array._locked = False
    return array


def of_host(cls: type[Array], array: HostArray, device: Device) -> Array:
    """An array that shows memory of the host that nobody else knows."""
    x = native.new(ArrayState, cls)
    x._host = array
    x._binding = None
    x._view = None
    x._device = device
    x._locked = False
    return x


def settled(x: ArrayState) -> HostArray | None:
    """The elements on the host if reading them costs nothing, else None."""
    host = x._host
    if host is not None or x._device.is_named:
        return host
    binding = x._binding
    assert binding is not None
    value = binding.value
    if (
        value.state != State.STORED
        or value.buffer is None
        or not value.buffer.is_valid_on("cpu")
    ):
        return None
    return x._array()


def known(x: ArrayState) -> Value:
    """What the graph has of an array; ``x._view`` is there from now on."""
    binding = x._binding
    if binding is None:
        binding = x._bind()
    value = binding._value
    if value is None:
        value = binding._made()
    if x._view is None:
        host, buffer = x._host, value.buffer
        assert host is not None and buffer is not None
        x._view = host_view(host, buffer)
    return value


def writable(x: ArrayState) -> HostArray:
    """`ArrayState._writable_array`, for arrays that the graph may not know."""
    host = x._host
    binding = x._binding
    if host is not None and (binding is None or binding._value is None):
        return host
    return x._writable_array()


def host_sibling(x: Array, array: HostArray) -> Array:
    """A view of the same memory, given as a NumPy view of ``x._host``."""
    binding = x._binding
    if binding is None:
        binding = x._bind()
    view = native.new(ArrayState, type(x))
    view._host = array
    view._binding = binding
    view._view = None
    view._device = x._device
    view._locked = x._locked
    hosts = binding.hosts
    if not native.replaced(hosts, view):  # as views come and go in a loop
        if len(hosts) < 16:
            hosts.append(native.reference(view))
        else:
            binding.remember_host(view)
    return view


def is_writeable(x: ArrayState) -> bool:
    """Whether elements can be assigned."""
    host = x._host
    return host.flags.writeable if host is not None else not x._locked


def is_foreign(x: object) -> bool:
    """Whether ``x`` is a NumPy array, and none of ours in a NumPy program's eyes."""
    return not isinstance(x, ArrayState) and isinstance(x, np.ndarray)


def check_dtype(dtype: DType, device: Device) -> None:
    """Refuse a dtype that a named device does not have.

    Raises
    ------
    UnsupportedError
        Arrays of this dtype cannot be on ``device``.
    """
    if not device.is_named:
        return
    backend = backend_for(str(device))
    if dtype not in backend.supported:
        listed = ", ".join(sorted(map(str, backend.supported)))
        raise UnsupportedError(f"{device}: no arrays of {dtype}; it has {listed}")
