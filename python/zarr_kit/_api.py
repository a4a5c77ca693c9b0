"""The functions of ``zarr_kit``."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, Unpack

import numpy as np

from zarr_kit._array import Array
from zarr_kit._attributes import attributes_text
from zarr_kit._creation import NewArray, array_description, check_arguments
from zarr_kit._credentials import credential_source
from zarr_kit._group import Group, erase_if_present, missing_node, open_node
from zarr_kit._hierarchy import MODES, Hierarchy, Mode, Opening, ZarrFormat, check_mode, checked_flag, format_name
from zarr_kit._location import Location, store_location
from zarr_kit.errors import InvalidInputError, NodeNotFoundError, check_names


class Options(TypedDict, total=False):
    """Options for opening a hierarchy."""

    zarr_format: ZarrFormat | None
    storage_options: Mapping[str, Any] | None
    use_consolidated: bool | None
    strict: bool
    threads: int | None
    write_empty_chunks: bool


class CreateOptions(TypedDict, total=False):
    """Options for creating a hierarchy."""

    zarr_format: ZarrFormat | None
    storage_options: Mapping[str, Any] | None
    threads: int | None
    write_empty_chunks: bool


class OpenOrCreate(Options, NewArray, total=False):
    """The arguments of functions that open or create an array."""


class CreateArray(CreateOptions, NewArray, total=False):
    """The arguments of :func:`create_array`."""


def open(location: Location, path: str = "/", *, mode: Mode = "r", **arguments: Unpack[OpenOrCreate]) -> Array | Group:
    """Open the array or group at `path`.

    `location` is a path, a URL, or a description of stores as JSON or as a dictionary. `mode` is ``"r"`` (read only),
    ``"r+"`` (read and write), ``"a"`` (create it if it does not exist), ``"w"`` (replace it) or ``"w-"`` (create it). A
    new node is an array if the arguments contain a shape or data, and a group otherwise.

    Options are `zarr_format`, `storage_options`, `use_consolidated`, `strict`, `threads` and `write_empty_chunks`. A new
    array takes the arguments of :func:`create_array`, and a new group takes `attributes`.
    """
    check_names("open()", arguments, OpenOrCreate.__annotations__)
    check_mode(mode)
    options = _options(arguments)
    is_array = "shape" in arguments or "data" in arguments
    if mode in ("w", "w-") or (mode == "a" and _kind(location, path, options) is None):
        if is_array:
            return open_array(location, path=path, mode=mode, **arguments)
        _check_group(arguments)
        return open_group(location, path=path, mode=mode, attributes=arguments.get("attributes"), **options)
    if mode != "a":
        _check_no_creation(_array_arguments(arguments), mode)
    path = _absolute(path)
    try:
        hierarchy = _opened(location, mode, options)
        kind = hierarchy.engine.kind(path)
        if kind is None:
            raise missing_node(hierarchy, path)
    except NodeNotFoundError as error:
        if path[1:] not in MODES:
            raise
        # `zarr.open` of zarr-python 2 took the mode as the second argument.
        hint = f"the second argument is the path of a node: give the mode as mode={path[1:]!r}"
        raise NodeNotFoundError(f"{error}; {hint}") from None
    return open_node(hierarchy, path, kind)


def open_group(
    store: Location,
    *,
    mode: Mode = "a",
    path: str | None = None,
    attributes: Mapping[str, Any] | None = None,
    **options: Unpack[Options],
) -> Group:
    """Open a group, or create it with `attributes`, depending on `mode`. The options are those of :func:`open`."""
    check_names("open_group()", options, Options.__annotations__)
    check_mode(mode)
    if mode in ("w", "w-") or (mode == "a" and _kind(store, path, options) is None):
        creation = _create_options(options)
        return create_group(store, path=path, overwrite=mode == "w", attributes=attributes, **creation)
    if mode != "a" and attributes is not None:
        _check_no_creation(["attributes"], mode)
    return Group._open(_opened(store, mode, options), _absolute(path))


def open_array(
    store: Location, *, mode: Mode = "a", path: str | None = None, **arguments: Unpack[OpenOrCreate]
) -> Array:
    """Open or create an array, depending on `mode`.

    The options are those of :func:`open`, and the arguments for a new array those of :func:`create_array`.
    """
    check_names("open_array()", arguments, OpenOrCreate.__annotations__)
    check_mode(mode)
    options = _options(arguments)
    if mode in ("w", "w-") or (mode == "a" and _kind(store, path, options) is None):
        creation: CreateArray = {**_create_options(options), **_array_arguments(arguments)}
        return create_array(store, name=path, overwrite=mode == "w", **creation)
    if mode != "a":
        _check_no_creation(_array_arguments(arguments), mode)
    return Array._open(_opened(store, mode, options), _absolute(path))


def create_group(
    store: Location,
    *,
    path: str | None = None,
    overwrite: bool = False,
    attributes: Mapping[str, Any] | None = None,
    **options: Unpack[CreateOptions],
) -> Group:
    """Create a group. The options are `zarr_format`, `storage_options`, `threads` and `write_empty_chunks`."""
    check_names("create_group()", options, CreateOptions.__annotations__)
    path = _absolute(path)
    text = attributes_text(attributes)
    hierarchy = _created(store, path, options, overwrite=overwrite)
    hierarchy.engine.create_group(path, text)
    return Group._open(hierarchy, path)


def create_array(
    store: Location, *, name: str | None = None, overwrite: bool = False, **arguments: Unpack[CreateArray]
) -> Array:
    """Create an array.

    The arguments are those of zarr-python: `shape` and `dtype`, or `data`; `chunks`, `shards`, `filters`, `serializer`,
    `compressors`, `fill_value`, `order`, `attributes`, `chunk_key_encoding`, `dimension_names` and `write_data`. A codec
    is a name, a dictionary with `name` and `configuration` or with `id`, or a codec object of zarr-python or numcodecs.

    Options are `zarr_format`, `storage_options`, `threads` and `write_empty_chunks`.
    """
    check_names("create_array()", arguments, CreateArray.__annotations__)
    description = _array_arguments(arguments)
    check_arguments(description)
    path = _absolute(name)
    hierarchy = _created(store, path, _create_options(arguments), overwrite=overwrite)
    return new_array(hierarchy, path, description)


def consolidate(store: Location, path: str = "/", **options: Unpack[Options]) -> Group:
    """Write the consolidated metadata of a group, and open it. The options are those of :func:`open`."""
    check_names("consolidate()", options, Options.__annotations__)
    path = _absolute(path)
    _opened(store, "r+", {**options, "use_consolidated": False}).engine.consolidate(path)
    return Group._open(_opened(store, "r+", options), path)


def new_array(hierarchy: Hierarchy, path: str, arguments: NewArray) -> Array:
    """Create an array in an open hierarchy, with arguments that :func:`check_arguments` accepts."""
    return new_arrays(hierarchy, {path: arguments})[0]


def new_arrays(hierarchy: Hierarchy, arrays: Mapping[str, NewArray]) -> list[Array]:
    """Create the arrays at the given paths of an open hierarchy, like :func:`new_array`."""
    for path in arrays:
        hierarchy.check_writable(path)
    elements = {path: np.asarray(new["data"]) for path, new in arrays.items() if new.get("data") is not None}
    descriptions: dict[int, tuple[str, bytes | None]] = {}
    format = hierarchy.engine.format
    described = []
    for path, new in arrays.items():
        # Many arrays often share one dictionary of arguments.
        if id(new) not in descriptions:
            descriptions[id(new)] = array_description(new, elements.get(path), format=format)
        described.append((path, *descriptions[id(new)]))
    created = [Array(hierarchy, engine) for engine in hierarchy.engine.create_arrays(described)]
    for array, path in zip(created, arrays, strict=True) if elements else ():
        if path in elements and arrays[path].get("write_data", True):
            array[...] = elements[path]
    return created


def _opened(store: Location, mode: str, options: Options) -> Hierarchy:
    return Hierarchy.open(
        Opening(
            location=store_location(store, options.get("storage_options")),
            format=format_name(options.get("zarr_format")),
            strict=options.get("strict", False),
            consolidated=_is_consolidated(options.get("use_consolidated")),
            write_empty_chunks=options.get("write_empty_chunks", False),
            threads=options.get("threads"),
            read_only=mode == "r",
            credentials=credential_source(store),
        )
    )


def _is_consolidated(use_consolidated: bool | None) -> bool:
    return use_consolidated is None or checked_flag("use_consolidated", use_consolidated)


def _created(store: Location, path: str, options: CreateOptions, *, overwrite: bool) -> Hierarchy:
    """Open or create the hierarchy in `store`. If `overwrite` is true, erase the node at `path`."""
    opening = Opening(
        location=store_location(store, options.get("storage_options")),
        format=format_name(options.get("zarr_format")),
        write_empty_chunks=options.get("write_empty_chunks", False),
        threads=options.get("threads"),
        credentials=credential_source(store),
    )
    if overwrite and path == "/":
        _erase_all(opening)
    hierarchy = Hierarchy.create(opening)
    if overwrite:
        erase_if_present(hierarchy, path)
    return hierarchy


def _erase_all(opening: Opening) -> None:
    """Erase the hierarchy of any format, if there is one."""
    try:
        hierarchy = Hierarchy.open(dataclasses.replace(opening, format=None, consolidated=False))
    except NodeNotFoundError:
        return
    erase_if_present(hierarchy, "/")


def _kind(store: Location, path: str | None, options: Options) -> str | None:
    """Return the kind of the node at `path`, or None if there is no hierarchy or no node."""
    try:
        return _opened(store, "r", options).engine.kind(_absolute(path))
    except NodeNotFoundError:
        return None


def _absolute(path: str | None) -> str:
    if path is not None and not isinstance(path, str):
        raise InvalidInputError(f"path {path!r} is not a text, such as 'group/array'")
    return "/" + (path or "").strip("/")


def _options(arguments: OpenOrCreate) -> Options:
    options: Any = {name: value for name, value in arguments.items() if name in Options.__annotations__}
    selected: Options = options
    return selected


def _create_options(options: Any) -> CreateOptions:
    selected: Any = {name: value for name, value in options.items() if name in CreateOptions.__annotations__}
    create: CreateOptions = selected
    return create


def _array_arguments(arguments: Any) -> NewArray:
    """Return the arguments that are not options."""
    selected: Any = {name: value for name, value in arguments.items() if name in NewArray.__annotations__}
    description: NewArray = selected
    return description


def _check_group(arguments: OpenOrCreate) -> None:
    names = ", ".join(name for name in _array_arguments(arguments) if name != "attributes")
    if names:
        raise InvalidInputError(f"a new group does not accept {names}, and a new array needs `shape` or `data`")


def _check_no_creation(names: Iterable[str], mode: str) -> None:
    text = ", ".join(names)
    if text:
        raise InvalidInputError(f'mode={mode!r} opens an existing node and does not accept {text}; use mode="a"')
