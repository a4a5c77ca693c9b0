"""Coders of the engine for the chunks of zarr-python."""

import enum
import functools
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from zarr.abc.codec import Codec
from zarr.codecs._v2 import V2Codec
from zarr.core.array_spec import ArraySpec

from zarr_kit import _engine
from zarr_kit._dtypes import ElementType, element_type, fixed_elements, with_order_of
from zarr_kit._hierarchy import thread_count

# The number of chunks that the engine reads in one step.
_CHUNKS = 4096


@dataclass(frozen=True)
class ChunkCoder:
    """A coder for chunks of one shape and data type."""

    engine: _engine.ChunkCoder
    element_type: ElementType
    dtype: np.dtype[Any]

    def array(self, decoded: Any, shape: tuple[int, ...]) -> NDArray[Any]:
        """Return a decoded chunk of the engine as a NumPy array, without a copy if its elements have a fixed size."""
        if self.element_type.is_fixed:
            return with_order_of(fixed_elements(decoded, self.element_type.dtype, shape), self.dtype)
        return self.element_type.from_list(decoded).reshape(shape)

    def buffer(self, chunk: NDArray[Any]) -> NDArray[Any] | list[Any]:
        """Return a chunk in a form that the engine encodes."""
        elements = self.element_type.array(chunk)
        if self.element_type.is_fixed:
            return untyped(elements)
        return self.element_type.to_list(elements.reshape(-1))


def chunk_coder(codecs: tuple[Codec, ...], spec: ArraySpec) -> ChunkCoder:
    """Return the coder for chunks that `spec` describes. An exception names what the engine does not support."""
    is_v2 = len(codecs) == 1 and isinstance(codecs[0], V2Codec)
    document = _v2_document(codecs[0], spec) if is_v2 else _v3_document(codecs, spec)
    text = json.dumps(document, default=_json_value)
    format = "v2" if is_v2 else "v3"
    dtype = spec.dtype.to_native_dtype()
    return _opened(text, format, dtype, spec.config.write_empty_chunks, thread_count(None), os.getpid())


def fill_value(spec: ArraySpec) -> Any:
    """Return the value of elements that are not stored. In v2 it may be undefined; then zarr-python uses a default."""
    return spec.dtype.default_scalar() if spec.fill_value is None else spec.fill_value


def untyped(elements: NDArray[Any]) -> NDArray[Any]:
    """Return a view for the buffer protocol, which does not support all data types of NumPy."""
    # The extension needs at least one dimension.
    elements = elements.reshape(1) if elements.ndim == 0 else elements
    return elements.view(np.dtype(f"V{elements.dtype.itemsize}"))


# A forked process cannot use the coders of its parent.
@functools.lru_cache(maxsize=256)
def _opened(
    document: str, format: str, dtype: np.dtype[Any], write_empty_chunks: bool, threads: int | None, _process: int
) -> ChunkCoder:
    engine = _engine.ChunkCoder.open(document, format, write_empty_chunks, threads)
    return ChunkCoder(engine, element_type(engine.data_type), dtype)


def _v3_document(codecs: Iterable[Codec], spec: ArraySpec) -> dict[str, Any]:
    shape = _lengths(spec)
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": _shape(shape),
        "data_type": spec.dtype.to_json(zarr_format=3),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shape}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": spec.dtype.to_json_scalar(fill_value(spec), zarr_format=3),
        "codecs": [codec.to_dict() for codec in codecs],
        "attributes": {},
    }


def _v2_document(codec: Any, spec: ArraySpec) -> dict[str, Any]:
    shape = _lengths(spec)
    compressor = codec.compressor
    return {
        "zarr_format": 2,
        "shape": _shape(shape),
        "chunks": shape,
        "dtype": spec.dtype.to_json(zarr_format=2)["name"],
        "fill_value": spec.dtype.to_json_scalar(fill_value(spec), zarr_format=2),
        "order": spec.order,
        "filters": [codec.get_config() for codec in codec.filters] if codec.filters else None,
        "compressor": None if compressor is None else compressor.get_config(),
        "dimension_separator": ".",
    }


def _lengths(spec: ArraySpec) -> list[int]:
    # A chunk of an array without elements may have the length 0.
    return [max(int(length), 1) for length in spec.shape]


def _shape(chunk: list[int]) -> list[int]:
    # The engine reads many chunks in one call, which follow each other along the first dimension.
    return [chunk[0] * _CHUNKS, *chunk[1:]] if chunk else []


def _json_value(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} in the configuration of a codec is not JSON")
