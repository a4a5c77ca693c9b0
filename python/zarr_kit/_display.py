"""The display of nodes: summaries, trees and HTML."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import islice
from typing import Any

from zarr_kit._array import Array
from zarr_kit._group import Group
from zarr_kit.errors import ZarrError

# The maximum number of nodes in a displayed tree.
_MOST_NODES = 500
# The length of the longer side of the picture of a chunk grid, in pixels.
_PICTURE_SIZE = 120
# The minimum distance of lines in the picture, in pixels.
_LEAST_DISTANCE = 3


class Info:
    """A summary of a node: names and values."""

    def __init__(self, rows: dict[str, Any]) -> None:
        self._rows = {name: str(value) for name, value in rows.items() if value is not None}

    def asdict(self) -> dict[str, str]:
        """Return the names and values."""
        return dict(self._rows)

    def __repr__(self) -> str:
        width = max(map(len, self._rows))
        return "\n".join(f"{name:<{width}} : {value}" for name, value in self._rows.items())

    def _repr_html_(self) -> str:
        return _table(self._rows)


def array_info(array: Array) -> Info:
    """Return the summary of an array."""
    return Info(
        {
            "Type": "Array",
            "Format": array.format,
            "Path": array.path,
            "Data type": array.data_type,
            # Empty text would not be seen.
            "Fill value": repr(fill) if isinstance(fill := array.fill_value, (str, bytes)) else fill,
            "Shape": array.shape,
            "Shard shape": array.shards,
            "Chunk shape": array.chunks,
            "Chunks": array.nchunks,
            "Dimension names": array.dimension_names,
            "Codecs": _codecs(array.codecs),
            "Size in memory": _size(array.nbytes),
            "Chunk in memory": _size(math.prod(array.chunks) * array.dtype.itemsize),
            "Read-only": array.read_only,
            "Location": array.location,
        }
    )


def group_info(group: Group) -> Info:
    """Return the summary of a group."""
    kinds = [kind for _, kind in group._children()]
    return Info(
        {
            "Type": "Group",
            "Format": group.format,
            "Path": group.path,
            "Arrays": kinds.count("array"),
            "Groups": kinds.count("group"),
            "Read-only": group.read_only,
            "Location": group.location,
        }
    )


def tree(group: Group) -> str:
    """Return the nodes below a group as a tree of lines."""
    return "\n".join([group.path, *islice(_lines(group, ""), _MOST_NODES)])


def array_html(array: Array) -> str:
    """Return an array as HTML for notebooks."""
    table = _table(array_info(array).asdict())
    columns = f'<div style="display:flex;flex-wrap:wrap;gap:2em;align-items:center">{table}{_picture(array)}</div>'
    return f"<div><b>zarr_kit.Array</b>{columns}</div>"


def group_html(group: Group) -> str:
    """Return a group and the nodes below it as HTML for notebooks."""
    return f"<div><b>zarr_kit.Group</b>{_table(group_info(group).asdict())}{_details(group, [_MOST_NODES])}</div>"


def _lines(group: Group, indent: str) -> Iterator[str]:
    children = group._children()
    for number, (path, kind) in enumerate(children):
        is_last = number + 1 == len(children)
        name = path.rpartition("/")[2]
        yield f"{indent}{'└── ' if is_last else '├── '}{_described(group, path, name, kind)}"
        if kind == "group":
            below = Group._open(group._hierarchy, path)
            yield from _lines(below, indent + ("    " if is_last else "│   "))


def _described(group: Group, path: str, name: str, kind: str) -> str:
    if kind != "array":
        return name if kind == "group" else f"{name} ({kind})"
    try:
        array = Array._open(group._hierarchy, path)
    except ZarrError:
        # Opening the array by its path reports the error.
        return f"{name} (cannot be read)"
    return f"{name} {array.shape} {array.data_type}"


def _details(group: Group, left: list[int]) -> str:
    """Return the nodes below a group; `left` holds the number of nodes that may still be shown."""
    items = []
    for path, kind in group._children():
        if left[0] == 0:
            items.append("<li>…</li>")
            break
        left[0] -= 1
        name = path.rpartition("/")[2]
        text = escape(_described(group, path, name, kind))
        if kind == "group":
            below = _details(Group._open(group._hierarchy, path), left)
            text = f"<details><summary>{text}</summary>{below}</details>"
        items.append(f"<li>{text}</li>")
    return f"<ul>{''.join(items)}</ul>"


def _table(rows: dict[str, str]) -> str:
    cells = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in rows.items()
    )
    return f"<table>{cells}</table>"


def _codecs(codecs: Iterable[tuple[str, Any]]) -> str:
    """Return the names of codecs, and in parentheses the names of the codecs inside of a codec."""
    names = []
    for name, configuration in codecs:
        inner = configuration.get("codecs") if isinstance(configuration, Mapping) else None
        if isinstance(inner, list):
            entries = [entry if isinstance(entry, Mapping) else {"name": entry} for entry in inner]
            inside = [(str(entry.get("name", "?")), entry.get("configuration")) for entry in entries]
            name = f"{name} ({_codecs(inside)})"
        names.append(name)
    return ", ".join(names) or "none"


def _picture(array: Array) -> str:
    """Return a picture of the chunk grid along the last two dimensions, with the number of chunks per dimension."""
    lengths = (1, 1, *array.shape)[-2:]
    if 0 in lengths:
        return ""
    scale = _PICTURE_SIZE / max(lengths)
    height, width = (max(8, round(length * scale)) for length in lengths)
    outer = _path(array, (height, width), inner=False)
    inner = _path(array, (height, width), inner=True)
    picture = (
        f'<svg width="{width + 2}" height="{height + 2}" viewBox="-1 -1 {width + 2} {height + 2}" '
        f'role="img" aria-label="chunk grid"><rect width="{width}" height="{height}" fill="#8ecae6" '
        f'stroke="#023047"/><path d="{inner}" stroke="#023047" stroke-width="0.3"/>'
        f'<path d="{outer}" stroke="#023047"/></svg>'
    )
    kind = "chunk" if array.shards is None else "shard"
    counts = " × ".join(map(str, array._engine.grid_shape)) or "1"
    plural = "" if math.prod(array._engine.grid_shape) == 1 else "s"
    return f'<div style="text-align:center">{picture}<br>{counts} {kind}{plural}</div>'


def _path(array: Array, size: tuple[int, int], *, inner: bool) -> str:
    """Return the lines between chunks or shards. If `inner` is true, return the lines between inner chunks."""
    lines = []
    for side, pixels in enumerate(size):
        dimension = array.ndim - 2 + side
        if dimension < 0:
            continue
        length = array.shape[dimension]
        edges = _inner_edges(array, dimension) if inner else _edges(array, dimension, pixels)
        for edge in [] if len(edges) * _LEAST_DISTANCE > pixels else edges:
            at = f"{edge * pixels / length:.1f}"
            lines.append(f"M0 {at}H{size[1]}" if side == 0 else f"M{at} 0V{size[0]}")
    return "".join(lines)


def _edges(array: Array, dimension: int, pixels: int) -> Sequence[int]:
    """Return the first elements of chunks or shards along a dimension; none if there are more than pixels."""
    count = array._engine.grid_shape[dimension]
    if count > pixels:
        return []
    indices = ([0] * dimension + [number] + [0] * (array.ndim - dimension - 1) for number in range(1, count))
    return [array._engine.chunk_ranges(index)[dimension][0] for index in indices]


def _inner_edges(array: Array, dimension: int) -> Sequence[int]:
    if array.shards is None:
        return []
    return range(array.chunks[dimension], array.shape[dimension], array.chunks[dimension])


def _size(size: int) -> str:
    number = float(size)
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if number < 1024 or unit == "TiB":
            return f"{size} bytes" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{size} bytes"
