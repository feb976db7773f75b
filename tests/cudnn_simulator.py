"""cuDNN's Python front end on a simulated CUDA runtime: graphs of one node, which NumPy
computes in float64."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from dcarray.backends.cuda import graphs
from dcarray.ops import neural

from .cuda_simulator import Runtime

__all__ = ["Made", "installed"]

DTYPES = {"FLOAT": "f4", "HALF": "f2"}


class Unsupported(Exception):
    """cuDNN has no plan."""


class Tensor:
    def __init__(self, uid: int, given: Mapping[str, Any]) -> None:
        self.uid = uid
        self.given = dict(given)

    def get_uid(self) -> int:
        return self.uid

    def set_output(self, value: bool) -> Tensor:
        return self

    def set_data_type(self, kind: str) -> Tensor:
        self.given["data_type"] = kind
        return self

    def set_dim(self, dim: list[int]) -> Tensor:
        self.given["dim"] = dim
        return self

    def set_stride(self, stride: list[int]) -> Tensor:
        self.given["stride"] = stride
        return self

    def seen(self, runtime: Runtime, address: int) -> Any:
        dtype = np.dtype(DTYPES[self.given["data_type"]])
        dim, stride = self.given["dim"], self.given["stride"]
        assert address % 16 == 0
        reach = 1 + sum([(n - 1) * s for n, s in zip(dim, stride, strict=True)])
        flat = runtime.seen_from(address)[: reach * dtype.itemsize].view(dtype)
        steps = [s * dtype.itemsize for s in stride]
        return np.lib.stride_tricks.as_strided(flat, dim, steps)


class Made:
    """What the program asked for.

    Attributes
    ----------
    graphs : list of str
        Nodes of the graphs that were built.
    plans : list of int
        The plans that ran.
    refused : set of str
        Nodes for which there is no plan.
    notes : list
        That plans must not have.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.graphs: list[str] = []
        self.plans: list[int] = []
        self.refused: set[str] = set()
        self.notes: list[Any] = []


class Graph:
    """Four plans, of which the second cannot be built and the third does not start."""

    def __init__(self, made: Made, **options: Any) -> None:
        assert options["compute_data_type"] == "FLOAT"
        self._made = made
        self._tensors: list[Tensor] = []
        self._node: tuple[str, dict[str, Any], list[Tensor]] = ("", {}, [])
        self._lowered_graph = self

    @property
    def plans(self) -> list[Any]:
        return [SimpleNamespace(cpp_index=k) for k in range(4)]

    def tensor(self, **given: Any) -> Tensor:
        self._tensors.append(Tensor(len(self._tensors) * 4 % 11, given))
        return self._tensors[-1]

    def _node_of(self, name: str, options: dict[str, Any], results: int) -> Any:
        found = [self.tensor() for _ in range(results)]
        self._node = (name, options, found)
        return found

    def conv_fprop(self, **options: Any) -> Any:
        return self._node_of("fprop", options, 1)[0]

    def conv_dgrad(self, **options: Any) -> Any:
        return self._node_of("dgrad", options, 1)[0]

    def conv_wgrad(self, **options: Any) -> Any:
        return self._node_of("wgrad", options, 1)[0]

    def sdpa(self, **options: Any) -> Any:
        found = self._node_of("sdpa", options, 1 + options["generate_stats"])
        return [*found, None][:2]

    def sdpa_backward(self, **options: Any) -> Any:
        return self._node_of("sdpa_backward", options, 3)

    def validate(self) -> None:
        pass

    def build_operation_graph(self) -> None:
        self._made.graphs.append(self._node[0])

    def create_execution_plans(self, modes: Any) -> None:
        pass

    def deselect_numeric_notes(self, notes: Any) -> None:
        self._made.notes = list(notes)

    def check_support(self) -> None:
        if self._node[0] in self._made.refused:
            raise Unsupported(self._node[0])

    def get_execution_plan_count(self) -> int:
        return 4

    def build_plan_at_index(self, index: int) -> None:
        if index == 1:
            raise Unsupported("this plan")

    def get_workspace_size_plan_at_index(self, index: int) -> int:
        return 100 * index

    def _execute_with_raw_ptrs(
        self, place: int, count: int, room: int, whose: int, index: int
    ) -> None:
        addresses = (ctypes.c_void_p * count).from_address(place)
        uids = sorted([tensor.uid for tensor in self._tensors])
        self._run(dict(zip(uids, map(int, addresses), strict=True)), index)

    def _run(self, given: Mapping[int, int], index: int) -> None:
        if index == 2:
            raise RuntimeError("this plan does not start")
        self._made.plans.append(index)
        name, options, results = self._node
        seen = {
            key: x.seen(self._made.runtime, given[x.uid]).astype("f8")
            for key, x in options.items()
            if isinstance(x, Tensor)
        }
        targets = [x.seen(self._made.runtime, given[x.uid]) for x in results]
        computed = _attended if name.startswith("sdpa") else _convolved
        for target, found in zip(
            targets, computed(name, seen, options, targets[0].shape), strict=True
        ):
            target[...] = found


