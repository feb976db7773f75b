"""What measures the distance of devices from NumPy, and the table in the documentation.

That every device keeps the bounds is `BackendSuite.test_every_operation`.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcarray.backends.opencl import OpenClBackend, count
from dcarray.backends.registry import install, remove
from dcarray.backends.simulated import SimulatedBackend
from dcarray.errors import CompileError
from dcarray.ops import composed, gradients
from dcarray.ops.elementwise import TABLE
from dcarray.testing import operands
from dcarray.testing.accuracy import batches, measure
from dcarray.testing.adversarial import adversarial, special
from dcarray.testing.workbench import Workbench

from .interpreted_device import InterpretedBackend

ROOT = Path(__file__).parents[2]
KEPT = sorted((ROOT / "docs" / "accuracy").glob("*.json"))
COMPLEX = np.dtype(np.complex64)


def _script() -> Any:
    """`benchmarks/ulp.py`, which is no part of the package."""
    spec = importlib.util.spec_from_file_location("ulp", ROOT / "benchmarks" / "ulp.py")
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


ulp = _script()


class Simulated(Workbench):
    def make(self) -> Any:
        return SimulatedBackend()


class Inexact(SimulatedBackend):
    """Numbers of float32 are off by two to four units in the last place, but for the
    largest."""

    def download(self, source: Any, target: Any) -> None:
        super().download(source, target)
        if target.size % 4 == 0:
            pattern = target.view(np.int32)
            pattern[pattern & 0x7F000000 != 0x7F000000] += 2


class WithoutSine(SimulatedBackend):
    """Its compiler does not know an operation."""

    def compile(self, program: Any) -> Any:
        if TABLE["sin"] in [node.op for node in program.nodes]:
            raise CompileError("what is sin?\nline 3")
        return super().compile(program)


@pytest.fixture
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param is OpenClBackend and not count():
        pytest.skip("needs pyopencl and a driver")
    made = request.param()
    install(made)
    yield made.device
    remove(made.device)


# -------------------------------------------------------------------------- distances
def test_distance_in_units_of_the_wanted_number() -> None:
    want = np.array([1.0, 2.0, 0.0, -0.0, np.nan, 1.0], np.float32)
    got = np.array([1.0, 2.0, -0.0, 0.0, -np.nan, 1.0], np.float32)
    assert operands.distance(got, want) == 0
    got[1] = np.nextafter(got[1], np.float32(9))
    assert operands.distances(got, want).tolist() == [0, 1, 0, 0, 0, 0]
    scale = np.full(6, 8, np.float32)
    assert operands.distances(got, want, scale).tolist() == [0, 0.25, 0, 0, 0, 0]
    assert operands.distance(got.astype(float), want) == np.inf
    assert operands.distance(got[:2], want) == np.inf


def test_distance_to_what_is_no_number() -> None:
    top = np.finfo(np.float32).max
    want = np.array([np.inf, top, -top, np.nan, 1], np.float32)
    got = np.array([top, np.inf, np.inf, 1, np.nan], np.float32)
    found = operands.distances(got, want).tolist()
    assert found[:2] == pytest.approx([1, 1])
    assert found[2] > 1e7
    assert found[3:] == [np.inf, np.inf]


def test_distance_of_complex_numbers_and_integers() -> None:
    want = np.array([1 + 1j, 1 + 1j], np.complex64)
    got = want.copy()
    got[1] = complex(1, np.nextafter(np.float32(1), np.float32(2)))
    assert operands.distances(got, want).tolist() == [0, 1]
    assert operands.distances(np.arange(3), np.array([0, 9, 2])).tolist() == [
        *(0, np.inf, 0)
    ]


# --------------------------------------------------------------------------- operands
@pytest.mark.parametrize("code", "efd")
def test_special_values(code: str) -> None:
    found = special(np.dtype(code))
    limits = np.finfo(code)
    size = np.abs(found)
    for wanted in (0, limits.smallest_subnormal, limits.tiny, limits.max, np.inf):
        chosen = found[size == wanted]
        assert set(np.signbit(chosen).tolist()) == {True, False}
    assert np.isnan(found).sum() == 1
    assert (np.abs(np.cos(found[size < 10].astype(float))) < 2 * limits.eps).any()


def test_operands() -> None:
    for op, codes in (("power", "ll"), ("add", "DD"), ("where", "?FF"), ("sin", "e")):
        dtypes = tuple(np.dtype(code) for code in codes)
        given = adversarial(TABLE[op], dtypes, 100)
        again = adversarial(TABLE[op], dtypes, 100)
        assert [x.dtype for x in given] == list(dtypes)
        assert len({x.shape for x in given}) == 1
        assert 100 < len(given[0]) <= 20_100
        for one, other in zip(given, again):
            assert one.tobytes() == other.tobytes()
        if op == "power":
            assert (given[1] >= 0).all()


# -------------------------------------------------------------------------- measuring
def test_every_row_is_measured() -> None:
    supported = SimulatedBackend().supported
    found = {op.name for ops, _ in batches(supported) for op in ops}
    assert found == TABLE.keys() - {"cast", "isnat"}


@pytest.mark.parametrize("device", [InterpretedBackend, OpenClBackend], indirect=True)
def test_composed_rows_keep_their_bounds(device: str) -> None:
    """The others do so in `BackendSuite`; the CPU computes these by parts."""
    bench = ulp.Bench(device)
    rows = [*composed.TABLE.values(), *gradients.TABLE.values()]
    measured = [
        found
        for ops, dtypes in batches([np.dtype(np.float32)], rows)
        for found in measure(bench, ops, dtypes, adversarial(ops[0], dtypes, 1000))
    ]
    assert [found.op for found in measured if not found.is_kept] == []
    assert len(measured) == len(rows)


def test_overflow_within_complex_products_is_not_compared() -> None:
    class Fused(Simulated):
        def execute(self, program: Any, shape: Any, inputs: Any, *_: Any) -> Any:
            with np.errstate(all="ignore"):
                found = np.asarray(inputs[0] * inputs[1])
            found.real[np.isnan(found.real)] = 1
            return [found]

    top = np.finfo(np.float32).max
    for x, kept in ((complex(top, top), True), (complex(np.nan, 1), False)):
        given = [np.full(3, x, COMPLEX)] * 2
        (row,) = measure(Fused(), [TABLE["multiply"]], (COMPLEX, COMPLEX), given)
        assert row.is_kept is kept


@pytest.mark.parametrize("device", [WithoutSine], indirect=True)
def test_row_that_does_not_compile(device: str, capsys: Any) -> None:
    rows = ulp.measured(ulp.Bench(device), 10, ["sin", "cos", "negative"])
    failed = [row for row in rows if row.failure]
    assert {row.op.name for row in failed} == {"sin"}
    assert len(failed) == 5
    assert not any([row.is_kept for row in failed])
    assert all([row.is_kept for row in rows if row.op.name != "sin"])
    assert "sin of float32: what is sin?" in capsys.readouterr().out


# -------------------------------------------------------------------------- the script
@pytest.mark.parametrize("device", [Inexact], indirect=True)
def test_row_beyond_its_bound(device: str, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "page" / "inexact.json"
    page = tmp_path / "page.md"
    page.write_text(f"before\n{ulp.BEGIN}\nold\n{ulp.END}\nafter\n")
    command = ["--device", device, "--values", "10", "--column", "Off"]
    command += ["--json", str(path), "--doc", str(page)]
    assert ulp.main([*command, "--only", "floor", "exp", "heaviside"]) == 1
    found = json.loads(path.read_text())
    assert found["column"] == "Off"
    assert 2 <= found["ulp"]["exp"]["f"] <= 4
    apart = found["ulp"]["floor"]["f"]
    assert 2 <= apart <= 4
    assert [line for line in found["beyond"] if line.startswith("floor of float32:")]
    assert not [line for line in found["beyond"] if line.startswith("exp of float32")]
    assert "beyond its bound: floor" in capsys.readouterr().out
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n")
    assert "old" not in text
    assert "| `exp` | 4, complex 8 |" in text
    assert f"- floor of float32: {apart} ulp, bound 0" in text


@pytest.mark.parametrize("device", [SimulatedBackend], indirect=True)
def test_several_devices_in_one_table(device: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"{ulp.BEGIN}{ulp.END}")
    command = ["--device", device, "--values", "10", "--only", "exp", "negative"]
    for name in ("one", "two"):
        path = tmp_path / "page" / f"{name}.json"
        assert ulp.main([*command, "--column", name, "--json", str(path)]) == 0
    assert ulp.main(["--doc", str(page)]) == 0
    text = page.read_text()
    assert "Each cell: one / two." in text
    assert "| `exp` | 4, complex 8 |  | 0 / 0 | 0 / 0 |" in text
    assert "`negative`" in text


# -------------------------------------------------------------------- the documentation
@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_documented_distances(path: Path) -> None:
    """Every row is there, and none is beyond its bound."""
    found = json.loads(path.read_text())
    assert found["values"] >= 1_000_000
    assert found["ulp"].keys() == ulp.TABLE.keys() - {"cast", "isnat"}
    assert not found["beyond"]
    for name, distances in found["ulp"].items():
        limit = max(ulp.TABLE[name].bound(np.dtype(code)) for code in "dD")
        assert max(distances.values()) <= limit, name


def test_documented_table() -> None:
    """`benchmarks/ulp.py --doc docs/accuracy.md` has been run."""
    assert KEPT
    page = ROOT / "docs" / "accuracy.md"
    assert ulp.table(ulp.read(page.with_suffix(""))) in page.read_text()
