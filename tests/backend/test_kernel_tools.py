"""Kernels without a device: their text, `dcarray check`, and edited kernels."""

from __future__ import annotations

import importlib.util
import linecache
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.api.kernels.tools import TARGETS, checked
from dcarray.backends import registry
from dcarray.backends.registry import counted
from dcarray.cli import main
from dcarray.render.cuda import OPTIONS
from tests import nvrtc

EXAMPLE = Path(__file__).parents[2] / "examples" / "kernels.py"


def module_of(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def example() -> ModuleType:
    return module_of(EXAMPLE)


KERNELS = ["attraction", "product", "histogram", "heat"]


@pytest.mark.parametrize("name", KERNELS)
def test_every_target_has_a_text(example: ModuleType, name: str) -> None:
    kernel = getattr(example, name)
    assert list(checked(kernel)) == [(target, None) for target in TARGETS]
    texts = {target: kernel.source(target) for target in TARGETS}
    assert "__global__ void" in texts["cuda"]
    assert "__kernel void" in texts["opencl"]
    assert "kernel void" in texts["metal"]
    assert "define void" in texts["llvm"]
    assert all("float" in text for text in texts.values())
    assert "double" not in texts["metal"]


@pytest.mark.skipif(not nvrtc.available(), reason="needs NVRTC")
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_120"])
def test_cuda_compiles(example: ModuleType, architecture: str) -> None:
    for name in KERNELS:
        text = getattr(example, name).source("cuda")
        assert "dc_" + name in nvrtc.compiled(text, architecture, OPTIONS)


def test_source_for_given_types(example: ModuleType) -> None:
    text = example.heat.source("opencl", (np.float64, 2), (np.float64, 2), np.float64)
    assert "__global const double *old" in text
    assert "double rate" in text
    x = np.zeros((3, 3), np.float32)
    text = example.product.source("cuda", x, x, x, group=(8, 8), tile=8)
    assert "__shared__ float shared[64]" in text
    with pytest.raises(ValueError, match="takes cuda, opencl, metal, llvm"):
        example.heat.source("fortran")


def test_check_of_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["check", str(EXAMPLE)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[1] for line in lines] == KERNELS
    assert all(line.endswith("cuda, opencl, metal, llvm: ok") for line in lines)
    bad = tmp_path / "bad.py"
    bad.write_text(
        "import numpy as np\n"
        "import dcarray as dc\n"
        "from dcarray.kernel import global_id\n"
        "@dc.kernel\n"
        "def doubles(x: 'float64[:]', out: 'float64[:]'):\n"
        "    i = global_id(0)\n"
        "    out[i] = 2 * x[i]\n"
        "@dc.kernel\n"
        "def lists(x):\n"
        "    x[0] = [1, 2][0]\n"
        "@dc.kernel\n"
        "def shifts(x, y: 'float32'):\n"
        "    x[0] = y << 1\n"
    )
    assert main(["check", str(bad)]) == 1
    text = capsys.readouterr().out
    assert "doubles: cuda, opencl, llvm: ok" in text
    assert "doubles: metal: dcarray.errors.UnsupportedError" in text
    assert "'list' is not part of the language" in text
    assert "x[0] = [1, 2][0]" in text
    assert "KernelTypeError: shifts: " in text
    assert "    x[0] = y << 1\n           ^^^^^^" in text
    unread = tmp_path / "unread.py"
    unread.write_text("import dcarray as dc\nf = dc.kernel(lambda x: x)\n")
    assert main(["check", str(unread)]) == 1
    assert "made by 'def'" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def f(:\n", "SyntaxError: invalid syntax"),
        ("import nothing_here\n", "ModuleNotFoundError: No module named"),
        ("def f():\n    raise RuntimeError('boom')\nf()\n", "line 2, in f"),
        ("raise SystemExit(2)\n", "SystemExit: 2"),
        ("open('missing.dat')\n", "FileNotFoundError"),
    ],
)
def test_check_of_a_broken_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, words: str
) -> None:
    broken, good = tmp_path / "broken.py", tmp_path / "good.py"
    broken.write_text(text)
    good.write_text("x = 1\n")
    assert main(["check", str(broken), str(good)]) == 1
    shown = capsys.readouterr().out
    assert f"{broken}: it cannot be run:" in shown
    assert words in shown
    assert "runpy" not in shown
    assert f"{good}: no kernels" in shown
    assert main(["check", str(tmp_path / "missing.py")]) == 1


