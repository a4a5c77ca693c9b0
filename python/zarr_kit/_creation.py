"""Descriptions of new arrays, with the arguments of zarr-python."""

import json
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict, TypeGuard

import numpy as np
from numpy.typing import NDArray

from zarr_kit._attributes import attributes_text
from zarr_kit._dtypes import ElementType, data_type_of
from zarr_kit.errors import InvalidInputError, check_names

type Lengths = int | Sequence[int]
# A name, `{"name": …, "configuration": …}`, `{"id": …}`, or a codec object of zarr-python or numcodecs.
type CodecLike = Any
type CodecsLike = Iterable[CodecLike] | CodecLike | Literal["auto"] | None


# The default compressors of zarr-python. Level 0 of zstd selects the default level of the library.
_DEFAULT_COMPRESSORS: dict[str, tuple[str, dict[str, Any]]] = {
    "v2": ("zstd", {"level": 0}),
    "v3": ("zstd", {"level": 0, "checksum": False}),
    "v3-draft": ("gzip", {"level": 5}),
}


class _Default:
    """The default fill value of the data type."""

    def __repr__(self) -> str:
        return "DEFAULT_FILL_VALUE"


DEFAULT_FILL_VALUE = _Default()


class NewArray(TypedDict, total=False):
    """The arguments for a new array, as in zarr-python."""

    shape: Lengths
    dtype: Any
    data: Any
    chunks: Lengths | Sequence[Sequence[int]] | Literal["auto"]
    shards: Lengths | None
    filters: CodecsLike
    compressors: CodecsLike
    serializer: CodecLike
    fill_value: Any
    order: Literal["C", "F"] | None
    attributes: Mapping[str, Any] | None
    chunk_key_encoding: Mapping[str, Any] | str | None
    dimension_names: Iterable[str | None] | None
    write_data: bool


def check_arguments(arguments: NewArray) -> None:
    """Raise an error for unknown or conflicting arguments."""
    check_names("a new array", arguments, NewArray.__annotations__)
    has_data = arguments.get("data") is not None
    if has_data and (arguments.get("shape") is not None or arguments.get("dtype") is not None):
        raise InvalidInputError("`shape` and `dtype` follow from `data`: leave them out")
    if not has_data and (arguments.get("shape") is None or arguments.get("dtype") is None):
        raise InvalidInputError("a new array needs `shape` and `dtype`, or `data`")


def array_description(arguments: NewArray, data: NDArray[Any] | None, *, format: str) -> tuple[str, bytes | None]:
    """Return the description of an array for the engine, and the bytes of its fill value if NumPy knows them."""
    data_type, element = data_type_of(arguments["dtype"] if data is None else data.dtype)
    fill_value = arguments.get("fill_value", DEFAULT_FILL_VALUE)
    is_v2 = format == "v2"
    compressors = arguments.get("compressors", "auto")
    description: dict[str, Any] = {
        "shape": lengths("shape", arguments["shape"] if data is None else data.shape),
        "data_type": data_type,
        "codecs": _array_codecs(arguments, format=format),
        "only_filters": not _is_auto(compressors) and not codec_list(compressors),
        "order": arguments.get("order"),
        "attributes": json.loads(attributes_text(arguments.get("attributes"))),
        "dimension_names": _dimension_names(arguments.get("dimension_names")),
        "fill_is_undefined": is_v2 and fill_value is None,
        **_chunks(arguments.get("chunks", "auto"), arguments.get("shards")),
        **_key_encoding(arguments.get("chunk_key_encoding"), is_v2=is_v2),
    }
    fill = _fill_bytes(fill_value, element)
    if fill is None and fill_value is not None and not isinstance(fill_value, _Default):
        description["fill_value"] = fill_value
    return _JSON.encode(description), fill


def _dimension_names(names: Any) -> list[str | None] | None:
    if names is None:
        return None
    given = list(names) if isinstance(names, Iterable) else [names]
    if not isinstance(names, Iterable) or not all(name is None or isinstance(name, str) for name in given):
        raise InvalidInputError(f"dimension_names={names!r}: expected a list of texts, with None for no name")
    return given


def _array_codecs(arguments: NewArray, *, format: str) -> list[tuple[str, Any]]:
    """Return the codecs of a new array, except for the serializer that the engine selects for its data type."""
    filters = arguments.get("filters", "auto")
    serializer = arguments.get("serializer", "auto")
    compressors = arguments.get("compressors", "auto")
    codecs = [] if _is_auto(filters) else codec_list(filters)
    if not _is_auto(serializer) and serializer is not None:
        codecs.append(_codec(serializer))
    if not _is_auto(compressors):
        return codecs + codec_list(compressors)
    return [*codecs, _DEFAULT_COMPRESSORS[format]]


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def codec_list(codecs: CodecsLike) -> list[tuple[str, Any]]:
    """Return the identifiers and configurations of codecs."""
    if codecs is None:
        return []
    if isinstance(codecs, (list, tuple)):
        return [_codec(codec) for codec in codecs]
    return [_codec(codecs)]


