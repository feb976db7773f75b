"""Metal Shading Language → C++ for g++, with one entry point for each kernel."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = ["CompilationError", "Function", "translate"]

FILE = "program_source"
"""What Metal calls text that comes from a string."""


class CompilationError(Exception):
    """The text is no Metal; the message is written as Metal's compiler writes it."""


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel of a library.

    ``buffers`` are the numbers of the buffers that it takes, ``has_barriers`` says
    whether its threads wait for one another.
    """

    name: str
    buffers: tuple[int, ...]
    has_barriers: bool
    calls: str = field(repr=False)


IDS = {
    "thread_position_in_grid": "position",
    "thread_position_in_threadgroup": "local",
    "threadgroup_position_in_grid": "group",
    "threads_per_grid": "grid_size",
    "threads_per_threadgroup": "group_size",
    "threadgroups_per_grid": "groups",
}
NUMBERS = {
    "thread_index_in_threadgroup": "index",
    "thread_index_in_simdgroup": "lane",
    "simdgroup_index_in_threadgroup": "simd",
    "threads_per_simdgroup": "width",
    "simdgroups_per_threadgroup": "simds",
}
SPACES = ("device", "constant", "threadgroup", "thread")
MOST_BUFFERS = 31

REFUSED = re.compile(
    r"\b(double|goto|new|delete|try|catch|throw|dynamic_cast|typeid|virtual|asm"
    r"|thread_local|__\w+)\b"
)
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*(\S+)", re.M)
KERNEL = re.compile(r"(?:\bkernel|\[\[\s*kernel\s*\]\])\s+void\s+(\w+)\s*\(")
SHARED = re.compile(
    r"(?<=[;{}])(?P<before>\s*)threadgroup(?P<kind>\s+[\w:]+(?:\s+\w+)?)"
    r"\s+(?P<name>\w+)\s*(?P<sizes>(?:\[[^\]]*\]\s*)*);"
)
ATTRIBUTE = re.compile(r"\[\[\s*(\w+)\s*(?:\(\s*(\d+)\s*\))?\s*\]\]\s*$")
WAITS = re.compile(r"\b(threadgroup_barrier|simdgroup_barrier|simd_\w+)\s*\(")


def translate(source: str) -> tuple[str, list[Function]]:
    """C++ text, and the kernels in it.

    Raises
    ------
    CompilationError
        Metal would refuse the text.
    """
    text = _without_comments(source)
    for match in INCLUDE.finditer(text):
        if not re.fullmatch(r"<(metal_\w+|simd/simd\.h)>", match[1]):
            _refuse(text, match.start(1), f"{match[1]} file not found")
    found = REFUSED.search(text)
    if found:
        _refuse(text, found.start(), f"'{found[0]}' is not supported in Metal")
    _check_address_spaces(text)
    functions = [_function(text, match) for match in KERNEL.finditer(text)]
    names = [function.name for function in functions]
    for name in names:
        if names.count(name) > 1:
            _refuse(text, 0, f"redefinition of '{name}'")
    body = INCLUDE.sub("", text)
    body = KERNEL.sub(lambda m: m[0].replace("kernel", "     ", 1), body)
    body = re.sub(r"\[\[\s*\]\]", "", body)
    body = SHARED.sub(_shared, body)
    parts = ["#include <metal_stdlib>", f'#line 1 "{FILE}"', body]
    parts += [function.calls for function in functions]
    return "\n".join(parts) + "\n", functions


def _shared(match: re.Match[str]) -> str:
    # The host thread that runs a threadgroup owns its memory.  The first thread to come
    # by fills it, so that nothing is read that nobody wrote.
    name = match["name"]
    return (
        f"{match['before']}static thread_local{match['kind']} {name}{match['sizes']};"
        f" msl_poison(&{name}, sizeof {name});"
    )


def _without_comments(source: str) -> str:
    """The text with comments blanked out, every character in its place."""
    pattern = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), source)


def _refuse(text: str, place: int, message: str) -> None:
    line = text.count("\n", 0, place) + 1
    column = place - text.rfind("\n", 0, place)
    raise CompilationError(f"{FILE}:{line}:{column}: error: {message}")


def _closing(text: str, start: int) -> int:
    """Where the parenthesis that opens just before ``start`` closes."""
    depth = 1
    for place in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if not depth:
            return place
    _refuse(text, start, "expected ')'")
    return start


def _split(text: str) -> list[str]:
    """The parameters of a list."""
    parts, depth, start = [], 0, 0
    for place, character in enumerate(text):
        depth += {"(": 1, "[": 1, "<": 1, ")": -1, "]": -1, ">": -1}.get(character, 0)
        if character == "," and not depth:
            parts.append(text[start:place])
            start = place + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def _check_address_spaces(text: str) -> None:
    """Pointers and references among parameters say which memory they point to."""
    for match in re.finditer(r"\b\w+\s*\(([^(){};]*)\)\s*\{", text):
        for parameter in _split(match[1]):
            if re.search(r"\w\s*[*&]\s*\w+\s*$", parameter) and not (
                set(re.findall(r"\w+", parameter)) & set(SPACES)
            ):
                _refuse(
                    text,
                    match.start(1),
                    "pointer type must have explicit address space qualifier: "
                    f"{parameter}",
                )


def _function(text: str, match: re.Match[str]) -> Function:
    name = match[1]
    end = _closing(text, match.end())
    arguments, buffers = [], []
    for parameter in _split(text[match.end() : end]):
        attribute = ATTRIBUTE.search(parameter)
        if attribute is None:
            _refuse(
                text,
                match.start(1),
                f"invalid type for input declaration in a kernel function: {parameter}",
            )
            continue
        kind, number = attribute[1], attribute[2]
        declared = re.sub(r"\w+\s*$", "", parameter[: attribute.start()].strip())
        declared = declared.strip()
        if kind == "buffer" and number is not None:
            place = int(number)
            if place >= MOST_BUFFERS or place in buffers:
                _refuse(
                    text, match.start(1), f"buffer({place}) is out of bounds or taken"
                )
            buffers.append(place)
            arguments.append(_buffer(text, match.start(1), declared, place))
        elif kind in IDS:
            arguments.append(f"msl_ids<{declared}>::of(item->{IDS[kind]})")
        elif kind in NUMBERS:
            arguments.append(f"{declared}(item->{NUMBERS[kind]})")
        else:
            _refuse(text, match.start(1), f"unknown attribute '{kind}'")
    sizes = ", ".join([str(len(buffers)), *_sizes(text, match.end(), end)])
    calls = f"""
