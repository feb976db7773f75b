"""Control over when and where pending work runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..array import DeviceArray
from ..array.state import ArrayState
from ..backends.registry import opened
from ..lazy import execute
from ..lazy.graph import Value

if TYPE_CHECKING:
    from ..lazy.explain import Plan

__all__ = ["evaluate", "explain", "synchronize"]


def evaluate(*arrays: Any) -> None:
    """Run what the arrays wait for.

    Parameters
    ----------
    *arrays
        Arrays, or lists, tuples and dicts of arrays; other objects are ignored.

    Raises
    ------
    DeviceError
        The work failed on every device that could do it.

    Examples
    --------
    >>> import dcarray as dc
    >>> y = dc.ones(100_000) * 2
    >>> dc.evaluate(y)
    """
    _evaluate(arrays)


def _evaluate(arrays: tuple[Any, ...]) -> None:
    if len(arrays) == 1 and isinstance(arrays[0], ArrayState):
        array = arrays[0]
        binding = array._binding
        if binding is not None:
            execute.evaluate((binding._value or binding.value,))
        return
    values = []
    stack = list(arrays)
    while stack:
        item = stack.pop()
        if isinstance(item, ArrayState):
            array = item
            binding = array._binding
            if binding is not None:
                values.append(binding._value or binding.value)
        elif isinstance(item, (list, tuple)):
            stack.extend(item)
        elif isinstance(item, dict):
            stack.extend(item.values())
    # What reads the others first: it computes them in the same pass.
    if len(values) > 1:
        values.sort(key=_serial, reverse=True)
    execute.evaluate(values)


def _serial(value: Value) -> int:
    expr = value.expr
    return -1 if expr is None else expr.serial


def synchronize() -> None:
    """Wait until every device has ended the work that was given to it."""
    for backend in opened():
        backend.synchronize()


def explain(array: DeviceArray) -> Plan:
    """The plan of an array: which operations fuse, where each group would run and why.

    Nothing runs.

    Parameters
    ----------
    array : DeviceArray

    Returns
    -------
    Plan
        Prints as one line for each group.

    Raises
    ------
    TypeError
        ``array`` is no `DeviceArray`.
    """
    from ..lazy.explain import Plan, plan_for  # only who asks for a plan needs it

    if not isinstance(array, DeviceArray):
        raise TypeError(f"explain: got {type(array).__name__}, takes a DeviceArray")
    if array._binding is None:
        return Plan(())
    return plan_for(array._binding.value)
