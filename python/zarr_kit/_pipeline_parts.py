"""Parts of chunks, and their places in the arrays of a caller of zarr-python."""

import operator
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from zarr.abc.store import ByteGetter
from zarr.core.array_spec import ArraySpec

from zarr_kit._pipeline_coders import ChunkCoder, fill_value, untyped


class ChunkPart(NamedTuple):
    """A part of a chunk, in the form in which zarr-python passes it to a codec pipeline."""

    store_path: ByteGetter
    spec: ArraySpec
    chunk_selection: Any
    out_selection: Any
    is_complete: bool


class Place(NamedTuple):
    """The memory for a part of a chunk that is a box, and the ranges of the box in the chunk."""

    view: NDArray[Any]
    ranges: list[tuple[int, int]]


def place(part: ChunkPart, out: NDArray[Any], dropped: Collection[int], coder: ChunkCoder) -> Place | None:
    """Return the place of a part, or `None` if the engine cannot write its elements there."""
    has_other_elements = coder.element_type.dtype != out.dtype or not coder.element_type.is_fixed
    if has_other_elements or out.dtype.itemsize == 0 or part.spec.ndim == 0:
        return None
    boxes = _ranges(part.chunk_selection, part.spec.shape)
    selection = _as_tuple(part.out_selection)
    if boxes is None or not all(isinstance(entry, slice) for entry in selection):
        return None
    # Without the ellipsis, an empty selection would return a copy.
    view = out[(*selection, ...)]
    axes = [axis for axis, entry in enumerate(_as_tuple(part.chunk_selection)) if not isinstance(entry, slice)]
    view = np.expand_dims(view, tuple({*axes, *dropped}))
    if view.shape != tuple(stop - start for start, stop in boxes):
        return None
    return Place(untyped(view), boxes)


def selected(part: ChunkPart, chunk: NDArray[Any], dropped: tuple[int, ...]) -> Any:
    """Return the elements of a part of a decoded chunk."""
    elements = chunk[part.chunk_selection]
    return elements.squeeze(axis=dropped) if dropped else elements


def merged(part: ChunkPart, existing: NDArray[Any] | None, value: NDArray[Any], dropped: tuple[int, ...]) -> Any:
    """Return a whole chunk with a part of `value`. The result may be a part of `value` itself."""
    if part.is_complete and value.shape != ():
        elements = value[part.out_selection]
        if elements.shape == part.spec.shape:
            return elements
    dtype = part.spec.dtype.to_native_dtype()
    if existing is None:
        chunk = np.full(part.spec.shape, fill_value(part.spec), dtype=dtype)
    else:
        chunk = existing.astype(dtype, copy=False)
    if value.shape == () or _as_tuple(part.chunk_selection) == ():
        chunk[part.chunk_selection] = value
        return chunk
    elements = value[part.out_selection]
    if dropped:
        elements = elements[tuple(None if axis in dropped else slice(None) for axis in range(chunk.ndim))]
    chunk[part.chunk_selection] = elements
    return chunk


def covers_chunk(part: ChunkPart) -> bool:
    """Return whether the part is the whole chunk, including elements outside of the array."""
    return _ranges(part.chunk_selection, part.spec.shape) == [(0, length) for length in part.spec.shape]


def _ranges(selection: Any, shape: tuple[int, ...]) -> list[tuple[int, int]] | None:
    """Return the first element and the end per dimension, if the selection is a box."""
    entries = _as_tuple(selection)
    if len(entries) != len(shape):
        return None
    ranges = []
    for entry, length in zip(entries, shape, strict=True):
        if isinstance(entry, slice):
            start, stop, step = entry.indices(length)
            if step != 1 or stop < start:
                return None
            ranges.append((start, stop))
        elif isinstance(entry, int | np.integer):
            index = operator.index(entry)
            ranges.append((index, index + 1))
        else:
            return None
    return ranges


def _as_tuple(selection: Any) -> tuple[Any, ...]:
    return selection if isinstance(selection, tuple) else (selection,)
