"""The raw form of elements, as printed by `zarrctl get --format raw`.

Elements are in C order; numbers are little endian, booleans one byte, complex numbers the real and then the imaginary
part, structured types packed field by field, fixed strings padded with NUL (`U` as UCS-4 little endian),
datetimes int64, and items of variable length a u32 little endian byte length followed by the bytes.
"""

import json
import struct
import sys

import numpy as np


def raw_bytes(elements: np.ndarray) -> bytes:
    """Returns the raw form of all elements."""
    if elements.dtype.kind in "OT":
        return b"".join(map(item_bytes, elements.ravel().tolist()))
    return field_bytes(elements).tobytes()


def objects_as_text(elements: np.ndarray) -> np.ndarray:
    """Returns the elements. Objects other than texts, bytes and arrays are JSON, and arrays are their bytes."""
    if elements.dtype.kind != "O":
        return elements
    return np.array([as_text(item) for item in elements.ravel()] + [None], dtype=object)[:-1]


def as_text(item: object) -> str | bytes:
    if isinstance(item, str | bytes):
        return item
    if isinstance(item, np.ndarray):
        return item.tobytes()
    return json.dumps(item, ensure_ascii=False, separators=(",", ":"))


def item_bytes(item: object) -> bytes:
    """Returns the raw form of one item of variable length: text as UTF-8, bytes unchanged."""
    if isinstance(item, str):
        content = item.encode()
    elif isinstance(item, bytes):
        content = item
    else:
        raise TypeError(f"an item of variable length is {type(item).__name__}, not text or bytes")
    return struct.pack("<I", len(content)) + content


def field_bytes(elements: np.ndarray) -> np.ndarray:
    """Returns the bytes of each element, in the shape (number of elements, bytes of one element)."""
    count = elements.size
    if elements.dtype.names is not None:
        fields = [field_bytes(elements[name]) for name in elements.dtype.names]
        widths = [dtype.itemsize for dtype in (elements.dtype[name] for name in elements.dtype.names)]
        parts = [field.reshape(count, width) for field, width in zip(fields, widths, strict=True)]
        return np.concatenate(parts, axis=1)
    if is_big(elements.dtype):
        elements = elements.byteswap()
    return np.frombuffer(elements.tobytes("C"), "u1").reshape(count, elements.dtype.itemsize)


def is_big(dtype: np.dtype) -> bool:
    """Returns whether numbers of this simple type are big endian in memory."""
    native = "<" if sys.byteorder == "little" else ">"
    return dtype.byteorder == ">" or (dtype.byteorder == "=" and native == ">")
