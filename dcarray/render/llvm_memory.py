"""Moving values between registers and memory, in LLVM IR.

A bool is a byte in memory; a complex number is two registers, see `plan.PARTS`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .llvm_scalar import llvm_type
from .plan import PARTS, part_dtype

__all__ = ["MemoryWriter", "ends_of"]


def ends_of(dtype: np.dtype[Any]) -> tuple[str, ...]:
    """What is added to a value's name in the names of its registers."""
    return PARTS if dtype.kind == "c" else ("",)


def _memory_type(dtype: np.dtype[Any]) -> str:
    return "i8" if dtype.kind == "b" else llvm_type(dtype)


class MemoryWriter:
    """Gathers lines; knows where elements lie."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def put(self, *lines: str) -> None:
        self.lines.extend(lines)

    def fresh(self) -> str:
        self.count += 1
        return f"%r{self.count}"

    def word(self, index: int, name: str, kind: str = "i64") -> None:
        """Load a word of the frame."""
        self.put(
            f"{name}.at = getelementptr i64, ptr %frame, i64 {index}",
            f"{name} = load {kind}, ptr {name}.at",
        )

    def load(self, name: str, address: str, dtype: np.dtype[Any], tag: str) -> None:
        if dtype.kind == "c":
            for end, at in zip(PARTS, self._both(address, dtype), strict=True):
                self.load(name + end, at, part_dtype(dtype), tag)
        elif dtype.kind == "b":
            self.put(f"{name}.i8 = load i8, ptr {address}{tag}")
            self.put(f"{name} = icmp ne i8 {name}.i8, 0")
        else:
            align = f", align {dtype.alignment}"
            kind = llvm_type(dtype)
            self.put(f"{name} = load {kind}, ptr {address}{align}{tag}")

    def _both(self, address: str, dtype: np.dtype[Any]) -> tuple[str, str]:
        """Where the parts of a complex number are."""
        second = self.fresh()
        kind = llvm_type(part_dtype(dtype))
        self.put(f"{second} = getelementptr inbounds {kind}, ptr {address}, i64 1")
        return address, second

    def element(self, base: str, stride: str, dtype: np.dtype[Any], j: str) -> str:
        """Address of element ``j``."""
        name = self.fresh()
        if stride == str(dtype.itemsize):
            kind = _memory_type(dtype)
            self.put(f"{name} = getelementptr inbounds {kind}, ptr {base}, i64 {j}")
        else:
            self.put(f"{name}.skip = mul nsw i64 {j}, {stride}")
            self.put(f"{name} = getelementptr inbounds i8, ptr {base}, i64 {name}.skip")
        return name

    def store(
        self,
        values: list[str],
        base: str,
        stride: str,
        dtype: np.dtype[Any],
        j: str,
        tag: str,
    ) -> None:
        address = self.element(base, stride, dtype, j)
        if dtype.kind == "c":
            part = part_dtype(dtype)
            align = f", align {part.alignment}"
            for name, at in zip(values, self._both(address, dtype), strict=True):
                self.put(f"store {llvm_type(part)} {name}, ptr {at}{align}{tag}")
            return
        (value,) = values
        if dtype.kind == "b":
            self.put(f"{address}.i8 = zext i1 {value} to i8")
            self.put(f"store i8 {address}.i8, ptr {address}{tag}")
        else:
            align = f", align {dtype.alignment}"
            self.put(f"store {llvm_type(dtype)} {value}, ptr {address}{align}{tag}")
