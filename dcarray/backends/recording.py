"""A list of what was compiled, so that another process can build it ahead of time.

While the setting ``record`` names a file, every kernel that is built or found on disk
is added to it: a line of JSON with its device and its text.  Processes may share a
file.  ``dcarray precompile`` reads it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from ..config import current, logger

__all__ = ["Entry", "entries", "record"]

FORMAT = 1

_known: set[tuple[str, str]] = set()
"""Files, and digests of the lines that this process has added."""

_unwritable: set[str] = set()


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel that was compiled.

    Attributes
    ----------
    device : str
    text : str
        What its compiler was given.
    name : str
        The function.
    label : str
        What reports call it.
    """

    device: str
    text: str
    name: str
    label: str

    def line(self) -> str:
        """As a line of a record."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return json.dumps({"dcarray": FORMAT, **fields}) + "\n"


def record(device: str, text: str, name: str, label: str) -> None:
    """Add a kernel to the file that the settings name, if they name one."""
    target = current().record
    if not target or target in _unwritable:
        return
    line = Entry(device, text, name, label).line()
    key = (target, sha256(line.encode()).hexdigest())
    if key in _known:
        return
    try:
        # In one piece, at the end: other processes may write to it, too.
        handle = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(handle, line.encode())
        finally:
            os.close(handle)
    except OSError as error:
        _unwritable.add(target)
        logger().warning("record: cannot write to %s: %s", target, error)
        return
    _known.add(key)


def entries(path: Path) -> Iterator[Entry]:
    """The kernels of a record, each once.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        It is no record; the message names the line.
    """
    seen: set[Entry] = set()
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                found = json.loads(line)
                if found["dcarray"] != FORMAT:
                    raise ValueError(f"format {found['dcarray']!r}")
                facts = [found[name] for name in Entry.__slots__]
                if not all(isinstance(fact, str) for fact in facts):
                    raise TypeError("a field is no text")
            except (ValueError, TypeError, KeyError) as error:
                raise ValueError(f"{path}:{number}: no record: {error}") from None
            entry = Entry(*facts)
            if entry not in seen:
                seen.add(entry)
                yield entry