def test_check_guesses_rows_and_slices(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "rows.py"
    path.write_text(
        "import dcarray as dc\n"
        "@dc.kernel\n"
        "def rows(m, out, *, n):\n"
        "    i = dc.kernel.global_id(0)\n"
        "    row = m[i]\n"
        "    for v in row[1:n]:\n"
        "        out[i] += 0.5 * v * i\n"
        "@dc.kernel\n"
        "def apart(x):\n"
        "    if x[dc.kernel.global_id(0)] > 0:\n"
        "        dc.kernel.barrier()\n"
    )
    assert main(["check", str(path)]) == 1
    shown = capsys.readouterr().out
    assert "rows: cuda, opencl, metal, llvm: ok" in shown
    assert f'llvm:\n  File "{path}", line 11\n    dc.kernel.barrier()' in shown


# ------------------------------------------------------------------ edited in between
def test_an_edited_kernel_is_another_one(tmp_path: Path) -> None:
    path = tmp_path / "edited.py"
    text = (
        "import dcarray as dc\n"
        "from dcarray.kernel import global_id\n"
        "@dc.kernel\n"
        "def fill(x):\n"
        "    x[global_id(0)] = {}\n"
    )
    path.write_text(text.format(1))
    x = dc.zeros(3)
    first = module_of(path)
    first.fill(x)
    assert x.tolist() == [1.0] * 3
    path.write_text(text.format("2 + 10 * x[global_id(0)]"))
    linecache.checkcache(str(path))
    second = module_of(path)
    second.fill(x)
    assert x.tolist() == [12.0] * 3
    first.fill(x)  # what was read before stays what it was
    assert x.tolist() == [1.0] * 3


def test_a_cell_that_runs_again() -> None:
    """As a notebook does it: the text is known by the name of its cell alone."""
    text = (
        "def step(v):\n    return v + {0}\n"
        "@dc.kernel\n"
        "def fill(x):\n"
        "    i = dc.kernel.global_id(0)\n"
        "    x[i] = step(x[i]) * {0}\n"
        "@dc.vectorize\n"
        "def scaled(x):\n    return {0} * x\n"
    )
    space: dict[str, Any] = {"dc": dc}
    x = dc.arange(100_000.0)
    results, pending = [], []
    with dc.config(lazy="always"):
        for number in (1, 2, 5):
            cell = text.format(number)
            name = "<cell 7>" if number > 1 else "<cell 6>"
            linecache.cache[name] = (len(cell), None, cell.splitlines(True), name)
            exec(compile(cell, name, "exec"), space)
            small = dc.ones(2)
            space["fill"](small)
            results.append(small.tolist()[0])
            pending.append(space["scaled"](x))
        assert results == [2.0, 6.0, 30.0]
        assert [float(y[3]) for y in pending] == [3.0, 6.0, 15.0]


def test_threads_may_launch_together() -> None:
    @dc.kernel
    def count_up(x, n):
        i = dc.kernel.global_id(0)
        for _ in range(n):
            x[i] += 1

    wrong: list[Any] = []

    def work(number: int) -> None:
        try:
            for dtype in (np.float32, np.int64):
                x = dc.zeros(100 + number, dtype=dtype)
                for _ in range(20):
                    count_up(x, 3)
                if not (x.get() == 60).all():
                    wrong.append(x)
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def helper(x: Any) -> Any:
    return x + 1


FACTOR = 2


@dc.kernel
def uses_names(x):
    i = dc.kernel.global_id(0)
    x[i] = helper(x[i]) * FACTOR


def test_names_from_outside_are_looked_up_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    x = dc.ones(3)
    uses_names(x)
    assert x.tolist() == [4.0] * 3
    this = sys.modules[__name__]
    monkeypatch.setattr(this, "FACTOR", 10)
    uses_names(x)
    assert x.tolist() == [50.0] * 3

    def other(x: Any) -> Any:
        return -x

    monkeypatch.setattr(this, "helper", other)
    uses_names(x)
    assert x.tolist() == [-500.0] * 3


# ------------------------------------------------------------------------ the example
def reference(example: ModuleType) -> dict[str, Any]:
    generator = np.random.default_rng(7)
    bodies = generator.random((500, 3), np.float32).astype(np.float64)
    mass = generator.random(500, np.float32).astype(np.float64)
    apart = bodies[None] - bodies[:, None]
    square = (apart**2).sum(-1) + 1e-3
    force = (mass[None, :, None] * apart / square[..., None] ** 1.5).sum(1)
    a = generator.random((70, 50), np.float32).astype(np.float64)
    b = generator.random((50, 90), np.float32).astype(np.float64)
    values = generator.normal(size=100_000).astype(np.float32)
    place = (values - np.float32(-3)) / np.float32(6) * np.float32(32)
    counts = np.bincount(place[(place >= 0) & (place < 32)].astype(int), minlength=32)
    plate = np.zeros((64, 64))
    plate[0] = 100
    for _ in range(50):
        around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2]
        around = around + plate[1:-1, 2:]
        inner = plate[1:-1, 1:-1]
        plate[1:-1, 1:-1] = inner + 0.2 * (around - 4 * inner)
    return {"force": force, "product": a @ b, "histogram": counts, "heat": plate}


@pytest.mark.parametrize("device", ["cpu", "in step", "opencl:0", "metal:0"])
def test_the_example_gives_the_same_everywhere(
    example: ModuleType, device: str
) -> None:
    if device == "in step":
        with dc.config(engine="interpreter"):
            results = example.run("cpu")
    elif device == "metal:0":
        from tests.metal_simulator import Simulator, installed
        from tests.metal_simulator.library import compiler

        if not compiler():
            pytest.skip("needs g++")
        with installed(Simulator()):
            results = example.run(device)
        registry.remove(device)
    else:
        if device == "opencl:0" and not counted("opencl"):
            pytest.skip("no OpenCL device here")
        results = example.run(device)
    for name, want in reference(example).items():
        if name == "histogram":
            assert results[name].tolist() == want.tolist()
        else:
            np.testing.assert_allclose(results[name], want, rtol=2e-3, atol=1e-3)
