"""Bars of a benchmark's figures: how many times as long each peer takes.

Only rows that timed dcarray beside somebody else are drawn; matplotlib (``pip install
'.[bench]'``) is imported when the first plot is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["Ratios", "digest", "draw", "ratios"]

Ratios = dict[str, dict[str, float]]

LABELS = {
    "numpy": "NumPy",
    "numexpr": "numexpr",
    "numba": "Numba",
    "torch": "PyTorch",
    "jax": "JAX",
    "cupy": "CuPy",
    "graphed": "PyTorch's graph",
}
COLOURS = dict(
    zip(
        LABELS,
        ("#4c72b0", "#937860", "#55a868", "#dd5a3c", "#8172b3", "#64b5cd", "#c44e52"),
        strict=True,
    )
)
BAR = 0.16
"""Inches of a bar."""


def ratios(rows: Iterable[Mapping[str, Any]]) -> Ratios:
    """Seconds of each peer over those of dcarray, by row; both as a report saves them.

    A row whose name is indented goes on with one above, and has that one's name before
    its own.
    """
    found: Ratios = {}
    head = ""
    for row in rows:
        what = row["what"]
        if what.startswith(" "):
            what = f"{head}: {what.strip()}"
        else:
            head = what
        times = row["figures"].get("seconds")
        if not isinstance(times, Mapping):
            times = row["figures"]
        own = times.get("dcarray")
        peers = {name: times[name] for name in LABELS if name in times}
        if own and peers:
            found[what] = {name: taken / own for name, taken in peers.items()}
    return found


def digest(saved: Mapping[str, Any]) -> str:
    """What a plot keeps of the figures that it shows, so that a test can compare."""
    shown = json.dumps([saved["title"], ratios(saved["rows"])])
    return hashlib.sha256(shown.encode()).hexdigest()


def draw(saved: Mapping[str, Any], path: Path) -> None:
    """Draw what a report saved, as SVG or PNG by the name of the file.

    Raises
    ------
    SystemExit
        There is nothing to draw, or no matplotlib to draw with.
    """
    shown = ratios(saved["rows"])
    if not shown:
        raise SystemExit("--plot: no row of these has dcarray beside a peer")
    try:
        import matplotlib
    except ImportError:
        raise SystemExit("--plot needs matplotlib: pip install '.[bench]'") from None
    # Text stays text, and the same figures give the same file.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "dcarray"})
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    bars = sum(len(peers) for peers in shown.values())
    height = BAR * (bars + 0.8 * len(shown)) + 1.1
    figure = Figure(figsize=(8.5, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    ticks, drawn, top = [], {}, 0.0
    for peers in shown.values():
        first = top
        for name, ratio in peers.items():
            drawn[name] = axes.barh(
                top, ratio - 1, 0.9, left=1, color=COLOURS[name], label=LABELS[name]
            )
            axes.annotate(
                f"{ratio:.2g}" if ratio < 10 else f"{ratio:.0f}",
                (max(ratio, 1.0), top),
                (3, 0),
                textcoords="offset points",
                va="center",
                fontsize=6.5,
            )
            top += 1
        ticks.append((first + top - 1) / 2)
        top += 0.8
    values = [ratio for peers in shown.values() for ratio in peers.values()]
    axes.set_xscale("log")
    axes.set_xlim(min(0.5, *values) / 1.1, 1.5 * max(2.0, *values))
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", labelsize=7.5)
    axes.axvline(1, color="black", linewidth=1)
    axes.grid(axis="x", which="both", color="#dddddd", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_yticks(ticks, list(shown), fontsize=7.5)
    axes.set_ylim(top - 0.3, -0.8)
    axes.set_xlabel(
        "times as long as dcarray takes: right of 1, dcarray is faster", fontsize=7.5
    )
    axes.set_title(saved["title"], fontsize=9, loc="left")
    handles = [drawn[name] for name in LABELS if name in drawn]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=len(handles), fontsize=7.5
    )
    is_svg = path.suffix.lower() == ".svg"
    about = {"Date": None, "Description": digest(saved)} if is_svg else {}
    figure.savefig(path, dpi=150, metadata=about)
