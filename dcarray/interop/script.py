"""Runs NumPy programs as they are: their own modules see another module as ``numpy``.

Every module of Python has a ``__builtins__``, and an import statement calls the
``__import__`` found there.  A program's modules, the script and whatever lies in its
folder, get a copy of the builtins with an ``__import__`` that answers for ``numpy``.
Installed libraries keep the real builtins and so the real NumPy.
"""

from __future__ import annotations

import builtins
import importlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType, TracebackType

__all__ = ["Substitution", "run_script"]

_INSTALLED = {"site-packages", "dist-packages"}


def _numpy_view(
    substitution: Substitution, ours: ModuleType, theirs: ModuleType
) -> ModuleType:
    """What a program sees as ``numpy`` or as one of its submodules.

    Names come from ``ours``; what it lacks (private names) and what describes the
    module (``__version__``, ``__all__``) come from ``theirs``.  A module of a class of
    its own would be asked for each name in a slower way.
    """
    view = ModuleType(theirs.__name__, theirs.__doc__)
    space = view.__dict__
    shown = {k: v for k, v in vars(ours).items() if not k.startswith("_")}
    shown |= {
        k: v
        for k, v in vars(theirs).items()
        if k.startswith("__") and k not in ("__builtins__", "__getattr__", "__dir__")
    }
    for name, value in shown.items():
        if not isinstance(value, ModuleType):
            space[name] = value

    def find(key: str) -> object:
        private = key.startswith("__")
        value: object = None
        for module in (theirs,) if private else (ours, theirs):
            try:
                value = getattr(module, key)
                break
            except AttributeError:
                continue
        else:
            # Raises NumPy's own message, a hint at a removed name for example.
            value = getattr(theirs, key)
        if isinstance(value, ModuleType):
            value = substitution.submodule(f"{view.__name__}.{key}", value)
        space[key] = value
        return value

    def names() -> list[str]:
        return sorted({*dir(theirs), *getattr(ours, "__all__", ())})

    space["__getattr__"] = find
    space["__dir__"] = names
    return view


