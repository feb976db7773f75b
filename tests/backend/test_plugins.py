"""Backends of other packages: found, checked, reported when broken, reloaded."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends import health, plugins, registry, reload, troubles
from dcarray.backends.gate import Gate
from dcarray.backends.requirements import unmet
from dcarray.cli import main
from dcarray.errors import DeviceError, UnsupportedError
from dcarray.testing import BackendSuite, SimulatedDevice

EXAMPLE = Path(__file__).parents[2] / "examples" / "backend_plugin"
GOOD = (EXAMPLE / "dcarray_example.py").read_text(encoding="utf-8")


class Site:
    """A folder of packages on Python's path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(
        self, kind: str, code: str, version: str = "1.0", more: str = ""
    ) -> None:
        """A package ``kind-plugin`` whose module is ``kind_plugin``."""
        info = self.folder / f"{kind}_plugin-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {kind}-plugin\nVersion: {version}\n{more}"
        )
        (info / "entry_points.txt").write_text(
            "[console_scripts]\nother = other:main\n\n"
            f"[dcarray.backends]\n# the plugin\n{kind} = {kind}_plugin\n"
        )
        self.write(kind, code)

    def write(self, kind: str, code: str) -> None:
        """The code of a plugin; a stale compiled file must not be in the way."""
        (self.folder / f"{kind}_plugin.py").write_text(code)
        cached = importlib.util.cache_from_source(
            str(self.folder / f"{kind}_plugin.py")
        )
        Path(cached).unlink(missing_ok=True)

    def good(self, kind: str, code: str = GOOD) -> None:
        """A plugin that works."""
        self.install(kind, code.replace("example:", f"{kind}:"))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(plugins, "_known", None)
    monkeypatch.setattr(registry, "_factories", dict(registry._factories))
    monkeypatch.setattr(troubles, "_troubles", {})
    before = set(registry._backends)
    yield Site(tmp_path)
    for label in set(registry._backends) - before:
        registry.remove(label)
    for name in [name for name in sys.modules if name.endswith("_plugin")]:
        del sys.modules[name]


