"""`dcarray run`: a NumPy program cannot tell the difference, its libraries neither."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

import dcarray

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(dcarray.__file__).parents[1])}


def run(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
    )


def under_dcarray(
    script: object, *arguments: object, folder: Path
) -> subprocess.CompletedProcess[str]:
    return run("-m", "dcarray", "run", script, *arguments, folder=folder)


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / (name.replace("__slash__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))


IMPORTS = [
    ("import numpy as np", "np.ones(3)"),
    ("import numpy", "numpy.ones(3)"),
    ("from numpy import ones", "ones(3)"),
    ("from numpy import *", "ones(3)"),
    ("import numpy.linalg as la", "la.inv([[2.0]])"),
    ("import numpy.linalg", "numpy.linalg.inv([[2.0]])"),
    ("from numpy import linalg", "linalg.inv([[2.0]])"),
    ("from numpy.linalg import inv", "inv([[2.0]])"),
    ("from numpy.fft import fft", "fft([1.0, 2.0])"),
    ("import numpy.random as r", "r.default_rng(1).random(3)"),
    ("from numpy.random import default_rng", "default_rng(1).random(3)"),
    ("exec('import numpy as np')", "np.ones(3)"),
]


def test_every_way_to_import_gives_device_arrays(tmp_path: Path) -> None:
    lines = [
        f"{statement}\nprint(type({expression}).__name__)"
        for statement, expression in IMPORTS
    ]
    write(tmp_path, script="\n".join(lines))
    done = under_dcarray("script.py", folder=tmp_path)
    assert done.stdout.split() == ["DeviceArray"] * len(IMPORTS), done.stderr


def test_modules_that_are_numpys_own(tmp_path: Path) -> None:
    write(
        tmp_path,
        script="""\
        import numpy as np
        import numpy.ma as ma
        import numpy.typing as npt
        import numpy.lib.stride_tricks as tricks
        from numpy.lib.stride_tricks import sliding_window_view
        from numpy.testing import assert_allclose
        from numpy.exceptions import AxisError
        print(np.ma is ma, ma.__name__, npt.NDArray is not None)
        print(sliding_window_view(np.arange(4), 3).tolist())
        assert_allclose(np.ones(3), 1)
        try:
            np.ones(3).sum(axis=5)
        except AxisError as error:
            print(type(error).__module__, error)
        print(np.__version__, np.__name__)
        """,
    )
    ours = under_dcarray("script.py", folder=tmp_path)
    theirs = run("script.py", folder=tmp_path)
    assert theirs.returncode == 0, theirs.stderr
    assert ours.stdout == theirs.stdout, ours.stderr


def test_neighbours_see_dcarray_and_installed_libraries_do_not(tmp_path: Path) -> None:
    report = "import numpy\nkind = type(numpy.ones(3)).__name__\n"
    write(
        tmp_path,
        script="""\
        import sys
        sys.path.append("lib/site-packages")
        import beside, package.inner, installed
        from package import other
        print(beside.kind, package.inner.kind, other.kind, installed.kind)
        print(installed.double(beside.numpy.ones(2)))
        """,
        beside=report,
        package__slash____init__="",
        package__slash__inner="from . import other\n" + report,
        package__slash__other=report,
    )
    library = tmp_path / "lib" / "site-packages"
    library.mkdir(parents=True)
    (library / "installed.py").write_text(
        report + "def double(x):\n    return numpy.asarray(x) * 2\n"
    )
    done = under_dcarray("script.py", folder=tmp_path)
    assert done.stdout.splitlines() == [
        "DeviceArray DeviceArray DeviceArray ndarray",
        "[2. 2.]",
    ], done.stderr


def test_scalars_are_numpys(tmp_path: Path) -> None:
    write(
        tmp_path,
        script="""\
        import numpy as np
        x = np.arange(6.0)
        total, element = x.sum(), x[1]
        print(isinstance(total, float), isinstance(element, np.float64))
        print({element: "hashable"}[1.0], "%d %s %r" % (total, total, total))
        """,
    )
    ours = under_dcarray("script.py", folder=tmp_path)
    assert ours.stdout == run("script.py", folder=tmp_path).stdout, ours.stderr


SURROUNDINGS = {
    "arguments, name, file, path": """\
        import sys, os
        print(sys.argv, __name__, os.path.relpath(__file__), __spec__)
        print(os.path.realpath(sys.path[0]) == os.path.realpath("sub"))
        """,
    "a relative file": """\
        print(open("data.txt").read())
        """,
    "exit status": "import sys; sys.exit(3)",
    "exit message": "import sys; sys.exit('enough')",
    "exit by a function of builtins": "print(exit.__class__.__name__); exit(4)",
    "an exception": """\
        def outer(x):
            return 1 / x
        outer(0)
        """,
    "a missing module": "import missing_module_of_this_test",
    "one exception after another": """\
        def load():
            try:
                import missing_module_of_this_test
            except ImportError:
                raise KeyError("later")
        load()
        """,
    "a syntax error": "x = (\n",
    "a missing name of numpy": """\
        try:
            from numpy import no_such_name
        except ImportError as error:
            print(error.name)
        import numpy
        numpy.no_such_name
        """,
    "its own excepthook": """\
        import sys, traceback
        def hook(kind, value, trace):
            print(kind.__name__, [e.name for e in traceback.extract_tb(trace)])
        sys.excepthook = hook
        def f():
            raise ValueError
        f()
        """,
    "at exit": "import atexit; atexit.register(print, 'bye'); print('hello')",
    "pickling its own class": """\
        import pickle
        class Point:
            x = 1
        print(pickle.loads(pickle.dumps(Point())).x, Point.__module__)
        """,
    "a name put into builtins": """\
        import builtins
        builtins.shared_by_all = 5
        print(shared_by_all)
        """,
}


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_surroundings_are_those_of_python(tmp_path: Path, name: str) -> None:
    write(tmp_path, sub__slash__script=SURROUNDINGS[name])
    (tmp_path / "data.txt").write_text("content")
    script = Path("sub", "script.py")
    ours = under_dcarray(script, "--one", "2", folder=tmp_path)
    theirs = run(script, "--one", "2", folder=tmp_path)
    assert ours.stdout == theirs.stdout, ours.stderr
    assert ours.stderr == theirs.stderr
    assert ours.returncode == theirs.returncode


def test_profile_is_printed_after_the_program(tmp_path: Path) -> None:
    write(
        tmp_path,
        script="""\
        import sys
        import numpy as np
        x = np.linspace(0, 1, 100_000)
        print(float((np.exp(x) * 2 + 1).sum()))
        sys.exit(5)
        """,
    )
    done = run("-m", "dcarray", "run", "--profile", "script.py", folder=tmp_path)
    assert done.returncode == 5
    assert done.stdout == run("script.py", folder=tmp_path).stdout
    assert "exp" in done.stderr and "fused groups" in done.stderr


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    done = under_dcarray("nowhere.py", folder=tmp_path)
    assert done.returncode == 2
    assert "can't open file" in done.stderr and "nowhere.py" in done.stderr
    assert "Traceback" not in done.stderr
