"""Weights that an ONNX model keeps in other files beside it, as large exports do; found without the package onnx."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path, PurePosixPath

_FIELDS: Mapping[str, Mapping[int, str]] = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor", 15: "sparse tensor"},
    "function": {7: "node"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse tensor", 23: "sparse tensor"},
    "sparse tensor": {1: "tensor", 2: "tensor"},
    "tensor": {13: "entry"},
}
"""Message → number of a field → the message in it, on the way to where tensors lie (`onnx.proto3`)."""
_KEY, _VALUE = 1, 2
_LOCATION = b"location"
_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5
"""How a field is written (protocol buffers)."""


def external_data(model: Path) -> tuple[Path, ...]:
    """The files beside a model that hold weights of it, sorted; none for a model in one file, or that can't be read.

    They may be missing. onnxruntime reads none that lies outside the model's folder, and so none is named.
    """
    told = model.stat()
    return _found(model, told.st_size, told.st_mtime_ns)


@cache
def _found(model: Path, size: int, _changed: int) -> tuple[Path, ...]:
    """Remembered for as long as the file's size and time stay."""
    if not size:
        return ()
    with model.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
        try:
            named = {location.decode() for location in _locations(content, 0, size, "model")}
        except (ValueError, RecursionError):  # no model at all: whoever runs it says so
            return ()
    inside = [name for name in named if not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts]
    return tuple(model.parent / name for name in sorted(inside))


def _locations(content: mmap.mmap, start: int, end: int, message: str) -> Iterator[bytes]:
    entry: dict[int, bytes] = {}
    for number, a, b in _fields(content, start, end):
        if message == "entry":
            entry[number] = content[a:b]
        elif inside := _FIELDS[message].get(number):
            yield from _locations(content, a, b, inside)
    if entry.get(_KEY) == _LOCATION:
        yield entry.get(_VALUE, b"")


def _fields(content: mmap.mmap, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(number, start, end) of the fields of a message that hold bytes; raises ValueError for what is no message."""
    while at < end:
        tag, at = _varint(content, at, end)
        number, written = tag >> 3, tag & 7
        if number == 0:
            raise ValueError("no message")
        if written == _BYTES:
            length, at = _varint(content, at, end)
            if at + length > end:
                raise ValueError("a field is longer than its message")
            yield number, at, at + length
            at += length
        elif written == _VARINT:
            _, at = _varint(content, at, end)
        elif written in {_FIXED_64, _FIXED_32}:
            at += 8 if written == _FIXED_64 else 4
        else:
            raise ValueError(f"a field can't be written as {written}")


def _varint(content: mmap.mmap, at: int, end: int) -> tuple[int, int]:
    """A number, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= end:
            break
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("a number doesn't end")
