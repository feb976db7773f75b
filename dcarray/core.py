"""The compiled core: which of the modules run as machine code.

A module with a ``.pxd`` file beside it, which gives types to its source, is compiled
when a wheel is built on a machine with a C compiler; the rest of the package, and where
nothing was compiled all of it, runs from the sources.  They are the same sources.
"""

from __future__ import annotations

import sys
from importlib.machinery import FileFinder, ModuleSpec, SourceFileLoader
from pathlib import Path

__all__ = ["compiled_modules", "use_sources"]

_PACKAGE = __name__.partition(".")[0]


class _Sources:
    """Finds the package's modules as sources, also beside compiled ones."""

    @staticmethod
    def find_spec(name: str, path: list[str] | None, target: object = None) -> object:
        """The source of one of the package's modules; None for all others."""
        if path is None or not name.startswith(_PACKAGE + "."):
            return None
        for folder in path:
            finder = FileFinder(folder, (SourceFileLoader, [".py"]))
            found: ModuleSpec | None = finder.find_spec(name)
            if found is not None:
                return found
        return None


def use_sources() -> None:
    """Load no compiled module from now on."""
    sys.meta_path.insert(0, _Sources)  # type: ignore[arg-type]


def compiled_modules() -> list[str]:
    """Names of the compiled modules that are loaded."""
    return [
        name
        for name, module in sorted(sys.modules.items())
        if name.startswith(_PACKAGE + ".")
        and Path(getattr(module, "__file__", None) or ".py").suffix != ".py"
    ]
