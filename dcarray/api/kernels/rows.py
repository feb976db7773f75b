"""A function of single numbers as a row of the table of operations, and its results.

On the CPU the operations of a formula are recorded and fuse with others; what has
loops runs as a kernel.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...array import DeviceArray, calls
from ...array.operands import as_host, as_operand, device_of, wrap
from ...backends.cpu.kernels import run_kernel
from ...errors import DTypeError, KernelSyntaxError, KernelTypeError
from ...kernel import infer, nodes
from ...kernel.calls import MEANINGS
from ...kernel.parse import parse
from ...kernel.rewrite import simplify
from ...kernel.source import Source, source_of, unchanged
from ...kernel.verify import verify
from ...ops import composed, elementwise as ops
from ...ops.bodies import body_kernel
from ...ops.inline import spliced
from ...ops.spec import Kind, Op, Signature

__all__ = ["natively"]

Lookups: TypeAlias = dict[tuple[Source, str], tuple[Source, str, Any]]

MEANINGS.update(ops.BY_UFUNC)
MEANINGS.update({f"nn.{name}": row for name, row in composed.TABLE.items()})

_INT = np.dtype(np.int64)
_GROUP = 1024
_SEEN = frozenset(("print", "breakpoint", "input"))


def natively(
    function: Any,
    memory: dict[str, Any],
    args: Sequence[Any],
    keywords: Mapping[str, Any],
) -> Any:
    """What a function gives for operands; None where it is outside the language.

    ``memory`` is where its rows are kept.
    """
    source = _source(function)
    given = None if source is None else _in_order(source, args, keywords)
    if source is None or given is None:
        return None
    row = _row(source, memory, len(given))
    operands = [as_operand(x) for x in given]
    if all(type(x) in (int, float, complex) for x in operands):
        operands = [np.asarray(x) for x in operands]
    kinds = tuple([_kind(x) for x in operands])
    try:
        signature = row.resolve(kinds)
    except (DTypeError, KernelSyntaxError, KernelTypeError):
        return None
    device = device_of(operands, row.name)
    # Read now, so that what is pending keeps what names mean now.
    kernel = body_kernel(row, signature.inputs, signature.outputs)
    if device.kind not in ("auto", "cpu"):
        return calls.elementwise(DeviceArray, row, operands)
    if _is_straight(kernel):
        # Both sides of a choice are computed, and one of them is for nobody.
        with np.errstate(all="ignore"):
            found = composed.trace(row, _record, operands, kinds)
    else:
        found = _mapped(kernel, signature, [as_host(x) for x in operands])
    found = tuple([wrap(DeviceArray, x, device) for x in found])
    return found[0] if len(found) == 1 else found


def _kind(x: Any) -> Any:
    """The dtype of an operand, or the type of a number of Python."""
    if type(x) in (int, float, complex):
        return type(x)
    return np.dtype(bool) if type(x) is bool else x.dtype


def _source(function: Any) -> Source | None:
    """The source of a function that may be in the language."""
    try:
        source = source_of(function)
    except (KernelSyntaxError, TypeError):
        return None
    return None if _SEEN & set(function.__code__.co_names) else source


def _in_order(
    source: Source, args: Sequence[Any], keywords: Mapping[str, Any]
) -> list[Any] | None:
    """What is given for each parameter, its default included."""
    names = source.parameters
    if len(args) > len(names) or not keywords.keys() <= set(names[len(args) :]):
        return None
    given = list(args)
    for place in range(len(args), len(names)):
        value = keywords.get(names[place], source.default(place))
        if isinstance(value, type):  # there is no default
            return None
        given.append(value)
    return None if source.constants else given


def _row(source: Source, memory: dict[str, Any], inputs: int) -> Op:
    """The operation for so many operands; another one when names mean other things."""
    known: dict[int, tuple[Lookups, Op]] = memory.setdefault("_rows", {})
    found = known.get(inputs)
    if found is None or not unchanged(found[0].values()):
        lookups: Lookups = {}
        found = known[inputs] = (lookups, _operation(source.function, inputs, lookups))
    return found[1]


def _operation(function: Any, inputs: int, lookups: Lookups) -> Op:
    """A row for a function; how many results it has is known once it is read.

    ``lookups`` gets what names from outside meant then.
    """

    def resolver(operands: tuple[Any, ...]) -> Signature:
        typed = [kind for kind in operands if isinstance(kind, np.dtype)]
        if any(kind.kind not in "biufc" for kind in typed):
            raise DTypeError(f"{row.name}: got {', '.join(map(str, typed))}")
        meets = [_joined(kind, typed) for kind in operands]
        try:
            return read(tuple(meets))
        except KernelTypeError:
            # A number that counts something, and is no part of the formula.
            whole = [_INT if kind is int else d for kind, d in zip(operands, meets)]
            if whole == meets:
                raise
            return read(tuple(whole))

    def read(dtypes: tuple[np.dtype[Any], ...]) -> Signature:
        seen: list[tuple[Source, str, Any]] = []
        kernel = parse(function, dtypes, learns=True, lookups=seen)
        lookups.update({(source, name): (source, name, x) for source, name, x in seen})
        if len(kernel.results) != row.outputs or row.outputs == 0:
            raise DTypeError(f"{row.name}: gives {len(kernel.results)} results")
        return Signature(dtypes, tuple([item.dtype for item in kernel.results]))

    def oracle(*operands: Any) -> Any:
        arrays = [np.asarray(x) for x in operands]
        signature = row.resolve(tuple([x.dtype for x in arrays]))
        found = _mapped(body_kernel(row, signature.inputs), signature, arrays)
        return found[0] if len(found) == 1 else found

    row = Op(
        source_of(function).tree.name,
        Kind.ELEMENTWISE,
        oracle,
        inputs,
        outputs=_outputs(function),
        body=function,
        composed=True,
        ulp=16.0,
        resolver=resolver,
    )
    return row


def _outputs(function: Any) -> int:
    """How many values the first ``return`` gives."""
    for node in ast.walk(source_of(function).tree):
        if isinstance(node, ast.Return) and node.value is not None:
            return len(node.value.elts) if isinstance(node.value, ast.Tuple) else 1
    return 0


def _joined(kind: Any, typed: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """The dtype of an operand; a number of Python takes that of the arrays."""
    if isinstance(kind, np.dtype):
        return kind
    return np.dtype(np.result_type(kind(0), *typed))


def _record(op: Op, *operands: Any) -> Any:
    """One operation of a body; a cast has its dtype for second operand."""
    if op is ops.CAST:
        x, dtype = operands
        return (x if isinstance(x, DeviceArray) else np.asarray(x)).astype(dtype)
    if any(isinstance(x, (DeviceArray, np.ndarray)) for x in operands):
        return calls.elementwise(DeviceArray, op, operands)
    return op.numpy(*operands)


def _is_straight(kernel: nodes.Kernel) -> bool:
    """Whether a body is a row of operations that NumPy has, too."""
    if any(not isinstance(item, nodes.Name) for item in kernel.results):
        return False
    for node in kernel.body:
        if not isinstance(node, nodes.Let):
            return False
        if isinstance(node.value, nodes.Apply) and (
            node.value.primitive not in ops.TABLE
        ):
            return False
    return True


def _mapped(
    kernel: nodes.Kernel, signature: Signature, operands: Sequence[Any]
) -> tuple[Any, ...]:
    """The results of a scalar function over arrays of the host."""
    arrays = [
        np.asarray(x).astype(dtype, copy=False)
        for x, dtype in zip(operands, signature.inputs, strict=True)
    ]
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    single = [x.ndim == 0 for x in arrays]
    rows: list[Any] = [
        x[()] if alone else np.ascontiguousarray(np.broadcast_to(x, shape)).reshape(-1)
        for x, alone in zip(arrays, single, strict=True)
    ]
    results = [np.empty(shape, dtype) for dtype in signature.outputs]
    count = math.prod(shape)
    grid = -(-count // _GROUP) * _GROUP
    walk = _over_elements(kernel, tuple(single))
    given = [*rows, *[x.reshape(-1) for x in results], np.int64(count)]
    run_kernel(walk, (grid,), (_GROUP,), given)
    return tuple(results)


def _over_elements(kernel: nodes.Kernel, single: tuple[bool, ...]) -> nodes.Kernel:
    """A scalar function, done for each element: arrays or numbers, results, count."""
    index: nodes.Scalar = nodes.Index("global_id", 0, _INT)
    parameters: list[nodes.Value | nodes.Array] = []
    given: list[nodes.Scalar] = []
    body: list[nodes.Statement] = [nodes.Let("place", index)]
    index = nodes.Name("place", _INT)
    inner: list[nodes.Statement] = []
    for place, (item, alone) in enumerate(zip(kernel.parameters, single, strict=True)):
        name = f"given{place}"
        if alone:
            parameters.append(nodes.Value(name, item.dtype))
            given.append(nodes.Name(name, item.dtype))
            continue
        parameters.append(nodes.Array(name, item.dtype))
        inner.append(nodes.Let(f"x{place}", nodes.Load(name, index, item.dtype)))
        given.append(nodes.Name(f"x{place}", item.dtype))
    statements, results = spliced(kernel, given, "f_")
    inner.extend(statements)
    for place, result in enumerate(results):
        parameters.append(nodes.Array(f"out{place}", result.dtype, writable=True))
        inner.append(nodes.Store(f"out{place}", index, result))
    parameters.append(nodes.Value("count", _INT))
    inside = infer.apply("less", index, nodes.Name("count", _INT))
    body.append(nodes.If(inside, tuple(inner)))
    walk = nodes.Kernel(f"each_{kernel.name}", tuple(parameters), tuple(body))
    return simplify(verify(walk))
