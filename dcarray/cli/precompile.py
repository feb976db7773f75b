"""``dcarray precompile``: builds the kernels of a recorded run ahead of time."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

from ..backends.cache import object_cache
from ..backends.recording import entries
from ..backends.registry import backend_for
from ..errors import CompileError, ConfigError, DeviceError, UnsupportedError
from ..profile import counters

__all__ = ["precompile"]


def precompile(record: str) -> int:
    """Build what a record names into the cache folder; the exit status.

    Raises
    ------
    ConfigError
        The file is no record, or there is no cache to build into.
    OSError
        It cannot be read.
    """
    cache = object_cache()
    if not cache.usable:
        raise ConfigError(f"the cache folder {cache.folder} is not used")
    counts: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    try:
        for entry in entries(Path(record)):
            before = counters["compile"]
            try:
                backend: Any = backend_for(entry.device)
                build = getattr(backend, "build_ahead", None)
                if build is None:
                    missing[f"{entry.device} keeps no kernels on disk"] += 1
                    continue
                build(entry)
            except UnsupportedError as error:
                missing[str(error)] += 1
            except CompileError as error:
                counts["failed"] += 1
                print(
                    f"{entry.device}: {entry.label}: {error.message}", file=sys.stderr
                )
            except DeviceError as error:
                missing[error.message] += 1
            else:
                counts["built" if counters["compile"] > before else "there"] += 1
    except ValueError as error:
        raise ConfigError(str(error)) from None
    print(
        f"built {counts['built']} kernels in {cache.folder}; "
        f"{counts['there']} were there already"
    )
    for reason, number in missing.items():
        print(f"left out {number}: {reason}")
    if counts["failed"]:
        print(f"{counts['failed']} did not compile", file=sys.stderr)
    return 1 if counts["failed"] else 0
