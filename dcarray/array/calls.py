"""Operations on arrays: at once through NumPy, or recorded.

The short way: where all operands are on the host and small, an operation is one NumPy
call on the inner arrays.  Everything else is written down in the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from ..backends.registry import AUTO, Device, common_device
from ..config import config, current
from ..dtypes import DType, is_recordable
from ..errors import DTypeError
from ..layout import Layout, broadcast_shapes, broadcast_strides
from ..lazy import errstate, execute, recover
from ..lazy.callers import user_place
from ..lazy.cutting import keep_within_bounds
from ..lazy.graph import Read, Value, View, value_of
from ..lazy.record import record
from ..ops.elementwise import CAST, LESS, POWER, WHERE
from ..ops.reduction import ANY
from ..ops.spec import Op, Signature
from . import export
from .choice import needs_numpy
from .immediate import COMPARISONS, SCALARS
from .library import library
from .operands import as_host, as_operand, device_of, spreads, wrap
from .quick import finish, record_quickly
from .state import ArrayState, check_dtype, is_foreign

__all__ = [
    "as_operand",
    "can_record",
    "cast",
    "device_of",
    "elementwise",
    "library",
    "warn_of_parts",
    "wrap",
    "write",
]

Array = TypeVar("Array", bound=ArrayState)


# ----------------------------------------------------------------------- elementwise
def elementwise(
    cls: type[Array],
    op: Op,
    operands: Sequence[Any],
    out: Any = None,
    **keywords: Any,
) -> Any:
    """One elementwise operation with all of a ufunc's options.

    Parameters
    ----------
    cls : type
        Class of the results.
    op : Op
    operands : sequence
        Arrays, numbers and array-likes.
    out : array, or tuple of arrays and None
        Where the results go.
    **keywords
        ``where``, ``dtype``, ``casting``, ``order``, ``subok``, ``signature``.
    """
    if out is None and not keywords:
        made = _quickly(cls, op, operands)
        if made is not None:
            return made
    operands = [as_operand(x) for x in operands]
    device = device_of(operands, op.name)
    if type(out) is tuple:
        outs = out
    else:
        outs = (out,) + (None,) * (op.outputs - 1) if out is not None else ()
    if len(outs) not in (0, op.outputs):
        raise ValueError(
            f"{op.name}: got {len(outs)} arrays in out, takes {op.outputs}"
        )
    for target in outs:
        if isinstance(target, ArrayState):
            device = common_device((device, target._device), op.name)
    where = keywords.pop("where", True)
    mask = errstate.capture()
    if needs_numpy(op, operands, outs, where, keywords, device, mask):
        return _at_once(cls, op, operands, outs, where, keywords, device)
    signature = _signature(op, operands, keywords)
    if any(not is_recordable(d) for d in signature.inputs + signature.outputs):
        return _at_once(cls, op, operands, outs, where, keywords, device)
    if outs:
        _refuse_casts(op, signature, outs, keywords.get("casting", "same_kind"))
    if device.is_named and "casting" in keywords:
        for x, wanted in zip(operands, signature.inputs, strict=True):
            warn_of_parts(getattr(x, "dtype", wanted), wanted)
        for got, target in zip(signature.outputs, outs, strict=False):
            warn_of_parts(got, getattr(target, "dtype", got))
    if op is POWER and signature.inputs[1].kind == "i":
        _refuse_negative(cls, operands[1])
    try:
        values = record(
            op, [_as_recorded(x) for x in operands], device, max(mask, 0), signature
        )
    except OverflowError:
        # A Python int beyond the dtype: NumPy has an answer for comparisons, or says
        # what is wrong.
        if device.kind not in ("auto", "cpu") and not outs and where is True:
            return _out_of_range(cls, op, operands, device)
        return _at_once(cls, op, operands, outs, where, keywords, device)
    for value in values:
        check_dtype(value.dtype, device)
    if where is not True:
        values = _masked(values, where, outs, device)
    if any([_is_read_at_once(x) for x in (*operands, where)]):
        execute.evaluate(values)
    if not outs:
        return finish(cls, values)
    return _into(cls, values, outs)


def _is_read_at_once(x: Any) -> bool:
    """Whether somebody outside can write the operand's memory at any time."""
    if isinstance(x, ArrayState):
        return x._is_shared()
    return is_foreign(x) and x.ndim > 0  # what has no axes is a number by now


def _refuse_negative(cls: type[Array], exponent: Any) -> None:
    """NumPy's loop for integer powers looks at its data; a device looks before."""
    if isinstance(exponent, ArrayState):
        if not exponent.size:
            return
        with config(scalars="array"):
            below = elementwise(cls, LESS, (exponent, 0))._read()
        device = exponent._device
        view = View.of(below.layout, below.dtype)
        ending = (ANY, tuple(range(below.layout.ndim)), view)
        buffer, reduced = execute.reduce(
            below.value, view, ending, device, 0, user_place()
        )
        found = cls._of_value(value_of(reduced.kept, device, None, 0, buffer))
        negative = bool(found._array().any())
    else:
        negative = bool(np.any(np.less(exponent, 0)))
    if negative:
        raise ValueError("Integers to negative integer powers are not allowed.")


