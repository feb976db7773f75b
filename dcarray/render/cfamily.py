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
from ..kernel.verify import verify
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
        lowered = verify(round_early(replace(lower(kernel), dialect.missing)))
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
        self.types, self.spellings = dialect.known_types, dialect.known_spellings
        self.lines: list[str] = []
        self.helpers: dict[str, str] = {}
        self.shared = [
            node for node in statements(kernel.body) if type(node) is nodes.Shared
        ]
        self.local = {node.name for node in self.shared}
        self.element: dict[str, DType] = {node.name: node.dtype for node in self.shared}
        for item in kernel.parameters:
            if type(item) is nodes.Array:
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
        self.alignments()
        self.body(self.kernel.body, 1)
        head = f"{dialect.header} {self.kernel.name}"
        listed = ",\n    ".join(parameters)
        return "\n".join([f"{head}(\n    {listed})\n{{", *self.lines, "}\n"])

    def alignments(self) -> None:
        for item in self.kernel.parameters:
            if isinstance(item, nodes.Array) and item.run > 1 and self.dialect.aligned:
                said = self.dialect.aligned.format(
                    const="" if item.writable else "const ",
                    type=self.type_of(item.dtype),
                    name=self.name(item.name),
                    bytes=item.run * item.dtype.itemsize,
                )
                self.write(1, said)

    def positional(self) -> list[str]:
        items = self.kernel.parameters
        return [self.parameter(item, place) for place, item in enumerate(items)]

    def packed(self) -> list[str]:
        """The arrays, and one struct that holds all numbers."""
        items = self.kernel.parameters
        arrays = [item for item in items if type(item) is nodes.Array]
        numbers = [item for item in items if type(item) is nodes.Value]
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
        is_array = type(item) is nodes.Array
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
            return self.types[dtype]
        except KeyError:
            pass
        try:
            return self.types.setdefault(dtype, self.dialect.type_of(dtype))
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
        if type(node) is nodes.Let:
            value = node.value
            kind = self.type_of(value.dtype, variable=True)
            if type(value) is nodes.Apply:
                text = self.apply(value)
            else:
                text = self.scalar(value)
            line = f"{kind} {self.name(node.name)} = {text};"
            self.lines.append("  " * depth + line)
        elif type(node) is nodes.Assign:
            self.write(depth, f"{self.name(node.name)} = {self.scalar(node.value)};")
        elif type(node) is nodes.Store:
            self.write(depth, self.store(node))
        elif type(node) is nodes.For:
            self.count(node, depth)
        elif type(node) is nodes.While:
            self.write(depth, f"while ({self.scalar(node.condition)}) {{")
            self.body(node.body, depth + 1)
            self.write(depth, "}")
        elif type(node) is nodes.If:
            self.write(depth, f"if ({self.scalar(node.condition)}) {{")
            self.body(node.body, depth + 1)
            if node.otherwise:
                self.write(depth, "} else {")
                self.body(node.otherwise, depth + 1)
            self.write(depth, "}")
        elif type(node) is nodes.Barrier:
            self.write(depth, self.dialect.barrier)
        elif type(node) is nodes.Atomic:
            self.write(depth, self.atomic(node))

    def store(self, node: nodes.Store) -> str:
        dtype = self.element[node.array]
        place = f"{self.name(node.array)}[{self.scalar(node.index)}]"
        value = node.value
        if dtype.kind == "f" and dtype.itemsize == 2:
            if type(value) is nodes.Constant:
                given = self.constant(nodes.Constant(value.value, SINGLE))
            else:
                assert type(value) is nodes.Cast
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
        if type(node.step) is nodes.Constant:
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
        if type(node) is nodes.Name:
            return self.name(node.name)
        if type(node) is nodes.Apply:
            return self.apply(node)
        if type(node) is nodes.Constant:
            return self.constant(node)
        if type(node) is nodes.Index:
            place = self.dialect.places[node.kind].format(
                axis=node.axis, letter="xyz"[node.axis]
            )
            return f"({self.type_of(node.dtype)})({place})"
        if type(node) is nodes.Load:
            return self.load(node)
        if type(node) is nodes.Select:
            condition, x, y = (
                self.scalar(item)
                for item in (node.condition, node.when_true, node.when_false)
            )
            return f"({condition} ? {x} : {y})"
        source = node.argument
        if type(source) is nodes.Load and _is_half(source.dtype):
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
        if node.dtype.kind == "i" and -number == 1 << 8 * node.dtype.itemsize - 1:
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
        given = []
        for item in node.arguments:
            if type(item) is nodes.Name and item.name not in self.reserved:
                given.append(item.name)
            else:
                given.append(self.scalar(item))
        key = (node.primitive, node.arguments[0].dtype, node.dtype)
        spell = self.spellings.get(key)
        if spell is None:
            spell = self.spellings[key] = self.spelling(*key).format
        return spell(*given)

    def spelling(self, name: str, first: DType, result: DType) -> str:
        """The template of an operation whose first operand has the dtype ``first``."""
        kind = self.type_of(result, variable=True)
        template = self.dialect.template(name, first)
        if template:
            return template.replace("{T}", kind)
        if name == "popcount":
            template = self.dialect.functions["popcount"]
            return f"(({self.type_of(result)})({template}))"
        if first.kind == "f" and name in _INFIX:
            return f"({{0}} {_INFIX[name]} {{1}})"
        if first.kind == "f" and name == "negative":
            return "(-{0})"
        if first.kind == "b" and name == "invert":
            return "(!{0})"
        if first.kind == "b" and name in _INFIX:
            # On bools, C's bit operations give ints that are 0 or 1.
            return f"(bool)({{0}} {_INFIX[name]} {{1}})"
        if first.kind in "iu":
            return self.integer(name, first, result)
        raise UnsupportedError(
            f"{self.kernel.name}: {self.dialect.name} cannot spell {name} of {first}"
        )

    def integer(self, name: str, first: DType, result: DType) -> str:
        kind = self.type_of(result, variable=True)
        unsigned = self.type_of(np.dtype(f"u{max(4, first.itemsize)}"))
        if name in _WRAPPING and result.kind == "i":
            if name == "negative":
                return f"(({kind})(0 - ({unsigned}){{0}}))"
            return f"(({kind})(({unsigned}){{0}} {_INFIX[name]} ({unsigned}){{1}}))"
        if name == "negative":
            return f"(({kind})(0 - {{0}}))"
        if name == "invert":
            return f"(({kind})(~{{0}}))"
        if name == "absolute":
            return f"({{0}} < 0 ? ({kind})(0 - ({unsigned}){{0}}) : {{0}})"
        if name in _INFIX:
            text = f"({{0}} {_INFIX[name]} {{1}})"
            return text if result.kind == "b" else f"(({kind}){text})"
        raise UnsupportedError(
            f"{self.kernel.name}: {self.dialect.name} cannot spell {name} of {first}"
        )


def _is_half(dtype: DType) -> bool:
    return dtype.kind == "f" and dtype.itemsize == 2