def _convolved(name: str, seen: Any, options: Any, shape: Any) -> Sequence[Any]:
    axes = len(shape) - 2
    first = seen["image"] if "image" in seen else seen["loss"]
    second = seen["loss"] if name == "wgrad" else seen.get("weight", seen.get("filter"))
    row = {
        "fprop": neural.CONVOLUTION,
        "dgrad": neural.CONVOLUTION_INPUT_GRADIENT,
        "wgrad": neural.CONVOLUTION_WEIGHT_GRADIENT,
    }[name]
    channels = {"fprop": first, "wgrad": first}.get(name)
    whole = shape[1] if channels is None else channels.shape[1]
    part = {"fprop": second.shape, "dgrad": second.shape, "wgrad": shape}[name][1]
    size = "kernel" if name == "wgrad" else "size"
    assert len(options["post_padding"]) == axes
    return [
        row.numpy(
            first,
            second,
            low=options["pre_padding"],
            stride=options["stride"],
            dilation=options["dilation"],
            groups=whole // part,
            channels_last=False,
            **{size: shape[2:]},
        )
    ]


def _attended(name: str, seen: Any, options: Any, shape: Any) -> Sequence[Any]:
    batch = seen["q"].shape[:2]

    def flat(key: str) -> Any:
        if key not in seen:
            return None
        whole = np.broadcast_to(seen[key], (*batch, *seen[key].shape[2:]))
        return whole.reshape(-1, *whole.shape[2:])

    def whole(x: Any) -> Any:
        return x.reshape(*batch, *x.shape[1:])

    rest = {
        "mask": flat("bias"),
        "causal": options["use_causal_mask"],
        "scale": options["attn_scale"],
    }
    operands = (flat("q"), flat("k"), flat("v"))
    if name == "sdpa":
        found, logs = neural.ATTENTION.numpy(*operands, **rest)
        logs = np.where(logs == np.inf, -np.inf, logs)
        return [whole(x) for x in (found, logs)[: 1 + options["generate_stats"]]]
    gradient = flat("dO")
    mean = (gradient * flat("o")).sum(-1, keepdims=True)
    given = (gradient, *operands, flat("stats"), mean)
    return [whole(x) for x in neural.ATTENTION_GRADIENT.numpy(*given, **rest)]


class _Names:
    """An enumeration whose members are their names."""

    def __getattr__(self, name: str) -> str:
        return name


@contextmanager
def installed(runtime: Runtime) -> Iterator[Made]:
    """The front end is simulated as long as the block lasts."""
    made = Made(runtime)
    module: Any = ModuleType("cudnn")
    module.__spec__ = ModuleSpec("cudnn", None)
    module.data_type = module.heur_mode = module.numerical_note = _Names()
    module.cudnnGraphNotSupportedError = Unsupported
    module.backend_version = lambda: 91900
    module.create_handle = lambda: SimpleNamespace(backend_handle=1)
    module.set_stream = lambda handle, stream: None
    module.pygraph = lambda **options: Graph(made, **options)
    kept = sys.modules.get("cudnn")
    sys.modules["cudnn"] = module
    graphs.module.cache_clear()
    try:
        yield made
    finally:
        if kept is None:
            del sys.modules["cudnn"]
        else:
            sys.modules["cudnn"] = kept
        graphs.module.cache_clear()
