"""The codec pipeline for zarr-python: the engine decodes and encodes the chunks of its arrays."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
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
from zarr.storage import LocalStore, StorePath

from zarr_kit._pipeline_coders import ChunkCoder, chunk_coder, fill_value
from zarr_kit._pipeline_parts import ChunkPart, covers_chunk, merged, place, selected
from zarr_kit.errors import NotSupportedError, ZarrError, issue_warning

# The size in bytes of decoded chunks that are in memory at the same time, in addition to the caller's array.
_MEMORY = 64 << 20


class CodecPipeline(zarr.abc.codec.CodecPipeline):
    """Reads and writes the chunks of arrays of zarr-python with the engine of this package.

    Select it with ``zarr.config.set({"codec_pipeline.path": "zarr_kit.CodecPipeline"})``. The first read or write of an
    array that the engine does not support raises an error. If ``codec_pipeline.strict`` is false, a pipeline of
    zarr-python serves such arrays, and a ``ZarrWarning`` is issued.
    """

    def __init__(self, fallback: FusedCodecPipeline, strict: bool) -> None:
        self._fallback = fallback
        self._strict = strict
        self._has_warned = False

    @classmethod
    def from_codecs(cls, codecs: Iterable[Codec]) -> Self:
        return cls(FusedCodecPipeline.from_codecs(codecs), bool(zarr.config.get("codec_pipeline.strict", True)))

    def evolve_from_array_spec(self, array_spec: ArraySpec) -> Self:
        return type(self)(self._fallback.evolve_from_array_spec(array_spec), self._strict)

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
        coders = self._coders([("a chunk", spec) for _, spec in chunks])
        if coders is None:
            return await self._fallback.decode(chunks)
        return [
            None if value is None else await asyncio.to_thread(_decoded, coder, value, spec)
            for coder, (value, spec) in zip(coders, chunks, strict=True)
        ]

    async def encode(
        self, chunk_arrays_and_specs: Iterable[tuple[NDBuffer | None, ArraySpec]]
    ) -> Iterable[Buffer | None]:
        chunks = list(chunk_arrays_and_specs)
        coders = self._coders([("a chunk", spec) for _, spec in chunks])
        if coders is None:
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
        parts = [ChunkPart(*item) for item in batch_info]
        memory: Any = out.as_ndarray_like()
        coders = self._coders([(part.store_path, part.spec) for part in parts], memory)
        if coders is None:
            return await self._fallback.read(parts, out, drop_axes)
        ranged = {position for position, part in enumerate(parts) if self._reads_ranges(part)}
        whole = [position for position in range(len(parts)) if position not in ranged]
        found = dict.fromkeys(whole, False)
        chunks = await self._read_ranges([parts[position] for position in sorted(ranged)], out, drop_axes)
        found.update(zip(sorted(ranged), chunks, strict=True))
        chunks = await _read_chunks([(parts[position], coders[position]) for position in whole], memory, drop_axes)
        found.update(zip(whole, chunks, strict=True))
        return tuple(GetResult(status="present" if found[position] else "missing") for position in range(len(parts)))

    async def write(
        self,
        batch_info: Iterable[tuple[ByteSetter, ArraySpec, Any, Any, bool]],
        value: NDBuffer,
        drop_axes: tuple[int, ...] = (),
    ) -> None:
        batch = list(batch_info)
        parts = [ChunkPart(*item) for item in batch]
        memory: Any = value.as_ndarray_like()
        coders = self._coders([(part.store_path, part.spec) for part in parts], memory)
        if coders is None:
            await self._fallback.write(batch, value, drop_axes)
            return
        parts = [_to_merge(part, coder) for part, coder in zip(parts, coders, strict=True)]
        async for first, values in _fetched(_groups(parts), _existing_value):
            group = parts[first : first + len(values)]
            writing = _Writing(group, coders[first : first + len(values)], values, drop_axes)
            encoded = await asyncio.to_thread(writing.encode, memory)
            await _each(list(zip(group, encoded, strict=True)), _store)

    def _reads_ranges(self, part: ChunkPart) -> bool:
        """Return whether zarr-python requests parts of a shard from its store. The engine does this for files."""
        return self.supports_partial_decode and _file(part) is None and not covers_chunk(part)

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
                coders[id(spec)] = chunk_coder(self._fallback.codecs, spec)
            except Exception as error:  # noqa: BLE001 - codecs of other packages may raise any exception
                self._refuse(name, error)
                return None
        return [coders[id(spec)] for _, spec in chunks]

    def _refuse(self, chunk: object, reason: Exception) -> None:
        names = ", ".join(_codec_name(codec) for codec in self)
        text = f"{chunk}: zarr_kit.CodecPipeline does not support this array with the codecs {names}: {reason}"
        if self._strict:
            advice = "set `codec_pipeline.strict` to False to use the pipeline of zarr-python for such arrays"
            kind = type(reason) if isinstance(reason, ZarrError) else NotSupportedError
            raise kind(f"{text}; {advice}") from reason
        if not self._has_warned:
            self._has_warned = True
            issue_warning(f"{text}; a pipeline of zarr-python is used instead")


# zarr-python finds the class by this name, and `import zarr_kit` does not import zarr-python.
CodecPipeline.__module__ = "zarr_kit"


class _Group:
    """Parts of chunks of which all are in memory at the same time."""

    def __init__(
        self, parts: list[ChunkPart], coders: list[ChunkCoder], values: list[Any], dropped: tuple[int, ...]
    ) -> None:
        self.parts = parts
        self.coders = coders
        self.values = values
        self.dropped = dropped

    def decoded(self, positions: Iterable[int]) -> dict[int, NDArray[Any] | None]:
        """Decode whole chunks; `None` for missing ones."""
        chunks: dict[int, NDArray[Any] | None] = {}
        for coder, chosen in self.by_coder(positions):
            results = coder.engine.decode([self.values[position] for position in chosen])
            for position, result in zip(chosen, results, strict=True):
                self.check(position, result)
                shape = self.parts[position].spec.shape
                chunks[position] = None if result is None else coder.array(result, shape)
        return chunks

    def by_coder(self, positions: Iterable[int]) -> list[tuple[ChunkCoder, list[int]]]:
        """Group positions by their coder."""
        groups: dict[int, tuple[ChunkCoder, list[int]]] = {}
        for position in positions:
            coder = self.coders[position]
            groups.setdefault(id(coder), (coder, []))[1].append(position)
        return list(groups.values())

    def check(self, position: int, result: Any) -> Any:
        """Return a result of the engine, or raise it as the error of a chunk, with the store and the key."""
        if isinstance(result, Exception):
            text = f"{self.parts[position].store_path}: {result}"
            raise (type(result)(text) if isinstance(result, ZarrError) else ZarrError(text)) from result
        return result


class _Reading(_Group):
    """Decodes parts of chunks into the array of the caller."""

    def read(self, out: NDArray[Any]) -> list[bool]:
        """Return whether each chunk exists."""
        found = [value is not None for value in self.values]
        places = {position: self._place(position, out) for position, exists in enumerate(found) if exists}
        for coder, positions in self.by_coder(position for position, there in places.items() if there is not None):
            chosen = [there for position in positions if (there := places[position]) is not None]
            values = [self.values[position] for position in positions]
            results = coder.engine.decode_into(
                values, [there.view for there in chosen], [there.ranges for there in chosen]
            )
            for position, result in zip(positions, results, strict=True):
                self.check(position, result)
                found[position] = bool(result)
        for position, chunk in self.decoded(position for position, there in places.items() if there is None).items():
            found[position] = chunk is not None
            if chunk is not None:
                part = self.parts[position]
                out[part.out_selection] = selected(part, chunk, self.dropped)
        for part, exists in zip(self.parts, found, strict=True):
            if not exists:
                out[part.out_selection] = fill_value(part.spec)
        return found

    def _place(self, position: int, out: NDArray[Any]) -> Any:
        return place(self.parts[position], out, self.dropped, self.coders[position])


class _Writing(_Group):
    """Encodes chunks with elements from the array of the caller."""

    def encode(self, value: NDArray[Any]) -> list[bytes | None]:
        """Return the encoded chunks; `None` for those that should not be stored."""
        existing = self.decoded(position for position, old in enumerate(self.values) if old is not None)
        encoded: list[bytes | None] = [None] * len(self.parts)
        for coder, positions in self.by_coder(range(len(self.parts))):
            chunks = []
            for position in positions:
                chunk = merged(self.parts[position], existing.get(position), value, self.dropped)
                chunks.append(coder.buffer(chunk))
            for position, result in zip(positions, coder.engine.encode(chunks), strict=True):
                encoded[position] = self.check(position, result)
        return encoded


async def _read_chunks(
    chunks: list[tuple[ChunkPart, ChunkCoder]], memory: NDArray[Any], dropped: tuple[int, ...]
) -> list[bool]:
    """Read parts of chunks, and return whether each chunk exists."""
    found: list[bool] = []
    async for first, values in _fetched(_groups([part for part, _ in chunks]), _value):
        group = chunks[first : first + len(values)]
        reading = _Reading([part for part, _ in group], [coder for _, coder in group], values, dropped)
        found += await asyncio.to_thread(reading.read, memory)
    return found


def _file(part: ChunkPart) -> str | None:
    """Return the path of the chunk in the file system, if the store has files."""
    path = part.store_path
    # A subclass may read and write in another way.
    if isinstance(path, StorePath) and type(path.store) is LocalStore:
        return str(path.store.root / path.path)
    return None


async def _value(part: ChunkPart) -> Any:
    """Return the encoded chunk, `None` if it is missing, or the path of its file."""
    path = _file(part)
    if path is not None:
        return path
    buffer = await part.store_path.get(part.spec.prototype)
    return None if buffer is None else _bytes(buffer)


async def _existing_value(part: ChunkPart) -> Any:
    return None if part.is_complete else await _value(part)


def _to_merge(part: ChunkPart, coder: ChunkCoder) -> ChunkPart:
    # As in zarr-python, shards keep elements outside of the array, which a later resize makes visible again.
    is_complete = part.is_complete and (not coder.engine.is_sharded or covers_chunk(part))
    return part._replace(is_complete=is_complete)


async def _store(part: ChunkPart, encoded: bytes | None) -> None:
    target: Any = part.store_path
    if encoded is None:
        await target.delete()
    else:
        await target.set(part.spec.prototype.buffer.from_bytes(encoded))


async def _fetched(
    groups: list[list[ChunkPart]], fetch: Callable[[ChunkPart], Awaitable[Any]]
) -> AsyncIterator[tuple[int, list[Any]]]:
    """Yield the position of the first part and the values of each group. The next group is fetched meanwhile."""
    first = 0
    pending: asyncio.Task[list[Any]] | None = None
    try:
        for position, group in enumerate(groups):
            values = await (pending or _each([(part,) for part in group], fetch))
            pending = None
            if position + 1 < len(groups):
                pending = asyncio.create_task(_each([(part,) for part in groups[position + 1]], fetch))
            yield first, values
            first += len(group)
    finally:
        if pending is not None:
            pending.cancel()


async def _each(arguments: Sequence[tuple[Any, ...]], work: Callable[..., Awaitable[Any]]) -> list[Any]:
    """Call `work` with each tuple of arguments, within the limit of concurrent requests of zarr-python."""
    limit = asyncio.Semaphore(zarr.config.get("async.concurrency") or len(arguments))

    async def limited(items: tuple[Any, ...]) -> Any:
        async with limit:
            return await work(*items)

    tasks = [asyncio.ensure_future(limited(items)) for items in arguments]
    try:
        return await asyncio.gather(*tasks)
    finally:
        # After a failure, the remaining requests are not needed.
        for task in tasks:
            task.cancel()


def _groups(parts: list[ChunkPart]) -> list[list[ChunkPart]]:
    """Split parts so that the decoded chunks of a group fit into the limit of memory."""
    groups: list[list[ChunkPart]] = []
    size = 0
    for part in parts:
        chunk = int(np.prod(part.spec.shape)) * part.spec.dtype.to_native_dtype().itemsize
        is_full = size + chunk > _MEMORY and len(groups[-1:]) > 0 and len(groups[-1]) >= (os.cpu_count() or 1)
        if not groups or is_full:
            groups.append([])
            size = 0
        groups[-1].append(part)
        size += chunk
    return groups


def _decoded(coder: ChunkCoder, value: Buffer, spec: ArraySpec) -> NDBuffer:
    (result,) = coder.engine.decode([_bytes(value)])
    if isinstance(result, Exception):
        raise result
    chunk = coder.array(result, spec.shape).astype(spec.dtype.to_native_dtype(), copy=False)
    return spec.prototype.nd_buffer.from_ndarray_like(chunk)


def _encoded(coder: ChunkCoder, chunk: NDBuffer, spec: ArraySpec) -> Buffer | None:
    (result,) = coder.engine.encode([coder.buffer(chunk.as_numpy_array())])
    if isinstance(result, Exception):
        raise result
    return None if result is None else spec.prototype.buffer.from_bytes(result)


def _bytes(buffer: Buffer) -> NDArray[Any]:
    return np.ascontiguousarray(buffer.as_numpy_array()).view(np.uint8)


def _codec_name(codec: Codec) -> str:
    return str(getattr(codec, "codec_name", type(codec).__name__))
