"""What a user's kernel may not contain: each construct is named, with its place."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from dcarray.errors import KernelSyntaxError, KernelTypeError
from dcarray.kernel.specialise import ArrayOf, specialise

SYNTAX = [
    ("y = [k for k in range(3)]", "'list comprehension' is not part", "[k"),
    ("y = lambda q: q", "'lambda' is not part", "lambda"),
    ("s = f'{x}'", "'f-string' is not part", "f'{x}'"),
    ("with x: y = 1", "'with' is not part", "with"),
    ("def g(): pass", "'def' is not part", "def"),
    ("class A: pass", "'class' is not part", "class"),
    ("yield x", "'yield' is not part", "yield"),
    ("y = {1: 2}", "'dict' is not part", "{1"),
    ("y = x[:: len(x)]", "step of a slice is a number that is known", ":: len"),
    ("y = (q := 3)", "':=' is not part", "q :="),
    ("y = x[0] is i", "'is' is not part", "x[0]"),
    ("y = 1 in x", "'in' is not part", "1 in"),
    ("y = x @ x", "'@' is not part", "x @"),
    ("del x", "'del' is not part", "del"),
    ("assert x[0] > 0", "'assert' is not part", "assert"),
    ("raise ValueError", "'raise' is not part", "raise"),
    ("return 3", "a kernel returns nothing", "return"),
    ("y = 'a'", "'a' is not a number", "'a'"),
    ("y = x.T", "the array x has no attribute 'T'", "x.T"),
    ("for k in zip(x, (1, 2)): y = 1", "zip of known values", "zip"),
    ("for k in reversed(range(0, 9, i)): y = 1", "step of such a range", "range"),
    ("while True: y = 1", "never changes", "True"),
    ("y = unknown", "'unknown' is not defined", "unknown"),
    ("y = shared(int, 4)", "takes a launch as kernel", "shared"),
    ("y = global_id(7)", "an axis from 0 to 2", "global_id"),
    ("atomic_add(x, 0)", "takes (array, index, value)", "atomic_add"),
    ("y = open(3)", "open cannot be called", "open"),
    ("y = exp(**{1: 2})", "'**' is not part", "{1"),
]
TYPES = [
    ("for k in 3: y = k", "or a known tuple, got int 3", "3: y"),
    ("for k in x[0]: y = k", "or a known tuple, got a float32 value", "x[0]: y"),
    ("x[1:] = 2", "stores one element at a time", "x[1:]"),
    ("y = x[0.5:]", "an index is an integer", "0.5:"),
    ("x[0] += 1j", "is float32 and gets a complex64 value: say which", "x[0]"),
    ("x[0] = None", "expected a number, got NoneType None", "x[0]"),
    ("y = sum(x)", "sum takes a tuple here", "sum"),
    ("x[0] = x", "expected a number, got the array x", "x[0]"),
    ("y = x[0.5]", "an index is an integer, got float 0.5", "x[0.5]"),
    ("y = x[0, 1]", "x has 1 axes, got 2 indices", "x[0, 1]"),
    ("y = len(x[0])", "a float32 value has no length", "len"),
    ("y = 1 << x[0]", "left_shift does not take int and float32", "1 <<"),
    ("x[0] = 10**400", "too large", "x[0]"),
    ("y = x[0] and 2 > 1", "take conditions, got a float32 value", "x[0]"),
    ("for k in range(x[0]): y = k", "range counts integers", "range"),
]


@pytest.mark.parametrize(("line", "words", "place"), SYNTAX + TYPES)
def test_it_is_named(tmp_path: Path, line: str, words: str, place: str) -> None:
    path = tmp_path / "refused.py"
    path.write_text(
        "from dcarray.kernel import *\n"
        "from dcarray.kernel.language import exp\n"
        f"def refused(x):\n    i = global_id(0)\n    {line}\n"
    )
    spec = importlib.util.spec_from_file_location("refused", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kind = KernelTypeError if (line, words, place) in TYPES else KernelSyntaxError
    with pytest.raises(kind) as caught:
        specialise(module.refused, [ArrayOf(np.dtype(np.float32), 1)])
    error = caught.value
    assert words in str(error.msg)
    assert str(error.msg).startswith("refused: ")
    assert (error.filename, error.lineno) == (str(path), 5)
    assert error.text is not None and error.offset is not None
    assert error.text[error.offset - 1 :].startswith(place)
    if kind is KernelTypeError:
        shown = str(error).splitlines()
        assert shown[1] == f'  File "{path}", line 5'
        assert shown[2] == f"    {line}"
        assert shown[3].strip().strip("^") == ""
        assert shown[3].index("^") == 4 + line.index(place)
