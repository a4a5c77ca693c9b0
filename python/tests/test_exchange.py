"""Exchange of elements with other packages, and the memory that they use."""

import array as stdlib_array
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarr_kit
from zarr_kit import errors


def address(elements: Any) -> int:
    start: int = np.asarray(elements).__array_interface__["data"][0]
    return start


class Recorder:
    """The engine's array, with a list of the memory that is passed to it."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.memory: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.engine, name)
        if name not in {"read", "read_into", "write", "append"}:
            return method

        def recorded(*arguments: Any) -> Any:
            result = method(*arguments)
            self.memory.append(arguments[1] if result is None else result)
            return result

        return recorded


@pytest.fixture
def array() -> zarr_kit.Array:
    return zarr_kit.create_array("memory:", data=np.arange(20.0).reshape(4, 5), chunks=(2, 5))


@pytest.fixture
def recorder(array: zarr_kit.Array) -> Recorder:
    recorder = Recorder(array._engine)
    array._engine = recorder  # type: ignore[assignment]
    return recorder


def test_a_result_is_the_memory_that_the_engine_filled(array: zarr_kit.Array, recorder: Recorder) -> None:
    result = array[1:3]
    assert address(result) == address(recorder.memory[0])
    assert result.flags.writeable
    exported = np.from_dlpack(array)
    assert address(exported) == address(recorder.memory[1])
    assert np.array_equal(exported, array[...])
    converted = np.asarray(array)
    assert address(converted) == address(recorder.memory[-1])


def test_elements_are_read_into_the_memory_of_the_caller(array: zarr_kit.Array, recorder: Recorder) -> None:
    out = np.empty((4, 5))
    array.read(out=out)
    assert address(recorder.memory[0]) == address(out)
    buffer = bytearray(5 * 8)
    row = memoryview(buffer).cast("d")
    array.read(2, out=row)
    assert address(recorder.memory[1]) == address(row)
    assert row.tolist() == [10, 11, 12, 13, 14]
    part = np.zeros((6, 5))
    array.read(slice(0, 4), out=part[1:5])
    assert address(recorder.memory[2]) == address(part[1:5])
    assert part[1:5].tolist() == array[...].tolist()


def test_elements_are_written_from_the_memory_of_the_caller(array: zarr_kit.Array, recorder: Recorder) -> None:
    values = np.ones((4, 5))
    array[...] = values
    array[1:3] = values[1:3]
    array.append(values)
    assert [address(memory) for memory in recorder.memory] == [address(values), address(values[1:3]), address(values)]


def test_buffers_of_other_objects_are_written_without_a_copy(array: zarr_kit.Array, recorder: Recorder) -> None:
    numbers = stdlib_array.array("d", range(20))
    row = memoryview(bytearray(np.arange(5.0).tobytes())).cast("d")
    array[...] = memoryview(numbers).cast("B").cast("d", (4, 5))
    array[3] = row
    array[2] = numbers[:5]
    assert [address(memory) for memory in recorder.memory[:2]] == [address(numbers), address(row)]
    assert array[...].tolist() == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]


def test_conversions_follow_the_rules_of_numpy(array: zarr_kit.Array) -> None:
    assert np.asarray(array, dtype="f4").dtype == np.float32
    assert np.array(array, copy=True).shape == (4, 5)
    with pytest.raises(ValueError, match="without a copy"):
        np.array(array, copy=False)
    scalar = zarr_kit.create_array("memory:", data=np.array(7, dtype="i2"))
    converted = np.asarray(scalar)
    assert (converted.shape, converted.dtype.name, int(converted)) == ((), "int16", 7)
    assert (np.add(array, 1) == array[...] + 1).all()


def test_dlpack_exports_are_on_the_processor(array: zarr_kit.Array) -> None:
    assert array.__dlpack_device__() == (1, 0)
    assert np.from_dlpack(array, copy=True).shape == (4, 5)
    with pytest.raises(BufferError, match="without a copy"):
        np.from_dlpack(array, copy=False)
    times = zarr_kit.create_array("memory:", data=np.array(["2024-01-01"], "M8[D]"))
    with pytest.raises(BufferError):
        np.from_dlpack(times)


def test_buffers_that_do_not_fit_are_refused(array: zarr_kit.Array, tmp_path: Path) -> None:
    with pytest.raises(errors.ElementsError, match="shape"):
        array.read(out=np.empty((3, 5)))
    with pytest.raises((BufferError, ValueError)):
        array.read(0, out=memoryview(bytes(40)).cast("d"))
    assert not list(tmp_path.iterdir())
