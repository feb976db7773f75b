"""What a language of the C family says in its own way: data, no code paths.

A template is text with ``{0}``, ``{1}`` ... for the arguments and ``{T}`` for the type
of the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import numpy as np

__all__ = ["ELEMENTARY", "Dialect", "code_of"]

DType = np.dtype[Any]

ELEMENTARY: dict[str, str] = {
    **{name: f"{name}({{0}})" for name in ("sqrt", "cbrt", "exp", "exp2", "expm1")},
    **{name: f"{name}({{0}})" for name in ("log", "log2", "log10", "log1p")},
    **{name: f"{name}({{0}})" for name in ("sin", "cos", "tan")},
    **{name: f"{name}({{0}})" for name in ("sinh", "cosh", "tanh")},
    **{f"arc{name}": f"a{name}({{0}})" for name in ("sin", "cos", "tan")},
    **{f"arc{name}": f"a{name}({{0}})" for name in ("sinh", "cosh", "tanh")},
    **{name: f"{name}({{0}})" for name in ("floor", "ceil", "trunc", "rint")},
    "arctan2": "atan2({0}, {1})",
    "power": "pow({0}, {1})",
    "fmod": "fmod({0}, {1})",
    "fma": "fma({0}, {1}, {2})",
    "accumulate": "({0} + {1})",
    "plain_sqrt": "sqrt({0})",
    "copysign": "copysign({0}, {1})",
    "nextafter": "nextafter({0}, {1})",
    "ldexp": "ldexp({0}, {1})",
    "absolute": "fabs({0})",
    "isnan": "({0} != {0})",
    "isinf": "(fabs({0}) == INFINITY)",
    "isfinite": "(fabs({0}) < INFINITY)",
}
"""Functions of floating-point numbers that are called alike everywhere."""

_WORDS = (
    "auto break case char const continue default do double else enum extern float for "
    "goto if inline int long register restrict return short signed sizeof static "
    "struct switch typedef union unsigned void volatile while bool true false half "
    "uchar ushort uint ulong size_t kernel constant global local private device thread "
    "threadgroup template class namespace using operator new delete this public "
    "protected friend try catch throw asm main signed typename virtual NULL INFINITY "
    "NAN min max abs select step sign mix clamp dot cross length distance normalize "
    "vec round index"
)


@cache
def code_of(dtype: DType) -> str:
    """Kind and bytes, ``"f4"``: C's types do not depend on NumPy's two names for one
    integer."""
    return f"{dtype.kind}{dtype.itemsize}"


@dataclass(frozen=True)
class Dialect:
    """A language of the C family.

    Attributes
    ----------
    name : str
    types : mapping of str to str
        C's types by `code_of` of the dtype; ``b1`` is that of a bool in memory.
    functions : mapping of str to str
        Templates by the name of the primitive, or ``name:code`` for one type alone.
    places : mapping of str to str
        Templates with ``{axis}`` by `nodes.INDEX_KINDS`.
    header : str
        Before the kernel's name, ``__kernel void`` say.
    array, number : str
        Templates of parameters: ``{const}``, ``{type}``, ``{name}``, ``{position}``,
        ``{restrict}``.
    packed : str
        Template of one parameter in place of all numbers, a ``struct`` of them in their
        order: ``{type}``, ``{name}``, ``{position}``.  Positions then count arrays.
    extra : str
        Parameters that every kernel has besides.
    shared : str
        Template of a declaration: ``{type}``, ``{name}``, ``{size}``.
    barrier : str
    preamble : str
        What a text begins with.
    atomic : callable
        ``(operation, code, type, is_shared) -> (helper text, name of the function)``;
        raises `UnsupportedError`.
    restrict : str
        The qualifier of pointers to arrays that nobody else stores to.
    aligned : str
        Template of a statement that says where an array starts: ``{const}``,
        ``{type}``, ``{name}``, ``{bytes}``.  With it the compiler reads and writes
        neighbours at once.
    missing : frozenset of str
        Primitives that it lacks: their bodies are spelled instead.
    suffixes : mapping of str to str
        Of literals, by code.
    """

    name: str
    types: Mapping[str, str]
    functions: Mapping[str, str]
    places: Mapping[str, str]
    header: str
    array: str
    number: str
    shared: str
    barrier: str
    atomic: Callable[[str, str, str, bool], tuple[str, str]]
    packed: str = ""
    extra: str = ""
    preamble: str = ""
    restrict: str = ""
    aligned: str = ""
    missing: frozenset[str] = frozenset()
    suffixes: Mapping[str, str] = field(default_factory=dict)

    def type_of(self, dtype: DType) -> str:
        """C's type of an element in memory.

        Raises
        ------
        KeyError
            The language has none.
        """
        return self.types[code_of(dtype)]

    def template(self, primitive: str, dtype: DType) -> str:
        """The template of a primitive of arguments of a dtype; empty if none is
        given."""
        found = self.functions.get(f"{primitive}:{code_of(dtype)}", "")
        if not found and dtype.kind == "f":
            found = self.functions.get(primitive, "")
        return found

    @cached_property
    def known_types(self) -> dict[DType, str]:
        """What `type_of` was found to be."""
        return {}

    @cached_property
    def known_spellings(self) -> dict[tuple[str, DType, DType], Callable[..., str]]:
        """How operations were found to be spelled, by the primitive and the dtypes of
        its first operand and of its result."""
        return {}

    @cached_property
    def reserved(self) -> frozenset[str]:
        """Words that cannot name a variable, or would hide a function."""
        texts = [*self.functions.values(), *self.types.values(), *self.places.values()]
        found = set(re.findall(r"[A-Za-z_]\w*", " ".join(texts)))
        return frozenset(found | set(_WORDS.split()))
