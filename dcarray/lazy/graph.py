"""The graph of deferred work.

An `Expr` is an operation on operands; a `Value` is one of its results, or memory that
already exists::

    pending ──► running ──► stored
       │           └──────► failed
       └─ dropped when nobody refers to it

A `Binding` stands between arrays and a value: all views of one array share it, so that
`c += e` can give a pending `c` another value and every view sees that.

One lock guards the graph.  Kernels run outside it.
"""

from __future__ import annotations

import os
import weakref
from typing import Any, NamedTuple, TypeAlias

from .. import native
from ..backends.buffer import Buffer
from ..backends.registry import AUTO, Device
from ..dtypes import DType
from ..layout import Layout, Shape
from ..ops.program import Inner
from ..ops.spec import Op, Signature
from .callers import Place, line_of
from .host_views import host_view
from .locking import new_lock
from .views import View

__all__ = [
    "Binding",
    "Expr",
    "Form",
    "Operand",
    "Read",
    "State",
    "Value",
    "View",
    "binding_of",
    "expr_of",
    "lock",
    "pending_readers",
    "stored",
    "value_of",
]

lock = new_lock()


class State:
    """What a `Value` can be."""

    PENDING = "pending"
    RUNNING = "running"
    STORED = "stored"
    FAILED = "failed"


_PENDING, _STORED = State.PENDING, State.STORED


class Read(NamedTuple):
    """A value as an operation sees it: through a layout, as elements of a dtype."""

    value: Value
    layout: Layout
    dtype: DType


Operand: TypeAlias = Read | Any
"""A `Read`, or a number: a Python number (weak) or a NumPy scalar."""


class Value:
    """What one or more arrays show."""

    __slots__ = (
        "__weakref__",
        "binding",
        "buffer",
        "device",
        "dtype",
        "error",
        "expr",
        "layout",
        "mark",
        "output",
        "readers",
        "slot",
        "state",
        "view",
    )

    view: View
    layout: Layout
    dtype: DType
    device: Device
    expr: Expr | None
    output: int
    buffer: Buffer | None
    state: str
    binding: weakref.ref[Binding] | None
    readers: list[weakref.ref[Value]] | None
    error: BaseException | None
    mark: int
    slot: int

    @property
    def nodes(self) -> int:
        """Operations that must run for this value, 0 once it is stored."""
        return 0 if self.expr is None else self.expr.nodes

    def is_bound(self) -> bool:
        """Whether an array still shows this value."""
        return self.binding is not None and self.binding() is not None


class Binding:
    """What all views of one array share: the value that they show now.

    Memory of the host that no expression has read yet needs no value: ``root`` is the
    array that shows it, and the value is made when somebody asks for it.  On a named
    device it refers to the array that the views were made of.

    ``hosts`` are the arrays that keep a NumPy array of the host's memory.  ``former``
    is the stored value before operations in place that have not run yet: its memory is
    where they will go.
    """

    __slots__ = ("__weakref__", "_device", "_root", "_value", "former", "hosts")

    _value: Value | None
    _root: Any
    _device: Device
    former: weakref.ref[Value] | None
    hosts: list[weakref.ref[Any]]

    @property
    def value(self) -> Value:
        """The value that the arrays show."""
        value = self._value
        return self._made() if value is None else value

    def _made(self) -> Value:
        with lock:
            if self._value is None:
                root = self._root
                buffer = Buffer.of_host(root)
                view = host_view(root, buffer)
                value = value_of(view, self._device, None, 0, buffer)
                value.binding = native.reference(self)
                self._value = value
                self._root = None
            return self._value

    def remember_host(self, array: Any) -> None:
        """An array keeps a NumPy array of the host's memory from now on."""
        hosts = self.hosts
        if len(hosts) >= 16 and len(hosts) & (len(hosts) - 1) == 0:
            hosts[:] = [reference for reference in hosts if reference() is not None]
        hosts.append(weakref.ref(array))

    def forget_hosts(self) -> None:
        """The host's memory is stale: the arrays must ask for it again."""
        for reference in self.hosts:
            array = reference()
            if array is not None:
                array._forget_host()
        self.hosts.clear()

    def rebind(self, value: Value) -> None:
        """Show another value of the same shape and dtype."""
        before = self.value
        before.binding = None
        if before.state == _STORED:
            self.former = native.reference(before)
        self._value = value
        value.binding = native.reference(self)


def value_of(
    view: View,
    device: Device,
    expr: Expr | None = None,
    output: int = 0,
    buffer: Buffer | None = None,
) -> Value:
    """A new `Value`: a result of an expression, or what is in a buffer."""
    # Not `Value(...)`: a constructor takes longer, compiled, than all of this.
    value = Value.__new__(Value)
    value.view = view
    value.layout = native.item(view, 0)
    value.dtype = native.item(view, 1)
    value.device = device
    value.expr = expr
    value.output = output
    value.buffer = buffer
    value.state = _STORED if expr is None else _PENDING
    value.binding = None
    value.readers = None
    value.error = None
    value.mark = value.slot = 0
    return value


def binding_of(value: Value | None, root: Any = None, device: Device = AUTO) -> Binding:
    """A new `Binding` to a value, or to memory of the host."""
    binding = Binding.__new__(Binding)
    binding._value = value
    binding._root = root
    binding._device = device
    binding.former = None
    binding.hosts = []
    if value is not None:
        value.binding = native.reference(binding)
    return binding


