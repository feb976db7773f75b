"""``dcarray check``: whether the kernels of a file can be made for every device."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from itertools import dropwhile

from ..api.kernels.tools import checked, kernels_of

__all__ = ["check"]


def check(files: Sequence[str]) -> int:
    """Print what is wrong with the kernels of some files; whether anything is."""
    wrong = 0
    for file in files:
        with open(file, "rb"):
            pass  # an OSError: there is no such file
        try:
            kernels = kernels_of(file)
        except (Exception, SystemExit) as error:  # it runs, and may do anything
            print(f"{file}: it cannot be run:\n{_told(error, file)}")
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
                space = "\n" if text.startswith(" ") else " "  # a place comes first
                print(f"{file}: {name}: {', '.join(targets)}:{space}{text}")
    return 1 if wrong else 0


def _told(error: BaseException, file: str) -> str:
    """An error, and where in the file it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    places = list(dropwhile(lambda frame: frame.filename != file, frames))
    lines = traceback.format_list(places) if places else []
    return "".join([*lines, *traceback.format_exception_only(error)]).rstrip()
