"""The codec pipeline for zarr-python: the engine decodes and encodes the chunks of its arrays."""

import asyncio
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self

import numpy as np
import zarr
import zarr.abc.codec
from numpy.typing import NDArray
from zarr.abc.codec import ArrayBytesCodecPartialDecodeMixin, Codec, GetResult
from zarr.abc.store import ByteGetter, ByteSetter
from zarr.core.array_spec import ArraySpec
from zarr.core.buffer import Buffer, NDBuffer
from zarr.core.codec_pipeline import FusedCodecPipeline

from zarr_kit._hierarchy import thread_count
from zarr_kit._pipeline_chunks import bytes_of, checked, file_of, folder_of, read_chunks, write_chunks
from zarr_kit._pipeline_coders import ChunkCoder, chunk_coder, fill_value, untyped
from zarr_kit._pipeline_conditions import are_required, check_store
from zarr_kit._pipeline_parts import ChunkPart, covers_chunk
from zarr_kit.errors import InvalidInputError, NotSupportedError, ZarrError, issue_warning

_PRESENT = GetResult(status="present")
_MISSING = GetResult(status="missing")

# Whether a pipeline of zarr-python is used after a warning. It passes inner chunks of shards to other pipelines of this
# class, which do not warn again.
_FALLS_BACK: ContextVar[bool] = ContextVar("falls_back", default=False)


