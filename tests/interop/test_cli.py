"""The command line: `info`, `cache`, `demo`, and what it says to nonsense."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dcarray
from dcarray.cli import main
from dcarray.cli.benching import WORK, bench
from dcarray.demo import PROGRAMS, compare, examples_folder


def test_info_names_versions_and_devices(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info"]) == 0
    shown = capsys.readouterr().out
    assert np.__version__ in shown
    assert "auto, cpu" in shown
    assert "CPU engine" in shown
    assert "CUDA" in shown and "CuPy" in shown


@pytest.mark.parametrize(
    "arguments", [[], ["dance"], ["cache"], ["cache", "sell"], ["run"], ["info", "x"]]
)
def test_nonsense_ends_with_status_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "usage: dcarray" in capsys.readouterr().err


def test_bench_compares_with_numpy(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(dcarray, side=64) == 0
    shown = capsys.readouterr().out
    assert shown.count("the same bits") == len(WORK)


def test_bench_tells_other_bits(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = {"x": lambda module, x: x + (module is np)}
    monkeypatch.setattr("dcarray.cli.benching.WORK", other)
    assert bench(dcarray, side=64) == 1
    assert "OTHER BITS" in capsys.readouterr().out


def test_every_example_is_in_the_demo() -> None:
    there = {path.stem for path in examples_folder().glob("*.py")}
    assert there - {"kernels"} == set(PROGRAMS)  # it is no program of NumPy's


@pytest.mark.parametrize("name", PROGRAMS)
def test_examples_give_the_same_bits(name: str) -> None:
    with dcarray.config(scalars="numpy"):
        comparison, _ = compare(name, dcarray, repeats=1)
    assert comparison.same_bits
    assert comparison.groups > 0
    assert comparison.operations > comparison.groups


def test_the_picture_is_a_png(tmp_path: Path) -> None:
    from dcarray.interop.script import Substitution

    folder = examples_folder()
    substitution = Substitution(dcarray, str(folder))
    program = substitution.load("image_filter", str(folder / "image_filter.py"))
    pixels = dcarray.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    target = tmp_path / "small.png"
    program.__dict__["write_png"](target, pixels)
    data = target.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert data[16:24] == (3).to_bytes(4, "big") + (2).to_bytes(4, "big")
