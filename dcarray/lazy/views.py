"""How elements lie: one object for each way, which keys can name."""

from __future__ import annotations

from ..dtypes import DType
from ..layout import Layout

__all__ = ["View"]

MOST = 1 << 17
"""Ways that are remembered."""


class View(tuple[Layout, DType]):
    """How elements lie in memory, and what they are: ``(layout, dtype)``.

    There is one object for each; it is compared and hashed by its identity.  (Those
    that were forgotten meanwhile are other keys, and only take longer.)
    """

    __slots__ = ()
    __hash__ = object.__hash__
    __eq__ = object.__eq__
    __ne__ = object.__ne__

    @classmethod
    def of(cls, layout: Layout, dtype: DType) -> View:
        """The one of a layout and a dtype."""
        # C's integers of one size are equal as dtypes, and are not the same.
        key = (layout, layout.plain, dtype, dtype.num)
        found = _views.get(key)
        if found is None or (dtype.metadata and found[1] is not dtype):
            if len(_views) > MOST:
                _views.clear()
            found = cls((layout, dtype))
            if not dtype.metadata:
                _views[key] = found
        return found


_views: dict[tuple[Layout, bool, DType, int], View] = {}
