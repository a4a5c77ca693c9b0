"""The encoding of a variable: chunks, and codecs as the objects that xarray's writer takes."""

from collections.abc import Hashable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from zarr_kit._array import Array
from zarr_kit._chunk_lengths import stored_lengths

# Codecs of v2 that are filters, also where no compressor follows them.
_V2_FILTERS = frozenset(
    {
        "adler32",
        "astype",
        "base64",
        "bitround",
        "categorize",
        "crc32",
        "crc32c",
        "delta",
        "fixedscaleoffset",
        "fletcher32",
        "jenkins_lookup3",
        "json2",
        "msgpack2",
        "packbits",
        "pickle",
        "quantize",
        "shuffle",
        "vlen-array",
        "vlen-bytes",
        "vlen-utf8",
    }
)
_SHARDING = "sharding_indexed"
# Codecs of v3 that make bytes of elements.
_SERIALIZERS = frozenset({"bytes", "packbits", "pcodec", "vlen-bytes", "vlen-utf8", "zfp", "zfpy", _SHARDING})


def encoding(array: Array, dimensions: Sequence[Hashable]) -> dict[str, Any]:
    """Return chunks and codecs.

    A dimension has one length of chunks in elements if all chunks but the last one have it, and a tuple of lengths
    otherwise. Codecs are objects of zarr-python and numcodecs where these know them, and dictionaries as they are
    stored otherwise. There are no codecs for the v3 draft, because xarray does not write it.
    """
    codecs = array.codecs
    is_sharded = len(codecs) == 1 and codecs[0][0] == _SHARDING
    lengths = array.chunks if is_sharded else stored_lengths(array)
    chunks = {
        "chunks": lengths,
        "preferred_chunks": dict(zip(dimensions, lengths, strict=True)),
        "shards": array.shards if is_sharded else None,
    }
    if array.format == "v3-draft":
        return chunks
    if array.format == "v2":
        return chunks | _v2_codecs(codecs)
    if is_sharded:
        codecs = [(codec["name"], codec.get("configuration")) for codec in codecs[0][1]["codecs"]]
    return chunks | _v3_codecs(codecs)


def _v2_codecs(codecs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    objects = tuple(_v2_codec({"id": name, **configuration}) for name, configuration in codecs)
    count = len(codecs)
    if codecs and codecs[-1][0] not in _V2_FILTERS:
        count -= 1
    return {"filters": objects[:count], "compressors": objects[count:]}


def _v2_codec(document: dict[str, Any]) -> Any:
    if find_spec("numcodecs") is None:
        return document
    # It has no annotations.
    numcodecs: Any = import_module("numcodecs")
    try:
        return numcodecs.get_codec(dict(document))
    except ValueError:
        # numcodecs does not know the codec, or not this configuration of it.
        return document


def _v3_codecs(codecs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    objects = [_v3_codec(name, configuration) for name, configuration in codecs]
    serializer = _serializer_position(objects)
    return {
        "filters": tuple(objects[:serializer]),
        "serializer": objects[serializer],
        "compressors": tuple(objects[serializer + 1 :]),
    }


def _v3_codec(name: str, configuration: dict[str, Any] | None) -> Any:
    document: dict[str, Any] = {"name": name}
    if configuration:
        document["configuration"] = configuration
    if find_spec("zarr") is None:
        return document
    from zarr.registry import get_codec_class

    try:
        return get_codec_class(name).from_dict(document)
    except (TypeError, ValueError):
        # zarr-python does not know the codec, or not this configuration of it.
        return document


def _serializer_position(codecs: list[Any]) -> int:
    """Return the position of the codec that makes bytes of elements. Every array of v3 has exactly one."""
    if find_spec("zarr") is not None:
        from zarr.abc.codec import ArrayBytesCodec

        for position, codec in enumerate(codecs):
            if isinstance(codec, ArrayBytesCodec):
                return position
    unknown = [position for position, codec in enumerate(codecs) if isinstance(codec, dict)]
    known = [position for position in unknown if codecs[position]["name"] in _SERIALIZERS]
    return (known or unknown)[0]
