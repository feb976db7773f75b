"""The examples of `docs/kernels.md` run."""

from __future__ import annotations

import linecache
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcarray.backends.registry import counted

PAGE = Path(__file__).parents[2] / "docs" / "kernels.md"


def test_the_examples_run() -> None:
    if not counted("opencl"):
        pytest.skip("no OpenCL device here")
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 4
    space: dict[str, Any] = {"__name__": "kernels_of_the_docs"}
    for number, block in enumerate(blocks):
        name = f"<docs/kernels.md, example {number}>"
        linecache.cache[name] = (len(block), None, block.splitlines(True), name)
        exec(compile(block, name, "exec"), space)
    x = np.linspace(0, 1, 1_000_000, dtype=np.float32)
    np.testing.assert_allclose(space["out"].get(), 2 * x + x[::-1], rtol=1e-6)
    assert space["place"].tolist() == [1, -1]
    assert int(space["escape"](0.1, 0.1)) == 200
    dialects = ("cuda", "opencl", "metal", "llvm")
    for kernel in (space["saxpy"], space["first_above"]):
        texts = {target: kernel.source(target) for target in dialects}
        assert len(set(texts.values())) == len(dialects)
