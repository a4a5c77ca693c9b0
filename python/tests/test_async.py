"""Reading and writing in an event loop."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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
