"""What starts prepared launches, and does again what a row did."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import Any, cast

from dcarray import native
from dcarray.backends.cuda.calling import COUNTS, Again
from dcarray.backends.starting import Allocator, InParts, Starter, starter_of


class Device:
    """Its memory is numbered in the order of the requests."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.started: list[Any] = []

    def allocate(self, nbytes: int) -> str:
        self.asked.append(nbytes)
        return f"new {len(self.asked)}"

    def launch(self, name: str) -> Any:
        def start(memories: Any, scalars: Any) -> None:
            self.started.append((name, list(memories), tuple(scalars)))

        return start


def test_two_launches_with_memory_in_between() -> None:
    device = Device()
    backend = cast(Any, device)
    both = InParts(backend, 64, device.launch("a"), Starter(device.launch("b")))
    memories: list[Any] = ["x", "y", "out"]
    both.start(memories, [2.0])
    both(("x", "out"), ())
    assert memories == ["x", "y", "out"]
    assert device.asked == [64, 64]
    assert device.started == [
        ("a", ["x", "y", "new 1"], (2.0,)),
        ("b", ["new 1", "out"], ()),
        ("a", ["x", "new 2"], ()),
        ("b", ["new 2", "out"], ()),
    ]


def test_what_starts_already_is_taken_as_it_is() -> None:
    starter = Starter(Device().launch("a"))
    assert starter_of(starter) is starter


def test_steps_are_done_again_with_new_memory() -> None:
    device = Device()
    steps: list[Any] = [
        (device.launch("a"), [0, 3, 2]),
        (Starter(device.launch("b")), [4, 1]),
    ]
    allocator = Allocator(cast(Any, device))
    again = Again(allocator, lambda: "counts", [8, COUNTS, 16], steps, [4, 0])
    given: list[Any] = [SimpleNamespace(pointer=32), SimpleNamespace(pointer=512)]
    x, y = given
    assert again(given) == ["new 2", x]
    assert device.asked == [8, 16]
    assert device.started == [
        ("a", [x, "counts", "new 1"], ()),
        ("b", ["new 2", y], ()),
    ]
    elsewhere: list[Any] = [SimpleNamespace(pointer=32), SimpleNamespace(pointer=36)]
    assert again(elsewhere) is None
    assert len(device.started) == 2


def test_totals_count_up() -> None:
    totals: dict[str, int] = defaultdict(int)
    for _ in range(3):
        native.count(totals, "group")
    native.count(totals, "library")
    assert totals == {"group": 3, "library": 1}
