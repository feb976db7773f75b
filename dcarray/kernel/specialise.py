"""A user's kernel over arrays of any strides → IR over rows of elements.

What the IR's parameters are is said by their *roles*: beside the arguments there are
lengths, strides and offsets of arrays, each only where the kernel looks at it.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from . import infer, nodes
from .elements import Frame
from .jumps import gives
from .parse import Parser
from .rewrite import simplify
from .source import Source, source_of, unchanged
from .uniform import stray_barrier
from .verify import verify
from .views import FLAG, FOUND, Site, View, times
from .walk import expressions, parts, rebuild_body, statements, used
from .weak import unmarked, without_doubles

__all__ = ["ArrayOf", "Operand", "Role", "Specialised", "over_grid", "specialise"]

DType: TypeAlias = np.dtype[Any]
INT = np.dtype(np.int64)


@dataclass(frozen=True, slots=True)
class ArrayOf:
    """What a kernel knows of an array: ``contiguous`` ones are in C order and begin at
    the first element of their memory."""

    dtype: DType
    ndim: int
    contiguous: bool = True


Operand: TypeAlias = DType | ArrayOf | type[int]


@dataclass(frozen=True, slots=True)
class Role:
    """What a parameter of the IR is.

    ``kind`` is one of array, number, length, stride, offset (of the argument at
    ``place``, along ``axis``), grid (items along ``axis``), flag and found.
    """

    kind: str
    place: int = 0
    axis: int = 0


@dataclass(frozen=True)
class Specialised:
    """A kernel for arguments of some types.

    Attributes
    ----------
    kernel : Kernel
    roles : tuple of Role
        One for each parameter of ``kernel``.
    written : tuple of int
        Arguments that are stored to.
    sites : tuple of Site
        Indices that are checked; number 1 is the first.
    lookups : tuple
        Names from outside that were read: where, which, and what they were.
    dtypes, atomics : mapping
        Where a dtype, or an atomic operation, is met first.
    """

    kernel: nodes.Kernel
    roles: tuple[Role, ...]
    written: tuple[int, ...]
    source: Source
    sites: tuple[Site, ...] = ()
    lookups: tuple[tuple[Source, str, Any], ...] = ()
    dtypes: Mapping[DType, tuple[Source, ast.AST]] = field(default_factory=dict)
    atomics: Mapping[tuple[str, DType], tuple[Source, ast.AST]] = field(
        default_factory=dict
    )

    def is_current(self) -> bool:
        """Whether the names from outside still mean the same."""
        return unchanged(self.lookups)


def specialise(
    function: Callable[..., Any],
    operands: Sequence[Operand],
    constants: Mapping[str, Any] | None = None,
    group: tuple[int, int, int] | None = None,
    checks: bool = False,
    doubles: bool = True,
    lanes: bool = False,
) -> Specialised:
    """A kernel for arguments of these types.

    Parameters
    ----------
    function : callable
        It stores into arrays and returns nothing.
    operands : sequence of dtype, ArrayOf or int
        For each parameter that is no constant, the dtype of a number, or an array; the
        type int for a number of Python.
    constants : mapping, optional
        Values of the other parameters.
    group : tuple of three int, optional
        Work items of a group.  Without it, those of a group cannot meet.
    checks : bool
        Whether indices are checked.
    doubles : bool
        Whether a number of Python that meets no dtype is a float64; a float32 if not.
    lanes : bool
        Whether the device has instructions for subgroups of 32.

    Raises
    ------
    KernelSyntaxError
        A construct outside the language, with its place.
    KernelTypeError
        Types that do not fit, with the place.
    """
    source = source_of(function)
    parser = Parser(checks)
    parser.learns = True
    parser.group = group
    parser.lanes = lanes
    known = {name: _native(value) for name, value in (constants or {}).items()}
    names = [name for name in source.parameters if name not in known]
    if len(operands) > len(names):
        source.mistype(
            source.tree, f"takes {len(names)} arguments, got {len(operands)}"
        )
    parser.taken.update(map(_plain, names))
    parser.taken.update((FLAG.name, FOUND.name))
    parameters: list[nodes.Value | nodes.Array] = []
    roles: list[Role] = []

    def number(label: str, dtype: DType, role: Role) -> nodes.Name:
        if role.kind != "number":
            label = parser.fresh(label)
        parameters.append(nodes.Value(label, infer.strong(dtype)))
        roles.append(role)
        return nodes.Name(label, dtype)

    arguments: dict[str, Any] = {}
    for place, (label, operand) in enumerate(zip(names, operands)):
        if isinstance(operand, ArrayOf):
            array = nodes.Array(_plain(label), operand.dtype, writable=True)
            parameters.append(array)
            roles.append(Role("array", place))
            shape = [
                number(f"{label}_n{axis}", infer.WEAK_INT, Role("length", place, axis))
                for axis in range(operand.ndim)
            ]
            strides: list[Any] = []
            offset: Any = 0
            if not operand.contiguous:
                offset = number(f"{label}_at", INT, Role("offset", place))
                strides = [
                    number(f"{label}_s{axis}", INT, Role("stride", place, axis))
                    for axis in range(operand.ndim)
                ]
            else:
                step: Any = 1
                for length in reversed(shape):
                    strides.insert(0, step)
                    step = times(step, length)
                strides = [
                    parser.bind(f"{label}_s", x) if infer.is_typed(x) else x
                    for x in strides
                ]
            view = View(label, array, tuple(shape), tuple(strides), offset)
            arguments[label] = view
        else:
            dtype = operand if isinstance(operand, np.dtype) else infer.WEAK_INT
            arguments[label] = number(_plain(label), dtype, Role("number", place))
    frame = Frame(source)
    given = {**arguments, **known}
    if parser.inline(frame, source.tree, function, (), given) is not None:
        returned = next(filter(gives, ast.walk(source.tree)))
        source.fail(returned, "a kernel returns nothing: it stores into arrays")
    if parser.sites:
        parameters.extend((FLAG, FOUND))
        roles.extend((Role("flag"), Role("found")))
    kernel = nodes.Kernel(
        f"dc_{_plain(source.tree.name)}", tuple(parameters), tuple(parser.statements)
    )
    if group is not None and math.prod(group) > 1:
        _meet_together(kernel, parser)
    if parser.marks:
        body = _without(kernel.body, {id(item) for item in parser.marks})
        kernel = replace(kernel, body=body)
    lookups = {(source, name): value for source, name, value in parser.lookups}
    return _lean(
        Specialised(
            simplify((unmarked if doubles else without_doubles)(verify(kernel))),
            tuple(roles),
            (),
            source,
            tuple(parser.sites),
            tuple([(*key, value) for key, value in lookups.items()]),
            parser.dtypes,
            parser.atomics,
        )
    )


def _meet_together(kernel: nodes.Kernel, parser: Parser) -> None:
    """Refuse a barrier that not all work items of a group reach."""
    stray = stray_barrier(kernel)
    for met, source, node in parser.barriers:
        if met is stray:
            source.fail(
                node,
                "barrier: not all work items of a group reach it: a condition before "
                "it differs between them",
            )


def _without(body: nodes.Body, marks: set[int]) -> nodes.Body:
    """Statements without some barriers, which are given by their `id`."""
    found: list[nodes.Statement] = []
    for node in body:
        if isinstance(node, nodes.If):
            then, otherwise = (
                _without(node.body, marks),
                _without(node.otherwise, marks),
            )
            node = replace(node, body=then, otherwise=otherwise)
        elif isinstance(node, (nodes.For, nodes.While)):
            node = replace(node, body=_without(node.body, marks))
        if id(node) not in marks:
            found.append(node)
    return tuple(found)


def _native(value: Any) -> Any:
    """A constant, with numbers of NumPy as Python's."""
    if isinstance(value, tuple):
        return tuple([_native(item) for item in value])
    return value.item() if isinstance(value, np.generic) else value