def quiet(function: Callable[[], Any]) -> Any:
    """The result; the warnings about broken plugins are not the point."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return function()


def row(kind: str) -> plugins.PluginHealth:
    (found,) = [plugin for plugin in quiet(health) if plugin.name == kind]
    return found  # type: ignore[no-any-return]


# ----------------------------------------------------------------------- the example
def load_example() -> Any:
    spec = importlib.util.spec_from_file_location(
        "dcarray_example", EXAMPLE / "dcarray_example.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TestExample(BackendSuite):
    def make(self) -> Any:
        return load_example().factory(0)


def test_the_example_states_what_its_project_file_states() -> None:
    module = load_example()
    project = (EXAMPLE / "pyproject.toml").read_text(encoding="utf-8")
    assert f'version = "{module.version}"' in project
    for requirement in module.requires:
        assert f'"{requirement}"' in project
    assert 'example = "dcarray_example"' in project
    assert len(GOOD.splitlines()) < 150


def test_the_example_proves_itself() -> None:
    """Its own test, in its own folder, as its author would run it."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]
    run = subprocess.run(command, cwd=EXAMPLE, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


# ----------------------------------------------------------------------------- found
def test_found_without_an_import(site: Site) -> None:
    site.good("thing")
    assert "thing" in plugins.discover()
    assert "thing_plugin" not in sys.modules


def test_arrays_on_a_plugin(site: Site) -> None:
    site.good("thing")
    x = dc.arange(5, device="thing:0", dtype=np.float32)
    assert x.device == "thing:0"
    assert (x * 2 + 1).sum().get() == 25
    assert dc.Device("thing:0") in dc.devices()
    assert row("thing").status == "ok"
    assert row("thing").devices == 1
    assert row("thing").version == "1.0"
    assert row("thing").requires == ("dcarray>=0.1", "numpy>=2.1")
    assert row("thing").origin == "thing-plugin (thing_plugin)"
    properties = dc.Device("thing:0").properties()
    assert properties.vendor == "the dcarray examples"
    assert properties.pools[0].held > 0


def test_metadata_speaks_for_a_plugin_that_says_nothing(site: Site) -> None:
    code = GOOD.replace('version = "1.0"\n', "").replace(
        'requires = ["dcarray>=0.1", "numpy>=2.1"]\n', ""
    )
    more = "Requires-Dist: numpy>=2\nRequires-Dist: cupy; extra == 'gpu'\n"
    site.install("thing", code.replace("example:", "thing:"), "3.1", more)
    assert row("thing").version == "3.1"
    assert row("thing").requires == ("numpy>=2",)
    assert row("thing").status == "ok"


def test_only_the_plugin_that_is_asked_for_is_imported(site: Site) -> None:
    site.good("one")
    site.good("two")
    dc.ones(3, device="one:0")
    assert "one_plugin" in sys.modules
    assert "two_plugin" not in sys.modules


# ---------------------------------------------------------------------------- broken
BROKEN = {
    "import error": ("import no_such_module_anywhere", "no_such_module_anywhere"),
    "syntax error": ("def factory(:", "SyntaxError"),
    "exits": ("raise SystemExit(3)", "SystemExit"),
    "skips a test": ("import pytest\npytest.skip('no driver')", "no driver"),
    "no factory": ("def count(): return 1", "no factory"),
    "no count": ("def factory(index): pass", "no count"),
    "count is a number": ("count = 1\ndef factory(index): pass", "no count"),
    "raising count": (
        GOOD.replace("return 1\n", 'raise OSError("driver is sick")\n', 1),
        "driver is sick",
    ),
    "count is text": (GOOD.replace("return 1\n", 'return "one"\n', 1), "cannot count"),
    "negative count": (GOOD.replace("return 1\n", "return -1\n", 1), "count() is -1"),
    "version is a number": (GOOD.replace('"1.0"', "1.0", 1), "version is 1.0"),
    "requires is text": (
        GOOD.replace('["dcarray>=0.1", "numpy>=2.1"]', '"numpy"'),
        "requires is 'numpy'",
    ),
    "needs what is not there": (
        GOOD.replace('"numpy>=2.1"]', '"no-such-package>=2"]'),
        "needs no-such-package>=2, not installed",
    ),
    "needs a newer one": (
        GOOD.replace('"numpy>=2.1"]', '"numpy>=99"]'),
        "needs numpy>=99",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_plugin_is_reported_and_skipped(site: Site, name: str) -> None:
    code, words = BROKEN[name]
    site.install("sick", code)
    site.good("well")
    with pytest.warns(RuntimeWarning, match="backend 'sick' is skipped"):
        found = dc.devices()
    assert "well:0" in found
    assert "sick:0" not in found
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dc.devices()  # it is said once
        assert words in row("sick").status
        assert row("well").status == "ok"
        with pytest.raises(UnsupportedError) as caught:
            dc.ones(3, device="sick:0")
    assert words in str(caught.value)
    assert dc.ones(3, device="well:0").sum().get() == 3


def test_a_factory_that_raises(site: Site) -> None:
    line = "return ExampleBackend(index)"
    site.good("sick", GOOD.replace(line, 'raise OSError("no driver")'))
    with pytest.raises(DeviceError, match="no driver") as caught:
        dc.ones(3, device="sick:0")
    assert caught.value.device == "sick:0"
    assert isinstance(caught.value.__cause__, OSError)


def test_a_backend_that_lacks_a_verb(site: Site) -> None:
    site.good("sick", GOOD.replace("def synchronize", "def finish"))
    with pytest.raises(DeviceError, match="it has no synchronize"):
        dc.ones(3, device="sick:0")


def test_a_backend_with_another_label(site: Site) -> None:
    site.install("sick", GOOD)
    with pytest.raises(DeviceError, match="says that it is 'example:0'"):
        dc.ones(3, device="sick:0")


def test_properties_that_raise_are_a_status(site: Site) -> None:
    line = "        return DeviceProperties("
    site.good("sick", GOOD.replace(line, "        1 / 0\n" + line))
    found = dc.Device("sick:0").properties()
    assert found.status == "ZeroDivisionError: division by zero"
    assert np.dtype("f") in found.dtypes


def test_names_that_are_taken(
    site: Site, tmp_path_factory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.good("cpu")
    site.good("thing")
    behind = tmp_path_factory.mktemp("behind")
    monkeypatch.setattr(sys, "path", [*sys.path, str(behind)])
    second = behind / "zzz-2.0.dist-info"
    second.mkdir()
    (second / "METADATA").write_text("Metadata-Version: 2.1\nName: zzz\nVersion: 2.0\n")
    (second / "entry_points.txt").write_text("[dcarray.backends]\nthing = zzz\n")
    with pytest.warns(RuntimeWarning, match="is taken"):
        rows = health()
    assert [r.devices for r in rows if r.name == "thing"] == [1]
    said = {r.name: r.status for r in rows}
    assert said["cpu of cpu-plugin (cpu_plugin)"] == "'cpu' is taken"
    assert len([name for name in said if name.startswith("thing of ")]) == 1
    assert "cpu_plugin" not in sys.modules


def test_a_device_number_that_is_not_there(site: Site) -> None:
    site.good("thing")
    with pytest.raises(UnsupportedError, match="there are 1 of kind thing"):
        dc.ones(3, device="thing:1")


# ---------------------------------------------------------------------- dcarray info
def test_info_shows_devices_and_health(
    site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    site.good("thing")
    site.install("sick", "raise OSError('[no] driver')")
    line = "return ExampleBackend(index)"
    site.good("shy", GOOD.replace(line, 'raise OSError("[not] today")'))
    assert quiet(lambda: main(["info"])) == 0
    shown = capsys.readouterr().out
    assert "Device cpu" in shown and "Device thing:0" in shown
    assert "the dcarray examples NumPy, one operation at a time" in shown
    assert "needs dcarray>=0.1, numpy>=2.1" in shown
    assert "OSError: [no] driver" in shown
    assert "OSError: [not] today" in shown
    assert "Device sick:0" not in shown


# ---------------------------------------------------------------------------- reload
def test_reload_keeps_all_arrays(site: Site) -> None:
    site.good("thing")
    with SimulatedDevice() as other:
        x = dc.arange(4, device="thing:0", dtype=np.float32) * 2
        dc.evaluate(x)
        view = x[1:3]
        pending = dc.arange(40_000, device="thing:0", dtype=np.float32) + 1
        elsewhere = dc.arange(4, device=other.label) + 1
        dc.evaluate(elsewhere)
        moved = other.moved("download")
        old = registry.backend_for("thing:0")

        code = GOOD.replace("one operation at a time", "the second edition")
        site.write("thing", code.replace("example:", "thing:"))
        reload("thing")

        assert registry.backend_for("thing:0") is not old
        assert "second edition" in dc.Device("thing:0").properties().name
        assert x.device == "thing:0"
        assert x.get().tolist() == [0, 2, 4, 6]
        x += 1
        assert view.get().tolist() == [3, 5]
        assert pending.get()[-1] == 40_000
        assert other.moved("download") == moved
        assert elsewhere.get().tolist() == [1, 2, 3, 4]


def test_reload_of_what_became_broken_keeps_the_old(site: Site) -> None:
    site.good("thing")
    x = dc.arange(4, device="thing:0")
    module = sys.modules["thing_plugin"]
    site.write("thing", "raise RuntimeError('half written')")
    with pytest.raises(DeviceError, match="half written"):
        reload("thing")
    assert sys.modules["thing_plugin"] is module
    assert (x + 1).get().tolist() == [1, 2, 3, 4]
    assert row("thing").status == "ok"


def test_reload_repairs(site: Site) -> None:
    site.install("thing", "import no_such_module_anywhere")
    assert "no_such_module" in row("thing").status
    site.write("thing", GOOD.replace("example:", "thing:"))
    reload("thing")
    assert row("thing").status == "ok"
    assert dc.ones(3, device="thing:0").sum().get() == 3


def test_reload_finds_what_was_installed_later(site: Site) -> None:
    plugins.discover()
    site.good("late")
    with pytest.raises(UnsupportedError, match="no device 'late:0'"):
        dc.ones(3, device="late:0")
    reload("late")
    assert dc.ones(3, device="late:0").sum().get() == 3


def test_reload_of_a_kind_that_is_no_plugin(site: Site) -> None:
    x = dc.arange(3, device="test:0") + 1
    dc.evaluate(x)
    old = registry.backend_for("test:0")
    reload("test")
    assert registry.backend_for("test:0") is not old
    assert (x * 2).get().tolist() == [2, 4, 6]


@pytest.mark.parametrize("name", ["cpu", "nothing"])
def test_reload_of_what_cannot_be(site: Site, name: str) -> None:
    with pytest.raises(UnsupportedError, match="reload"):
        reload(name)


def test_reload_while_others_work(site: Site) -> None:
    site.good("thing")
    stop = threading.Event()
    wrong: list[BaseException] = []

    def work() -> None:
        try:
            total = dc.zeros(50_000, device="thing:0", dtype=np.int64)
            turns = 0
            while not stop.is_set():
                total += 1
                turns += 1
            assert (total.get() == turns).all()
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(10):
        reload("thing")
        time.sleep(0.01)
    stop.set()
    for thread in threads:
        thread.join()
    if wrong:
        raise wrong[0]


def test_the_gate_loses_patience() -> None:
    gate = Gate()
    with gate, pytest.raises(DeviceError, match="at work"), gate.closed(0.01):
        pass
    with gate.closed(), pytest.raises(DeviceError, match="reloaded"), gate.closed(0.01):
        pass
    with gate, gate:
        pass


def test_a_hundred_plugins(site: Site) -> None:
    """All are found, and none is imported; `benchmarks/plugins.py` takes the time."""
    for number in range(100):
        site.install(f"many{number}", "raise AssertionError('imported')")
    assert len([kind for kind in plugins.discover() if kind.startswith("many")]) == 100


# ---------------------------------------------------------------------- requirements
@pytest.mark.parametrize(
    "requirement",
    [
        "numpy",
        "NumPy>=2",
        "numpy >=2.0, <99",
        "numpy!=1.0",
        "dcarray>=0.1",
        "numpy[x]>1",
    ],
)
def test_requirements_that_are_met(requirement: str) -> None:
    assert unmet(requirement) == ""


@pytest.mark.parametrize(
    ("requirement", "words"),
    [
        ("numpy<2", "is installed"),
        ("numpy==2.0.0", "is installed"),
        ("numpy>=2,>99", "is installed"),
        ("not-there", "not installed"),
        ("numpy~2", "no requirement"),
        (">=2", "no requirement"),
    ],
)
def test_requirements_that_are_not_met(requirement: str, words: str) -> None:
    assert words in unmet(requirement)
