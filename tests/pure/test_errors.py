"""The exceptions: their tree, and what they say."""

from __future__ import annotations

import inspect
import pickle
import re

import pytest

from dcarray import errors


def drawn() -> dict[str, str]:
    """Child → parent, read from the tree at the head of the module."""
    assert errors.__doc__ is not None
    found: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    for line in errors.__doc__.splitlines():
        match = re.match(
            r"^([ │]*)(?:[├└]── )?([A-Z][A-Za-z]+(?:Error|Exception))\b", line
        )
        if match is None or ("──" not in line and not line.strip()[0].isupper()):
            continue
        depth, name = match.start(2), match.group(2)
        while above and above[-1][0] >= depth:
            above.pop()
        if above:
            found[name] = above[-1][1]
        above.append((depth, name))
    return found


def test_the_tree_is_the_truth() -> None:
    tree = drawn()
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert tree[name] in [parent.__name__ for parent in kind.__bases__], name


def test_all_are_public() -> None:
    defined = {
        name
        for name, item in vars(errors).items()
        if inspect.isclass(item) and item.__module__ == errors.__name__
    }
    assert defined == set(errors.__all__)


@pytest.mark.parametrize(
    ("kind", "also"),
    [
        (errors.OutOfMemoryError, MemoryError),
        (errors.DeviceError, RuntimeError),
        (errors.DeviceMismatchError, ValueError),
        (errors.ConfigError, ValueError),
        (errors.UnsupportedError, TypeError),
        (errors.DTypeError, TypeError),
        (errors.KernelSyntaxError, SyntaxError),
    ],
)
def test_also_of_python(kind: type[BaseException], also: type[BaseException]) -> None:
    assert issubclass(kind, also)


def test_a_device_error_says_what_it_knows() -> None:
    error = errors.LaunchError(
        "out of registers",
        device="cuda:0",
        code=701,
        kernel="add exp",
        source="__global__ ...",
        source_line="model.py:12",
        grid=(64, 1, 1),
        memory="12 bytes held",
        hint="use smaller groups",
        transient=True,
    )
    assert str(error) == (
        "out of registers; device: cuda:0; code: 701; kernel: add exp; "
        "recorded at: model.py:12; grid: (64, 1, 1); memory: 12 bytes held; "
        "hint: use smaller groups"
    )
    assert error.source == "__global__ ..."
    assert error.transient
    assert error.args == ("out of registers",)


def test_a_device_error_says_no_more_than_it_knows() -> None:
    error = errors.DeviceError("failed")
    assert str(error) == "failed"
    assert error.kernel is error.grid is error.code is None
    assert not error.transient
    assert str(errors.DeviceError("failed", code=0)) == "failed; code: 0"


def test_errors_survive_pickling() -> None:
    error = pickle.loads(pickle.dumps(errors.CompileError("bad", device="cuda:1")))
    assert type(error) is errors.CompileError
    assert error.message == "bad"
    assert error.device == "cuda:1"
