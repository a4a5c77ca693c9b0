"""The functions of ``zarr_kit``."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from zarr_kit._array import Array
from zarr_kit._creation import (
    DEFAULT_FILL_VALUE,
    CodecLike,
    CodecsLike,
    Lengths,
    array_description,
    as_data,
    codec_list,
)
from zarr_kit._group import Group, erase_if_present, open_node
from zarr_kit._hierarchy import Hierarchy, Mode, Opening, ZarrFormat, check_mode, format_name, thread_count
from zarr_kit._location import Location, store_location
from zarr_kit.errors import InvalidInputError, NodeNotFoundError


def open(
    location: Location,
    path: str = "/",
    *,
    mode: Mode = "r",
    zarr_format: ZarrFormat | None = None,
    strict: bool = False,
    use_consolidated: bool | None = None,
    storage_options: Mapping[str, Any] | None = None,
    threads: int | None = None,
    **arguments: Any,
) -> Array | Group:
    """Open the array or group at `path`.

    `location` is a path, a URL, or a description of stores as JSON or as a dictionary. `mode` is ``"r"`` (read only),
    ``"r+"`` (read and write), ``"a"`` (create it if it does not exist), ``"w"`` (replace it) or ``"w-"`` (create it). A
    node that does not exist becomes an array if `arguments` has a shape or data, and a group otherwise.
    """
    check_mode(mode)
    options: dict[str, Any] = {
        "zarr_format": zarr_format,
        "strict": strict,
        "use_consolidated": use_consolidated,
        "storage_options": storage_options,
        "threads": threads,
    }
    if mode in ("r", "r+"):
        _check_no_arguments(arguments, mode)
        hierarchy = _opened(location, mode=mode, **options)
        path = _absolute(path)
        kind = hierarchy.engine.kind(path)
        if kind is None:
            raise NodeNotFoundError(f"there is no node at {path}")
        return open_node(hierarchy, path, kind)
    if "shape" in arguments or "data" in arguments:
        return open_array(location, path=path, mode=mode, **options, **arguments)
    if mode == "a" and _kind(location, path, **options) == "array":
        return open_array(location, path=path, mode="r+", **options, **arguments)
    return open_group(location, path=path, mode=mode, **options, **arguments)


def open_group(
    store: Location,
    *,
    mode: Mode = "a",
    path: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    zarr_format: ZarrFormat | None = None,
    attributes: Mapping[str, Any] | None = None,
    use_consolidated: bool | None = None,
    strict: bool = False,
    threads: int | None = None,
) -> Group:
    """Open a group, or create it as `mode` says."""
    check_mode(mode)
    path = _absolute(path)
    options: dict[str, Any] = {"storage_options": storage_options, "zarr_format": zarr_format, "threads": threads}
    if mode in ("w", "w-"):
        return create_group(store, path=path, overwrite=mode == "w", attributes=attributes, **options)
    exists = mode != "a" or _kind(store, path, **options) is not None
    if not exists:
        return create_group(store, path=path, attributes=attributes, **options)
    hierarchy = _opened(store, mode=mode, strict=strict, use_consolidated=use_consolidated, **options)
    return Group._open(hierarchy, path)


def open_array(
    store: Location,
    *,
    zarr_format: ZarrFormat | None = None,
    path: str | None = "",
    storage_options: Mapping[str, Any] | None = None,
    mode: Mode = "a",
    use_consolidated: bool | None = None,
    strict: bool = False,
    threads: int | None = None,
    **arguments: Any,
) -> Array:
    """Open an array, or create it as `mode` says, with the arguments of :func:`create_array`."""
    check_mode(mode)
    path = _absolute(path)
    options: dict[str, Any] = {"storage_options": storage_options, "zarr_format": zarr_format, "threads": threads}
    creates = mode in ("w", "w-") or (mode == "a" and _kind(store, path, **options) is None)
    if creates:
        return create_array(store, name=path, overwrite=mode == "w", **options, **arguments)
    if mode in ("r", "r+"):
        _check_no_arguments(arguments, mode)
    hierarchy = _opened(store, mode=mode, strict=strict, use_consolidated=use_consolidated, **options)
    return Array._open(hierarchy, path)


def create_group(
    store: Location,
    *,
    path: str | None = None,
    zarr_format: ZarrFormat | None = None,
    overwrite: bool = False,
    attributes: Mapping[str, Any] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    threads: int | None = None,
) -> Group:
    """Create a group."""
    path = _absolute(path)
    hierarchy = _created(store, zarr_format=zarr_format, storage_options=storage_options, threads=threads)
    if overwrite:
        erase_if_present(hierarchy, path)
    hierarchy.engine.create_group(path, json.dumps(dict(attributes or {})))
    return Group._open(hierarchy, path)


def create_array(
    store: Location,
    *,
    name: str | None = None,
    zarr_format: ZarrFormat | None = None,
    storage_options: Mapping[str, Any] | None = None,
    threads: int | None = None,
    overwrite: bool = False,
    write_empty_chunks: bool = False,
    **arguments: Any,
) -> Array:
    """Create an array.

    Further arguments are those of zarr-python: `shape` and `dtype`, or `data`; `chunks`, `shards`, `filters`,
    `serializer`, `compressors`, `fill_value`, `order`, `attributes`, `chunk_key_encoding`, `dimension_names` and
    `write_data`. A codec is a name, a dictionary with `name` and `configuration` or with `id`, or a codec object of
    zarr-python or numcodecs.
    """
    hierarchy = _created(
        store,
        zarr_format=zarr_format,
        storage_options=storage_options,
        threads=threads,
        write_empty_chunks=write_empty_chunks,
    )
    return new_array(hierarchy, _absolute(name), overwrite=overwrite, **arguments)


def consolidate(store: Location, path: str = "/", *, storage_options: Mapping[str, Any] | None = None) -> Group:
    """Write the consolidated metadata of a group, and open it."""
    path = _absolute(path)
    plain = _opened(store, mode="r+", storage_options=storage_options, use_consolidated=False)
    plain.engine.consolidate(path)
    return Group._open(_opened(store, mode="r+", storage_options=storage_options), path)


def new_array(
    hierarchy: Hierarchy,
    path: str,
    *,
    shape: Lengths | None = None,
    dtype: Any = None,
    data: Any = None,
    chunks: Any = "auto",
    shards: Lengths | None = None,
    filters: CodecsLike = "auto",
    compressors: CodecsLike = "auto",
    serializer: CodecLike = "auto",
    fill_value: Any = DEFAULT_FILL_VALUE,
    order: Literal["C", "F"] | None = None,
    attributes: Mapping[str, Any] | None = None,
    chunk_key_encoding: Mapping[str, Any] | str | None = None,
    dimension_names: Iterable[str | None] | None = None,
    overwrite: bool = False,
    write_data: bool = True,
) -> Array:
    """Create an array in an open hierarchy."""
    hierarchy.check_writable(path)
    if data is not None:
        if shape is not None or dtype is not None:
            raise InvalidInputError("`shape` and `dtype` follow from `data`: leave them out")
        data = as_data(data)
        shape = data.shape
        dtype = data.dtype
    if shape is None or dtype is None:
        raise InvalidInputError("a new array needs `shape` and `dtype`, or `data`")
    description, fill = array_description(
        shape=shape,
        dtype=dtype,
        chunks=chunks,
        shards=shards,
        codecs=codec_list(filters, serializer, compressors, format=hierarchy.engine.format),
        fill_value=fill_value,
        order=order,
        attributes=attributes,
        chunk_key_encoding=chunk_key_encoding,
        dimension_names=dimension_names,
        is_v2=hierarchy.engine.format == "v2",
    )
    if overwrite:
        erase_if_present(hierarchy, path)
    array = Array(hierarchy, hierarchy.engine.create_array(path, description, fill))
    if data is not None and write_data:
        array[...] = data
    return array


def _opened(
    store: Location,
    *,
    mode: str,
    zarr_format: ZarrFormat | None = None,
    storage_options: Mapping[str, Any] | None = None,
    use_consolidated: bool | None = None,
    strict: bool = False,
    threads: int | None = None,
) -> Hierarchy:
    return Hierarchy.open(
        Opening(
            location=store_location(store, storage_options),
            format=format_name(zarr_format),
            strict=strict,
            consolidated=use_consolidated is not False,
            threads=thread_count(threads),
            read_only=mode == "r",
        )
    )


def _created(
    store: Location,
    *,
    zarr_format: ZarrFormat | None,
    storage_options: Mapping[str, Any] | None,
    threads: int | None,
    write_empty_chunks: bool = False,
) -> Hierarchy:
    return Hierarchy.create(
        Opening(
            location=store_location(store, storage_options),
            format=format_name(zarr_format),
            write_empty_chunks=write_empty_chunks,
            threads=thread_count(threads),
        )
    )


def _kind(store: Location, path: str, **options: Any) -> str | None:
    """Return the kind of the node at `path`, or None if there is no hierarchy or no node."""
    try:
        return _opened(store, mode="r", **options).engine.kind(_absolute(path))
    except NodeNotFoundError:
        return None


def _absolute(path: str | None) -> str:
    return "/" + (path or "").strip("/")


def _check_no_arguments(arguments: Mapping[str, Any], mode: str) -> None:
    if arguments:
        names = ", ".join(arguments)
        raise InvalidInputError(f'mode={mode!r} opens a node that exists and does not take {names}; use mode="a"')
