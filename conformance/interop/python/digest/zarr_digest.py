"""Computes the digest of a hierarchy as `docs/digest.md` defines it, with zarr-python as the reader.

Usage: python zarr_digest.py STORE...

It shares no code with `zarrctl digest`. Numbers, booleans, times, text of fixed length, strings and bytes are
supported.
"""

import hashlib
import json
import math
import sys

import numpy
import zarr

MASK = 2**64 - 1


def output(number):
    """Returns an output of SplitMix64 with the seed 0."""
    z = (number + 1) * 0x9E3779B97F4A7C15 & MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def hash_stream(stream):
    """Returns the sum over the words of the stream."""
    stream += bytes(-len(stream) % 8)
    total = 0
    for number, word in enumerate(numpy.frombuffer(stream, "<u8").tolist()):
        if word:
            total += word * (output(2 * number) | output(2 * number + 1) << 64)
    return f"{total % 2**128:032x}"


def canonical(elements):
    """Returns the canonical bytes of elements of fixed size."""
    if elements.dtype.kind == "c":
        elements = elements.reshape(elements.shape + (1,)).view(elements.real.dtype)
    if elements.dtype.kind == "f":
        elements = numpy.where(numpy.isnan(elements), numpy.abs(numpy.array(numpy.nan, elements.dtype)), elements)
    return elements.astype(elements.dtype.newbyteorder("<")).tobytes()


def payload(element):
    """Returns the bytes of an element of variable size."""
    return element if isinstance(element, bytes) else str(element).encode()


def type_name(array):
    """Returns the logical data type."""
    dtype = array.dtype
    if dtype.kind in "OT":
        return "string"
    if dtype.kind in "mM":
        name = {"m": "timedelta64", "M": "datetime64"}[dtype.kind]
        unit, scale = numpy.datetime_data(dtype)
        return f"numpy.{name}[{scale if scale > 1 else ''}{unit}]"
    if dtype.kind == "U":
        return f"fixed_length_utf32[{dtype.itemsize}]"
    return dtype.name


def is_number(value):
    return isinstance(value, float) and not isinstance(value, bool)


def without_infinities(value):
    """Replaces the numbers that JSON does not have."""
    if is_number(value) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {name: without_infinities(member) for name, member in value.items()}
    return [without_infinities(entry) for entry in value] if isinstance(value, list) else value


def number_text(value):
    """Writes a number as ECMAScript does. Large and small exponents have another form in Python."""
    value = float(value)
    if value == int(value) and abs(value) < 1e21:
        return str(int(value))
    text = repr(value)
    if "e" not in text:
        return text
    mantissa, exponent = text.split("e")
    if -7 < int(exponent) < 0:
        return f"{value:.{len(mantissa.replace('.', '').strip('-')) - 1 - int(exponent)}f}"
    return f"{mantissa}e{int(exponent):+d}"


def canonical_json(value):
    """Returns the text of RFC 8785."""
    if isinstance(value, dict):
        members = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be"))
        return "{" + ",".join(f"{canonical_json(name)}:{canonical_json(member)}" for name, member in members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical_json, value)) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number_text(value)
    return json.dumps(value, ensure_ascii=False)


def described(array):
    """Returns the node of an array."""
    attributes = dict(array.attrs)
    names = list(getattr(array.metadata, "dimension_names", None) or [])
    names = names if any(name is not None for name in names) else None
    listed = attributes.get("_ARRAY_DIMENSIONS")
    is_list = isinstance(listed, list) and len(listed) == array.ndim
    if is_list and all(name is None or isinstance(name, str) for name in listed):
        if names is None and any(name is not None for name in listed):
            names = listed
        if names == listed or (names is None and all(name is None for name in listed)):
            del attributes["_ARRAY_DIMENSIONS"]
    elements = numpy.asarray(array[...])
    if type_name(array) == "string":
        fill = payload(array.fill_value or "")
        short = [hashlib.sha256(payload(element)).digest()[:16] for element in elements.ravel().tolist()]
        stream, mask = b"".join(short), hashlib.sha256(fill).digest()[:16]
    else:
        value = 0 if array.fill_value is None else array.fill_value
        fill = mask = canonical(numpy.asarray(value).astype(array.dtype).reshape(1))
        stream = canonical(numpy.ascontiguousarray(elements).reshape(-1))
    stream = numpy.frombuffer(stream, "u1").reshape(-1, len(mask)) ^ numpy.frombuffer(mask, "u1")
    node = {
        "kind": "array",
        "shape": [str(length) for length in array.shape],
        "data_type": type_name(array),
        "fill_value": fill.hex(),
        "attributes": without_infinities(attributes),
        "values": hash_stream(stream.tobytes()),
    }
    return node if names is None else node | {"dimension_names": names}


def digest(store):
    """Returns the digest of the hierarchy in a folder."""
    root = zarr.open(store, mode="r")
    nodes = {"/": root}
    if isinstance(root, zarr.Group):
        nodes |= {f"/{path}": node for path, node in root.members(max_depth=None)}
    described_nodes = {}
    for path, node in nodes.items():
        is_group = isinstance(node, zarr.Group)
        group = {"kind": "group", "attributes": without_infinities(dict(node.attrs))}
        described_nodes[path] = group if is_group else described(node)
    text = canonical_json({"zarr_digest": 1, "nodes": described_nodes})
    return hashlib.sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(digest(argument))
