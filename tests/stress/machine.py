"""Runs a structure with a draw on a module, and compares two such runs."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .compare import difference, same_error
from .data import Draw
from .programs import Structure

__all__ = ["Mismatch", "Outcome", "Target", "check", "numpy_target", "run"]


@dataclass(frozen=True)
class Target:
    """A module under test."""

    module: Any
    wrap: Callable[[Any], Any]
    evaluate: Callable[..., Any]


def numpy_wrap(value: Any) -> Any:
    """NumPy's scalars as 0-d arrays, which is what the library gives."""
    return value if type(value) is np.ndarray else np.asarray(value)


def numpy_target() -> Target:
    return Target(np, numpy_wrap, lambda *arrays: None)


def library_target(module: Any) -> Target:
    """The library, with a check that every result is one of its arrays."""

    def wrap(value: Any) -> Any:
        if type(value) is not module.ndarray:
            raise AssertionError(f"got {type(value)}, not a DeviceArray")
        return value

    return Target(module, wrap, module.evaluate)


@dataclass
class Outcome:
    """What a run left: its registers, how far it came, and what it raised."""

    registers: list[Any]
    done: int
    error: BaseException | None
    raised: list[BaseException | None]
    messages: set[str] = field(default_factory=set)


@contextlib.contextmanager
def quiet(listen: bool) -> Iterator[list[Any]]:
    """NumPy's floating-point state: all ignored, or all warnings caught."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always" if listen else "ignore")
        with np.errstate(all="warn" if listen else "ignore", under="ignore"):
            yield caught if caught is not None else []


def run(structure: Structure, target: Target, draw: Draw, listen: bool) -> Outcome:
    """Run on one module."""
    done = [0]
    raised: list[BaseException | None] = []
    error: BaseException | None = None

    def raises(call: Callable[[], Any]) -> None:
        try:
            call()
        except Exception as found:
            raised.append(found.with_traceback(None))
        else:
            raised.append(None)

    with quiet(listen) as caught:
        registers = draw.arrays(target.module)
        registers += [None] * (structure.registers - len(registers))
        program = structure.run
        try:
            program(target.module, registers, draw.scalars, target.wrap, done, raises)
        except Exception as found:
            error = found.with_traceback(None)
        if structure.evaluate and error is None:
            target.evaluate(*[registers[i] for i in structure.results])
        elif listen:
            target.evaluate(*[x for x in registers if x is not None])
    outcome = Outcome(registers, done[0], error, raised)
    if listen:
        outcome.messages = {
            str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)
        }
    return outcome


@dataclass(frozen=True)
class Mismatch:
    """Where two runs differ."""

    register: int | None
    reason: str


def compare(
    structure: Structure, got: Outcome, want: Outcome, listen: bool
) -> Mismatch | None:
    """The first difference between two runs."""
    if got.done != want.done or not same_error(got.error, want.error):
        step = structure.steps[min(got.done, want.done)].text
        return Mismatch(
            None,
            f"`{step}`: {show(got.error)}, want {show(want.error)} "
            f"(after {got.done} and {want.done} steps)",
        )
    for mine, theirs in zip(got.raised, want.raised, strict=True):
        if not same_error(mine, theirs):
            return Mismatch(None, f"raises: {show(mine)}, want {show(theirs)}")
    if want.error is not None and structure.steps[want.done].writes:
        return None  # how much was written before the error is NumPy's secret
    if listen and want.error is None:
        missing = want.messages - got.messages if everything_runs(structure) else ()
        if missing or got.messages - want.messages:
            return Mismatch(
                None, f"warnings {sorted(got.messages)}, want {sorted(want.messages)}"
            )
    for index, theirs in enumerate(want.registers):
        mine = got.registers[index]
        if theirs is None:
            continue
        reason = difference(mine, theirs)
        if reason is not None:
            return Mismatch(index, f"r[{index}]: {reason}")
    return None


def everything_runs(structure: Structure) -> bool:
    """Whether every value is computed for sure: what nobody reads never is, be it a
    whole array or what a slice leaves out."""
    alive = set(structure.results)
    for step in reversed(structure.steps):
        if step.writes or ".shape)" in step.text or "][" in step.text:
            return False
        if step.defines:
            if not alive.issuperset(step.defines):
                return False
            alive.update(step.uses)
    return True


def show(error: BaseException | None) -> str:
    return "no error" if error is None else f"{type(error).__name__}: {error}"[:160]


REFERENCE = numpy_target()


def check(
    structure: Structure, target: Target, draw: Draw, listen: bool = False
) -> Mismatch | None:
    """Run on NumPy and on a module, and compare."""
    want = run(structure, REFERENCE, draw, listen)
    try:
        got = run(structure, target, draw, listen)
    except Exception as error:
        return Mismatch(None, f"while it was evaluated: {show(error)}")
    with quiet(False):
        try:
            return compare(structure, got, want, listen)
        except Exception as error:
            return Mismatch(None, f"while it was read: {show(error)}")