#line 1 "entry points"
extern "C" void msl_entry_{name}(const msl_item* item, void* const* buffers) {{
    (void)item; (void)buffers;
    {name}({", ".join(arguments)});
}}
extern "C" const unsigned msl_sizes_{name}[] = {{{sizes}}};
"""
    # A helper function may wait as well: any of them makes all kernels wait.
    return Function(name, tuple(buffers), bool(WAITS.search(text)), calls)


def _buffer(text: str, place: int, declared: str, number: int) -> str:
    pointed = declared[:-1].strip()
    words = re.findall(r"\w+", declared)
    if declared[-1:] not in ("*", "&") or not set(words) & {"device", "constant"}:
        _refuse(
            text,
            place,
            f"type '{declared}' is not valid for attribute 'buffer': "
            "a pointer or reference to device or constant memory",
        )
    value = f"reinterpret_cast<{pointed}*>(buffers[{number}])"
    return value if declared[-1] == "*" else f"*{value}"


def _sizes(text: str, start: int, end: int) -> list[str]:
    """Number and least size of each buffer."""
    found = []
    for parameter in _split(text[start:end]):
        attribute = ATTRIBUTE.search(parameter)
        if attribute is not None and attribute[1] == "buffer":
            declared = re.sub(r"\w+\s*$", "", parameter[: attribute.start()].strip())
            found += [attribute[2], f"sizeof({declared.strip()[:-1].strip()})"]
    return found
