"""Codecs of arrays as objects of zarr-python, if that is installed."""

from typing import Any

from zarr_kit._array import Array


def codecs_of(array: Array) -> dict[str, Any]:
    """Return the codecs as xarray's encodings have them.

    There are none for the draft, without zarr-python, and where zarr-python does not know one of them.
    """
    try:
        if array.format == "v2":
            return _of_v2(array)
        return _of_v3(array) if array.format == "v3" else {}
    except (ImportError, KeyError, TypeError, ValueError):
        # zarr-python and numcodecs report unknown codecs and configurations in all of these ways.
        return {}


def _of_v2(array: Array) -> dict[str, Any]:
    import numcodecs

    codecs = [numcodecs.get_codec({"id": name, **configuration}) for name, configuration in array.codecs]
    count = len(codecs) - array._engine.has_compressor
    return {"compressors": tuple(codecs[count:]), "filters": tuple(codecs[:count])}


def _of_v3(array: Array) -> dict[str, Any]:
    from zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec
    from zarr.codecs import ShardingCodec
    from zarr.registry import get_codec_class

    codecs = [
        get_codec_class(name).from_dict({"name": name, "configuration": configuration})
        for name, configuration in array.codecs
    ]
    if len(codecs) == 1 and isinstance(codecs[0], ShardingCodec):
        codecs = list(codecs[0].codecs)
    return {
        "compressors": tuple(codec for codec in codecs if isinstance(codec, BytesBytesCodec)),
        "filters": tuple(codec for codec in codecs if isinstance(codec, ArrayArrayCodec)),
        "serializer": next((codec for codec in codecs if isinstance(codec, ArrayBytesCodec)), None),
    }
