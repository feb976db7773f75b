"""Builds the compiled core into a wheel, where there is a C compiler.

A module of the package is compiled if a ``.pxd`` file beside it gives its types.  The
wheel holds the sources too.  Nothing is compiled for an editable install, on Pythons
without a global lock or other than CPython, nor with ``DCARRAY_PURE=1``.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

DIRECTIVES = {
    "language_level": 3,
    "annotation_typing": False,  # types come from the .pxd files alone
    "auto_pickle": False,
    "binding": True,
}

NATIVE = ("native", "native_arrays")
"""Types of what is C already."""


def wanted() -> bool:
    """Whether this Python gains from a compiled core."""
    return (
        os.environ.get("DCARRAY_PURE", "0") in ("", "0")
        and sys.implementation.name == "cpython"
        and not sysconfig.get_config_var("Py_GIL_DISABLED")
    )


def modules(root: Path) -> list[Path]:
    """The sources that are compiled, relative to the root."""
    found = [path.with_suffix(".py") for path in (root / "dcarray").rglob("*.pxd")]
    return sorted(path.relative_to(root) for path in found if path.stem not in NATIVE)


def compiled(root: Path, target: Path) -> dict[str, str]:
    """Compile; where each library lies, and where in the wheel it goes.

    Raises
    ------
    setuptools.errors.BaseError
        There is no compiler, or it failed.
    Cython.Compiler.Errors.CompileError
        Types and sources do not agree.
    """
    import numpy as np
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension

    flags = [] if os.name == "nt" else ["-O2", "-g0", "-fno-strict-aliasing"]
    extensions = [
        Extension(
            ".".join(path.with_suffix("").parts),
            [str(path)],
            extra_compile_args=flags,
            include_dirs=[np.get_include()],
        )
        for path in modules(root)
    ]
    before = Path.cwd()
    os.chdir(root)
    try:
        made = cythonize(
            extensions,
            nthreads=os.cpu_count() or 1,
            build_dir=str(target / "c"),
            compiler_directives=DIRECTIVES,
            quiet=True,
        )
        command = Distribution({"ext_modules": made}).get_command_obj("build_ext")
        command.build_lib = str(target / "lib")
        command.build_temp = str(target / "tmp")
        command.parallel = os.cpu_count() or 1
        command.ensure_finalized()
        command.run()
    finally:
        os.chdir(before)
    lib = target / "lib"
    return {
        str(path): path.relative_to(lib).as_posix()
        for path in lib.rglob("*")
        if path.is_file()
    }


class CoreHook(BuildHookInterface):
    """Called by hatchling before it writes a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the libraries to the wheel."""
        if version == "editable" or not wanted():
            return
        from setuptools.errors import BaseError, CCompilerError

        self._folder = tempfile.TemporaryDirectory()
        try:
            found = compiled(Path(self.root), Path(self._folder.name))
        except (BaseError, CCompilerError, OSError) as error:
            self.app.display_warning(
                f"dcarray runs from its sources, nothing was compiled: {error}"
            )
            return
        build_data["force_include"].update(found)
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], path: str) -> None:
        """Remove what the wheel holds now."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()