class Substitution:
    """``module`` in NumPy's place, for the code that lies in ``folder``.

    Parameters
    ----------
    module : module
        Seen as ``numpy``; its submodules, where it has them, as NumPy's.
    folder : str
        Source files under it see the substitute, installed packages under it (a
        virtual environment beside a script) do not.
    """

    def __init__(self, module: ModuleType, folder: str) -> None:
        self.folder = os.path.realpath(folder)
        self._module = module
        self._views: dict[str, ModuleType] = {}
        self._import = builtins.__import__
        self.builtins = ModuleType("builtins", builtins.__doc__)
        self.builtins.__dict__.update(vars(builtins))
        self.builtins.__dict__["__import__"] = self.import_module

    # ------------------------------------------------------------------- imports
    def import_module(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """The ``__import__`` of the program's own modules."""
        found = self._import(name, globals, locals, fromlist or (), level)
        if level == 0:
            if name == "numpy" or name.startswith("numpy."):
                return self.view(name if fromlist else "numpy")
            if name == "builtins":
                return self.builtins
        return found

    def view(self, name: str) -> ModuleType:
        """What the program sees under the name of a module of NumPy."""
        view = self._views.get(name)
        if view is None:
            theirs = importlib.import_module(name)
            ours = self._ours(name)
            view = theirs if ours is None else _numpy_view(self, ours, theirs)
            self._views[name] = view
        return view

    def submodule(self, name: str, found: ModuleType) -> ModuleType:
        """The view of a module found as an attribute, if it is NumPy's or ours."""
        if sys.modules.get(name) is None and self._ours(name) is None:
            return found
        try:
            return self.view(name)
        except ModuleNotFoundError:  # a module of ours that NumPy has not
            return found

    def _ours(self, name: str) -> ModuleType | None:
        """Our module of that name, unless it is only NumPy's, handed on."""
        found: object = self._module
        for part in name.split(".")[1:]:
            found = getattr(found, part, None)
        if isinstance(found, ModuleType):
            root = self._module.__name__
            if found.__name__ == root or found.__name__.startswith(root + "."):
                return found
        return None

    # -------------------------------------------------- the program's own modules
    def owns(self, path: str) -> bool:
        """Whether a source file belongs to the program."""
        try:
            below = os.path.relpath(os.path.realpath(path), self.folder)
        except ValueError:  # another drive
            return False
        parts = below.split(os.sep)
        return parts[0] != os.pardir and _INSTALLED.isdisjoint(parts)

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Finds the program's own modules, as an entry of ``sys.meta_path``."""
        if name.partition(".")[0] == self._module.__name__:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if (
            spec is None
            or spec.origin is None
            or type(spec.loader) is not SourceFileLoader
            or not self.owns(spec.origin)
        ):
            return None
        spec.loader = _Loader(spec.name, spec.origin, self.builtins)
        return spec

    def load(self, name: str, path: str) -> ModuleType:
        """Run a source file as a module of that name, outside of ``sys.modules``."""
        module = ModuleType(name)
        module.__dict__.update(
            __builtins__=vars(self.builtins), __file__=os.path.abspath(path)
        )
        with open(path, "rb") as file:
            code = compile(
                file.read(), os.path.abspath(path), "exec", dont_inherit=True
            )
        exec(code, module.__dict__)
        return module

    def install(self) -> None:
        """Let the program's own modules be found, before Python's path finder."""
        finders = sys.meta_path
        place = finders.index(PathFinder) if PathFinder in finders else len(finders)
        finders.insert(place, self)

    def remove(self) -> None:
        """Undo `install`."""
        sys.meta_path.remove(self)


class _Loader(SourceFileLoader):
    """Loads a module that sees other builtins."""

    def __init__(self, name: str, path: str, builtins: ModuleType) -> None:
        super().__init__(name, path)
        self._builtins = builtins

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = ModuleType(spec.name)
        module.__dict__["__builtins__"] = vars(self._builtins)
        return module


# ---------------------------------------------------------------------- the script
def run_script(path: str, arguments: Sequence[str], module: ModuleType) -> None:
    """Run a Python file as ``__main__``, as ``python path arguments`` would.

    Parameters
    ----------
    path : str
        The script.
    arguments : sequence of str
        Its ``sys.argv[1:]``.
    module : module
        What it sees as ``numpy``.

    Raises
    ------
    OSError
        The script cannot be read.
    BaseException
        Whatever the script raises, `SystemExit` included.  A traceback printed for
        it shows the script's frames only.

    Notes
    -----
    Changes ``sys.argv``, ``sys.path``, ``sys.meta_path`` and ``sys.modules`` of this
    process, and leaves them so.
    """
    with open(path, "rb") as file:
        source = file.read()
    folder = os.path.dirname(os.path.realpath(path))
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = folder
    sys.argv = [path, *arguments]
    substitution = Substitution(module, folder)
    substitution.install()

    name = os.path.abspath(path)
    main = ModuleType("__main__")
    main.__dict__.update(
        __builtins__=substitution.builtins,
        __file__=name,
        __cached__=None,
        __loader__=SourceFileLoader("__main__", name),
        __annotations__={},
    )
    sys.modules["__main__"] = main
    try:
        code: CodeType = compile(source, name, "exec", dont_inherit=True)
        exec(code, main.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        _print_only_its_frames(error)
        raise


def _print_only_its_frames(error: BaseException) -> None:
    """When the interpreter reports ``error``, leave out the frames of this file."""
    for link in _chain(error):
        link.__traceback__ = _without_this_file(link.__traceback__)
    trace = error.__traceback__
    hook = sys.excepthook

    def report(
        kind: type[BaseException], value: BaseException, full: TracebackType | None
    ) -> None:
        if value is error:
            value, full = value.with_traceback(trace), trace
        hook(kind, value, full)

    sys.excepthook = report


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An exception and those that led to it."""
    seen: set[int] = set()
    left: list[BaseException | None] = [error]
    while left:
        link = left.pop()
        if link is not None and id(link) not in seen:
            seen.add(id(link))
            left += [link.__cause__, link.__context__]
            if isinstance(link, BaseExceptionGroup):
                left += link.exceptions
            yield link


def _without_this_file(trace: TracebackType | None) -> TracebackType | None:
    kept = []
    while trace is not None:
        if trace.tb_frame.f_code.co_filename != __file__:
            kept.append(trace)
        trace = trace.tb_next
    result: TracebackType | None = None
    for entry in reversed(kept):
        result = TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result