def _quickly(cls: type[Array], op: Op, operands: Sequence[Any]) -> Any:
    """Plain calls: small arrays through NumPy, large contiguous ones recorded."""
    below = current().eager_below
    hosts: list[Any] | None = []
    for x in operands:
        kind = type(x)
        if kind is cls:
            host = x._host
            if host is None or host.size >= below or x._device is not AUTO:
                hosts = None
            elif hosts is not None:
                hosts.append(host)
        elif kind is float or kind is int:
            if hosts is not None:
                hosts.append(x)
        elif kind in SCALARS and any([_is_named(other) for other in operands]):
            hosts = None
        else:
            return None
    if not any(type(x) is cls for x in operands):
        return None
    if hosts is not None and not (len(hosts) == 2 and spreads(hosts, below)):
        return wrap(cls, op.numpy(*hosts))
    return record_quickly(op, *operands)


def _is_named(x: Any) -> bool:
    return isinstance(x, ArrayState) and x._device.is_named


def _out_of_range(
    cls: type[Array], op: Op, operands: Sequence[Any], device: Device
) -> Any:
    """A comparison with a number beyond the dtype: all elements give the same."""
    arrays = [x for x in operands if _has_axes(x)]
    samples = [np.zeros(1, x.dtype) if _has_axes(x) else x for x in operands]
    (answer,) = op.numpy(*samples)
    shape = broadcast_shapes([x.shape for x in arrays])
    return wrap(cls, np.full(shape, answer), device)


def _has_axes(x: Any) -> bool:
    return isinstance(x, (ArrayState, np.ndarray))


def _at_once(
    cls: type[Array],
    op: Op,
    operands: Sequence[Any],
    outs: Sequence[Any],
    where: Any,
    keywords: dict[str, Any],
    device: Device,
) -> Any:
    """One NumPy call."""
    if device.kind not in ("auto", "cpu"):
        # NumPy says first what is wrong, if anything is.
        op.numpy(*[np.empty(0, x.dtype) if _has_axes(x) else x for x in operands])
        recover.fallback_allowed(op.name, "cpu")
    given = dict(keywords)
    if where is not True:
        given["where"] = as_host(where)
    hosts = [as_host(x) for x in operands]
    if outs:
        targets = tuple(
            [x._writable_array() if isinstance(x, ArrayState) else x for x in outs]
        )
        if (
            op.numpy in COMPARISONS
            and targets[0].dtype != np.bool
            and any(type(x) is int for x in hosts)
        ):
            # NumPy 2.4 ends the process where the int is beyond the dtype.
            np.copyto(
                targets[0],
                op.numpy(*hosts),
                keywords.get("casting", "same_kind"),
                given.get("where", True),
            )
            return outs[0]
        given["out"] = targets
        results = op.numpy(*hosts, **given)
        if not isinstance(results, tuple):
            results = (results,)
        found = [
            wrap(cls, result, device) if target is None else target
            for target, result in zip(outs, results, strict=True)
        ]
        return found[0] if len(found) == 1 else tuple(found)
    result = op.numpy(*hosts, **given)
    if device.kind not in ("auto", "cpu"):
        with config(scalars="array"):
            made = wrap(cls, result)
        return made.to_device(device)
    return wrap(cls, result, device)


def _as_recorded(x: Any) -> Any:
    """An operand of the graph."""
    if isinstance(x, ArrayState):
        if x.ndim == 0 and x._host is not None:
            return x._host[()]
        return x._read()
    if is_foreign(x):
        return ArrayState._of_shared(x)._read() if x.ndim else x[()]
    if type(x) is bool:
        return np.bool(x)
    return x


def _signature(op: Op, operands: Sequence[Any], keywords: dict[str, Any]) -> Signature:
    kinds = tuple(
        [type(x) if type(x) in (int, float, complex) else _dtype(x) for x in operands]
    )
    dtype, casting = keywords.get("dtype"), keywords.get("casting", "same_kind")
    if dtype is None and casting == "same_kind":
        return op.resolve(kinds)
    ufunc = op.numpy
    assert isinstance(ufunc, np.ufunc)
    wanted = (None,) * op.inputs + (
        None if dtype is None else np.dtype(dtype),
    ) * op.outputs
    try:
        found = ufunc.resolve_dtypes(
            kinds + (None,) * op.outputs, signature=wanted, casting=casting
        )
    except TypeError as error:
        raise DTypeError(f"{op.name}: {error}") from None
    return Signature(found[: op.inputs], found[op.inputs :])


