"""What the texts of machine code here have in common."""

from __future__ import annotations

__all__ = ["address", "fused_declared", "multiply_add", "words"]


def words(names: dict[str, str]) -> list[str]:
    """Load the words of a function, each of which has a name and a type."""
    lines = []
    for index, (name, kind) in enumerate(names.items()):
        lines.append(f"%{name}.at = getelementptr i64, ptr %words, i64 {index}")
        lines.append(f"%{name} = load {kind}, ptr %{name}.at")
    return lines


def address(name: str, base: str, skip: str | int) -> str:
    return f"{name} = getelementptr i8, ptr {base}, i64 {skip}"


def multiply_add(vector: str, name: str, x: str, w: str, fused: bool) -> list[str]:
    """``n = x * w + a``"""
    if fused:
        three = ", ".join([f"{vector} {value}" for value in (x, w, f"%a{name}")])
        return [f"%n{name} = call {vector} @{_fused(vector)}({three})"]
    return [
        f"%m{name} = fmul {vector} {x}, {w}",
        f"%n{name} = fadd {vector} %m{name}, %a{name}",
    ]


def fused_declared(vector: str, fused: bool) -> list[str]:
    """The declaration that `multiply_add` needs."""
    three = ", ".join([vector] * 3)
    return [f"declare {vector} @{_fused(vector)}({three})"] if fused else []


def _fused(vector: str) -> str:
    length, number = vector.strip("<>").split(" x ")
    return f"llvm.fma.v{length}f{32 if number == 'float' else 64}"
