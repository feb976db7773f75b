"""Compiled objects on disk.

The folder must belong to the user, with mode 0700, or it is not used: an object is
machine code that will run.  Each file carries the digest of what it holds, and the name
of its kernel.  When the files together pass the limit, those least recently used go.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ..config import current, logger

__all__ = ["CacheStatistics", "ObjectCache", "is_safe", "object_cache"]


FAMILY = b"dcarray object "
MAGIC = FAMILY + b"2\n"
LONGEST_NAME = 200
"""Bytes of a kernel's name."""

SUFFIX = ".object"


@dataclass(frozen=True, slots=True)
class CacheStatistics:
    """Counts of this process, and what lies in the folder."""

    folder: str
    hits: int
    misses: int
    writes: int
    rejected: int
    files: int
    nbytes: int


class ObjectCache:
    """A folder of objects.

    Parameters
    ----------
    folder : Path
        Where objects are written; made if it does not exist.
    limit : int
        Most bytes of all files; 0 turns the cache off.
    shared : Path, optional
        A second folder that is only read.
    """

    def __init__(self, folder: Path, limit: int, shared: Path | None = None) -> None:
        self.folder = folder
        self.limit = limit
        self.shared = shared
        self.usable = limit > 0 and _is_private(folder)
        self._hits = 0
        self._misses = 0
        self._writes = 0
        self._rejected = 0
        self._written = limit  # look at the folder at the first write

    def get(self, key: str) -> bytes | None:
        """The object that was kept under ``key``, or None."""
        if self.usable:
            path = self._path(key)
            found = self._read(path)
            if found is not None:
                self._hits += 1
                _touch(path)
                return found
        if self.shared is not None and is_safe(self.shared):
            found = self._read(self.shared / self._path(key).name)
            if found is not None:
                self._hits += 1
                return found
        self._misses += 1
        return None

    def put(self, key: str, value: bytes, name: str = "") -> None:
        """Keep an object, of a kernel of that name.  A full disk or a lost folder is no
        error."""
        if not self.usable:
            return
        held = _one_line(name) + b"\n" + value
        content = MAGIC + hashlib.sha256(held).digest() + held
        try:
            handle, name = tempfile.mkstemp(dir=self.folder, suffix=".part")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                os.replace(name, self._path(key))
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError as error:
            logger().info("kernel cache: cannot write: %s", error)
            return
        self._writes += 1
        self._written += len(content)
        if self._written > self.limit:
            self._written = self._evict()

    def discard(self, key: str) -> bool:
        """Forget one object; says whether there was one."""
        if not self.usable:
            return False
        path = self._path(key)
        existed = path.exists()
        path.unlink(missing_ok=True)
        return existed

    def clear(self, names: Collection[str] | None = None) -> int:
        """Forget all objects, or those of kernels of these names; returns how many
        there were."""
        wanted = None if names is None else set(map(_one_line, names))
        removed = 0
        for path, _ in self._files():
            if wanted is None or _name_in(path) in wanted:
                path.unlink(missing_ok=True)
                removed += 1
        return removed

    def names(self) -> Counter[str]:
        """The kernels of which there are objects, and how many of each."""
        found = [_name_in(path) for path, _ in self._files()]
        return Counter([name.decode("utf-8", "replace") for name in found])

    def statistics(self) -> CacheStatistics:
        """Counts so far."""
        files = self._files()
        return CacheStatistics(
            str(self.folder),
            self._hits,
            self._misses,
            self._writes,
            self._rejected,
            len(files),
            sum(entry.st_size for _, entry in files),
        )

    def _path(self, key: str) -> Path:
        return self.folder / (hashlib.sha256(key.encode()).hexdigest() + SUFFIX)

    def _read(self, path: Path) -> bytes | None:
        try:
            content = path.read_bytes()
        except OSError:
            return None
        start = len(MAGIC) + 32
        held = content[start:]
        if not content.startswith(MAGIC):
            if content.startswith(FAMILY):
                return None  # of another version of dcarray
        elif content[len(MAGIC) : start] == hashlib.sha256(held).digest():
            return held[held.index(b"\n") + 1 :]
        self._rejected += 1
        logger().warning("kernel cache: %s is damaged and not used", path)
        return None

    def _files(self) -> list[tuple[Path, os.stat_result]]:
        if not self.usable:
            return []
        found = []
        for path in self.folder.glob("*" + SUFFIX):
            try:
                found.append((path, path.stat()))
            except OSError:
                continue  # another process was faster
        return found

    def _evict(self) -> int:
        """Drop the least recently used until a tenth is free; returns what is left."""
        files = sorted(self._files(), key=lambda entry: entry[1].st_mtime_ns)
        total = sum(entry.st_size for _, entry in files)
        if total <= self.limit:
            return total
        for path, entry in files:
            if total <= self.limit * 9 // 10:
                break
            path.unlink(missing_ok=True)
            total -= entry.st_size
        return total


def _one_line(name: str) -> bytes:
    """A kernel's name as files hold it."""
    return name.replace("\n", " ").encode()[:LONGEST_NAME]


def _name_in(path: Path) -> bytes:
    """The name that a file holds; empty if it holds none."""
    start = len(MAGIC) + 32
    try:
        with path.open("rb") as file:
            content = file.read(start + LONGEST_NAME + 1)
    except OSError:
        return b""
    return content[start:].partition(b"\n")[0] if content.startswith(MAGIC) else b""


def _touch(path: Path) -> None:
    try:
        os.utime(path)
    except OSError:
        return  # read-only: the order of use is not kept then


def _is_private(folder: Path) -> bool:
    """Make the folder if need be; whether it is the user's own and nobody else's."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        entry = folder.stat()
    except OSError as error:
        logger().info("kernel cache: %s cannot be used: %s", folder, error)
        return False
    if not hasattr(os, "getuid"):
        return True  # the folder of a Windows profile is private
    if entry.st_uid != os.getuid() or stat.S_IMODE(entry.st_mode) & 0o077:
        logger().warning(
            "kernel cache: %s is not used: it must belong to you, with mode 0700",
            folder,
        )
        return False
    return True


def is_safe(folder: Path) -> bool:
    """Whether a folder that others gave us cannot be written by everybody."""
    try:
        return not stat.S_IMODE(folder.stat().st_mode) & 0o002
    except OSError:
        return False


def object_cache() -> ObjectCache:
    """The cache that the settings name."""
    settings = current()
    return _cache_in(settings.cache_dir, settings.cache_size, settings.shared_cache_dir)


def folders() -> list[Path]:
    """Where compiled objects would be looked for; nothing is made."""
    settings = current()
    shared = settings.shared_cache_dir
    found = [] if settings.cache_size <= 0 else [_folder(settings.cache_dir)]
    return [*found, Path(shared)] if shared else found


@lru_cache(16)
def _cache_in(folder: str, limit: int, shared: str) -> ObjectCache:
    return ObjectCache(_folder(folder), limit, Path(shared) if shared else None)


def _folder(given: str) -> Path:
    if given:
        return Path(given).expanduser()
    import platformdirs  # 7 ms, and not wanted where a folder is given

    return Path(platformdirs.user_cache_dir("dcarray")) / "kernels"
