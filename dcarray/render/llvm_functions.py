"""Scalars of kernels over a grid in LLVM IR: elements, places, functions, atomics."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..errors import UnsupportedError
from ..kernel.nodes import Apply, Cast, Index, Load, Name, Scalar, Select, Store
from .llvm_scalar import TEMPLATES, WORDS, ScalarWriter, kind_of, llvm_type

__all__ = ["GridScalars", "library_functions", "type_of"]

DType = np.dtype[Any]

_LIBRARY = {
    **{name: name for name in ("cbrt", "exp", "exp2", "expm1", "log", "log2", "log10")},
    **{name: name for name in ("log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh")},
    "arctanh": "atanh",
    "arctan2": "atan2",
    "power": "pow",
    "fmod": "fmod",
    "nextafter": "nextafter",
}
"""Functions of C's library, by primitive."""

_RMW = {
    "add": "add",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
    "exchange": "xchg",
}
_ACCESS = ", !llvm.access.group !0"


def library_functions(text: str) -> set[str]:
    """Functions of C's library that a text calls."""
    return set(re.findall(r"^declare \S+ @(?!llvm\.)(\w+)\(", text, re.MULTILINE))


def has_instructions(node: Apply) -> bool:
    """Whether an operation is done for many elements at once, and calls nothing."""
    known = TEMPLATES.get(kind_of(node.arguments[0].dtype), {})
    return node.primitive in known and not node.primitive.startswith("truncate_")


def type_of(dtype: DType) -> str:
    """LLVM's type of a scalar."""
    if dtype.kind == "f" and dtype.itemsize == 2:
        return "half"
    return llvm_type(dtype)


