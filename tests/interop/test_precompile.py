"""A recorded run, and its kernels built ahead of time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import dcarray as dc
from dcarray.backends.cache import object_cache
from dcarray.backends.recording import Entry, entries, record
from dcarray.backends.registry import counted
from dcarray.cli import main

PROGRAM = """
import sys
import dcarray as dc
with dc.profile() as p:
    x = dc.linspace(0, 1, 100_000)
    print(float((dc.sqrt(x) * 2 + x).sum()))
    if len(sys.argv) > 1:
        y = dc.ones(100, dtype="f4", device="opencl:0")
        print(float((y * 2 + 1).sum()))
print(len(p.of_kind("compile")), "compiled")
"""


def python(*arguments: Any, **settings: Any) -> str:
    environment = {**os.environ, "PYTHONPATH": str(Path(dc.__file__).parents[1])}
    environment.update({name: str(value) for name, value in settings.items()})
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_recorded_run_compiles_nothing_after_precompile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, listed = tmp_path / "script.py", tmp_path / "record"
    script.write_text(PROGRAM)
    device = ["with OpenCL"] if counted("opencl") else []
    first, second = tmp_path / "first", tmp_path / "second"
    found = python(
        *("-m", "dcarray", "run", "--record", listed, script, *device),
        DCARRAY_CACHE_DIR=first,
    )
    assert found.splitlines()[-1] != "0 compiled"
    kinds = {entry.device for entry in entries(listed)}
    assert kinds == ({"cpu", "opencl:0"} if device else {"cpu"})
    number = len(list(entries(listed)))
    # What lies on disk already is recorded as well.
    again = tmp_path / "again"
    python(script, *device, DCARRAY_CACHE_DIR=first, DCARRAY_RECORD=again)
    assert set(entries(again)) == set(entries(listed))
    # Another machine, so to say.
    told = python("-m", "dcarray", "precompile", listed, DCARRAY_CACHE_DIR=second)
    assert f"built {number} kernels in {second}; 0 were there" in told
    with dc.config(cache_dir=str(second)):
        assert main(["precompile", str(listed)]) == 0
    told = capsys.readouterr().out
    assert f"built 0 kernels in {second}; {number} were there" in told
    # The second level, a folder that is only read.
    later = python(
        *(script, *device),
        DCARRAY_CACHE_DIR=tmp_path / "own",
        DCARRAY_SHARED_CACHE_DIR=second,
    )
    assert later.splitlines()[:-1] == found.splitlines()[:-1]
    assert later.splitlines()[-1] == "0 compiled"
    assert not list((tmp_path / "own").iterdir())


def test_processes_of_a_recorded_script_are_recorded(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    child = "import numpy; x = numpy.linspace(0, 1, 100000); print((x * 3 - x).sum())"
    child = child.replace("numpy", "dcarray")
    script.write_text(
        dedent(
            f"""
            import os, subprocess, sys
            os.chdir("..")
            subprocess.run([sys.executable, "-c", {child!r}], check=True)
            """
        )
    )
    listed = tmp_path / "record"
    python("-m", "dcarray", "run", "--record", listed, script)
    assert [entry.label for entry in entries(listed)] == ["multiply subtract sum"]


# ------------------------------------------------------------------------- the record
def test_a_line_for_each_kernel(tmp_path: Path) -> None:
    listed = tmp_path / "record"
    record("cpu", "text", "name", "label")  # no file is named
    with dc.config(record=str(listed)):
        for text in ("one\n", "two", "one\n"):
            record("cpu", text, "name", "ä")
    assert list(entries(listed)) == [
        Entry("cpu", "one\n", "name", "ä"),
        Entry("cpu", "two", "name", "ä"),
    ]
    assert len(listed.read_text().splitlines()) == 2
    listed.write_text(listed.read_text() * 2)
    assert len(list(entries(listed))) == 2


def test_a_record_that_cannot_be_written(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    nowhere = tmp_path / "no" / "record"
    with dc.config(record=str(nowhere)):
        record("cpu", "text", "name", "label")
        record("cpu", "other", "name", "label")
    assert len(caplog.records) == 1 and "cannot write" in caplog.text
    assert main(["run", "--record", str(nowhere), __file__]) == 2
    assert "can't write to" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "7",
        '{"dcarray": 2}',
        '{"dcarray": 1, "device": "cpu", "text": "", "name": ""}',
        '{"dcarray": 1, "device": "cpu", "text": 1, "name": "", "label": ""}',
    ],
)
def test_what_is_no_record(
    tmp_path: Path, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = tmp_path / "record"
    good = Entry("cpu", "text", "name", "label").line()
    listed.write_text(good + line + "\n")
    with pytest.raises(ValueError, match="record:2: no record"):
        list(entries(listed))
    listed.write_text(line)
    assert main(["precompile", str(listed)]) == 1
    assert "record:1: no record" in capsys.readouterr().err
    assert main(["precompile", str(tmp_path / "none")]) == 1
    assert "No such file" in capsys.readouterr().err


def test_what_cannot_be_built_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = tmp_path / "record"
    lines = [
        Entry("abacus:0", "text", "f", "f").line(),
        Entry("test:0", "text", "f", "f").line(),
        Entry("cpu", "nonsense", "f", "broken").line(),
    ]
    listed.write_text("".join(lines))
    assert main(["precompile", str(listed)]) == 1
    shown = capsys.readouterr()
    assert "left out 1: no device 'abacus:0'" in shown.out
    assert "left out 1: test:0 keeps no kernels on disk" in shown.out
    assert "cpu: broken: " in shown.err and "1 did not compile" in shown.err
    with dc.config(cache_size=0):
        assert main(["precompile", str(listed)]) == 1
    assert "is not used" in capsys.readouterr().err


# --------------------------------------------------------------- kernels by their names
def test_kernels_are_forgotten_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with dc.config(cache_dir=str(tmp_path / "kernels"), engine="auto"):
        cache = object_cache()
        cache.put("1", b"code", "add multiply")
        cache.put("2", b"other", "add multiply")
        cache.put("3", b"code", "a\nb")
        cache.put("4", b"code")
        assert cache.names() == {"add multiply": 2, "a b": 1, "": 1}
        assert main(["cache", "info"]) == 0
        shown = capsys.readouterr().out
        assert "│ add multiply │ 2 │" in shown and "(unnamed)" in shown
        assert main(["cache", "clear", "add multiply", "nothing"]) == 0
        assert "removed 2 " in capsys.readouterr().out
        assert cache.get("1") is None and cache.get("3") == b"code"
        assert main(["cache", "info", "a b"]) == 1
        assert main(["cache", "clear"]) == 0
        assert not cache.names()


def test_objects_of_another_version_are_no_damage(tmp_path: Path) -> None:
    with dc.config(cache_dir=str(tmp_path / "kernels")):
        cache = object_cache()
        cache.put("a", b"code", "name")
        (path,) = (tmp_path / "kernels").iterdir()
        path.write_bytes(b"dcarray object 1\n" + path.read_bytes()[17:])
        assert cache.get("a") is None
        assert cache.statistics().rejected == 0


def test_kernels_bear_the_names_of_their_operations(tmp_path: Path) -> None:
    pytest.importorskip("llvmlite")
    from dcarray.backends.cpu.engine import Engine
    from dcarray.profile import counters

    with dc.config(cache_dir=str(tmp_path / "kernels")):
        text = "define i32 @f() {\n  ret i32 7\n}\n"
        Engine().kernel(text, "f", "seven")
        assert object_cache().names()["seven"] == 1
        before = counters["compile"]
        Engine().build_ahead(Entry("cpu", text, "f", "seven"))
        assert counters["compile"] == before
