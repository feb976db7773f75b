"""The LLVM renderer: what the text says, and that LLVM accepts it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from dcarray.kernel.nodes import Apply, Cast, Constant, Let, Name, Select
from dcarray.render.llvm import render
from dcarray.render.llvm_driver import DRIVER, Frame
from dcarray.render.llvm_scalar import ScalarWriter, can_lower, declarations
from dcarray.render.llvm_team import TEAM
from dcarray.render.plan import Argument, Home, LoopCall, Place, Plan, Segment, Stride

F4, I4, TRUTH = np.dtype("f"), np.dtype("i"), np.dtype("?")
LEAF = Place(Home.LEAF, 0)
OUTPUT = Place(Home.OUTPUT, 0)
BUFFER = Place(Home.BUFFER, 0)


def verified(text: str) -> Any:
    llvm = pytest.importorskip("llvmlite.binding")
    llvm.initialize_native_target()
    module = llvm.parse_assembly(text)
    module.verify()
    return module


def square_plan(stride: Stride = Stride.CONTIGUOUS) -> Plan:
    x = Name("x", F4)
    body = (Let("y", Apply("multiply", (x, x), F4)),)
    segment = Segment((("x", LEAF, F4),), body, (("y", OUTPUT, F4),))
    return Plan(((F4, stride),), ((F4, stride),), (), (), (segment,), (), 4096)


def test_a_segment_is_one_loop() -> None:
    text = render(square_plan())
    verified(text)
    assert text.count("phi i64 [ 0,") == 1
    assert text.count("fmul float") == 1


@pytest.mark.parametrize("stride", [Stride.CONTIGUOUS, Stride.GENERAL])
def test_the_text_depends_on_classes_of_strides_only(stride: Stride) -> None:
    text = render(square_plan(stride))
    verified(text)
    assert ("%stride0" in text) == (stride is Stride.GENERAL)


def test_a_repeated_leaf_is_loaded_once() -> None:
    text = render(square_plan(Stride.ZERO))
    load = text.index("load float")
    assert load < text.index("phi i64")


def test_no_fast_math_and_no_address_in_the_text() -> None:
    call = LoopCall(0, (Argument(LEAF, 4), Argument(BUFFER, 4)))
    finish = Segment((("t", BUFFER, F4),), (), (("t", OUTPUT, F4),))
    plan = Plan(
        ((F4, Stride.CONTIGUOUS),),
        ((F4, Stride.CONTIGUOUS),),
        (F4,),
        (4,),
        (call,),
        (finish,),
        1024,
    )
    for text in (render(plan), render(square_plan()), DRIVER, TEAM):
        for word in ("fast", "nnan", "ninf", "nsz", "reassoc", "contract", "inttoptr"):
            assert not re.search(rf"\b{word}\b", text)
    verified(render(plan))
    assert "call void" in render(plan)


def test_the_driver_is_valid() -> None:
    module = verified(DRIVER + TEAM)
    names = {function.name for function in module.functions}
    assert {"dcarray_drive", "dcarray_single", "dcarray_lead"} <= names


def test_the_driver_reads_the_frame_where_it_is_written() -> None:
    for name, word in (("watch", Frame.WATCH), ("edges", Frame.EDGES)):
        assert f"%{name}.at = getelementptr i64, ptr %frame, i64 {word}\n" in DRIVER
    assert f"%steps = getelementptr i64, ptr %frame, i64 {Frame.STRIDES}\n" in DRIVER


@pytest.mark.parametrize(
    ("scalar", "text"),
    [
        (Apply("add", (Name("x", F4), Name("x", F4)), F4), "fadd float %x, %x"),
        (Cast(Name("x", F4), I4), "fptosi float %x to i32"),
        (Cast(Name("x", F4), TRUTH), "fcmp une float %x, 0.0"),
        (Apply("sqrt", (Name("x", F4),), F4), "call float @llvm.sqrt.f32(float %x)"),
        (Apply("add", (Name("x", F4), Constant(0.5, F4)), F4), "0x3FE0000000000000"),
        (Apply("less", (Name("x", F4), Name("x", F4)), TRUTH), "fcmp olt float"),
        (
            Select(Name("c", TRUTH), Name("x", F4), Constant(1, F4), F4),
            "select i1 %c, float %x, float 0x3FF0000000000000",
        ),
    ],
)
def test_scalars_are_spelled(scalar: Any, text: str) -> None:
    writer = ScalarWriter("v")
    writer.names.update(x="%x", c="%c")
    writer.write(scalar)
    assert text in "\n".join(writer.lines)


def test_intrinsics_are_declared_once() -> None:
    text = "%a = call i32 @llvm.smax.i32(i32 %x, i32 %y)\n" * 2
    text += "%b = call i8 @llvm.abs.i8(i8 %x, i1 false)"
    assert declarations(text) == [
        "declare i8 @llvm.abs.i8(i8, i1)",
        "declare i32 @llvm.smax.i32(i32, i32)",
    ]


def test_what_is_not_on_the_list_is_refused() -> None:
    assert can_lower("add", (F4, F4), F4)
    for name, kind in (("exp", "f"), ("add", "F"), ("multiply", "e"), ("divide", "i")):
        dtype = np.dtype(kind)
        assert not can_lower(name, (dtype, dtype), dtype)
    assert not can_lower("add", (F4, I4), F4)
    swapped = F4.newbyteorder()
    assert not can_lower("add", (swapped, swapped), swapped)
