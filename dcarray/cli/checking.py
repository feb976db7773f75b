"""``dcarray check``: whether the kernels of a file can be made for every device."""

from __future__ import annotations

import traceback
from collections.abc import Sequence

from ..api.kernels.tools import checked, kernels_of
from ..errors import KernelTypeError

__all__ = ["check"]


def check(files: Sequence[str]) -> int:
    """Print what is wrong with the kernels of some files; whether anything is."""
    wrong = 0
    for file in files:
        try:
            kernels = kernels_of(file)
        except (SyntaxError, KernelTypeError) as error:
            print("".join(traceback.format_exception_only(error)).rstrip())
            wrong += 1
            continue
        if not kernels:
            print(f"{file}: no kernels")
        for kernel in kernels:
            reports: dict[str, list[str]] = {}
            for target, found in checked(kernel):
                text = "ok"
                if found is not None:
                    text = "".join(traceback.format_exception_only(found)).rstrip()
                    wrong += 1
                reports.setdefault(text, []).append(target)
            for text, targets in reports.items():
                name = kernel.source_code.tree.name
                print(f"{file}: {name}: {', '.join(targets)}: {text}")
    return 1 if wrong else 0
