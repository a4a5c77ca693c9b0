"""The encoding of a variable: chunks, and codecs as the objects that xarray's writer accepts."""

import functools
import json
from collections.abc import Hashable, Sequence
from importlib import import_module
from typing import Any

from zarr_kit._array import Array
from zarr_kit._chunk_lengths import stored_lengths

_SHARDING = "sharding_indexed"


def array_encoding(array: Array, dimensions: Sequence[Hashable]) -> dict[str, Any]:
    """Return chunks and codecs.

    The chunks along a dimension are one length in elements if all chunks except the last one have it, and a tuple of
    lengths otherwise. Codecs are objects of zarr-python and numcodecs. They are omitted for the v3 draft, and if these
    packages are not installed or lack one of the codecs. xarray's writer then uses its default codecs.
    """
    codecs = tuple(array._engine.codecs)
    is_sharded = len(codecs) == 1 and codecs[0][0] == _SHARDING
    lengths = array.chunks if is_sharded else stored_lengths(array)
    chunks = {
        "chunks": lengths,
        "preferred_chunks": dict(zip(dimensions, lengths, strict=True)),
        "shards": array.shards if is_sharded else None,
    }
    try:
        # The objects do not change, so that many variables can have the same ones.
        return chunks | _codecs(codecs, array.format, array._engine.has_compressor)
    except (ImportError, KeyError, TypeError, ValueError):
        # Unknown codecs and configurations raise these errors, too.
        return chunks


@functools.lru_cache(maxsize=256)
def _codecs(texts: tuple[tuple[str, str], ...], format: str, has_compressor: bool) -> dict[str, Any]:
    """Return the codecs for identifiers and configurations, which are JSON texts."""
    codecs = [(name, json.loads(configuration) or {}) for name, configuration in texts]
    if format == "v2":
        return _v2_codecs(codecs, has_compressor=has_compressor)
    if format != "v3":
        return {}
    if len(codecs) == 1 and codecs[0][0] == _SHARDING:
        codecs = [(codec["name"], codec.get("configuration")) for codec in codecs[0][1]["codecs"]]
    return _v3_codecs(codecs)


def _v2_codecs(codecs: Sequence[tuple[str, Any]], *, has_compressor: bool) -> dict[str, Any]:
    # numcodecs has no annotations.
    numcodecs: Any = import_module("numcodecs")
    objects = tuple(numcodecs.get_codec({"id": name, **configuration}) for name, configuration in codecs)
    filter_count = len(objects) - has_compressor
    return {"filters": objects[:filter_count], "compressors": objects[filter_count:]}


def _v3_codecs(codecs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    from zarr.abc.codec import ArrayBytesCodec
    from zarr.registry import get_codec_class

    # Registers the codecs of the engine.
    import_module("zarr_kit_plugins")
    objects = []
    for name, configuration in codecs:
        document: dict[str, Any] = {"name": name}
        if configuration:
            document["configuration"] = configuration
        objects.append(get_codec_class(name).from_dict(document))
    [serializer] = [position for position, codec in enumerate(objects) if isinstance(codec, ArrayBytesCodec)]
    return {
        "filters": tuple(objects[:serializer]),
        "serializer": objects[serializer],
        "compressors": tuple(objects[serializer + 1 :]),
    }
