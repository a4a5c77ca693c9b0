"""The display of nodes: summaries, trees and HTML."""

from collections.abc import Iterator
from html import escape
from itertools import islice
from typing import Any

from zarr_kit._array import Array
from zarr_kit._group import Group
from zarr_kit.errors import ZarrError

# The maximum number of nodes in a displayed tree.
_MOST_NODES = 500
# The maximum number of lines in the picture of a chunk grid, per dimension.
_MOST_LINES = 32
_PICTURE_SIZE = 120


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
            "Fill value": array.fill_value,
            "Shape": array.shape,
            "Shard shape": array.shards,
            "Chunk shape": array.chunks,
            "Chunks": array.nchunks,
            "Dimension names": array.dimension_names,
            "Codecs": ", ".join(name for name, _ in array.codecs) or "none",
            "Size in memory": _size(array.nbytes),
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
    return f"<div><b>zarr_kit.Array</b>{_table(array_info(array).asdict())}{_picture(array)}</div>"


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


def _picture(array: Array) -> str:
    """Return a picture of the chunk grid along the last two dimensions."""
    lengths = (1, 1, *array.shape)[-2:]
    chunks = (1, 1, *array.chunks)[-2:]
    if 0 in lengths:
        return ""
    scale = _PICTURE_SIZE / max(lengths)
    height, width = (max(4, round(length * scale)) for length in lengths)
    lines = [f"M{x:.1f} 0V{height}" for x in _edges(lengths[1], chunks[1], width)]
    lines += [f"M0 {y:.1f}H{width}" for y in _edges(lengths[0], chunks[0], height)]
    return (
        f'<svg width="{width + 2}" height="{height + 2}" viewBox="-1 -1 {width + 2} {height + 2}" '
        f'role="img" aria-label="chunk grid"><rect width="{width}" height="{height}" fill="#8ecae6" '
        f'stroke="#023047"/><path d="{"".join(lines)}" stroke="#023047" stroke-width="0.5"/></svg>'
    )


def _edges(length: int, chunk: int, pixels: int) -> list[float]:
    """Return the starts of chunks in pixels; an empty list if there would be too many lines."""
    if chunk < 1 or length > chunk * _MOST_LINES:
        return []
    return [edge * pixels / length for edge in range(chunk, length, chunk)]


def _size(size: int) -> str:
    number = float(size)
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if number < 1024 or unit == "TiB":
            return f"{size} bytes" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{size} bytes"
