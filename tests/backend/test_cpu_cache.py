"""Compiled objects on disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcarray.backends.cache import ObjectCache
from dcarray.backends.cpu import CpuBackend
from dcarray.backends.cpu.engine import Engine
from dcarray.config import config
from dcarray.ops.program import Inner, Node, Program
from dcarray.ops.spec import Kind, Op
from dcarray.profile import counters


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "kernels"
    place.mkdir(mode=0o700)
    return place


def test_what_was_put_is_found(folder: Path) -> None:
    cache = ObjectCache(folder, 1 << 20)
    assert cache.get("a") is None
    cache.put("a", b"code")
    assert cache.get("a") == b"code"
    assert ObjectCache(folder, 1 << 20).get("a") == b"code"
    found = cache.statistics()
    assert (found.hits, found.misses, found.writes, found.files) == (1, 1, 1, 1)
    assert cache.discard("a") and not cache.discard("a")
    cache.put("b", b"code")
    assert cache.clear() == 1
    assert cache.get("b") is None


def test_a_damaged_file_is_not_used(folder: Path) -> None:
    cache = ObjectCache(folder, 1 << 20)
    cache.put("a", b"code")
    (path,) = folder.iterdir()
    path.write_bytes(path.read_bytes()[:-1] + b"X")
    assert cache.get("a") is None
    path.write_bytes(b"")
    assert cache.get("a") is None
    assert cache.statistics().rejected == 2
    cache.put("a", b"code")
    assert cache.get("a") == b"code"


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_a_folder_that_others_can_read_or_write_is_not_used(folder: Path) -> None:
    folder.chmod(0o755)
    cache = ObjectCache(folder, 1 << 20)
    assert not cache.usable
    cache.put("a", b"code")
    assert list(folder.iterdir()) == []
    assert cache.get("a") is None
    made = ObjectCache(folder.parent / "new", 1 << 20)
    assert made.usable
    assert (folder.parent / "new").stat().st_mode & 0o777 == 0o700


def test_the_least_recently_used_go(folder: Path) -> None:
    cache = ObjectCache(folder, 10_000)
    for number in range(8):
        cache.put(str(number), bytes(1000))
        os.utime(cache._path(str(number)), (number + 1, number + 1))
    os.utime(cache._path("0"), (100, 100))
    for number in range(8, 12):
        cache.put(str(number), bytes(1000))
    assert cache.statistics().nbytes <= 10_000
    assert cache.get("0") is not None
    assert cache.get("1") is None
    assert cache.get("11") is not None


def test_limit_zero_turns_the_cache_off(folder: Path) -> None:
    cache = ObjectCache(folder, 0)
    cache.put("a", b"code")
    assert cache.get("a") is None and list(folder.iterdir()) == []


def test_a_shared_folder_is_only_read(folder: Path, tmp_path: Path) -> None:
    ObjectCache(folder, 1 << 20).put("a", b"code")
    own = tmp_path / "own"
    cache = ObjectCache(own, 1 << 20, folder)
    assert cache.get("a") == b"code"
    cache.put("b", b"code")
    assert len(list(folder.iterdir())) == 1 and len(list(own.iterdir())) == 1
    folder.chmod(0o777)
    assert cache.get("a") is None


def chain(ufunc: Any) -> Program:
    f, op = np.dtype("f"), Op(ufunc.__name__, Kind.ELEMENTWISE, ufunc)
    dense = (Inner.CONTIGUOUS,)
    nodes = Node(op, (0,), (f,), dense), Node(op, (1,), (f,), dense)
    return Program((f,), (), nodes, (2,))


def test_a_second_engine_compiles_nothing(folder: Path) -> None:
    pytest.importorskip("llvmlite")
    from dcarray.backends.cpu.plan import plan_for
    from dcarray.backends.cpu.sketch import sketch_of
    from dcarray.render.llvm import render
    from dcarray.render.plan import Stride

    program = chain(np.exp)
    sketch = sketch_of(program)
    assert sketch is not None
    dense = [Stride.CONTIGUOUS]
    plan = plan_for(sketch, dense, dense, program.outputs, [False])
    assert plan is not None
    with config(cache_dir=str(folder)):
        Engine().kernel(render(plan))
        before = counters["compile"]
        Engine().kernel(render(plan))
        assert counters["compile"] == before
        ObjectCache(folder, 1 << 30).clear()
        Engine().kernel(render(plan))
        assert counters["compile"] > before


def test_a_cached_kernel_gives_the_same_bits(folder: Path) -> None:
    x = np.linspace(-3, 3, 10_001, dtype="f")
    wanted = np.tanh(np.tanh(x))
    with config(cache_dir=str(folder)):
        for _ in range(2):
            backend = CpuBackend()
            target = np.empty_like(x)
            executable = backend.compile(chain(np.tanh))
            backend.launch(executable, x.shape, [x], [], [target])
            assert target.tobytes() == wanted.tobytes()
