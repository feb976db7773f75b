"""Helper threads that take slices of a launch in machine code (see `llvm_team`).

One launch at a time has the team; another one that comes meanwhile runs on its own
thread.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from array import array
from collections.abc import Sequence
from queue import SimpleQueue

from ...render.llvm_team import MAILBOX_WORDS
from .cores import Elsewhere, yield_function
from .engine import Engine, engine
from .launch import Bound, scratch_memory

__all__ = ["drive_all", "run_together"]

SPINS = 20_000
"""How often an idle helper looks for more before it sleeps: some 100 µs.  Waking a
thread costs as much as a launch of 10⁵ elements."""

PATIENCE = 1
"""Slices that the launching thread does before it lets Python see to signals."""

_LOOK = 3e-8
"""Seconds, about, for one look whether a helper is done."""

_WAIT = 1_000_000
"""How often it looks whether the others are done, before it does the same."""


class _Team:
    """The helpers of a process."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._bells: list[SimpleQueue[None]] = []
        self._threads: list[threading.Thread] = []
        self._elsewhere = Elsewhere()
        self._room = 64
        self._recess = 0
        self._penalty = 4
        self._mailboxes = array("q", bytes(8 * MAILBOX_WORDS * (self._room + 1)))
        start = self._mailboxes.buffer_info()[0]
        self._start = start + -start % 64

    def _grow(self, helpers: int) -> int:
        """Start helpers that are missing; returns how many of them there are."""
        helpers = min(helpers, self._room)
        while len(self._bells) < helpers:
            number = len(self._bells)
            bell: SimpleQueue[None] = SimpleQueue()
            box = self._start + 8 * MAILBOX_WORDS * number
            self._mailboxes[(box - self._mailboxes.buffer_info()[0]) // 8 + 3] = 1
            name = f"dcarray-team-{number + 1}"
            thread = threading.Thread(
                target=self._serve, args=(box, bell), name=name, daemon=True
            )
            try:
                thread.start()
            except RuntimeError:  # the system has no more, or Python is shutting down
                return number
            self._bells.append(bell)
            self._threads.append(thread)
        return helpers

    def _serve(self, box: int, bell: SimpleQueue[None]) -> None:
        assist, pause = self._engine.team.help, yield_function()
        while True:
            bell.get()
            assist(box, SPINS, pause)

    def _ring(self, asleep: int) -> None:
        """Wake the helpers that sleep."""
        for number, bell in enumerate(self._bells):
            if asleep >> number & 1:
                bell.put(None)

    def _judge(self, slow: bool, waited: int, seconds: float) -> None:
        """Where others want the cores as well, a helper without a core makes everybody
        wait: leave the helpers alone for some launches."""
        if slow or (waited > 5000 and waited * _LOOK > seconds / 2):
            self._recess = self._penalty
            self._penalty = min(128, 2 * self._penalty)
        else:
            self._penalty = 4

    def run(
        self,
        frame: array[int],
        edges: array[int],
        scratch: int,
        size: int,
        threads: int,
    ) -> Sequence[int] | None:
        """Run all slices; returns the block that each of them reached.

        None if another launch has the team, or if it does not pay now.
        """
        if not self._lock.acquire(blocking=False):
            return None
        if self._recess:
            self._recess -= 1
            self._lock.release()
            return None
        try:
            count = len(edges) - 1
            helpers = self._grow(min(threads, count) - 1)
            self._elsewhere.keep(self._threads)
            reached = array("q", edges[1:])
            control = array(
                "q",
                (
                    frame.buffer_info()[0],
                    0,
                    count,
                    edges.buffer_info()[0],
                    reached.buffer_info()[0],
                ),
            )
            address = control.buffer_info()[0]
            functions = self._engine.team
            lead, pause = functions.lead, yield_function()
            interrupted: BaseException | None = None
            posted = False
            slow = False
            began = time.perf_counter()
            while True:
                try:
                    if not posted:
                        posted = True
                        bells = functions.post(
                            address, self._start, helpers, scratch, size
                        )
                        self._ring(bells)
                    waited = lead(
                        address, self._start, helpers, scratch, PATIENCE, _WAIT, pause
                    )
                    if waited >= 0:
                        break
                    slow = slow or waited == -2
                except BaseException as error:  # Ctrl-C: others still write to memory
                    control[1] = count
                    interrupted = error
            if interrupted is not None:
                raise interrupted
            self._judge(slow, waited, time.perf_counter() - began)
            return reached
        finally:
            self._lock.release()


_team: _Team | None = None
_making = threading.Lock()


def run_together(
    engine: Engine,
    frame: array[int],
    edges: array[int],
    scratch: int,
    size: int,
    threads: int,
) -> Sequence[int] | None:
    """Run the slices of a launch on several threads.

    Parameters
    ----------
    engine : Engine
    frame : array of words
    edges : array of words
        Where slices begin and end, in blocks.
    scratch : int
        Address of ``threads`` times ``size`` bytes.
    size : int
    threads : int

    Returns
    -------
    sequence of int or None
        For each slice the block that it reached; None if the helpers have other work.
    """
    global _team
    team = _team
    if team is None:
        with _making:
            if _team is None:
                _team = _Team(engine)
            team = _team
    return team.run(frame, edges, scratch, size, threads)


def drive_all(
    bound: Bound, frame: array[int], edges: array[int], threads: int
) -> Sequence[int]:
    """Run all slices, on several threads if they are free; see `run_together`."""
    size = bound.built.scratch
    if threads > 1 and len(edges) > 2:
        machine = engine()
        assert machine is not None
        scratch = scratch_memory(size * threads)
        reached = run_together(machine, frame, edges, scratch, size, threads)
        if reached is not None:
            return reached
    scratch = scratch_memory(size)
    address = frame.buffer_info()[0]
    drive = bound.built.drive
    if len(edges) == 2:
        return (drive(address, 0, edges[1], scratch),)
    return [drive(address, a, b, scratch) for a, b in itertools.pairwise(edges)]


def _after_fork() -> None:
    global _team, _making
    _team = None  # the parent's threads are not here
    _making = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
