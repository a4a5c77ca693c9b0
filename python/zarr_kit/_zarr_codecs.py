"""Codecs of the engine as codecs of zarr-python, for its own pipelines."""

import asyncio
import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec
from zarr.codecs import BytesCodec
from zarr.core.array_spec import ArraySpec
from zarr.core.buffer import Buffer, NDBuffer
from zarr.core.dtype import parse_dtype

from zarr_kit import _engine
from zarr_kit._dtypes import element_type
from zarr_kit._pipeline_chunks import bytes_of
from zarr_kit._pipeline_coders import ChunkCoder, chunk_coder
from zarr_kit.errors import ElementsError, NotSupportedError

# The size of a chunk in bytes, or its data type and shape.
type Chunk = int | tuple[str, tuple[int, ...]]


def codec_from_json(name: str, data: Any) -> "_EngineCodec":
    """Return the codec that a document of v3 describes."""
    configuration = data.get("configuration") if isinstance(data, Mapping) else None
    text = json.dumps(configuration)
    codec: _EngineCodec = _CLASSES[_opened(name, text, "v3").kind](name, text)
    return codec


def codec_of_v2(name: str, configuration: Mapping[str, Any], chunk: Any) -> _engine.Codec:
    """Return the codec of the engine for a codec of v2, and for a decoded chunk if there is one."""
    return _opened(name, json.dumps(configuration), "v2", None if chunk is None else _form(np.asarray(chunk)))


def _form(chunk: NDArray[Any]) -> Chunk:
    """Return the data type and the shape of a chunk, or its size if the engine has no such data type."""
    return (chunk.dtype.name, chunk.shape) if chunk.dtype.kind in "biufc" else chunk.nbytes


def encode_image(name: str, configuration: Mapping[str, Any], image: Any) -> bytes:
    """Encode the elements of an array with a codec of v2."""
    elements = np.ascontiguousarray(image)
    native = elements.astype(elements.dtype.newbyteorder("="), copy=False)
    form = native.dtype.name, np.shape(image)
    return _engine.encode_image(name, json.dumps(configuration), form, native.reshape(-1).view("u1"))


def decode_image(name: str, configuration: Mapping[str, Any], encoded: Any) -> NDArray[Any]:
    """Return the elements of an image, whose header describes them."""
    elements, data_type, shape = _engine.decode_image(name, json.dumps(configuration), encoded)
    return np.frombuffer(elements, data_type).reshape(shape)


@functools.lru_cache(maxsize=256)
def _opened(name: str, configuration: str, format: str, chunk: Chunk | None = None) -> _engine.Codec:
    return _engine.Codec.open(name, configuration, format, chunk)


@dataclass(frozen=True)
class _EngineCodec:
    """A codec and its configuration, which is a JSON text."""

    codec_name: str
    configuration: str

    def to_dict(self) -> dict[str, Any]:
        configuration = json.loads(self.configuration)
        return {"name": self.codec_name} | ({} if configuration is None else {"configuration": configuration})

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        codec = codec_from_json(data["name"], data)
        assert isinstance(codec, cls)
        return codec

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        raise NotImplementedError

    async def _decode_single(self, chunk_data: Any, chunk_spec: ArraySpec) -> Any:
        return await asyncio.to_thread(self._decode_sync, chunk_data, chunk_spec)

    async def _encode_single(self, chunk_data: Any, chunk_spec: ArraySpec) -> Any:
        return await asyncio.to_thread(self._encode_sync, chunk_data, chunk_spec)

    def _decode_sync(self, chunk_data: Any, chunk_spec: ArraySpec) -> Any:
        raise NotImplementedError

    def _encode_sync(self, chunk_data: Any, chunk_spec: ArraySpec) -> Any:
        raise NotImplementedError


