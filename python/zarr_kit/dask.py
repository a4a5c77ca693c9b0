"""Reads Zarr arrays as Dask arrays, and writes Dask arrays to Zarr.

Blocks are chunks, or shards of a sharded array, so that no two tasks write the same one::

    import zarr_kit.dask

    image = zarr_kit.dask.from_zarr("image.zarr", "level0")
    zarr_kit.dask.to_zarr(image.mean(axis=0), "image.zarr", "mean")

Workers in other processes open the location themselves. It must be a folder or a service that all of them can reach.
"""

# Functions of Dask have no annotations.
# mypy: allow-untyped-calls

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack

import dask.array as da
import numpy as np
from dask.delayed import Delayed
from numpy.typing import NDArray

from zarr_kit._api import Options, create_array, open_array
from zarr_kit._array import Array
from zarr_kit._chunk_lengths import stored_lengths
from zarr_kit._creation import CodecLike, CodecsLike
from zarr_kit._dask_alignment import Edges, check_blocks, check_region, chunks_of_blocks
from zarr_kit._hierarchy import Mode, ZarrFormat
from zarr_kit._location import Location
from zarr_kit.errors import InvalidInputError, check_names

__all__ = ["from_zarr", "to_zarr"]


class _Elementless(TypedDict, total=False):
    """The arguments for a new array that do not follow from the Dask array."""

    filters: CodecsLike
    compressors: CodecsLike
    serializer: CodecLike
    fill_value: Any
    order: Literal["C", "F"] | None
    attributes: Mapping[str, Any] | None
    chunk_key_encoding: Mapping[str, Any] | str | None
    dimension_names: Iterable[str | None] | None
    write_empty_chunks: bool


def from_zarr(
    location: Location | Array,
    path: str = "/",
    *,
    chunks: Any = None,
    name: str | None = None,
    inline_array: bool = False,
    mode: Literal["r"] = "r",
    **opening: Unpack[Options],
) -> da.Array:
    """Return a Dask array that reads each block when it is needed.

    `location` is an open array, or `location` and `path` are opened with the options of :func:`zarr_kit.open`.
    Blocks are chunks by default, or shards of a sharded array. `chunks` sets other blocks, in any form that Dask
    accepts. Each block that contains a part of a chunk decodes the whole chunk.

    Dask treats arrays with the same `name` as equal. By default, each call uses a new name, because the stored elements
    may change.
    """
    if mode != "r":
        raise InvalidInputError(
            f"from_zarr() reads an existing array, and does not accept mode={mode!r}: use to_zarr()"
        )
    check_names("from_zarr()", opening, Options.__annotations__)
    array = _existing(location, path, "r", opening)
    stored = tuple(edge.blocks(0, edge.length) for edge in _edges(array))
    blocks = stored
    if chunks is not None:
        blocks = da.core.normalize_chunks(chunks, array.shape, dtype=array.dtype, previous_chunks=stored)
    lazy: da.Array = da.from_array(
        array,
        chunks=blocks,
        name=False if name is None else name,
        asarray=False,
        inline_array=inline_array,
        meta=_empty(array),
    )
    return lazy


def to_zarr(
    array: da.Array,
    location: Location | Array,
    path: str = "/",
    *,
    region: Sequence[slice] | slice | None = None,
    chunks: Any = None,
    shards: Any = None,
    overwrite: bool = False,
    compute: bool = True,
    zarr_format: ZarrFormat | None = None,
    storage_options: Mapping[str, Any] | None = None,
    threads: int | None = None,
    **arguments: Unpack[_Elementless],
) -> Delayed | None:
    """Write a Dask array, with one task per block.

    A new array is created at `path`, with the arguments of :func:`zarr_kit.create_array`. Its chunks are the blocks,
    unless `chunks` or `shards` are given. If `location` is an open array, or `region` is given, the elements are
    written to an existing array. `region` has a slice without a step for each dimension.

    With ``compute=False``, the array is created, and the result is a delayed object that writes the elements.

    Raises:
        InvalidInputError: If a chunk or shard has elements of two blocks, or is only partly in the region. The message
            suggests blocks or a region that work. Nothing is created or written.
    """
    _check_arguments(arguments)
    blocks = _known_blocks(array)
    opening: dict[str, Any] = {"zarr_format": zarr_format, "storage_options": storage_options, "threads": threads}
    if isinstance(location, Array) or region is not None:
        _refuse_creation({"chunks": chunks, "shards": shards, "overwrite": overwrite or None, **arguments})
        target = _existing(location, path, "r+", opening)
        target._hierarchy.check_writable(target.path)
    else:
        description: dict[str, Any] = {"shape": array.shape, "dtype": array.dtype, "shards": shards, **arguments}
        is_block = chunks is None and shards is None
        description["chunks"] = chunks_of_blocks(blocks) if is_block else "auto" if chunks is None else chunks
        # An array in memory has the same chunks. It is used to check the blocks before anything is created.
        _aligned_region(blocks, create_array("memory:", zarr_format=zarr_format, **description), None)
        target = create_array(location, name=path, overwrite=overwrite, **opening, **description)
    slices = _aligned_region(blocks, target, region)
    stored: Delayed | None = da.store([array], [target], lock=False, regions=[slices], compute=compute)
    return stored