class CodecPipeline(zarr.abc.codec.CodecPipeline):
    """Reads and writes the chunks of arrays of zarr-python with the engine of this package.

    Select it with ``zarr.config.set({"codec_pipeline.path": "zarr_kit.CodecPipeline"})``. The first read or write of an
    array that the engine does not support raises an error. If ``codec_pipeline.strict`` is false, a pipeline of
    zarr-python serves such arrays, and a ``ZarrWarning`` is issued.
    """

    def __init__(self, fallback: FusedCodecPipeline, strict: bool) -> None:
        self._fallback = fallback
        self._strict = strict
        # Whether `codec_pipeline.conditional` was "require" in the process that pickled this object.
        self._requires_conditions = False
        self._has_warned = False
        # Of the last call: the description of its chunks, the process and the number of threads, and the coder.
        self._last: tuple[ArraySpec, tuple[int, int | None], ChunkCoder] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # The process that unpickles this object may have other settings.
        return {**self.__dict__, "_last": None, "_requires_conditions": self._must_have_conditions()}

    @classmethod
    def from_codecs(cls, codecs: Iterable[Codec]) -> Self:
        # A wrong value is an error also for arrays that are only read.
        are_required()
        return cls(FusedCodecPipeline.from_codecs(codecs), _is_strict())

    def evolve_from_array_spec(self, array_spec: ArraySpec) -> Self:
        evolved = type(self)(self._fallback.evolve_from_array_spec(array_spec), self._strict)
        evolved._requires_conditions = self._requires_conditions
        return evolved

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CodecPipeline) and self._fallback == other._fallback

    def __hash__(self) -> int:
        return hash(self._fallback.codecs)

    def __iter__(self) -> Iterator[Codec]:
        return iter(self._fallback)

    @property
    def supports_partial_decode(self) -> bool:
        return self._fallback.supports_partial_decode

    @property
    def supports_partial_encode(self) -> bool:
        return self._fallback.supports_partial_encode

    def validate(self, *, shape: tuple[int, ...], dtype: Any, chunk_grid: Any) -> None:
        self._fallback.validate(shape=shape, dtype=dtype, chunk_grid=chunk_grid)

    def compute_encoded_size(self, byte_length: int, array_spec: ArraySpec) -> int:
        return self._fallback.compute_encoded_size(byte_length, array_spec)

    async def decode(
        self, chunk_bytes_and_specs: Iterable[tuple[Buffer | None, ArraySpec]]
    ) -> Iterable[NDBuffer | None]:
        chunks = list(chunk_bytes_and_specs)
        coders = self._coders([(_described_chunk(spec), spec) for _, spec in chunks])
        if coders is None:
            with _falling_back():
                return await self._fallback.decode(chunks)
        return [
            None if value is None else await asyncio.to_thread(_decoded, coder, value, spec)
            for coder, (value, spec) in zip(coders, chunks, strict=True)
        ]

    async def encode(
        self, chunk_arrays_and_specs: Iterable[tuple[NDBuffer | None, ArraySpec]]
    ) -> Iterable[Buffer | None]:
        chunks = list(chunk_arrays_and_specs)
        coders = self._coders([(_described_chunk(spec), spec) for _, spec in chunks])
        if coders is None:
            with _falling_back():
                return await self._fallback.encode(chunks)
        return [
            None if chunk is None else await asyncio.to_thread(_encoded, coder, chunk, spec)
            for coder, (chunk, spec) in zip(coders, chunks, strict=True)
        ]

    async def read(
        self,
        batch_info: Iterable[tuple[ByteGetter, ArraySpec, Any, Any, bool]],
        out: NDBuffer,
        drop_axes: tuple[int, ...] = (),
    ) -> tuple[GetResult, ...]:
        batch = list(batch_info)
        memory: Any = out.as_ndarray_like()
        files = self._files(batch, memory, writes=False)
        if files is None:
            return await self._read_others(batch, out, drop_axes)
        coder, folder = files
        exist = await asyncio.to_thread(coder.engine.read_parts, folder, batch, _described(memory, drop_axes))
        others = [position for position, exists in enumerate(exist) if exists is None]
        if not others:
            return tuple(_PRESENT if exists else _MISSING for exists in exist)
        results = iter(await self._read_others([batch[position] for position in others], out, drop_axes))
        return tuple(next(results) if exists is None else _PRESENT if exists else _MISSING for exists in exist)

    async def _read_others(
        self, batch: list[tuple[ByteGetter, ArraySpec, Any, Any, bool]], out: NDBuffer, drop_axes: tuple[int, ...]
    ) -> tuple[GetResult, ...]:
        """Read chunks that are not files, and parts that are not boxes."""
        parts = [ChunkPart(*item) for item in batch]
        memory: Any = out.as_ndarray_like()
        coders = self._coders([(part.store_path, part.spec) for part in parts], memory)
        if coders is None:
            with _falling_back():
                return await self._fallback.read(batch, out, drop_axes)
        ranged = {position for position, part in enumerate(parts) if self._reads_ranges(part)}
        whole = [position for position in range(len(parts)) if position not in ranged]
        found = dict.fromkeys(whole, False)
        chunks = await self._read_ranges([parts[position] for position in sorted(ranged)], out, drop_axes)
        found.update(zip(sorted(ranged), chunks, strict=True))
        chunks = await read_chunks([(parts[position], coders[position]) for position in whole], memory, drop_axes)
        found.update(zip(whole, chunks, strict=True))
        return tuple(_PRESENT if found[position] else _MISSING for position in range(len(parts)))

    async def write(
        self,
        batch_info: Iterable[tuple[ByteSetter, ArraySpec, Any, Any, bool]],
        value: NDBuffer,
        drop_axes: tuple[int, ...] = (),
    ) -> None:
        batch = list(batch_info)
        memory: Any = value.as_ndarray_like()
        files = self._files(batch, memory, writes=True)
        if files is not None:
            coder, folder = files
            described = _described(memory, drop_axes)
            written = await asyncio.to_thread(coder.engine.write_parts, folder, batch, described)
            batch = [item for item, is_written in zip(batch, written, strict=True) if not is_written]
        if not batch:
            return
        parts = [ChunkPart(*item) for item in batch]
        coders = self._coders([(part.store_path, part.spec) for part in parts], memory)
        if coders is None:
            if not all(part.is_complete for part in parts):
                check_store(parts[0].store_path, required=self._must_have_conditions())
            with _falling_back():
                await self._fallback.write(batch, value, drop_axes)
            return
        required = self._must_have_conditions()
        await write_chunks(list(zip(parts, coders, strict=True)), memory, drop_axes, required=required)

    def _must_have_conditions(self) -> bool:
        return self._requires_conditions or are_required()

    def _files(self, batch: list[Any], memory: Any, *, writes: bool) -> tuple[ChunkCoder, str] | None:
        """Return the coder and the folder of chunks that are files, if the engine reads and writes them itself.

        This applies to chunks that have the store and the description of the first chunk of the batch.
        """
        if not batch or not isinstance(memory, np.ndarray):
            return None
        store_path, spec = batch[0][:2]
        folder = folder_of(store_path, writes=writes)
        coders = None if folder is None else self._coders([(store_path, spec)])
        if folder is None or coders is None:
            return None
        (coder,) = coders
        is_same_type = coder.element_type.is_fixed and coder.element_type.dtype == memory.dtype
        if not is_same_type or memory.dtype.itemsize == 0 or not (writes or coder.engine.reads_parts):
            return None
        return coder, folder

    def _reads_ranges(self, part: ChunkPart) -> bool:
        """Return whether zarr-python requests parts of a shard from its store. The engine does this for files."""
        return self.supports_partial_decode and file_of(part) is None and not covers_chunk(part)

    async def _read_ranges(self, parts: list[ChunkPart], out: NDBuffer, dropped: tuple[int, ...]) -> list[bool]:
        """Read parts of shards, and return whether each shard exists.

        The sharding codec of zarr-python requests the ranges. It passes the inner chunks to another pipeline of this
        class.
        """
        codec = self._fallback.array_bytes_codec
        if not parts or not isinstance(codec, ArrayBytesCodecPartialDecodeMixin):
            return []
        decoded = await codec.decode_partial([(part.store_path, part.chunk_selection, part.spec) for part in parts])
        found = []
        for part, elements in zip(parts, decoded, strict=True):
            found.append(elements is not None)
            if elements is None:
                out[part.out_selection] = fill_value(part.spec)
            else:
                out[part.out_selection] = elements.squeeze(axis=dropped) if dropped else elements
        return found

    def _coders(self, chunks: Sequence[tuple[object, ArraySpec]], memory: Any = None) -> list[ChunkCoder] | None:
        """Return the coder of each chunk, or `None` if a pipeline of zarr-python has to be used."""
        coders: dict[int, ChunkCoder] = {}
        for name, spec in chunks:
            if id(spec) in coders:
                continue
            try:
                if memory is not None and not isinstance(memory, np.ndarray):
                    raise NotSupportedError(f"the elements are in memory of {type(memory)}, not of NumPy")
                coders[id(spec)] = self._coder(spec)
            except Exception as error:  # noqa: BLE001 - codecs of other packages may raise any exception
                self._refuse(name, error)
                return None
        return [coders[id(spec)] for _, spec in chunks]

    def _coder(self, spec: ArraySpec) -> ChunkCoder:
        process = os.getpid(), thread_count(None)
        last = self._last
        if last is not None and last[1] == process and (last[0] is spec or last[0] == spec):
            return last[2]
        coder = chunk_coder(self._fallback.codecs, spec)
        self._last = spec, process, coder
        return coder

    def _refuse(self, chunk: object, reason: Exception) -> None:
        names = ", ".join(_codec_name(codec) for codec in self)
        text = f"{chunk}: zarr_kit.CodecPipeline does not support this array with the codecs {names}: {reason}"
        # The pipeline of inner chunks is created in the process that reads them, which may have another setting.
        if self._strict and not _FALLS_BACK.get():
            advice = "set `codec_pipeline.strict` to False to use the pipeline of zarr-python for such arrays"
            kind = type(reason) if isinstance(reason, ZarrError) else NotSupportedError
            raise kind(f"{text}; {advice}") from reason
        if not self._has_warned and not _FALLS_BACK.get():
            self._has_warned = True
            issue_warning(f"{text}; a pipeline of zarr-python is used instead")


