"""Reading, decoding, encoding and writing of many chunks for the codec pipeline."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import zarr
from numpy.typing import NDArray
from zarr.core.buffer import Buffer
from zarr.storage import LocalStore, StorePath

from zarr_kit._pipeline_coders import ChunkCoder, fill_value
from zarr_kit._pipeline_conditions import check_store, refuse_folder, warn_of_folder
from zarr_kit._pipeline_parts import ChunkPart, covers_chunk, merged, place, selected
from zarr_kit.errors import ZarrError

# The size in bytes of decoded chunks that are in memory at the same time, in addition to the caller's array.
_MEMORY = 64 << 20


async def read_chunks(
    chunks: list[tuple[ChunkPart, ChunkCoder]], memory: NDArray[Any], dropped: tuple[int, ...]
) -> list[bool]:
    """Read parts of chunks, and return whether each chunk exists."""
    found: list[bool] = []
    async for first, values in _fetched(_groups([part for part, _ in chunks]), _value):
        group = chunks[first : first + len(values)]
        reading = _Reading([part for part, _ in group], [coder for _, coder in group], values, dropped)
        found += await asyncio.to_thread(reading.read, memory)
    return found


async def write_chunks(
    chunks: list[tuple[ChunkPart, ChunkCoder]], memory: NDArray[Any], dropped: tuple[int, ...], *, required: bool
) -> None:
    """Write parts of chunks. If `required` is true, parts of chunks need conditional writes."""
    chunks = [(_to_merge(part, coder), coder) for part, coder in chunks]
    refused: list[_Refused] = []
    folder = _only_folder([part for part, _ in chunks])
    if folder is not None:
        first = 0
        for parts in _groups([part for part, _ in chunks]):
            chosen = chunks[first : first + len(parts)]
            # One thread for all files, because another task and thread for each would take longer.
            refused += await asyncio.to_thread(_write_files, folder, chosen, memory, dropped, required)
            first += len(parts)
        chunks = [(failed.part, failed.coder) for failed in refused]
    elif chunks and not all(part.is_complete for part, _ in chunks):
        check_store(chunks[0][0].store_path, required=required)
    async for first, values in _fetched(_groups([part for part, _ in chunks]), _existing_value):
        group = chunks[first : first + len(values)]
        writing = _Writing([part for part, _ in group], [coder for _, coder in group], values, dropped)
        encoded = await asyncio.to_thread(writing.encode, memory)
        await _each([(part, value) for (part, _), value in zip(group, encoded, strict=True)], _store)
    for failed in refused:
        if not failed.part.is_complete:
            warn_of_folder(failed.part.store_path, failed.reason)


class _Refused(NamedTuple):
    """A chunk that the engine cannot store. zarr-python raises its own error for most of them, or stores them."""

    part: ChunkPart
    coder: ChunkCoder
    reason: ZarrError


def _write_files(
    folder: str,
    chunks: list[tuple[ChunkPart, ChunkCoder]],
    memory: NDArray[Any],
    dropped: tuple[int, ...],
    required: bool,
) -> list[_Refused]:
    """Write parts of chunks in files. Parts that another program changed meanwhile are merged with its chunk again."""
    files = chunks[0][1].engine.files_in(folder)
    refused = []
    while chunks:
        old = [None if part.is_complete else files.read(_path_of(part)) for part, _ in chunks]
        values = [None if found is None else found[0] for found in old]
        writing = _Writing([part for part, _ in chunks], [coder for _, coder in chunks], values, dropped)
        conflicting = []
        for (part, coder), found, encoded in zip(chunks, old, writing.encode(memory), strict=True):
            version = None if found is None else found[1]
            try:
                if part.is_complete:
                    files.store(_path_of(part), encoded)
                elif not files.replace(_path_of(part), encoded, version):
                    conflicting.append((part, coder))
            except ZarrError as error:
                if required and not part.is_complete:
                    refuse_folder(part.store_path, error)
                refused.append(_Refused(part, coder, error))
        chunks = conflicting
        if chunks:
            files.wait(_path_of(chunks[0][0]))
    return refused


def _path_of(part: ChunkPart) -> str:
    path: Any = part.store_path
    return str(path.path)


def _only_folder(parts: list[ChunkPart]) -> str | None:
    """Return the folder of a store that reads and writes files, if all parts are in it."""
    stores: list[Any] = [getattr(part.store_path, "store", None) for part in parts]
    is_same = all(store is stores[0] for store in stores)
    return folder_of(parts[0].store_path, writes=True) if parts and is_same else None


def file_of(part: ChunkPart) -> str | None:
    """Return the path of the chunk in the file system, if the store has files."""
    path = part.store_path
    # A subclass of `LocalStore` may read and write in another way.
    if isinstance(path, StorePath) and type(path.store) is LocalStore:
        return str(path.store.root / path.path)
    return None


def folder_of(path: object, *, writes: bool) -> str | None:
    """Return the folder of a store that reads and writes files."""
    # A subclass of `LocalStore` may read and write in another way.
    if isinstance(path, StorePath) and type(path.store) is LocalStore and not (writes and path.store.read_only):
        return str(path.store.root)
    return None


def bytes_of(buffer: Buffer) -> NDArray[Any]:
    return np.ascontiguousarray(buffer.as_numpy_array()).view(np.uint8)


def checked(chunk: object, result: Any) -> Any:
    """Return a result of the engine, or raise it as the error of a chunk."""
    if isinstance(result, Exception):
        text = f"{chunk}: {result}"
        raise (type(result)(text) if isinstance(result, ZarrError) else ZarrError(text)) from result
    return result


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
        return checked(self.parts[position].store_path, result)


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
        """Return the encoded chunks; `None` for chunks that should not be stored."""
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


async def _value(part: ChunkPart) -> Any:
    """Return the encoded chunk, `None` if it is missing, or the path of its file."""
    path = file_of(part)
    if path is not None:
        return path
    buffer = await part.store_path.get(part.spec.prototype)
    return None if buffer is None else bytes_of(buffer)


async def _existing_value(part: ChunkPart) -> Any:
    return None if part.is_complete else await _value(part)


def _to_merge(part: ChunkPart, coder: ChunkCoder) -> ChunkPart:
    # As in zarr-python, a shard also stores elements outside of the array, which a later resize makes visible again.
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
