"""Reading and writing in an event loop."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from held_bucket import HeldBucket, held_bucket

import zarr_kit
from zarr_kit import errors


def large(folder: Path) -> zarr_kit.Array:
    """Return an array with many chunks that one thread decodes."""
    data = np.random.default_rng(1).integers(0, 100, 4_000_000, dtype=np.int32)
    return zarr_kit.create_array(folder, data=data, chunks=(4_000,), compressors="zstd", threads=1)


def test_reads_and_writes_have_the_results_of_their_twins() -> None:
    array = zarr_kit.create_array("memory:", shape=(6, 10), dtype="i4", chunks=(4, 3))
    elements = np.arange(60).reshape(6, 10)

    async def use() -> Any:
        await array.write_async(..., elements)
        await array.write_async((0, slice(None)), 7)
        out = np.empty(6, dtype="i4")
        await array.read_async((slice(None), 2), out=out)
        return out, *await asyncio.gather(array.read_async((1, 1)), array.read_async(slice(None, None, -2)))

    column, element, rows = asyncio.run(use())
    elements[0] = 7
    assert column.tolist() == elements[:, 2].tolist()
    assert element == elements[1, 1]
    np.testing.assert_array_equal(rows, elements[::-2])


def test_errors_are_those_of_the_twins(tmp_path: Path) -> None:
    zarr_kit.create_array(tmp_path, data=np.arange(3))
    array = zarr_kit.open_array(tmp_path, mode="r")
    with pytest.raises(IndexError):
        asyncio.run(array.read_async(5))
    with pytest.raises(errors.ReadOnlyError):
        asyncio.run(array.write_async(0, 5))


def test_the_event_loop_continues_while_elements_are_read(tmp_path: Path) -> None:
    array = large(tmp_path)

    async def turns() -> int:
        reading = asyncio.create_task(array.read_async())
        count = 0
        while not reading.done():
            count += 1
            await asyncio.sleep(0)
        assert (await reading).shape == array.shape
        return count

    assert asyncio.run(turns()) > 10


def test_a_cancelled_read_decodes_no_more_chunks(tmp_path: Path) -> None:
    array = large(tmp_path)
    out = np.full(array.shape, -1, dtype=array.dtype)

    async def cancel() -> None:
        reading = asyncio.create_task(array.read_async(out=out))
        while out[0] == -1:
            await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading

    asyncio.run(cancel())
    assert (out == -1).any()
    assert array[:10].tolist() == out[:10].tolist()


def test_many_selections_appends_and_resizes_have_the_results_of_their_twins() -> None:
    array = zarr_kit.create_array("memory:", data=np.arange(12).reshape(4, 3), chunks=(2, 3))
    words = zarr_kit.create_array("memory:", data=np.array(["a", "b"], dtype="T"), chunks=1)

    async def use() -> None:
        rows, element = await array.read_many_async([slice(1, 3), (0, 1)])
        assert (rows.tolist(), element) == ([[3, 4, 5], [6, 7, 8]], 1)
        assert await array.append_async([[7], [8], [9], [10]], axis=1) == (4, 4)
        assert array[:, 3].tolist() == [7, 8, 9, 10]
        await array.resize_async((2, 3))
        assert array[...].tolist() == [[0, 1, 2], [3, 4, 5]]
        assert await words.append_async(["c"]) == (3,)
        assert [found.tolist() for found in await words.read_many_async([slice(2), [2]])] == [["a", "b"], ["c"]]
        with pytest.raises(errors.ElementsError, match="axis"):
            await array.append_async([1], axis=5)
        with pytest.raises(errors.InvalidInputError, match="negative"):
            await array.resize_async((-1, 3))

    asyncio.run(use())


def test_other_ways_of_indexing_have_the_same_methods() -> None:
    elements = np.arange(12).reshape(4, 3)
    array = zarr_kit.create_array("memory:", data=elements, chunks=(2, 3))
    reports: list[tuple[int, int]] = []
    out = np.empty((2, 2), elements.dtype)
    assert array.oindex.read(([2, 0], [0, 2]), out=out, progress=lambda *counts: reports.append(counts)) is out
    assert out.tolist() == [[6, 8], [0, 2]]
    assert reports[-1] == (2, 2)
    with pytest.raises(errors.ElementsError, match="shape"):
        array.vindex.read(([0], [1]), out=out)

    async def use() -> None:
        block = np.empty((2, 3), elements.dtype)
        assert await array.blocks.read_async((1, 0), out=block) is block
        assert block.tolist() == [[6, 7, 8], [9, 10, 11]]
        await array.vindex.write_async(([0, 3], [1, 2]), [50, 51])
        assert (await array.vindex.read_async(([0, 3], [1, 2]))).tolist() == [50, 51]
        with pytest.raises(IndexError):
            await array.oindex.read_async(([9], 0))

    asyncio.run(use())
    array.blocks.write(0, 7)
    assert array[...].tolist() == [[7] * 3, [7] * 3, [6, 7, 8], [9, 10, 51]]


def many_chunks(folder: Path) -> zarr_kit.Array:
    return zarr_kit.create_array(folder, shape=4_000_000, dtype="i4", chunks=(1_000,), compressors=None, threads=1)


def test_the_event_loop_continues_while_elements_are_written(tmp_path: Path) -> None:
    array = many_chunks(tmp_path)

    async def turns() -> int:
        writing = asyncio.create_task(array.write_async(..., np.ones(array.shape, "i4")))
        count = 0
        while not writing.done():
            count += 1
            await asyncio.sleep(0)
        await writing
        return count

    assert asyncio.run(turns()) > 10
    assert array[-1] == 1


def test_a_cancelled_write_starts_no_more_chunks(tmp_path: Path) -> None:
    array = many_chunks(tmp_path)
    first = tmp_path / "c"

    async def cancel() -> None:
        writing = asyncio.create_task(array.write_async(..., np.ones(array.shape, "i4")))
        while not first.exists():
            await asyncio.sleep(0)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing

    asyncio.run(cancel())
    stored = len(list(first.iterdir()))
    assert 0 < stored < 4_000
    # No thread writes after the task has ended, and each chunk is whole.
    assert array.nchunks_initialized == stored
    assert int(array[...].sum()) == 1_000 * stored


@pytest.mark.parametrize("is_growing", [True, False])
def test_a_cancelled_change_of_the_shape_is_complete_or_did_not_begin(tmp_path: Path, is_growing: bool) -> None:
    array = many_chunks(tmp_path)
    array[...] = 1
    shape = array.shape

    async def cancel() -> None:
        change = array.append_async(np.full(shape, 2, "i4")) if is_growing else array.resize_async((1,))
        changing: asyncio.Task[Any] = asyncio.create_task(change)
        await asyncio.sleep(0.01)
        changing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await changing

    asyncio.run(cancel())
    again = zarr_kit.open_array(tmp_path, mode="r")
    assert again.shape in {shape, (8_000_000,) if is_growing else (1,)}
    assert again[0] == 1


def test_calls_do_not_wait_for_the_executor_of_the_event_loop() -> None:
    array = zarr_kit.create_array("memory:", data=np.arange(3))
    is_free = threading.Event()

    async def read() -> Any:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        occupied = asyncio.get_running_loop().run_in_executor(None, is_free.wait)
        try:
            return await asyncio.wait_for(array.read_async(), 60)
        finally:
            is_free.set()
            await occupied

    assert asyncio.run(read()).tolist() == [0, 1, 2]


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_process_has_its_own_threads(tmp_path: Path) -> None:
    array = zarr_kit.create_array(tmp_path, data=np.arange(3))
    assert asyncio.run(array.read_async(2)) == 2
    child = os.fork()
    if child == 0:
        found = asyncio.run(zarr_kit.open_array(tmp_path, mode="r").read_async(1))
        os._exit(0 if found == 1 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.fixture
def bucket() -> Iterator[HeldBucket]:
    with held_bucket() as bucket:
        yield bucket


# The server answers after two minutes.
PROMPT = 20

FAR_READS: dict[str, Callable[[zarr_kit.Array, Any], Awaitable[Any]]] = {
    "all": lambda array, _: array.read_async(),
    "one element": lambda array, _: array.read_async(3),
    "into memory": lambda array, out: array.read_async(out=out),
    "many": lambda array, _: array.read_many_async([slice(2), [5]]),
    "coordinates": lambda array, out: array.vindex.read_async([0, 1, 2, 3, 4, 5, 6, 7], out=out),
}


@pytest.mark.parametrize("name", FAR_READS)
def test_a_cancelled_read_does_not_wait_for_a_server(bucket: HeldBucket, name: str) -> None:
    array = zarr_kit.create_array(bucket.url, data=np.arange(8), chunks=2)
    out = np.full(8, -1)
    read = FAR_READS[name]
    bucket.free.clear()
    bucket.requests.clear()

    async def cancel() -> None:
        reading = asyncio.ensure_future(read(array, out))
        await asyncio.to_thread(bucket.wait_for_requests, 1)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reading, 0.01)

    start = time.monotonic()
    asyncio.run(cancel())
    assert time.monotonic() - start < PROMPT
    bucket.free.set()
    # Late responses change nothing, and the array can still be used.
    assert array[...].tolist() == list(range(8))
    assert set(out) == {-1}
    asyncio.run(FAR_READS["into memory"](array, out))  # type: ignore[arg-type]
    assert out.tolist() == list(range(8))


def test_strings_of_a_server_are_not_waited_for(bucket: HeldBucket) -> None:
    array = zarr_kit.create_array(bucket.url, data=np.array(["a", "b"], dtype="T"), chunks=1)
    bucket.free.clear()
    start = time.monotonic()
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(array.read_async(), 0.2))
    assert time.monotonic() - start < PROMPT


def test_a_program_ends_while_a_server_does_not_answer(bucket: HeldBucket) -> None:
    zarr_kit.create_array(bucket.url, data=np.arange(8), chunks=2)
    program = """
