"""A short run of the fuzzer with a fixed seed, through both engines."""

from __future__ import annotations

import pytest

import dcarray as dc
from tests.stress.fuzz import Fuzzer, State
from tests.stress.generator import structure


@pytest.mark.parametrize(
    ("engine", "lazy", "seed", "structures"),
    [
        ("interpreter", "always", 11, 60),
        ("auto", "always", 12, 60),
        ("auto", "auto", 13, 40),
    ],
)
def test_programs_have_the_bits_of_numpy(
    engine: str, lazy: str, seed: int, structures: int
) -> None:
    state = State(seed)
    with dc.config(engine=engine, lazy=lazy, threads=1):
        fuzzer = Fuzzer(dc, state, layouts=2, draws=8, quiet=True)
        for index in range(structures):
            fuzzer.structure(index)
    assert not state.mismatches, "\n\n".join(
        f"{one['where']}\n{one['program']}\n{one['reason']}"
        for one in state.mismatches[:5]
    )
    assert state.draws >= structures * 4
    if lazy == "always":
        assert state.fused >= state.draws // 4


def test_a_structure_depends_on_its_seed_only() -> None:
    assert structure("3:5").key == structure("3:5").key
    assert structure("3:5").key != structure("3:6").key