class EngineBytesBytesCodec(_EngineCodec, BytesBytesCodec):
    """A codec from bytes to bytes."""

    def _decode_sync(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> Buffer:
        size = _declared_size(chunk_spec)
        return chunk_spec.prototype.buffer.from_bytes(self._codec(size).decode(bytes_of(chunk_data), size))

    def _encode_sync(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> Buffer:
        size = _declared_size(chunk_spec)
        decoded = bytes_of(chunk_data)
        if len(decoded) != size and self._codec(None).needs_chunk:
            raise NotSupportedError(
                f"codec `{self.codec_name}`: the chunk has {size} bytes, but the preceding codec produces {len(decoded)} "
                "bytes, and zarr-python does not pass this size to decode them: set `codec_pipeline.path` to "
                "zarr_kit.CodecPipeline"
            )
        return chunk_spec.prototype.buffer.from_bytes(self._codec(size).encode(decoded))

    def _codec(self, size: int | None) -> _engine.Codec:
        return _opened(self.codec_name, self.configuration, "v3", size)


class EngineArrayBytesCodec(_EngineCodec, ArrayBytesCodec):
    """A codec from an array to bytes."""

    def _decode_sync(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> NDBuffer:
        return _decoded(_coder((self,), chunk_spec), bytes_of(chunk_data), chunk_spec)

    def _encode_sync(self, chunk_data: NDBuffer, chunk_spec: ArraySpec) -> Buffer:
        encoded = _encoded(_coder((self,), chunk_spec), chunk_data)
        return chunk_spec.prototype.buffer.from_bytes(encoded)


class EngineArrayArrayCodec(_EngineCodec, ArrayArrayCodec):
    """A codec from an array to an array."""

    def resolve_metadata(self, chunk_spec: ArraySpec) -> ArraySpec:
        encoded = self._coder(chunk_spec).engine.first_encoded()
        if encoded is None:
            raise ElementsError(f"codec {self.codec_name} does not produce an array")
        description, shape, fill = encoded
        elements = element_type(description)
        # Types of other packages than NumPy are selected by name. For those, `isbuiltin` is 2.
        is_foreign = elements.dtype.isbuiltin == 2
        dtype: Any = parse_dtype(elements.name if is_foreign else elements.dtype, zarr_format=3)
        return replace(chunk_spec, shape=tuple(shape), dtype=dtype, fill_value=elements.from_bytes(fill))

    def _decode_sync(self, chunk_data: NDBuffer, chunk_spec: ArraySpec) -> NDBuffer:
        elements = np.ascontiguousarray(chunk_data.as_numpy_array())
        little = elements.astype(elements.dtype.newbyteorder("<"), copy=False)
        return _decoded(self._coder(chunk_spec), little.reshape(-1).view("u1"), chunk_spec)

    def _encode_sync(self, chunk_data: NDBuffer, chunk_spec: ArraySpec) -> NDBuffer:
        encoded = _encoded(self._coder(chunk_spec), chunk_data)
        spec = self.resolve_metadata(chunk_spec)
        dtype = spec.dtype.to_native_dtype()
        elements = np.frombuffer(encoded, dtype.newbyteorder("<")).astype(dtype).reshape(spec.shape)
        return spec.prototype.nd_buffer.from_ndarray_like(elements)

    def _coder(self, chunk_spec: ArraySpec) -> ChunkCoder:
        return _coder((self, BytesCodec(endian="little")), chunk_spec)


def _declared_size(spec: ArraySpec) -> int | None:
    """Return the size of a decoded chunk. Elements of a variable size do not declare it."""
    dtype = spec.dtype.to_native_dtype()
    return None if dtype.kind in "OT" else int(np.prod(spec.shape, dtype=object)) * dtype.itemsize


_CLASSES: dict[str, type[Any]] = {
    "array-to-array": EngineArrayArrayCodec,
    "array-to-bytes": EngineArrayBytesCodec,
    "bytes-to-bytes": EngineBytesBytesCodec,
}


def _coder(codecs: tuple[Any, ...], spec: ArraySpec) -> ChunkCoder:
    # zarr-python has already decided that the chunk is stored.
    return chunk_coder(codecs, replace(spec, config=replace(spec.config, write_empty_chunks=True)))


def _decoded(coder: ChunkCoder, value: Any, spec: ArraySpec) -> NDBuffer:
    (result,) = coder.engine.decode([value])
    if isinstance(result, Exception):
        raise result
    chunk = coder.array(result, spec.shape).astype(spec.dtype.to_native_dtype(), copy=False)
    return spec.prototype.nd_buffer.from_ndarray_like(chunk)


def _encoded(coder: ChunkCoder, chunk: NDBuffer) -> bytes:
    (result,) = coder.engine.encode([coder.buffer(chunk.as_numpy_array())])
    if isinstance(result, Exception):
        raise result
    if result is None:
        raise ElementsError("the chunk was not encoded")
    return result
