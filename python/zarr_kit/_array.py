"""Arrays."""

import json
import math
import operator
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zarr_kit import _engine
from zarr_kit._attributes import Attributes
from zarr_kit._background import in_background
from zarr_kit._creation import lengths
from zarr_kit._dtypes import ElementType, element_type, fixed_elements
from zarr_kit._hierarchy import Hierarchy
from zarr_kit._indexing import Plan, coordinate_plan, orthogonal_plan, plan
from zarr_kit.errors import ElementsError, InvalidInputError

if TYPE_CHECKING:
    from zarr_kit._display import Info

# Called with the number of chunks that are done and planned, several times per second and at the end of the call.
type Report = Callable[[int, int], object]


class Array:
    """An array of a hierarchy, indexed like a NumPy array.

    Reading and writing use all threads of the hierarchy, without the global interpreter lock. Threads of the program can
    share an array.
    """

    def __init__(self, hierarchy: Hierarchy, engine: _engine.Array) -> None:
        self._hierarchy = hierarchy
        self._engine = engine

    @cached_property
    def _type(self) -> ElementType:
        # Computed on first use, because many arrays are created or listed without reading elements.
        return element_type(self._engine.data_type)

    @cached_property
    def _has_scalars(self) -> bool:
        # NumPy returns a structured element as a view that a program may change, so it is not read as `bytes`.
        return self._type.is_fixed and self._type.dtype.kind != "V" and self._type.dtype.itemsize > 0

    @classmethod
    def _open(cls, hierarchy: Hierarchy, path: str) -> "Array":
        return cls(hierarchy, hierarchy.engine.array(path))

    @property
    def path(self) -> str:
        """The path of the array in its hierarchy, which starts with ``/``."""
        return self._engine.path

    @property
    def name(self) -> str:
        """The same as :attr:`path`."""
        return self.path

    @property
    def basename(self) -> str:
        """The last segment of the path."""
        return self.path.rpartition("/")[2]

    @property
    def location(self) -> str:
        """The location of the store."""
        return self._hierarchy.opening.location

    @property
    def zarr_format(self) -> int:
        """2, or 3 for the draft and the final version."""
        return 2 if self.format == "v2" else 3

    @property
    def format(self) -> str:
        """The format: ``v2``, ``v3-draft`` or ``v3``."""
        return self._hierarchy.engine.format

    @property
    def read_only(self) -> bool:
        """Whether the array cannot be written."""
        return self._hierarchy.read_only

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of elements per dimension."""
        return tuple(self._engine.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._engine.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self._engine.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The data type of elements in memory, in native byte order."""
        return self._type.dtype

    @property
    def data_type(self) -> str:
        """The name of the Zarr data type."""
        return self._type.name

    @property
    def nbytes(self) -> int:
        """The size of all elements in memory, in bytes."""
        return self.size * self.dtype.itemsize

    @property
    def fill_value(self) -> Any:
        """The value of elements that were never written; None if it is undefined."""
        element = self._engine.fill_value
        return None if element is None else self._type.from_bytes(element)

    @property
    def chunks(self) -> tuple[int, ...]:
        """The shape of a chunk, or of an inner chunk of a sharded array."""
        inner = self._engine.inner_chunk_shape()
        return tuple(self._engine.chunk_shape if inner is None else inner)

    @property
    def shards(self) -> tuple[int, ...] | None:
        """The shape of a shard; None if the array is not sharded."""
        return None if self._engine.inner_chunk_shape() is None else tuple(self._engine.chunk_shape)

    @property
    def cdata_shape(self) -> tuple[int, ...]:
        """The number of chunks per dimension, or of inner chunks in a sharded array."""
        shape = self.shape
        if self.shards is None:
            return tuple(self._engine.grid_shape)
        return tuple(-(-length // chunk) for length, chunk in zip(shape, self.chunks, strict=True))

    @property
    def nchunks(self) -> int:
        """The number of chunks, stored or not."""
        return math.prod(self.cdata_shape)

    @property
    def nchunks_initialized(self) -> int:
        """The number of stored chunks. All chunks of a stored shard count."""
        stored = self._engine.stored_chunk_count()
        if self.shards is None:
            return stored
        return stored * math.prod(self.shards) // math.prod(self.chunks)

    @property
    def codecs(self) -> list[tuple[str, dict[str, Any]]]:
        """The identifiers and configurations of the codecs, in the order of encoding."""
        return [(name, json.loads(configuration) or {}) for name, configuration in self._engine.codecs]

    @property
    def dimension_names(self) -> tuple[str | None, ...] | None:
        """The names of the dimensions, if there are any."""
        names = self._engine.dimension_names
        return None if names is None else tuple(names)

    @property
    def attrs(self) -> Attributes:
        """The attributes. Changes are stored immediately."""
        return Attributes(self)

    @property
    def info(self) -> "Info":
        """A summary, without the number of stored chunks."""
        from zarr_kit._display import array_info

        return array_info(self)

    @property
    def oindex(self) -> "Indexer":
        """An indexer that selects every combination of the indices of all dimensions."""
        return Indexer(self, orthogonal_plan)

    @property
    def vindex(self) -> "Indexer":
        """An indexer that selects single elements by their coordinates or by a mask."""
        return Indexer(self, coordinate_plan)

    @property
    def blocks(self) -> "Indexer":
        """An indexer that selects whole chunks or shards by their positions in the chunk grid."""
        return Indexer(self, self._block_plan)

    def __getitem__(self, key: Any) -> Any:
        # A fast path, because programs read single elements in loops.
        if self._has_scalars and (element := self._engine.read_element(key)) is not None:
            return np.frombuffer(element, self._type.dtype)[0]
        if _is_field(key):
            return self._read(plan(..., self.shape))[key]
        return self._read(plan(key, self.shape))

    def __setitem__(self, key: Any, value: Any) -> None:
        self._write(plan(key, self.shape), value)

    def read(self, key: Any = ..., *, out: Any = None, progress: Report | None = None) -> Any:
        """Return ``array[key]``, read into the memory of `out` if it is given.

        `out` is a NumPy array or an object with a writable buffer, in the shape of the result. `progress` is called with
        the number of chunks that are done and planned. An exception of `progress` or Ctrl-C ends the call.
        """
        return self._reporting(progress)._read(plan(key, self.shape), out)

    def write(self, key: Any, value: Any, *, progress: Report | None = None) -> None:
        """Do the same as ``array[key] = value``, and call `progress` as :meth:`read` does.

        If Ctrl-C or an exception of `progress` ends the call, each chunk is stored completely or not at all.
        """
        self._reporting(progress)._write(plan(key, self.shape), value)

    def read_many(self, keys: Iterable[Any], *, progress: Report | None = None) -> list[Any]:
        """Return ``[array[key] for key in keys]``, but fetch and decode each chunk only once.

        `progress` is called as in :meth:`read`.
        """
        if progress is not None:
            return self._reporting(progress).read_many(keys)
        shape = self.shape
        plans = [plan(key, shape) for key in keys]
        entries = [plan.entries for plan in plans if 0 not in plan.stored_shape]
        read = self._engine.read_many if self._type.is_fixed else self._engine.read_many_lists
        elements: Iterator[Any] = iter(read(entries))
        return [self._result(plan, elements) for plan in plans]

    async def read_async(self, key: Any = ..., *, out: Any = None) -> Any:
        """Do the same as :meth:`read` while the event loop continues.

        If the task is cancelled, no more chunks are decoded, and `out` contains a part of the elements. If the store is on
        a server, the task does not wait for responses, and `out` is unchanged.
        """
        return await in_background(lambda progress: self._with_progress(progress).read(key, out=out))

    async def write_async(self, key: Any, value: Any) -> None:
        """Do the same as ``array[key] = value`` while the event loop continues.

        If the task is cancelled, no more chunks are written. The task waits for the responses to the requests that were
        sent.
        """
        await in_background(lambda progress: self._with_progress(progress).__setitem__(key, value))

    async def read_many_async(self, keys: Iterable[Any]) -> list[Any]:
        """Do the same as :meth:`read_many` while the event loop continues.

        If the task is cancelled, no more chunks are decoded, and the task does not wait for the responses of a server.
        """
        return await in_background(lambda progress: self._with_progress(progress).read_many(keys))

    async def resize_async(self, new_shape: int | tuple[int, ...]) -> None:
        """Do the same as :meth:`resize` while the event loop continues.

        If the task is cancelled, the array has the new shape or the old one.
        """
        await in_background(lambda progress: self._resize(new_shape, progress))

    async def append_async(self, data: Any, axis: int = 0) -> tuple[int, ...]:
        """Do the same as :meth:`append` while the event loop continues.

        If the task is cancelled, the array has all new elements or none.
        """
        return await in_background(lambda progress: self._append(data, axis, progress))

    def resize(self, new_shape: int | tuple[int, ...], *, progress: Report | None = None) -> None:
        """Change the shape. New elements hold the fill value. `progress` is called as in :meth:`read`.

        If Ctrl-C or an exception of `progress` ends the call, the array has the new shape or the old one. Repeat the call
        to remove chunks outside of the shape.
        """
        self._resize(new_shape, _engine.Progress(progress))

    def append(self, data: Any, axis: int = 0, *, progress: Report | None = None) -> tuple[int, ...]:
        """Extend the array along `axis` with `data`. Return the new shape. `progress` is called as in :meth:`read`.

        An axis below 0 is counted from the last one.

        If Ctrl-C or an exception of `progress` ends the call, the array has all new elements or none.
        """
        return self._append(data, axis, _engine.Progress(progress))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("an array in a store cannot be converted without a copy")
        elements: NDArray[Any] = np.asarray(self._elements(plan(..., self.shape)))
        return elements if dtype is None else elements.astype(dtype, copy=False)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:
        if copy is False:
            raise BufferError("an array in a store cannot be exported without a copy")
        # Reading makes the copy.
        return self.__array__().__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device)

    def __dlpack_device__(self) -> tuple[int, int]:
        # In DLPack, type 1 is the memory of the processor.
        return 1, 0

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over an array without dimensions")
        step = max(1, self._engine.chunk_shape[0])
        for start in range(0, len(self), step):
            yield from self[start : start + step]

    def __repr__(self) -> str:
        return f"<zarr_kit.Array {self.path} shape={self.shape} dtype={self.dtype} in {self.location}>"

    def _repr_html_(self) -> str:
        from zarr_kit._display import array_html

        return array_html(self)

    def __reduce__(self) -> tuple[Callable[[Hierarchy, str], "Array"], tuple[Hierarchy, str]]:
        return Array._open, (self._hierarchy, self.path)

    def __copy__(self) -> "Array":
        return Array._open(self._hierarchy, self.path)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Array":
        return self.__copy__()

    def __dask_tokenize__(self) -> tuple[object, ...]:
        return "zarr_kit.Array", self._hierarchy.token, self.path, self.shape

    def _attributes_text(self) -> str:
        return self._engine.attributes

    def _store_attributes(self, changed: str, removed: list[str], replace: bool) -> None:
        self._hierarchy.check_writable(self.path)
        self._engine.update_attributes(changed, removed, replace)

    def _with_progress(self, progress: _engine.Progress) -> "Array":
        return Array(self._hierarchy, self._engine.with_progress(progress))

    def _reporting(self, progress: Report | None) -> "Array":
        return self if progress is None else self._with_progress(_engine.Progress(progress))

    def _read(self, plan: Plan, out: Any = None) -> Any:
        if out is not None:
            return self._read_into(plan, out)
        result = self._elements(plan)
        return result[()] if plan.is_scalar else result

    def _result(self, plan: Plan, elements: Iterator[Any]) -> Any:
        """Return the elements of a plan from the next elements of the engine, if the plan has elements."""
        if 0 in plan.stored_shape:
            return np.empty(plan.shape, dtype=self.dtype)
        result = self._arranged(plan, next(elements))
        return result[()] if plan.is_scalar else result

    def _elements(self, plan: Plan) -> NDArray[Any]:
        if 0 in plan.stored_shape:
            return np.empty(plan.shape, dtype=self.dtype)
        read = self._engine.read if self._type.is_fixed else self._engine.read_list
        return self._arranged(plan, read(plan.entries))

    def _arranged(self, plan: Plan, elements: Any) -> NDArray[Any]:
        if self._type.is_fixed:
            return plan.arrange(fixed_elements(elements, self.dtype, plan.stored_shape))
        return plan.arrange(self._type.from_list(elements))

    def _read_into(self, plan: Plan, out: Any) -> Any:
        target = out if isinstance(out, np.ndarray) else np.asarray(memoryview(out))
        if target.shape != plan.shape:
            raise ElementsError(f"`out` has shape {target.shape}, but the selection has shape {plan.shape}")
        is_same_memory = plan.is_direct and target.dtype == self.dtype and target.flags.c_contiguous
        if self._type.is_fixed and is_same_memory and 0 not in plan.stored_shape:
            self._engine.read_into(plan.entries, _memory(target))
        else:
            np.copyto(target, self._elements(plan), casting="same_kind")
        return out

    def _write(self, plan: Plan, value: Any) -> None:
        self._hierarchy.check_writable(self.path)
        entries, elements = plan.gather(self._type.array(value))
        if 0 in plan.stored_shape:
            return
        if self._type.is_fixed:
            self._engine.write(entries, _memory(np.ascontiguousarray(elements)))
        else:
            self._engine.write_list(entries, self._type.to_list(elements.reshape(-1)))

    def _resize(self, new_shape: int | tuple[int, ...], progress: _engine.Progress) -> None:
        self._hierarchy.check_writable(self.path)
        shape = lengths("new_shape", new_shape)
        if any(length < 0 for length in shape):
            raise InvalidInputError(f"the new shape {tuple(shape)} has a negative length")
        self._engine.resize(shape, progress)

    def _append(self, data: Any, axis: int, progress: _engine.Progress) -> tuple[int, ...]:
        self._hierarchy.check_writable(self.path)
        elements = self._type.array(data)
        shape = self.shape
        axis = _positive_axis(axis, len(shape))
        expected = shape[:axis] + elements.shape[axis : axis + 1] + shape[axis + 1 :]
        if elements.shape != expected:
            raise ElementsError(
                f"the data to append have shape {elements.shape}, but the array has shape {shape} and axis is {axis}"
            )
        if self._type.is_fixed:
            self._engine.append(axis, _memory(np.ascontiguousarray(elements)), progress)
        else:
            self._engine.append_list(axis, self._type.to_list(elements.reshape(-1)), progress)
        return self.shape

    def _block_plan(self, key: Any, shape: tuple[int, ...]) -> Plan:
        grid_shape = tuple(self._engine.grid_shape)
        entries = plan(key, grid_shape).entries
        if isinstance(entries, list):
            raise IndexError("blocks takes integers and slices")
        slices = []
        first = [0] * len(grid_shape)
        for dimension, entry in enumerate(entries):
            if isinstance(entry, np.ndarray) or (isinstance(entry, tuple) and entry[2] != 1):
                raise IndexError("blocks takes integers and slices with a step of 1")
            start, stop = entry[:2] if isinstance(entry, tuple) else (entry, entry + 1)
            if start >= stop:
                slices.append(slice(0, 0))
                continue
            index = first.copy()
            index[dimension] = start
            begin = self._engine.chunk_ranges(index)[dimension][0]
            index[dimension] = stop - 1
            slices.append(slice(begin, self._engine.chunk_ranges(index)[dimension][1]))
        return plan(tuple(slices), shape)


class Indexer:
    """Indexes an array like `oindex`, `vindex` or `blocks`, depending on `make_plan`."""

    def __init__(self, array: Array, make_plan: Callable[[Any, tuple[int, ...]], Plan]) -> None:
        self._array = array
        self._make_plan = make_plan

    def __getitem__(self, key: Any) -> Any:
        return self._array._read(self._plan(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        self._array._write(self._plan(key), value)

    def read(self, key: Any, *, out: Any = None, progress: Report | None = None) -> Any:
        """Return the elements that `key` selects, as :meth:`Array.read` does."""
        return self._array._reporting(progress)._read(self._plan(key), out)

    def write(self, key: Any, value: Any, *, progress: Report | None = None) -> None:
        """Replace the elements that `key` selects, as :meth:`Array.write` does."""
        self._array._reporting(progress)._write(self._plan(key), value)

    async def read_async(self, key: Any, *, out: Any = None) -> Any:
        """Do the same as :meth:`read` while the event loop continues, as :meth:`Array.read_async` does."""
        return await in_background(lambda progress: self._array._with_progress(progress)._read(self._plan(key), out))

    async def write_async(self, key: Any, value: Any) -> None:
        """Do the same as :meth:`write` while the event loop continues, as :meth:`Array.write_async` does."""
        await in_background(lambda progress: self._array._with_progress(progress)._write(self._plan(key), value))

    def _plan(self, key: Any) -> Plan:
        return self._make_plan(key, self._array.shape)


def _positive_axis(axis: int, rank: int) -> int:
    """Return an axis that may be counted from the last one, as in NumPy."""
    given = operator.index(axis)
    if not -rank <= given < rank:
        raise ElementsError(f"axis {given} is out of bounds for an array of dimension {rank}")
    return given % rank


def _is_field(key: Any) -> bool:
    is_list = isinstance(key, list) and bool(key) and all(isinstance(name, str) for name in key)
    return is_list or isinstance(key, str)


def _memory(elements: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of a contiguous array, without a copy."""
    if elements.dtype.itemsize == 0:
        return np.empty(0, np.uint8)
    return elements.reshape(-1).view(np.uint8)