# zarr-python finds the class by this name, and `import zarr_kit` does not import zarr-python.
CodecPipeline.__module__ = "zarr_kit"


@contextmanager
def _falling_back() -> Iterator[None]:
    token = _FALLS_BACK.set(True)
    try:
        yield
    finally:
        _FALLS_BACK.reset(token)


def _is_strict() -> bool:
    value = zarr.config.get("codec_pipeline.strict", True)
    # The environment variable may have a value that is not a literal of Python.
    text = value.lower() if isinstance(value, str) else value
    if text in (True, "true", "1", "yes", "on"):
        return True
    if text in (False, "false", "0", "no", "off"):
        return False
    raise InvalidInputError(f"the setting `codec_pipeline.strict` is {value!r}: it must be True or False")


def _decoded(coder: ChunkCoder, value: Buffer, spec: ArraySpec) -> NDBuffer:
    (result,) = coder.engine.decode([bytes_of(value)])
    result = checked(_described_chunk(spec), result)
    chunk = coder.array(result, spec.shape).astype(spec.dtype.to_native_dtype(), copy=False)
    return spec.prototype.nd_buffer.from_ndarray_like(chunk)


def _encoded(coder: ChunkCoder, chunk: NDBuffer, spec: ArraySpec) -> Buffer | None:
    (result,) = coder.engine.encode([coder.buffer(chunk.as_numpy_array())])
    result = checked(_described_chunk(spec), result)
    return None if result is None else spec.prototype.buffer.from_bytes(result)


def _described_chunk(spec: ArraySpec) -> str:
    """Return a name for a chunk that zarr-python passes without its store and key."""
    return f"a chunk of shape {spec.shape} and data type {spec.dtype.to_native_dtype()}"


def _described(memory: NDArray[Any], dropped: tuple[int, ...]) -> dict[str, Any]:
    return {"memory": untyped(memory), "is_scalar": memory.ndim == 0, "dropped": dropped}


def _codec_name(codec: Codec) -> str:
    return str(getattr(codec, "codec_name", type(codec).__name__))
