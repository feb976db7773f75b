"""What a process loads before its first result."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = """
import sys
import dcarray as dc
x = dc.linspace(0.0, 1.0, 1_000_000)
dc.evaluate(dc.exp(x * x) * 0.5 + 1.0)
print(*sys.modules)
"""


def test_a_first_result_loads_the_cpu_alone(tmp_path: Path) -> None:
    """Other devices take tens of milliseconds to load, and so do plugins and what reads
    bodies."""
    environment = {
        **os.environ,
        "DCARRAY_CACHE_DIR": str(tmp_path / "kernels"),
        "PYTHONPATH": os.pathsep.join(sys.path),
        "CUDA_VISIBLE_DEVICES": "",
    }
    for name in ("DCARRAY_DEVICE", "DCARRAY_PURE"):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    loaded = set(done.stdout.split())
    assert "dcarray.backends.cpu.execute" in loaded
    others = [f"dcarray.backends.{kind}" for kind in ("cuda", "opencl", "metal")]
    others += ["dcarray.backends.grid", "dcarray.backends.plugins", "cupy", "rich"]
    others += ["dcarray.kernel.parse", "platformdirs", "importlib.metadata"]
    assert not loaded.intersection(others)


def test_loading_machine_code_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    llvm = pytest.importorskip("llvmlite.binding")
    from dcarray.backends.cpu.engine import Engine

    usual = llvm.ExecutionEngine.set_object_cache
    loaded: list[int] = []
    compiled: list[Any] = []

    def watched(
        loader: Any, notify_func: Any = None, getbuffer_func: Any = None
    ) -> None:
        def give(module: Any) -> bytes:
            content: bytes = getbuffer_func(module)
            loaded.append(len(content))
            return content

        usual(loader, lambda *module: compiled.append(module), give)

    monkeypatch.setattr(llvm.ExecutionEngine, "set_object_cache", watched)
    built = Engine()
    assert len(loaded) == 1 and not compiled
    assert built.single