import asyncio, sys, zarr_kit
array = zarr_kit.open_array(sys.argv[1], mode="r")
print("ready", flush=True)
sys.stdin.readline()
try:
    asyncio.run(asyncio.wait_for(array.read_async(), 0.5))
except TimeoutError:
    print("timeout", flush=True)
"""
    command = [sys.executable, "-c", program, bucket.url]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        bucket.free.clear()
        start = time.monotonic()
        output, message = process.communicate("\n", timeout=100)
    assert (process.returncode, output) == (0, "timeout\n"), message
    assert time.monotonic() - start < PROMPT


def test_xarray_does_not_wait_for_a_server_after_a_cancellation(bucket: HeldBucket) -> None:
    group = zarr_kit.create_group(bucket.url)
    group.create_array("t", data=np.arange(8), chunks=2, dimension_names=["x"])
    dataset = xr.open_dataset(bucket.url, engine="zarr-kit")
    bucket.free.clear()
    start = time.monotonic()
    for variable in (dataset["t"], dataset["t"][::-1], dataset["t"][[5, 2]]):
        with pytest.raises(TimeoutError):
            asyncio.run(asyncio.wait_for(variable.load_async(), 0.2))
    assert time.monotonic() - start < PROMPT
    bucket.free.set()
    assert asyncio.run(dataset["t"][[5, 2]].load_async()).values.tolist() == [5, 2]