def _check_arguments(arguments: Mapping[str, Any]) -> None:
    for name in ("shape", "dtype", "data"):
        if name in arguments:
            raise InvalidInputError(f"to_zarr() does not accept {name}, which is that of the Dask array")
    if "mode" in arguments:
        raise InvalidInputError(
            "to_zarr() does not accept mode: overwrite=True replaces an array, and region=… writes to an existing one"
        )
    check_names("to_zarr()", arguments, _Elementless.__annotations__)


def _existing(location: Location | Array, path: str, mode: Mode, opening: Mapping[str, Any]) -> Array:
    if not isinstance(location, Array):
        return open_array(location, path=path, mode=mode, **opening)
    given = [name for name, value in opening.items() if value is not None]
    if path != "/" or given:
        names = ", ".join(given if path == "/" else ["path", *given])
        raise InvalidInputError(f"the array is open already, and does not take {names}")
    return location


def _edges(array: Array) -> list[Edges]:
    lengths = stored_lengths(array)
    return [Edges.of(length, chunks) for length, chunks in zip(array.shape, lengths, strict=True)]


def _empty(array: Array) -> NDArray[Any]:
    """Return an empty array with the type of the elements that are read."""
    elements: NDArray[Any] = array[(slice(0, 0),) * array.ndim] if array.ndim else np.empty((), array.dtype)
    return elements


def _known_blocks(array: da.Array) -> tuple[tuple[int, ...], ...]:
    if not isinstance(array, da.Array):
        name = f"{type(array).__module__}.{type(array).__qualname__}"
        raise InvalidInputError(f"expected a Dask array, found {name}: use dask.array.from_array()")
    if any(math.isnan(length) for lengths in array.chunks for length in lengths):
        raise InvalidInputError("the lengths of the blocks are not known: call array.compute_chunk_sizes() first")
    return tuple(tuple(int(length) for length in lengths) for lengths in array.chunks)


def _refuse_creation(arguments: Mapping[str, Any]) -> None:
    names = ", ".join(name for name, value in arguments.items() if value is not None)
    if names:
        raise InvalidInputError(f"the elements are written to an existing array, which does not accept {names}")


def _aligned_region(
    blocks: tuple[tuple[int, ...], ...], target: Array, region: Sequence[slice] | slice | None
) -> tuple[slice, ...]:
    """Return the region of `target` for the blocks, and check that no two blocks share a chunk."""
    slices = _slices(region, target.shape)
    shape = tuple(sum(lengths) for lengths in blocks)
    selected = tuple(part.stop - part.start for part in slices)
    if shape != selected:
        raise InvalidInputError(f"an array of shape {shape} cannot be written to a region of shape {selected}")
    edges = _edges(target)
    check_region(slices, edges)
    check_blocks(blocks, slices, edges)
    return slices


def _slices(region: Sequence[slice] | slice | None, shape: tuple[int, ...]) -> tuple[slice, ...]:
    if region is None:
        return tuple(slice(0, length) for length in shape)
    parts = (region,) if isinstance(region, slice) else tuple(region)
    if len(parts) != len(shape) or any(part.step not in (None, 1) for part in parts):
        raise InvalidInputError(f"the region {parts} needs a slice without a step for each of {len(shape)} dimensions")
    bounds = (part.indices(length) for part, length in zip(parts, shape, strict=True))
    return tuple(slice(start, max(start, stop)) for start, stop, _ in bounds)