def _dtype(x: Any) -> DType:
    return np.dtype(np.bool) if type(x) is bool else x.dtype


def _masked(
    values: Sequence[Value], where: Any, outs: Sequence[Any], device: Device
) -> tuple[Value, ...]:
    """Results where a mask is true; elsewhere what ``out`` holds, or zero."""
    chosen: list[Value] = []
    for index, value in enumerate(values):
        target = outs[index] if outs else None
        other = _as_recorded(target) if target is not None else value.dtype.type(0)
        read = Read(value, value.layout, value.dtype)
        operands = (_as_recorded(as_operand(where)), read, other)
        chosen.extend(record(WHERE, operands, device))
    return tuple(chosen)


def _refuse_casts(
    op: Op, signature: Signature, outs: Sequence[Any], casting: Any
) -> None:
    """Refuse an ``out`` that cannot hold the result; NumPy looks at shapes later."""
    for index, (got, target) in enumerate(zip(signature.outputs, outs, strict=True)):
        if target is not None and not np.can_cast(got, target.dtype, casting):
            raise _casting_error(op, casting, got, target.dtype, index)


def warn_of_parts(got: DType, wanted: DType) -> None:
    """NumPy's warning of imaginary parts that a conversion loses."""
    if got.kind == "c" and wanted.kind in "iuf":
        np.empty(0, got).astype(wanted)


def _into(cls: type[Array], values: Sequence[Value], outs: Sequence[Any]) -> Any:
    """Store results in the arrays that the caller gave."""
    results: list[Any] = []
    for value, target in zip(values, outs, strict=True):
        if target is None:
            results.append(finish(cls, (value,)))
            continue
        if isinstance(target, ArrayState):
            write(target, value)
        else:
            made = cls._of_value(value)
            export.host_allowed(made, "out")
            np.copyto(target, made._array(), "unsafe")
        results.append(target)
    return results[0] if len(results) == 1 else tuple(results)


def _casting_error(
    op: Op, casting: str, got: DType, wanted: DType, index: int
) -> TypeError:
    """In NumPy's words: a result that ``out`` cannot hold."""
    return TypeError(
        f"Cannot cast ufunc '{op.name}' output {index} from {got!r} to {wanted!r} with "
        f"casting rule '{casting}'"
    )


# ----------------------------------------------------------------------------- writing
def write(target: ArrayState, value: Value) -> None:
    """Store a recorded result in an array, one kernel if it can be."""
    read = Read(value, value.layout, value.dtype)
    if value.dtype != target.dtype:
        source = value.expr
        (value,) = record(
            CAST,
            (read,),
            target._device,
            source.errstate if source is not None else 0,
            Signature((value.dtype,), (target.dtype,)),
        )
        if source is not None and value.expr is not None:
            value.expr.named = source.named
        read = Read(value, value.layout, value.dtype)
    shape = target.shape
    if value.layout.shape != shape:
        common = broadcast_shapes((value.layout.shape, shape))
        if common != shape:
            raise ValueError(
                f"non-broadcastable output operand with shape {shape} doesn't match "
                f"the broadcast shape {common}"
            )
        spread = broadcast_strides(value.layout, shape)
        read = Read(value, Layout(shape, spread), value.dtype)
    binding = target._bind()
    if (
        (binding.value.expr is not None or _can_wait(binding.value, value))
        and read.layout == binding.value.layout
        and target._layout == binding.value.layout
        and target.dtype == binding.value.dtype
    ):
        # Every view shows the new value now.
        if binding.value.expr is None:
            binding.forget_hosts()
        if value.is_bound():  # another array shows it, and may be written to
            same = Signature((value.dtype,), (value.dtype,))
            (value,) = record(CAST, (read,), target._device, 0, same)
        binding.rebind(value)
        keep_within_bounds(value)
        return
    execute.write(target._read(), read)


def _can_wait(old: Value, value: Value) -> bool:
    """Whether all elements of an array in memory can be replaced later: nobody else
    knows the memory, and no array shows the new ones already."""
    buffer = old.buffer
    return (
        value.expr is not None
        and not value.is_bound()
        and buffer is not None
        and not old.device.is_named
        and not buffer.is_shared
        and old.layout.plain
        and old.layout.size * old.dtype.itemsize == buffer.nbytes
    )


def can_record(x: ArrayState) -> bool:
    """Whether work on this array may be deferred."""
    return is_recordable(x.dtype) and not x._is_shared()


def cast(
    cls: type[Array],
    x: Array,
    dtype: DType,
    mask: int = 0,
    order: str | None = None,
) -> Array:
    """A converted copy, recorded; in C or F order, if not in NumPy's."""
    signature = Signature((x.dtype,), (dtype,))
    (value,) = record(CAST, (x._read(),), x._device, mask, signature, order)
    check_dtype(dtype, x._device)
    array = cls._of_value(value)
    keep_within_bounds(value)
    return array
