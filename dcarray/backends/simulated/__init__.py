"""A device that is not there: for tests, and for looking at what a device would see.

Its memory is out of NumPy's reach, every transfer is counted, and it fails on demand.
Kernels run through the interpreter of the IR, so that what runs here is what other
devices spell.
"""

from .backend import SimulatedBackend
from .faults import Faults
from .memory import Handle, View

__all__ = ["Faults", "Handle", "SimulatedBackend", "View"]
