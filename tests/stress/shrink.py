"""Makes a failing program small, and prints it as Python that can be pasted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .data import Draw, Layout, draw
from .programs import Step, Structure

__all__ = ["reproducer", "shrink"]

Fails = Callable[[Structure, Draw], bool]


def without(structure: Structure, number: int) -> Structure | None:
    """The structure less one step and all that needs what it defines."""
    gone = set(structure.steps[number].defines)
    steps = []
    for place, step in enumerate(structure.steps):
        if place == number:
            continue
        if gone & {*step.uses, *step.writes}:
            gone |= set(step.defines)
            continue
        steps.append(step)
    if not steps:
        return None
    results = tuple(i for i in structure.results if i not in gone)
    return replace(structure, steps=tuple(steps), results=results)


def variants(structure: Structure) -> list[Structure]:
    """Smaller structures, one step of shrinking away."""
    found = []
    for number in reversed(range(len(structure.steps))):
        smaller = without(structure, number)
        if smaller is not None:
            found.append(smaller)
    for index in structure.results:
        if index < len(structure.leaves):
            continue
        less = tuple(i for i in structure.results if i != index)
        if less:
            drop = Step(f"r[{index}] = None", (index,))
            steps = (*structure.steps, drop)
            found.append(replace(structure, steps=steps, results=less))
    if structure.evaluate:
        found.append(replace(structure, evaluate=False))
    return found


def shrink(structure: Structure, data: Draw, fails: Fails) -> tuple[Structure, Draw]:
    """The smallest failing program that was found."""
    budget = 400
    again = True
    while again and budget > 0:
        again = False
        for smaller in variants(structure):
            budget -= 1
            if len(smaller.steps) > 60:
                continue
            if fails(smaller, data):
                structure, again = smaller, True
                break
    names = tuple(one.layout.name for one in data.inputs)
    for chosen in (("C",) * len(names), names):
        for limit in (1, 2, 3, 5, 9, 17, 40, 130):
            for seed in range(12):
                small = draw(structure, f"shrink:{seed}", chosen, limit)
                small = replace(small, scalars=data.scalars)
                if fails(structure, small):
                    return structure, plainer(structure, small, fails)
    return structure, plainer(structure, data, fails)


def plainer(structure: Structure, data: Draw, fails: Fails) -> Draw:
    """Plain layouts and calm data where the failure stays."""
    for number, one in enumerate(data.inputs):
        for changed in (
            replace(one, layout=Layout(one.shape)),
            replace(one, flavour="calm"),
            replace(one, layout=Layout(one.shape), flavour="calm"),
        ):
            inputs = list(data.inputs)
            inputs[number] = changed
            other = replace(data, inputs=tuple(inputs))
            if fails(structure, other):
                data = other
                break
    return data


def reproducer(structure: Structure, data: Draw) -> str:
    """Python text with the data in it; ``m`` is the module under test."""
    lines = []
    for number, one in enumerate(data.inputs):
        values = one.values()
        layout = one.layout
        if values.size <= 24 and values.dtype.kind in "biu":
            text = f"m.array({values.tolist()}, dtype=np.{one.leaf.dtype})"
        elif values.size <= 24:
            text = (
                f"m.array(np.frombuffer(bytes.fromhex('{values.tobytes().hex()}'), "
                f"np.{one.leaf.dtype}).reshape({values.shape}))"
            )
        else:
            text = (
                f"m.array(pool('{one.leaf.dtype}', '{one.flavour}')"
                f"[{one.offset}:][:{values.size}].reshape({values.shape}))"
            )
        if layout.views:
            text = f"{layout!r}.apply({text}, m)"
        shown = np.array2string(layout.apply(values, np), threshold=12).replace(
            "\n", ""
        )
        lines.append(f"r[{number}] = {text}  # {one.leaf.dtype} {one.shape} {shown}")
    lines.append(f"s = {data.scalars!r}")
    lines += [step.text for step in structure.steps]
    tail = "dc.evaluate(...) on" if structure.evaluate else "read"
    lines.append(f"# {tail} registers {list(structure.results)}")
    return "\n".join(lines)
