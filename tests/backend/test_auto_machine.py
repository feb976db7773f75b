"""Random programs on ``auto`` while the router throws dice: NumPy's values, whatever
ran where."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.base import Rates
from dcarray.lazy import route
from dcarray.testing import SimulatedDevice

RATES = Rates(launch=1e-6, bandwidth=1e12, operations=1e13, transfer_bandwidth=1e12)


class Machine:
    """Arrays, and their doubles in NumPy."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        rng = np.random.default_rng(seed)
        self.pairs: list[tuple[Any, np.ndarray]] = []
        for _ in range(3):
            host = rng.integers(0, 100, (12, 10)).astype(np.float64)
            self.pairs.append((dc.asarray(host), host.copy()))

    def pick(self) -> tuple[Any, np.ndarray]:
        return self.random.choice(self.pairs)

    def step(self) -> None:
        kind = self.random.choice(
            ["new", "new", "view", "in place", "assign", "read", "scalar", "export"]
        )
        getattr(self, "do_" + kind.replace(" ", "_"))()
        if len(self.pairs) > 12:
            del self.pairs[self.random.randrange(len(self.pairs))]

    def do_new(self) -> None:
        (x, a), (y, b) = self.pick(), self.pick()
        if a.shape == b.shape:
            self.pairs.append((x + y * 2, a + b * 2))
        else:
            self.pairs.append((x - 3, a - 3))

    def do_view(self) -> None:
        x, a = self.pick()
        rows = slice(self.random.randrange(2), None, self.random.choice([1, 2, -1]))
        if self.random.random() < 0.3:
            self.pairs.append((x.T, a.T))
        elif a.shape[0] > 2:
            self.pairs.append((x[rows], a[rows]))

    def do_in_place(self) -> None:
        (x, a), (y, b) = self.pick(), self.pick()
        if self.random.random() < 0.5 and a.shape == b.shape:
            x += y
            a += b
        else:
            x -= 7
            a -= 7

    def do_assign(self) -> None:
        (x, a), (y, b) = self.pick(), self.pick()
        if a.shape == b.shape and self.random.random() < 0.7:
            x[...] = y * 0.5
            a[...] = b * 0.5
        else:
            x[0] = 5
            a[0] = 5

    def do_read(self) -> None:
        x, a = self.pick()
        assert np.array_equal(x._array(), a)

    def do_scalar(self) -> None:
        x, a = self.pick()
        assert float(x[0, -1]) == a[0, -1]
        assert float(x.max()) == a.max()

    def do_export(self) -> None:
        x, a = self.pick()
        exported = np.asarray(x)
        exported[0, 0] = a[0, 0] = self.random.randrange(100)
        assert float(x[0, 0]) == a[0, 0]


@pytest.mark.parametrize("seed", range(25))
def test_random_programs(seed: int) -> None:
    dice = random.Random(seed)
    with (
        SimulatedDevice(memory=60_000, rates=RATES, auto=True) as device,
        dc.config(lazy="always"),
    ):

        def rule(work: route.Work) -> str:
            return dice.choice(["cpu", device.label])

        names = ("add", "multiply", "subtract", "cast", "max")
        for name in names:
            route.set_rule(name, rule)
        try:
            machine = Machine(seed)
            for _ in range(120):
                machine.step()
            for x, a in machine.pairs:
                assert np.array_equal(np.asarray(x), a)
            assert device.count("launch")
        finally:
            for name in names:
                route.set_rule(name, None)
