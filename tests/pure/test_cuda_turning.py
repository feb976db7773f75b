"""Texts that turn stacks of matrices: they compile, and take what they are given."""

from __future__ import annotations

import re

import pytest

from dcarray.backends.cuda import graphs, turning
from dcarray.backends.cuda.kernels.turning import Turn, turn_text, two_turns_text
from dcarray.kernel.nodes import Kernel
from dcarray.render.cuda import OPTIONS

from .. import nvrtc
from .test_cuda_texts import needs_nvrtc, taken

IMAGES, WEIGHTS = Turn(2, 32, 3, 50176, 8), Turn(2, 64, 3, 49, 8)


@needs_nvrtc
@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        (turn_text(Turn(4, 1, 49, 64, 49)), turning._TURN),
        (turn_text(Turn(2, 1, 49, 64, 49)), turning._TURN),
        (turn_text(Turn(4, 8, 128, 1 << 18, 128)), turning._TURN),
        (two_turns_text(IMAGES, WEIGHTS), turning._BOTH),
        (graphs.PAUSE_TEXT, graphs._PAUSE),
    ],
)
def test_it_compiles(text: str, kernel: Kernel) -> None:
    ptx = nvrtc.compiled(text, "sm_75", ("--std=c++17", *OPTIONS))
    assert re.findall(r"\.entry (\w+)\(", ptx) == [kernel.name]
    head = re.search(rf"void[^{{;]*\b{kernel.name}\(([^)]*)\)", text)
    assert head is not None
    listed = ["p" if "*" in one else "q" for one in head.group(1).split(",")]
    assert "".join(listed) == taken(kernel)


def test_tiles_fit_what_they_turn() -> None:
    assert IMAGES.form == (4, 8, 4, 0)  # few channels: tiles are wide
    assert WEIGHTS.form == (4, 1, 4, 0)
    assert Turn(2, 64, 64, 9, 64).form == (128, 1, 4, 0)  # few places: they are high
    assert Turn(2, 8, 49, 64, 49).form == (32, 8, 0, 0)  # rows begin at odd halves
    assert Turn(4, 8, 128, 1 << 18, 128).form == (32, 4, 4, 1)  # more than a cache
    assert Turn(4, 8, 127, 1 << 18, 127).form == (32, 4, 1, 0)
    assert Turn(4, 8, 64, 3136, 64).groups == 8 * 49 * 2
    assert IMAGES.nbytes == 32 * 50176 * 8 * 2
