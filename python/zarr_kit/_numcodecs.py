"""Codecs of numcodecs and imagecodecs."""

import importlib
import json
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zarr_kit import _engine
from zarr_kit._dtypes import element_type
from zarr_kit.errors import InvalidInputError

# The codecs of imagecodecs have this prefix, and are registered by a function.
_IMAGECODECS = "imagecodecs_"

_enabled: set[str] = set()


def use_numcodecs(*names: str) -> None:
    """Enable codecs of numcodecs and imagecodecs by their names, such as ``"imagecodecs_jpegxr"``.

    Arrays that are opened later read and write chunks with them. The codecs run in Python, one chunk at a time, and are
    not checked like those of the engine: enable codecs only for data that you trust. Call this function in each process,
    because a pickled node does not contain its codecs.
    """
    for name in names:
        if not isinstance(name, str):
            raise InvalidInputError(f"{name!r} is not the name of a codec, such as 'imagecodecs_jpegxr'")
        if name in _enabled:
            continue
        if name.removeprefix("numcodecs.") in _codecs_of_engine():
            raise InvalidInputError(f"the engine has the codec {name!r} already: nothing needs to be enabled")
        codec_class(name)
        _engine.add_codec(name, partial(NumcodecsCodec, name))
        _enabled.add(name)


@cache
def _codecs_of_engine() -> frozenset[str]:
    return frozenset(_engine.codec_names("v2")) | frozenset(_engine.codec_names("v3"))


def codec_class(name: str) -> Any:
    """Return the class of a codec, or raise an error with the package to install."""
    package = "imagecodecs" if name.startswith(_IMAGECODECS) else "numcodecs"
    try:
        registry = importlib.import_module("numcodecs.registry")
        if package == "imagecodecs":
            importlib.import_module("imagecodecs.numcodecs").register_codecs(verbose=False)
    except ImportError as error:
        raise InvalidInputError(f"codec {name!r} needs the package {error.name}: install {package}") from error
    # numcodecs finds codecs of other packages through their entry points when they are requested.
    if name not in registry.codec_registry and name in registry.entries:
        registry.codec_registry[name] = registry.entries[name].load()
    if name not in registry.codec_registry:
        raise InvalidInputError(f"{package} has no codec {name!r}")
    return registry.codec_registry[name]


class NumcodecsCodec:
    """A codec for the engine, which passes bytes, and describes the array if the bytes are its elements."""

    def __init__(self, name: str, configuration: str) -> None:
        self._codec = codec_class(name).from_config(json.loads(configuration))

    def encode(self, decoded: bytes, array: tuple[list[int], Mapping[str, Any], bool] | None) -> bytes:
        """Encode bytes, or the elements of an array."""
        return _as_bytes(self._codec.encode(decoded if array is None else _elements(decoded, array)))

    def decode(self, encoded: bytes, array: tuple[list[int], Mapping[str, Any], bool] | None) -> bytes:
        """Decode bytes, or the elements of an array."""
        decoded = self._codec.decode(encoded)
        if array is None:
            return _as_bytes(decoded)
        shape, description, is_big_endian = array
        native = element_type(description).dtype
        stored = native.newbyteorder(">" if is_big_endian else "<")
        elements = np.asarray(decoded)
        if elements.dtype != native:
            elements = np.frombuffer(np.ascontiguousarray(elements), dtype=stored)
        return elements.reshape(shape).astype(native, copy=False).tobytes()


def _elements(data: bytes, array: tuple[list[int], Mapping[str, Any], bool]) -> NDArray[Any]:
    shape, description, is_big_endian = array
    native = element_type(description).dtype
    elements: NDArray[Any] = np.frombuffer(data, dtype=native).reshape(shape)
    return elements.astype(native.newbyteorder(">" if is_big_endian else "<"), copy=False)


def _as_bytes(data: Any) -> bytes:
    return data if isinstance(data, bytes) else np.ascontiguousarray(np.asarray(data)).tobytes()