def _plain(name: str) -> str:
    """A name that every language takes."""
    return name.encode("ascii", "backslashreplace").decode().replace("\\", "_")


def _lean(given: Specialised) -> Specialised:
    """Without numbers that are not read, and dtypes that are not left; arrays that are
    only read say so."""
    kernel = given.kernel
    count = used(kernel)
    stored = {
        node.array
        for node in statements(kernel.body)
        if isinstance(node, (nodes.Store, nodes.Atomic))
    }
    met = {
        part.dtype
        for node in statements(kernel.body)
        for item in expressions(node)
        for part in parts(item)
    }
    parameters: list[nodes.Value | nodes.Array] = []
    roles = []
    written = []
    for item, role in zip(kernel.parameters, given.roles, strict=True):
        if isinstance(item, nodes.Array):
            item = replace(item, writable=item.name in stored)
            if item.writable and role.kind == "array":
                written.append(role.place)
        elif not count[item.name]:
            continue
        parameters.append(item)
        roles.append(role)
    return replace(
        given,
        kernel=verify(replace(kernel, parameters=tuple(parameters))),
        roles=tuple(roles),
        written=tuple(written),
        dtypes={dtype: place for dtype, place in given.dtypes.items() if dtype in met},
    )


def over_grid(given: Specialised, axes: int) -> Specialised:
    """The kernel for a grid of any lengths, that whole groups may exceed.

    Lengths become parameters, and the last axis becomes the device's first one, along
    which neighbours run together.
    """
    kernel = given.kernel
    taken = {item.name for item in kernel.parameters}
    lengths: list[nodes.Value] = []
    for axis in range(axes):
        label = f"dc_grid{axis}"
        while label in taken:
            label += "_"
        lengths.append(nodes.Value(label, INT))

    def change(node: nodes.Scalar) -> nodes.Scalar:
        if not isinstance(node, nodes.Index) or node.axis >= axes:
            return node
        if node.kind == "global_size":
            return nodes.Name(lengths[node.axis].name, INT)
        return replace(node, axis=axes - 1 - node.axis)

    inside: Any = None
    for axis, length in enumerate(lengths):
        index = nodes.Index("global_id", axes - 1 - axis, INT)
        here = infer.apply("less", index, nodes.Name(length.name, INT))
        inside = here if inside is None else infer.apply("bitwise_and", inside, here)
    body = rebuild_body(kernel.body, change)
    guarded = nodes.Kernel(
        kernel.name, (*kernel.parameters, *lengths), (nodes.If(inside, body),)
    )
    roles = (*given.roles, *(Role("grid", axis=axis) for axis in range(axes)))
    return replace(given, kernel=simplify(verify(guarded)), roles=roles)
