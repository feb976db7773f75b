"""What benchmarks print, save and draw."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.benchmark_scripts import script

report = script("report")
plots = sys.modules["plots"]

DOCS = Path(__file__).parents[2] / "docs"
MEASURED = sorted((DOCS / "measured").glob("*.json"))


def row(what: str, **figures: Any) -> dict[str, Any]:
    return {"what": what, "measured": "", "figures": figures}


def test_ratios_are_the_peers_seconds_over_dcarrays() -> None:
    rows = [
        row("one", dcarray=2.0, numpy=3.0, torch=1.0, size=7),
        row("on a device", seconds={"dcarray": 0.5, "cupy": 2.0}, share=0.9),
        row("dcarray alone", dcarray=1.0),
        row("no time", seconds=3.0, ratio=2.0),
    ]
    assert plots.ratios(rows) == {
        "one": {"numpy": 1.5, "torch": 0.5},
        "on a device": {"cupy": 4.0},
    }


def test_rows_that_go_on_are_named_after_what_they_go_on_with() -> None:
    rows = [
        row("conv"),
        row("  gradient", dcarray=1.0, torch=2.0),
        row("other"),
        row("  gradient", dcarray=1.0, torch=3.0),
    ]
    assert plots.ratios(rows) == {
        "conv: gradient": {"torch": 2.0},
        "other: gradient": {"torch": 3.0},
    }


def _report(tmp_path: Path, *more: str) -> tuple[int, Path]:
    path = tmp_path / "saved.json"
    options = report.parser("").parse_args(["--json", str(path), *more])
    rows = [
        report.Row("a + b", "2 x", ">= 1 x", True, {"dcarray": 1.0, "numpy": 2.0}),
        report.Row("  beside Numba", "0.5 x", ">= 1 x", False, {"dcarray": 1.0}),
    ]
    return report.report("work", rows, options), path


def test_a_report_is_printed_and_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, path = _report(tmp_path)
    saved = json.loads(path.read_text())
    assert status == 1
    assert "a + b" in capsys.readouterr().out
    assert saved["title"] == "work"
    assert [found["what"] for found in saved["rows"]] == ["a + b", "  beside Numba"]


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_a_report_is_drawn(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    plot = tmp_path / f"plot.{suffix}"
    _, path = _report(tmp_path, "--plot", str(plot))
    content = plot.read_bytes()
    if suffix == "png":
        assert content.startswith(b"\x89PNG")
        return
    assert "a + b" in content.decode()
    assert plots.digest(json.loads(path.read_text())) in content.decode()


def test_saved_figures_are_drawn_beside_them_or_where_one_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    _, path = _report(tmp_path)
    (tmp_path / "plots").mkdir()
    for more in ([], [str(tmp_path / "plots")], [str(tmp_path / "other.svg")]):
        monkeypatch.setattr(sys, "argv", ["report.py", str(path), "--plot", *more])
        report.main()
    found = [tmp_path / name for name in ("saved.svg", "plots/saved.svg", "other.svg")]
    assert len({file.read_bytes() for file in found}) == 1


def test_nothing_to_draw_is_said(tmp_path: Path) -> None:
    saved = {"title": "", "rows": [row("dcarray alone", dcarray=1.0)]}
    with pytest.raises(SystemExit, match="no row"):
        plots.draw(saved, tmp_path / "plot.svg")


def test_without_matplotlib_one_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    saved = {"title": "", "rows": [row("one", dcarray=1.0, numpy=2.0)]}
    with pytest.raises(SystemExit, match=r"\[bench\]"):
        plots.draw(saved, tmp_path / "plot.svg")


@pytest.mark.parametrize("path", MEASURED, ids=lambda path: path.stem)
def test_plots_of_the_documentation_show_the_figures_beside_them(path: Path) -> None:
    saved = json.loads(path.read_text())
    plot = (DOCS / "_static" / f"{path.stem}.svg").read_text()
    assert plots.digest(saved) in plot
    assert f"_static/{path.stem}.svg" in (DOCS / "performance.md").read_text()
    assert re.fullmatch(r"[\w.]+", saved["packages"]["numpy"])
