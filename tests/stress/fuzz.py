"""The bitwise fuzzer: random fused programs, the library against NumPy.

::

    python -m tests.stress.fuzz --structures 5500 --draws 1000000 --seed 1 \
        --resume fuzz-1.json

Structure ``i`` of seed ``S`` and its draws depend on ``S:i`` only, so a run can be
stopped and resumed, and any draw replayed (``--replay S:i:layout:draw``).  Draws are
counted only where the library fused two operations or more.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import json
import os
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .data import draw, layout_names
from .generator import structure
from .machine import Mismatch, Target, check, library_target, numpy_target
from .programs import Structure
from .shrink import reproducer, shrink

__all__ = ["Fuzzer", "State", "main"]


@dataclass
class State:
    """What a run has done so far; written to a file, so that it can be resumed."""

    seed: int
    settings: dict[str, Any] = field(default_factory=dict)
    next: int = 0
    skipped: list[int] = field(default_factory=list)
    draws: int = 0
    fused: int = 0
    structures: int = 0
    seconds: float = 0.0
    keys: list[str] = field(default_factory=list)
    groups: dict[str, int] = field(default_factory=dict)
    mismatches: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def load(cls, path: Path | None, seed: int, settings: dict[str, Any]) -> State:
        if path is None or not path.exists():
            return cls(seed, settings)
        state = cls(**json.loads(path.read_text()))
        running = path.with_suffix(".running")
        if running.exists():
            index = int(running.read_text())
            where = f"{seed}:{index}"
            state.mismatches.append({"where": where, "reason": "the process ended"})
            state.skipped.append(index)
            running.unlink()
        return state

    def save(self, path: Path | None) -> None:
        if path is not None:
            fresh = path.with_suffix(".new")
            fresh.write_text(json.dumps(vars(self), indent=0))
            os.replace(fresh, path)


class Fuzzer:
    """Runs structures, counts, and writes down what differs."""

    def __init__(
        self,
        module: Any,
        state: State,
        path: Path | None = None,
        layouts: int = 4,
        draws: int = 50,
        limit: int = 1 << 15,
        quiet: bool = False,
    ) -> None:
        self.module = module
        self.library = module.__name__ != "numpy"
        self.target: Target = library_target(module) if self.library else numpy_target()
        self.state = state
        self.path = path
        self.running = path.with_suffix(".running") if path else None
        self.layouts = layouts
        self.draws = draws
        self.limit = limit
        self.quiet = quiet
        self.seen = set(state.keys)
        self.causes: Counter[str] = Counter()

    def fused(self, events: list[Any]) -> int:
        """Operations in the largest group, and a note of its kind."""
        most = 0
        for event in events:
            count = len(event.name.split())
            most = max(most, count)
            if count >= 2:
                self.state.groups[event.name] = self.state.groups.get(event.name, 0) + 1
        return most

    def one(
        self, program: Structure, where: str, names: tuple[str, ...], listen: bool
    ) -> tuple[bool, Mismatch | None]:
        """One draw: whether something fused, and what differs."""
        data = draw(program, where, names, self.limit, listen)
        if not self.library:
            return True, check(program, self.target, data, listen)
        with self.module.profile() as seen:
            found = check(program, self.target, data, listen)
        return self.fused(seen.groups) >= 2, found

    def structure(self, index: int) -> int:
        """All draws of one structure; the number of mismatches."""
        state = self.state
        program = structure(f"{state.seed}:{index}")
        if program.key in self.seen or not program.steps:
            return 0
        fused = bad = 0
        for layout in range(self.layouts):
            names = layout_names(program, f"{state.seed}:{index}:{layout}")
            for number in range(self.draws):
                where = f"{state.seed}:{index}:{layout}:{number}"
                hit, found = self.one(program, where, names, number % 16 == 15)
                state.draws += 1
                fused += hit
                if found is not None:
                    bad += 1
                    self.report(program, where, names, number % 16 == 15, found)
                    if bad >= 3:
                        break
                if number == 3 and not fused and layout:
                    break
            if bad:
                break
        if fused:
            self.seen.add(program.key)
            state.keys.append(program.key)
            state.structures += 1
            state.fused += fused
        return bad

    def report(
        self,
        program: Structure,
        where: str,
        names: tuple[str, ...],
        listen: bool,
        found: Mismatch,
    ) -> None:
        """Shrink a failure and print it."""
        data = draw(program, where, names, self.limit, listen)

        def fails(candidate: Structure, values: Any) -> bool:
            try:
                return check(candidate, self.target, values, listen) is not None
            except Exception:
                return False

        small, values = shrink(program, data, fails)
        again = check(small, self.target, values, listen)
        reason = (again or found).reason
        text = reproducer(small, values)
        ops = re.findall(r"[a-z_]{3,}|[-+*/%&|^<>=~@]+", small.steps[-1].text)
        cause = " ".join([*ops, *re.findall(r"[a-zA-Z]{3,}", reason)[:6]])
        self.causes[cause] += 1
        if self.causes[cause] > 2:
            return
        entry = {
            "where": where,
            "reason": reason,
            "first": found.reason,
            "program": text,
            "sometimes": again is None,
        }
        self.state.mismatches.append(entry)
        if not self.quiet:
            print(
                f"\n=== {where}{' (warnings)' if listen else ''}\n{text}\n--> {reason}"
            )
            if again is None:
                print(f"    (gone when repeated; first seen: {found.reason})")

    def run(self, structures: int, draws: int) -> None:
        """Until both counts are reached."""
        state = self.state
        began = time.perf_counter()
        before = state.seconds
        shown = began
        while state.structures < structures or state.fused < draws:
            if self.running is not None:  # a crash of the process leaves this behind
                self.running.write_text(str(state.next))
            if state.next not in state.skipped:
                faulthandler.dump_traceback_later(120, exit=True)
                self.structure(state.next)
                faulthandler.cancel_dump_traceback_later()
            state.next += 1
            state.seconds = before + time.perf_counter() - began
            if time.perf_counter() - shown > 20:
                shown = time.perf_counter()
                state.save(self.path)
                if not self.quiet:
                    print(self.summary(), flush=True)
        state.save(self.path)
        if self.running is not None:
            self.running.unlink(missing_ok=True)

    def summary(self) -> str:
        state = self.state
        return (
            f"seed {state.seed}: {state.fused} fused of {state.draws} draws, "
            f"{state.structures} structures of {state.next}, "
            f"{len(state.groups)} kinds of group, {len(state.mismatches)} mismatches, "
            f"{state.seconds:.0f} s"
        )


def replay(module: Any, where: str, limit: int) -> None:
    """Run one draw again, and show it."""
    seed, index, layout, _ = where.split(":")
    program = structure(f"{seed}:{index}")
    names = layout_names(program, f"{seed}:{index}:{layout}")
    heard = int(where.rpartition(":")[2]) % 16 == 15
    data = draw(program, where, names, limit, heard)
    print(reproducer(program, data))
    target = numpy_target() if module.__name__ == "numpy" else library_target(module)
    for listen in (False, True):
        print(check(program, target, data, listen) or "the same")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", default="dcarray")
    parser.add_argument("--draws", type=int, default=0)
    parser.add_argument("--structures", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--layouts", type=int, default=4)
    parser.add_argument("--each", type=int, default=50, help="draws for each layout")
    parser.add_argument("--limit", type=int, default=1 << 15, help="elements, at most")
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--lazy", default="always")
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--replay", help="seed:structure:layout:draw")
    options = parser.parse_args()
    module = importlib.import_module(options.module)
    settings = {
        "lazy": options.lazy,
        "engine": options.engine,
        "threads": options.threads,
        "auto_devices": "cpu",  # NumPy's bits are the CPU's promise
    }
    if options.module != "numpy":
        module.config(**settings).__enter__()
    if options.replay:
        replay(module, options.replay, options.limit)
        return 0
    state = State.load(options.resume, options.seed, settings)
    fuzzer = Fuzzer(
        module, state, options.resume, options.layouts, options.each, options.limit
    )
    fuzzer.run(options.structures, options.draws)
    print(fuzzer.summary())
    return 1 if state.mismatches else 0


if __name__ == "__main__":
    raise SystemExit(main())