class Form:
    """What an operation on operands that lie so comes to: all that does not depend on
    the elements, the device and the moment.  It is compared by its identity.

    Attributes
    ----------
    op : Op
    signature : Signature
        The loop's dtypes.  An operand of another dtype is converted first.
    shape : tuple of int
    inputs : tuple of View and None
        How each operand is seen; None for a number.
    arrays : tuple of int
        The places of operands that are no numbers, the last one first.
    fits : tuple of bool
        Whether each operand has the shape of the result, or is a number.
    inner : tuple of Inner
        For each input, the stride that NumPy's own loop would see.
    inner_axis : int or None
        The axis of NumPy's inner loop, if a repeated or strided operand makes the
        result depend on it.
    outputs : tuple of View
        The results.
    plain : bool
        Whether all arrays in it, and its results, have the one C-contiguous layout of
        ``shape``.
    device : Device or None
        A named device that is known to have the results' dtypes.
    model : Form or None
        The one of which it is a copy for operands that begin elsewhere, see `models`.
    kin : Kin or None
        What it shares with others that lie elsewhere, see `alike`.
    plan : Plan or None
        How a group of this one operation runs, see `known.find`.
    patterns : list of Pattern or None
        Groups that ended in this operation, see `again`.
    number : tuple or None
        The last number that was an operand, and what it is in the loop.
    """

    __slots__ = (
        "arrays",
        "device",
        "fits",
        "inner",
        "inner_axis",
        "inputs",
        "kin",
        "model",
        "number",
        "op",
        "outputs",
        "patterns",
        "plain",
        "plan",
        "shape",
        "signature",
    )

    def __init__(
        self,
        op: Op,
        signature: Signature,
        shape: Shape,
        inputs: tuple[View | None, ...],
        inner: tuple[Inner, ...],
        inner_axis: int | None,
        outputs: tuple[View, ...],
        plain: bool,
    ) -> None:
        self.op = op
        self.signature = signature
        self.shape = shape
        self.inputs = inputs
        self.arrays = tuple(
            [place for place, view in enumerate(inputs) if view is not None][::-1]
        )
        self.fits = tuple([view is None or view[0].shape == shape for view in inputs])
        self.inner = inner
        self.inner_axis = inner_axis
        self.outputs = outputs
        self.plain = plain
        self.device: Device | None = None
        self.model: Form | None = None
        self.plan: Any = None
        self.kin: Any = None
        self.patterns: list[Any] | None = None
        self.number: tuple[Any, Any] | None = None

    @property
    def kind(self) -> tuple[Any, ...]:
        """The same for all shapes, where it is plain."""
        dtypes = [None if view is None else view[1] for view in self.inputs]
        return (self.op, self.signature, *dtypes)


class Expr:
    """A recorded operation.

    Attributes
    ----------
    form : Form
        The operation, and how its operands lie.
    named : Op
        The operation that NumPy's warnings name.
    sources : tuple
        `Value`s, or NumPy scalars that already have the loop's dtype.
    results : tuple of weak references to Value
    errstate : int
        NumPy's error handling when it was recorded, see `watched_flags`.
    place : tuple
        Where the user's code recorded it, see `user_place`.
    serial, first : int
        Its serial number, and that of the operation in it that was recorded first.
    nodes : int
        Operations in this pending expression; shared ones may be counted once for each
        use, see `counting`.
    held : int
        Bytes of memory that it keeps alive, likewise.
    widest : int
        Bytes of the largest array among them.
    """

    __slots__ = (
        "errstate",
        "first",
        "form",
        "held",
        "named",
        "nodes",
        "place",
        "results",
        "serial",
        "sources",
        "widest",
    )

    form: Form
    named: Op
    sources: tuple[Any, ...]
    errstate: int
    place: Place
    serial: int
    first: int
    nodes: int
    held: int
    widest: int
    results: tuple[weakref.ref[Value], ...]

    def count(self, nodes: int, held: int, widest: int, first: int) -> None:
        """Set the sums over all uses, but no more operations than were recorded since
        the first one, and no more memory than these could read."""
        most = self.serial - first + 1
        if nodes > most:
            nodes = most
        most = 3 * nodes * widest
        self.nodes = nodes
        self.held = held if held < most else most
        self.widest = widest
        self.first = first

    @property
    def inputs(self) -> list[Any]:
        """The operands: `Read`s and NumPy scalars."""
        return [
            source if view is None else Read(source, *view)
            for source, view in zip(self.sources, self.form.inputs, strict=True)
        ]

    @property
    def frame(self) -> tuple[str, int, dict[str, Any]]:
        """File, line and globals of the user's code."""
        return line_of(self.place)


def expr_of(form: Form, sources: tuple[Any, ...], errstate: int, place: Place) -> Expr:
    """A new `Expr` without results."""
    expr = Expr.__new__(Expr)
    expr.form = form
    expr.named = form.op
    expr.sources = sources
    expr.errstate = errstate
    expr.place = place
    expr.serial = expr.first = 0
    expr.nodes = 1
    expr.held = expr.widest = 0
    expr.results = ()
    return expr


def pending_readers(value: Value) -> list[Value]:
    """Values that read this one and have not run yet."""
    if value.readers is None:
        return []
    with lock:
        found = []
        for reference in value.readers or ():  # another thread may have run them
            reader = reference()
            if reader is not None and reader.state in (State.PENDING, State.RUNNING):
                found.append(reader)
        value.readers = [weakref.ref(reader) for reader in found] or None
    return found


def stored(buffer: Buffer, layout: Layout, dtype: DType, device: Device) -> Value:
    """A value for memory that exists."""
    return value_of(View.of(layout, dtype), device, None, 0, buffer)


if hasattr(os, "register_at_fork"):
    # A child process must not inherit the lock from a thread that it does not have.
    os.register_at_fork(
        before=lock.acquire,
        after_in_parent=lock.release,
        after_in_child=getattr(lock, "after_fork", lock.release),
    )