class GridScalars(ScalarWriter):
    """Writes scalars of one work item.

    Attributes
    ----------
    arrays : dict
        Registers of addresses, and dtypes of elements.
    variables : dict
        Registers of addresses of variables.
    slots : dict
        The same, for variables with an element for each work item.
    declared : list of str
        Declarations of library functions.
    """

    def __init__(self, lines: list[str]) -> None:
        super().__init__("r")
        self.lines = lines
        self.arrays: dict[str, tuple[str, DType]] = {}
        self.variables: dict[str, str] = {}
        self.slots: dict[str, str] = {}
        self.declared: list[str] = []
        self.item = "0"
        self.local = ("0", "0", "0")

    def within(self, item: str, local: tuple[str, str, str]) -> None:
        """What follows is done by this item, and where it is."""
        self.item, self.local = item, local

    def alone(self) -> None:
        """What follows is done by the group's first item for all."""
        self.within("0", ("0", "0", "0"))

    # ------------------------------------------------------------------- variables
    def variable(self, name: str, dtype: DType) -> str:
        """Address of a variable."""
        slot = self.slots.get(name)
        if slot is None:
            return self.variables[name]
        found = self.fresh()
        kind = type_of(dtype)
        self.lines.append(
            f"{found} = getelementptr {kind}, ptr {slot}, i64 {self.item}"
        )
        return found

    def assign(self, name: str, value: str, dtype: DType) -> None:
        """Give a variable a value."""
        place = self.variable(name, dtype)
        mark = _ACCESS if name in self.slots else ""
        self.lines.append(f"store {type_of(dtype)} {value}, ptr {place}{mark}")

    # -------------------------------------------------------------------- elements
    def element(self, array: str, index: Scalar) -> str:
        """Address of an element."""
        base, dtype = self.arrays[array]
        place = self.widened(self.write(index), index.dtype)
        kind = "i8" if dtype.kind == "b" else type_of(dtype)
        return self._line(f"{{n}} = getelementptr {kind}, ptr {base}, i64 {place}")

    def load(self, node: Load) -> str:
        place = self.element(node.array, node.index)
        if node.dtype.kind == "b":
            byte = self._line(f"{{n}} = load i8, ptr {place}{_ACCESS}")
            return self._line(f"{{n}} = icmp ne i8 {byte}, 0")
        kind = type_of(node.dtype)
        align = node.dtype.itemsize
        return self._line(f"{{n}} = load {kind}, ptr {place}, align {align}{_ACCESS}")

    def store(self, node: Store) -> None:
        """Write an element."""
        value = self.write(node.value)
        place = self.element(node.array, node.index)
        dtype = node.value.dtype
        if dtype.kind == "b":
            byte = self._line(f"{{n}} = zext i1 {value} to i8")
            self.lines.append(f"store i8 {byte}, ptr {place}{_ACCESS}")
            return
        align = dtype.itemsize
        self.lines.append(
            f"store {type_of(dtype)} {value}, ptr {place}, align {align}{_ACCESS}"
        )

    # ----------------------------------------------------------------- expressions
    def write(self, scalar: Scalar) -> str:
        if isinstance(scalar, Name):
            known = self.names.get(scalar.name)
            if known is not None:
                return known
            place = self.variable(scalar.name, scalar.dtype)
            mark = _ACCESS if scalar.name in self.slots else ""
            kind = type_of(scalar.dtype)
            return self._line(f"{{n}} = load {kind}, ptr {place}{mark}")
        if isinstance(scalar, Load):
            return self.load(scalar)
        if isinstance(scalar, Index):
            return self.narrowed(self._place(scalar.kind, scalar.axis), scalar.dtype)
        if isinstance(scalar, Cast):
            given = scalar.argument.dtype
            value = self.write(scalar.argument)
            return self.converted(value, given, scalar.dtype)
        if isinstance(scalar, Apply):
            kind = kind_of(scalar.arguments[0].dtype)
            if scalar.primitive not in TEMPLATES.get(kind, {}):
                return self._function(scalar)
        if isinstance(scalar, Select) and type_of(scalar.dtype) == "half":
            raise UnsupportedError("a choice between halves")
        return super().write(scalar)

    def _place(self, kind: str, axis: int) -> str:
        local, group = self.local[axis], f"%group{axis}"
        size, count = f"%size{axis}", f"%count{axis}"
        if kind == "local_id":
            return local
        if kind == "group_id":
            return group
        if kind == "local_size":
            return size
        if kind == "group_count":
            return count
        if kind == "global_size":
            return self._line(f"{{n}} = mul i64 {size}, {count}")
        first = self._line(f"{{n}} = mul nsw i64 {group}, {size}")
        return self._line(f"{{n}} = add nsw i64 {first}, {local}")

    def widened(self, value: str, dtype: DType) -> str:
        """An integer in 64 bits."""
        if dtype.itemsize == 8:
            return value
        verb = "zext" if dtype.kind == "u" else "sext"
        return self._line(f"{{n}} = {verb} {llvm_type(dtype)} {value} to i64")

    def narrowed(self, value: str, dtype: DType) -> str:
        """64 bits as an integer of this dtype."""
        if dtype.itemsize == 8:
            return value
        return self._line(f"{{n}} = trunc i64 {value} to {llvm_type(dtype)}")

    def converted(self, value: str, source: DType, target: DType) -> str:
        """A cast, NumPy's where C leaves it open."""
        for dtype in (source, target):
            if dtype.kind == "f" and dtype.itemsize == 2:
                verb = "fpext" if dtype is source else "fptrunc"
                kinds = type_of(source), type_of(target)
                return self._line(f"{{n}} = {verb} {kinds[0]} {value} to {kinds[1]}")
        if source.kind == "f" and target.kind == "u" and target.itemsize >= 4:
            old = llvm_type(source)
            text = (
                f"{{n}}.a = fptosi {old} {value} to i64\n{{n}}.b = freeze i64 {{n}}.a"
            )
            if target.itemsize == 4:
                return self._line(f"{text}\n{{n}} = trunc i64 {{n}}.b to i32")
            return self._line(
                f"{text}\n{{n}}.c = fptoui {old} {value} to i64\n"
                "{n}.d = freeze i64 {n}.c\n"
                f"{{n}}.e = fcmp oge {old} {value}, 0.0\n"
                "{n} = select i1 {n}.e, i64 {n}.d, i64 {n}.b"
            )
        return self._cast(value, source, target)

    def _function(self, scalar: Apply) -> str:
        """A primitive without a template."""
        name = scalar.primitive
        if name in WORDS:
            return self._apply(scalar)
        dtype = scalar.arguments[0].dtype
        kind = kind_of(dtype)
        given = [self.write(item) for item in scalar.arguments]
        own = llvm_type(dtype)
        if kind in ("i", "u") and name in ("truncate_divide", "truncate_remainder"):
            verb = "div" if name.endswith("divide") else "rem"
            sign = "s" if kind == "i" else "u"
            return self._line(f"{{n}} = {sign}{verb} {own} {given[0]}, {given[1]}")
        if name == "popcount":
            found = self._line(
                f"{{n}} = call {own} @llvm.ctpop.{own}({own} {given[0]})"
            )
            return self._cast(found, dtype, scalar.dtype)
        if name == "round_to_half":
            half = self._line(f"{{n}} = fptrunc float {given[0]} to half")
            return self._line(f"{{n}} = fpext half {half} to float")
        if kind == "f" and name == "ldexp":
            count = self.widened(given[1], scalar.arguments[1].dtype)
            for verb, limit in (("slt", -5000), ("sgt", 5000)):
                # `ldexp` takes a C int; nothing is left beyond a few thousand.
                count = self._line(
                    f"{{n}}.a = icmp {verb} i64 {count}, {limit}\n"
                    f"{{n}} = select i1 {{n}}.a, i64 {limit}, i64 {count}"
                )
            short = self._line(f"{{n}} = trunc i64 {count} to i32")
            return self._call("ldexp", dtype, [given[0]], f", i32 {short}", ", i32")
        if kind == "f" and name in _LIBRARY:
            return self._call(_LIBRARY[name], dtype, given)
        raise UnsupportedError(f"LLVM: no spelling of {name} of {dtype}")

    def _call(
        self,
        function: str,
        dtype: DType,
        given: list[str],
        more: str = "",
        kinds: str = "",
    ) -> str:
        own = llvm_type(dtype)
        name = function + ("f" if dtype.itemsize == 4 else "")
        listed = ", ".join([own] * len(given)) + kinds
        declared = f"declare {own} @{name}({listed})"
        if declared not in self.declared:
            self.declared.append(declared)
        arguments = ", ".join([f"{own} {item}" for item in given]) + more
        return self._line(f"{{n}} = call {own} @{name}({arguments})")

    # --------------------------------------------------------------------- atomics
    def changed(self, operation: str, place: str, value: str, dtype: DType) -> str:
        """Change an element in one step; the old one."""
        own = type_of(dtype)
        align = dtype.itemsize
        if dtype.kind in "iu" or operation == "exchange":
            verb = _RMW.get(operation)
            if verb is None:
                sign = "u" if dtype.kind == "u" else ""
                verb = sign + ("min" if operation == "minimum" else "max")
            return self._line(
                f"{{n}} = atomicrmw {verb} ptr {place}, {own} {value} monotonic, "
                f"align {align}"
            )
        if own == "half" or operation not in ("add", "minimum", "maximum"):
            raise UnsupportedError(f"LLVM: no atomic {operation} of {dtype}")
        bits = f"i{8 * align}"
        name = self.fresh()
        loop = f"{name[1:]}.loop"
        self.lines.extend(
            (
                f"{name}.first = load {bits}, ptr {place}, align {align}",
                f"br label %{loop}.enter",
                f"{loop}.enter:",
                f"br label %{loop}",
                f"{loop}:",
                f"{name}.bits = phi {bits} [ {name}.first, %{loop}.enter ], "
                f"[ {name}.seen, %{loop} ]",
                f"{name} = bitcast {bits} {name}.bits to {own}",
            )
        )
        new = self._line(TEMPLATES["f"][operation], name, value, t=own)
        self.lines.extend(
            (
                f"{name}.new = bitcast {own} {new} to {bits}",
                f"{name}.pair = cmpxchg ptr {place}, {bits} {name}.bits, "
                f"{bits} {name}.new monotonic monotonic, align {align}",
                f"{name}.seen = extractvalue {{ {bits}, i1 }} {name}.pair, 0",
                f"{name}.done = extractvalue {{ {bits}, i1 }} {name}.pair, 1",
                f"br i1 {name}.done, label %{loop}.out, label %{loop}",
                f"{loop}.out:",
            )
        )
        return name

    def exchanged(self, place: str, expected: str, value: str, dtype: DType) -> str:
        """Store a value where another one is; the old one."""
        own = type_of(dtype)
        align = dtype.itemsize
        bits = f"i{8 * align}"
        if dtype.kind == "f":
            expected, value = (
                self._line(f"{{n}} = bitcast {own} {item} to {bits}")
                for item in (expected, value)
            )
        pair = self._line(
            f"{{n}} = cmpxchg ptr {place}, {bits} {expected}, {bits} {value} "
            f"monotonic monotonic, align {align}"
        )
        old = self._line(f"{{n}} = extractvalue {{{{ {bits}, i1 }}}} {pair}, 0")
        if dtype.kind == "f":
            return self._line(f"{{n}} = bitcast {bits} {old} to {own}")
        return old
