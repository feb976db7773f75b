"""A simulated Metal device: generated kernels run, though no Apple machine is at hand.

Metal Shading Language is C++, so its text is compiled by g++ behind a header that
defines Metal's names (`include/metal_stdlib`).  `translate` reads the signatures of the
kernels and finds what Metal refuses and g++ takes, `library` compiles and loads,
`runtime.cpp` runs a grid with real threadgroups, and `module` is the part of pyobjc's
module ``Metal`` that the backend calls.
"""

from .library import CompilationError, Library
from .module import Simulator, installed

__all__ = ["CompilationError", "Library", "Simulator", "installed"]
