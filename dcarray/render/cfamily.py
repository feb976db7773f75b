"""A kernel over arrays as text in a language of the C family.

One walker for all of them; what differs is data, a `Dialect`.  Integer arithmetic wraps
round as NumPy's does, and floating-point expressions keep their order: the compilers
are told to contract nothing.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..errors import UnsupportedError
from ..kernel import nodes
from ..kernel.lower import lower
from ..kernel.missing import replace
from ..kernel.narrowing import round_early
from ..kernel.rewrite import inline_single_uses
from ..kernel.walk import statements
from .dialect import Dialect, code_of

__all__ = ["entry", "render", "render_all"]

DType = np.dtype[Any]

SINGLE = np.dtype(np.float32)

_INFIX = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "truncate_divide": "/",
    "truncate_remainder": "%",
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "left_shift": "<<",
    "right_shift": ">>",
}
_WRAPPING = frozenset(("add", "subtract", "multiply", "negative", "left_shift"))


def render(kernel: nodes.Kernel, dialect: Dialect) -> str:
    """Spell a kernel.

    Parameters
    ----------
    kernel : Kernel
        It stores into arrays and has no results.
    dialect : Dialect

    Returns
    -------
    str
        A text with one function that bears the kernel's name, see `entry`.  Its
        parameters are the kernel's after `lower`: complex ones are split into their
        parts.

    Raises
    ------
    UnsupportedError
        The language lacks a dtype or an operation.
    """
    return render_all([kernel], dialect)


def entry(kernel: nodes.Kernel, dialect: Dialect) -> nodes.Kernel:
    """The kernel under a name that a function of the language may have."""
    if kernel.name not in dialect.reserved:
        return kernel
    return dataclasses.replace(kernel, name=f"{kernel.name}_")


def render_all(kernels: Iterable[nodes.Kernel], dialect: Dialect) -> str:
    """Spell several kernels, each with a name of its own, in one text; see `render`.

    Compilers start slowly: one text of many functions is built much faster than many
    texts.
    """
    helpers: dict[str, str] = {}
    functions = []
    for kernel in kernels:
        assert not kernel.results, f"{kernel.name} returns values"
        kernel = entry(kernel, dialect)
        lowered = round_early(replace(lower(kernel), dialect.missing))
        writer = _Writer(inline_single_uses(lowered), dialect)
        functions.append(writer.text())
        helpers |= writer.helpers
    preamble = filter(None, [dialect.preamble])
    return "\n".join([*preamble, *helpers.values(), *functions])


class _Writer:
    def __init__(self, kernel: nodes.Kernel, dialect: Dialect) -> None:
        self.kernel = kernel
        self.dialect = dialect
        self.reserved = dialect.reserved
        self.lines: list[str] = []
        self.helpers: dict[str, str] = {}
        self.shared = [
            node for node in statements(kernel.body) if isinstance(node, nodes.Shared)
        ]
        self.local = {node.name for node in self.shared}
        self.element: dict[str, DType] = {node.name: node.dtype for node in self.shared}
        for item in kernel.parameters:
            if isinstance(item, nodes.Array):
                self.element[item.name] = item.dtype

    # ------------------------------------------------------------------------ text
    def text(self) -> str:
        dialect = self.dialect
        parameters = self.packed() if dialect.packed else self.positional()
        if dialect.extra:
            parameters.append(dialect.extra)
        for node in self.shared:
            declared = dialect.shared.format(
                type=self.type_of(node.dtype), name=self.name(node.name), size=node.size
            )
            self.lines.append(f"  {declared}")
        self.body(self.kernel.body, 1)
        head = f"{dialect.header} {self.kernel.name}"
        listed = ",\n    ".join(parameters)
        return "\n".join([f"{head}(\n    {listed})\n{{", *self.lines, "}\n"])

    def positional(self) -> list[str]:
        items = self.kernel.parameters
        return [self.parameter(item, place) for place, item in enumerate(items)]

    def packed(self) -> list[str]:
        """The arrays, and one struct that holds all numbers."""
        items = self.kernel.parameters
        arrays = [item for item in items if isinstance(item, nodes.Array)]
        numbers = [item for item in items if isinstance(item, nodes.Value)]
        found = [self.parameter(item, place) for place, item in enumerate(arrays)]
        if numbers:
            kind, name = f"{self.kernel.name}_numbers", "dc_numbers"
            fields = [(self.type_of(x.dtype), self.name(x.name)) for x in numbers]
            members = "".join([f"  {one} {field};\n" for one, field in fields])
            self.helpers[kind] = f"struct {kind} {{\n{members}}};"
            for one, field in fields:
                self.write(1, f"{one} {field} = {name}.{field};")
            packed = self.dialect.packed
            found.append(packed.format(type=kind, name=name, position=len(arrays)))
        return found

    def parameter(self, item: nodes.Value | nodes.Array, place: int) -> str:
        is_array = isinstance(item, nodes.Array)
        template = self.dialect.array if is_array else self.dialect.number
        const = "const " if is_array and not item.writable else ""  # type: ignore[union-attr]
        return template.format(
            const=const,
            type=self.type_of(item.dtype),
            name=self.name(item.name),
            position=place,
            restrict=self.restrict(item),
        )

    def restrict(self, item: nodes.Value | nodes.Array) -> str:
        """What lets a compiler read ahead of stores."""
        return self.dialect.restrict if getattr(item, "apart", False) else ""

    def name(self, name: str) -> str:
        return f"{name}_" if name in self.reserved else name

    def type_of(self, dtype: DType, variable: bool = False) -> str:
        if variable and dtype.kind == "b":
            return "bool"
        try:
            return self.dialect.type_of(dtype)
        except KeyError:
            raise UnsupportedError(
                f"{self.kernel.name}: {self.dialect.name} has no {dtype}"
            ) from None

    # ------------------------------------------------------------------ statements
    def body(self, body: nodes.Body, depth: int) -> None:
        for node in body:
            self.statement(node, depth)

    def write(self, depth: int, line: str) -> None:
        self.lines.append("  " * depth + line)

    def statement(self, node: nodes.Statement, depth: int) -> None:
        if isinstance(node, nodes.Let):
            kind = self.type_of(node.value.dtype, variable=True)
            value = self.scalar(node.value)
            self.write(depth, f"{kind} {self.name(node.name)} = {value};")
        elif isinstance(node, nodes.Assign):
            self.write(depth, f"{self.name(node.name)} = {self.scalar(node.value)};")
        elif isinstance(node, nodes.Store):
            self.write(depth, self.store(node))
        elif isinstance(node, nodes.For):
            self.count(node, depth)
        elif isinstance(node, nodes.While):
            self.write(depth, f"while ({self.scalar(node.condition)}) {{")
            self.body(node.body, depth + 1)
            self.write(depth, "}")
        elif isinstance(node, nodes.If):
            self.write(depth, f"if ({self.scalar(node.condition)}) {{")
            self.body(node.body, depth + 1)
            if node.otherwise:
                self.write(depth, "} else {")
                self.body(node.otherwise, depth + 1)
            self.write(depth, "}")
        elif isinstance(node, nodes.Barrier):
            self.write(depth, self.dialect.barrier)
        elif isinstance(node, nodes.Atomic):
            self.write(depth, self.atomic(node))

    def store(self, node: nodes.Store) -> str:
        dtype = self.element[node.array]
        place = f"{self.name(node.array)}[{self.scalar(node.index)}]"
        value = node.value
        if dtype.kind == "f" and dtype.itemsize == 2:
            if isinstance(value, nodes.Constant):
                given = self.constant(nodes.Constant(value.value, SINGLE))
            else:
                assert isinstance(value, nodes.Cast)
                given = self.scalar(value.argument)
            return self.dialect.functions["store_half"].format(
                given, name=self.name(node.array), index=self.scalar(node.index)
            )
        if dtype.kind == "b":
            return f"{place} = ({self.type_of(dtype)})({self.scalar(value)});"
        return f"{place} = {self.scalar(value)};"

    def count(self, node: nodes.For, depth: int) -> None:
        dtype = node.start.dtype
        start, stop, step = (
            self.scalar(item) for item in (node.start, node.stop, node.step)
        )
        name = self.name(node.name)
        # A counter of few bits may not reach its stop: it counts in a wider type.
        narrow = dtype.itemsize < 4
        kind = self.type_of(np.dtype(np.int64) if narrow else dtype)
        counter = f"{name}_wide" if narrow else name
        if isinstance(node.step, nodes.Constant):
            ahead = f"{counter} {'<' if node.step.value > 0 else '>'} {stop}"  # type: ignore[operator]
            if node.step.value == 0:
                ahead = "false"
        else:
            ahead = f"({step} > 0 && {counter} < {stop}) || ({step} < 0 && "
            ahead += f"{counter} > {stop})"
        head = f"for ({kind} {counter} = {start}; {ahead}; {counter} += {step}) {{"
        self.write(depth, head)
        if narrow:
            own = self.type_of(dtype)
            self.write(depth + 1, f"{own} {name} = ({own}){counter};")
        self.body(node.body, depth + 1)
        self.write(depth, "}")

    def atomic(self, node: nodes.Atomic) -> str:
        dtype = self.element[node.array]
        is_shared = node.array in self.local
        text, function = self.dialect.atomic(
            node.operation, code_of(dtype), self.type_of(dtype), is_shared
        )
        if text:
            self.helpers[function] = text
        given = [node.value] if node.expected is None else [node.expected, node.value]
        values = ", ".join(map(self.scalar, given))
        place = f"{self.name(node.array)} + {self.scalar(node.index)}"
        call = f"{function}({place}, {values})"
        if not node.result:
            return f"{call};"
        return f"{self.type_of(dtype)} {self.name(node.result)} = {call};"

    # ----------------------------------------------------------------- expressions
    def scalar(self, node: nodes.Scalar) -> str:
        if isinstance(node, nodes.Name):
            return self.name(node.name)
        if isinstance(node, nodes.Apply):
            return self.apply(node)
        if isinstance(node, nodes.Constant):
            return self.constant(node)
        if isinstance(node, nodes.Index):
            place = self.dialect.places[node.kind].format(
                axis=node.axis, letter="xyz"[node.axis]
            )
            return f"({self.type_of(node.dtype)})({place})"
        if isinstance(node, nodes.Load):
            return self.load(node)
        if isinstance(node, nodes.Select):
            condition, x, y = (
                self.scalar(item)
                for item in (node.condition, node.when_true, node.when_false)
            )
            return f"({condition} ? {x} : {y})"
        source = node.argument
        if isinstance(source, nodes.Load) and _is_half(source.dtype):
            return self.scalar(source)  # a load makes a float of it
        return self.cast(self.scalar(source), source.dtype, node.dtype)

    def load(self, node: nodes.Load) -> str:
        name, index = self.name(node.array), self.scalar(node.index)
        if _is_half(node.dtype):
            return self.dialect.functions["load_half"].format(name=name, index=index)
        if node.dtype.kind == "b":
            return f"({name}[{index}] != 0)"
        return f"{name}[{index}]"

    def constant(self, node: nodes.Constant) -> str:
        value, code = node.value, code_of(node.dtype)
        if node.dtype.kind == "b":
            return "true" if value else "false"
        suffix = self.dialect.suffixes.get(code, "")
        kind = self.type_of(node.dtype)
        if node.dtype.kind == "f":
            number = float(value)  # type: ignore[arg-type]
            if math.isnan(number):
                return f"(({kind})NAN)"
            if math.isinf(number):
                return f"(({kind}){'-' if number < 0 else ''}INFINITY)"
            text = f"{number:.{9 if code == 'f4' else 17}g}"
            if "." not in text and "e" not in text:
                text += ".0"
            return f"({text}{suffix})" if text[0] == "-" else text + suffix
        number = int(value)  # type: ignore[arg-type]
        if node.dtype.kind == "i" and number == np.iinfo(node.dtype).min:
            return f"(({kind})(-{-(number + 1)}{suffix} - 1))"
        if node.dtype.itemsize < 4:
            return f"(({kind}){number})"
        return f"({number}{suffix})" if number < 0 else f"{number}{suffix}"

    def cast(self, text: str, source: DType, target: DType) -> str:
        if target.kind == "b":
            return f"({text} != 0)"
        kind = self.type_of(target)
        if source.kind == "f" and target.kind in "iu":
            wide = self.type_of(np.dtype(np.int64))
            if code_of(target) == "u8":
                return f"({text} < 0 ? ({kind})({wide})({text}) : ({kind})({text}))"
            if target.itemsize < 8:
                return f"(({kind})({wide})({text}))"
        return f"(({kind})({text}))"

    def apply(self, node: nodes.Apply) -> str:
        given = [self.scalar(item) for item in node.arguments]
        first = node.arguments[0].dtype
        name = node.primitive
        template = self.dialect.template(name, first)
        if template:
            return template.format(*given, T=self.type_of(node.dtype, variable=True))
        if name == "popcount":
            text = self.dialect.functions["popcount"].format(*given)
            return f"(({self.type_of(node.dtype)})({text}))"
        kind = first.kind
        if kind == "f" and name in _INFIX:
            return f"({given[0]} {_INFIX[name]} {given[1]})"
        if kind == "b":
            return self.logic(name, given)
        if name == "negative" and kind == "f":
            return f"(-{given[0]})"
        if kind in "iu":
            return self.integer(name, given, node)
        raise UnsupportedError(
            f"{self.kernel.name}: {self.dialect.name} cannot spell {name} of {first}"
        )

    def logic(self, name: str, given: list[str]) -> str:
        if name == "invert":
            return f"(!{given[0]})"
        if name in _INFIX:
            # On bools, C's bit operations give ints that are 0 or 1.
            return f"(bool)({given[0]} {_INFIX[name]} {given[1]})"
        raise UnsupportedError(f"{self.kernel.name}: {name} of bools")

    def integer(self, name: str, given: list[str], node: nodes.Apply) -> str:
        dtype = node.arguments[0].dtype
        kind = self.type_of(node.dtype, variable=True)
        if name in _WRAPPING and node.dtype.kind == "i":
            unsigned = self.type_of(np.dtype(f"u{max(4, dtype.itemsize)}"))
            parts = [f"({unsigned}){item}" for item in given]
            if name == "negative":
                return f"(({kind})(0 - {parts[0]}))"
            return f"(({kind})({parts[0]} {_INFIX[name]} {parts[1]}))"
        if name == "negative":
            return f"(({kind})(0 - {given[0]}))"
        if name == "invert":
            return f"(({kind})(~{given[0]}))"
        if name == "absolute":
            unsigned = self.type_of(np.dtype(f"u{max(4, dtype.itemsize)}"))
            negated = f"({kind})(0 - ({unsigned}){given[0]})"
            return f"({given[0]} < 0 ? {negated} : {given[0]})"
        if name in _INFIX:
            text = f"({given[0]} {_INFIX[name]} {given[1]})"
            return text if node.dtype.kind == "b" else f"(({kind}){text})"
        raise UnsupportedError(
            f"{self.kernel.name}: {self.dialect.name} cannot spell {name} of {dtype}"
        )


def _is_half(dtype: DType) -> bool:
    return dtype.kind == "f" and dtype.itemsize == 2