def _codec(codec: CodecLike) -> tuple[str, Any]:
    if isinstance(codec, str):
        return codec, None
    document = codec
    if not isinstance(codec, Mapping):
        for method in ("to_dict", "get_config"):
            if hasattr(codec, method):
                document = getattr(codec, method)()
                break
    if isinstance(document, Mapping) and "id" in document:
        return document["id"], {name: value for name, value in document.items() if name != "id"}
    if isinstance(document, Mapping) and "name" in document:
        return document["name"], document.get("configuration")
    raise InvalidInputError(
        f"{codec!r} is not a codec: expected a name, or a dictionary with `name` and `configuration` or with `id`"
    )


def _chunks(chunks: Lengths | Sequence[Sequence[int]] | Literal["auto"], shards: Lengths | None) -> dict[str, Any]:
    members = {"shards": None if shards is None else _shards(shards)}
    if _is_auto(chunks):
        return members
    if _is_list(chunks) and any(map(_is_list, chunks)):
        edges = [_edges(edge) if _is_list(edge) else [_length("chunks", edge, chunks)] for edge in chunks]
        grid = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": edges}}
        return {**members, "chunk_grid": grid}
    return {**members, "chunks": lengths("chunks", chunks)}


def _edges(edges: Iterable[Any]) -> list[Any]:
    """Return the lengths of chunks along a dimension. An entry is a length, or a pair of a length and a count."""
    return [lengths("chunks", edge) if _is_list(edge) else _length("chunks", edge, edges) for edge in edges]


def _shards(shards: Any) -> list[int]:
    if isinstance(shards, (str, Mapping)):
        raise InvalidInputError(
            f"shards={shards!r} is not supported: give the lengths of a shard, which are multiples of those of a chunk"
        )
    return lengths("shards", shards)


def lengths(name: str, value: Any) -> list[int]:
    """Return the lengths that the argument `name` contains: one integer, or one per dimension."""
    parts = value if _is_list(value) else (value,)
    return [_length(name, part, value) for part in parts]


def _is_list(value: Any) -> TypeGuard[Iterable[Any]]:
    # An array of NumPy without dimensions has the type of an iterable, but cannot be iterated over.
    is_scalar = isinstance(value, (str, bytes, Mapping)) or (isinstance(value, np.ndarray) and value.ndim == 0)
    return isinstance(value, Iterable) and not is_scalar


def _length(name: str, part: Any, value: Any) -> int:
    # `True` and `False` are integers in Python, but they are not lengths.
    if not isinstance(part, (bool, np.bool_)):
        try:
            return operator.index(part)
        except TypeError:
            pass
    raise InvalidInputError(f"{name}={value!r} is not valid: {part!r} is not an integer")


def _key_encoding(encoding: Mapping[str, Any] | str | None, *, is_v2: bool) -> dict[str, Any]:
    if encoding is None:
        return {}
    if not isinstance(encoding, Mapping):
        return {"chunk_key_encoding": {"name": encoding}}
    separator = encoding.get("separator", (encoding.get("configuration") or {}).get("separator"))
    if is_v2:
        return {"separator": separator}
    if "name" not in encoding:
        raise InvalidInputError(
            f'chunk_key_encoding={encoding!r} has no name: expected one such as {{"name": "default", "separator": "."}}'
        )
    configuration = {} if separator is None else {"separator": separator}
    return {"chunk_key_encoding": {"name": encoding["name"], "configuration": configuration}}


def _fill_bytes(fill_value: Any, element: ElementType | None) -> bytes | None:
    if element is None:
        # Elements of data types that NumPy lacks are read as void scalars.
        return fill_value.tobytes() if isinstance(fill_value, np.void) else None
    if isinstance(fill_value, _Default):
        is_time = element.dtype.kind in "mM"
        return element.to_bytes("NaT") if is_time else None
    return None if fill_value is None else element.to_bytes(_exact(fill_value, element.dtype))


def _exact(fill_value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a fill value for which NumPy does not drop a fraction, a part of a time, or the end of a text."""
    given = np.asarray(fill_value)
    if given.ndim == 0:
        kinds = dtype.kind + given.dtype.kind
        number = given.item() if kinds[1] in "fiub" else None
        is_changed = False
        if number is not None and (kinds[0] in "iu" or dtype.name.startswith(("int", "uint"))):
            if np.isfinite(number) and number == int(number):
                return int(number)
            is_changed = True
        elif number is not None and kinds[0] == "b":
            is_changed = number not in (0, 1)
        elif kinds in ("MM", "mm", "SS", "UU"):
            converted = given.astype(dtype)
            is_changed = bool(converted != given) and not (kinds in ("MM", "mm") and np.isnat(given))
        if is_changed:
            raise InvalidInputError(f"fill_value={fill_value!r} is not a value of data type {dtype}")
    return fill_value


def _plain(value: Any) -> Any:
    """Convert NumPy values to JSON values."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"{value!r} cannot be written as JSON")


_JSON = json.JSONEncoder(default=_plain)
