"""Arrays of Dask that are read from and written to arrays of Zarr, in threads and in processes."""

# Functions of Dask have no annotations.
# mypy: allow-untyped-calls

import math
import os
import re
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import xarray as xr
import zarr
from distributed import Client, LocalCluster
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

import zarr_kit
import zarr_kit.dask
from zarr_kit.errors import InvalidInputError

DATA = np.arange(70).reshape(7, 10)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Two processes with one thread each, without a dashboard."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("zarr_format", [2, 3, "v3-draft"])
def test_blocks_are_chunks(tmp_path: Path, zarr_format: Any) -> None:
    zarr_kit.create_array(tmp_path, name="a", data=DATA, chunks=(3, 4), zarr_format=zarr_format)
    array = zarr_kit.dask.from_zarr(tmp_path, "a")
    assert array.chunks == ((3, 3, 1), (4, 4, 2))
    np.testing.assert_array_equal(array.compute(), DATA)
    np.testing.assert_array_equal(array[5:, ::-3].compute(), DATA[5:, ::-3])


def test_blocks_are_shards(tmp_path: Path) -> None:
    zarr_kit.create_array(tmp_path, data=DATA, chunks=(2, 5), shards=(4, 10))
    array = zarr_kit.dask.from_zarr(tmp_path)
    assert array.chunks == ((4, 3), (10,))
    np.testing.assert_array_equal(array.compute(), DATA)


def test_blocks_are_chunks_of_different_lengths(tmp_path: Path) -> None:
    zarr_kit.create_array(tmp_path, data=DATA, chunks=[[1, 4, 2], [10]])
    array = zarr_kit.dask.from_zarr(tmp_path)
    assert array.chunks == ((1, 4, 2), (10,))
    np.testing.assert_array_equal(array.compute(), DATA)


@pytest.mark.parametrize(
    ("chunks", "blocks"), [(-1, ((7,), (10,))), ((2, 5), ((2, 2, 2, 1), (5, 5))), ({0: 7}, ((7,), (10,)))]
)
def test_other_blocks_are_read_if_the_caller_wants_them(tmp_path: Path, chunks: Any, blocks: Any) -> None:
    array = zarr_kit.dask.from_zarr(zarr_kit.create_array(tmp_path, data=DATA, chunks=(3, 4)), chunks=chunks)
    assert array.chunks == blocks
    np.testing.assert_array_equal(array.compute(), DATA)


@pytest.mark.parametrize(
    "data",
    [
        np.array(5),
        np.zeros((0, 3)),
        np.array(["a", "", "é"], dtype=np.dtypes.StringDType()),
        np.array(["2020-01-01", "NaT"], dtype="M8[s]"),
    ],
)
def test_every_shape_and_type_is_written_and_read(tmp_path: Path, data: Any) -> None:
    zarr_kit.dask.to_zarr(da.from_array(data, chunks=-1), tmp_path)
    array = zarr_kit.dask.from_zarr(tmp_path)
    assert (array.shape, array.dtype) == (data.shape, data.dtype)
    np.testing.assert_array_equal(array.compute(), data)


def test_missing_elements_stay_masked(tmp_path: Path) -> None:
    codecs = {"mask_codecs": ["packbits"], "data_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}
    array = zarr_kit.create_array(
        tmp_path,
        shape=(4,),
        chunks=(2,),
        dtype={"name": "zarrs.optional", "configuration": {"name": "int32", "configuration": {}}},
        serializer={"name": "zarrs.optional", "configuration": codecs},
    )
    array[:2] = np.ma.MaskedArray(np.array([1, 2], np.int32), mask=[True, False])
    elements = da.ma.filled(zarr_kit.dask.from_zarr(array), -1).compute()
    assert elements.tolist() == [-1, 2, -1, -1]


@pytest.mark.filterwarnings("ignore:.*not have a Zarr V3 specification")
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_other_programs_read_what_is_written(tmp_path: Path, zarr_format: Any) -> None:
    array = da.from_array(DATA, chunks=(3, 4))
    zarr_kit.dask.to_zarr(array, tmp_path, "group/a", zarr_format=zarr_format, attributes={"units": "K"})
    stored = zarr.open_array(tmp_path, path="group/a", mode="r", zarr_format=zarr_format)
    assert stored.chunks == (3, 4)
    assert dict(stored.attrs) == {"units": "K"}
    np.testing.assert_array_equal(da.from_zarr(stored).compute(), DATA)


def test_blocks_of_several_chunks_and_shards_are_written(tmp_path: Path) -> None:
    array = da.from_array(DATA, chunks=(4, 10))
    zarr_kit.dask.to_zarr(array, tmp_path / "chunks", chunks=(2, 3))
    zarr_kit.dask.to_zarr(array, tmp_path / "shards", chunks=(2, 5), shards=(4, 5))
    for name in ["chunks", "shards"]:
        np.testing.assert_array_equal(zarr.open_array(tmp_path / name, mode="r")[...], DATA)


@pytest.mark.parametrize(
    ("blocks", "arguments"),
    [
        ((3, 4), {"chunks": (2, 4)}),
        ((3, 4), {"chunks": (2, 3)}),
        ((4, 5), {"chunks": (2, 5), "shards": (4, 10)}),
        ((3, 10), {"chunks": [[1, 4, 2], [10]]}),
        (((3, 4), 10), {"chunks": (4, 10)}),
        (((3, 4), 10), {}),
        (((2, 3, 2), (5, 4, 1)), {}),
    ],
)
def test_misaligned_blocks_are_refused_with_blocks_that_work(
    tmp_path: Path, blocks: Any, arguments: dict[str, Any]
) -> None:
    array = da.from_array(DATA, chunks=blocks)
    with pytest.raises(InvalidInputError, match="dimension") as refused:
        zarr_kit.dask.to_zarr(array, tmp_path / "a", **arguments)
    assert not (tmp_path / "a").exists()
    zarr_kit.dask.to_zarr(rechunked_as_advised(array, refused.value), tmp_path / "a", **arguments)
    np.testing.assert_array_equal(zarr_kit.open_array(tmp_path / "a", mode="r")[...], DATA)


def rechunked_as_advised(array: da.Array, error: Exception) -> da.Array:
    """Return `array` with the blocks that the message of `error` recommends."""
    advice = re.search(r"array\.rechunk\((\{.*\})\)", str(error))
    assert advice is not None
    # The message was made by this package.
    rechunked: da.Array = array.rechunk(eval(advice.group(1)))
    return rechunked


@examples(200)
@given(data=st.data())
def test_blocks_are_accepted_if_and_only_if_no_chunk_is_in_two_of_them(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 12))
    chunks = data.draw(st.one_of(st.integers(1, 13), partitions(length).map(list)))
    blocks = data.draw(partitions(length))
    array = da.from_array(np.arange(length), chunks=(blocks,))
    target = zarr_kit.create_array(
        "memory:", shape=(length,), dtype="i8", chunks=[chunks] if isinstance(chunks, list) else (chunks,)
    )
    sizes = chunks if isinstance(chunks, list) else [chunks] * math.ceil(length / chunks)
    chunk_of_element = np.repeat(np.arange(len(sizes)), sizes)[:length]
    block_of_element = np.repeat(np.arange(len(blocks)), blocks)
    pairs = set(zip(chunk_of_element.tolist(), block_of_element.tolist(), strict=True))
    if len(pairs) == len(set(chunk_of_element.tolist())):
        zarr_kit.dask.to_zarr(array, target)
    else:
        with pytest.raises(InvalidInputError, match="two tasks") as refused:
            zarr_kit.dask.to_zarr(array, target)
        assert target.nchunks_initialized == 0
        zarr_kit.dask.to_zarr(rechunked_as_advised(array, refused.value), target)
    np.testing.assert_array_equal(target[...], np.arange(length))


def partitions(length: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Return positive lengths whose sum is `length`."""
    cuts = st.sets(st.integers(1, length - 1)) if length > 1 else st.just(set[int]())
    return cuts.map(lambda found: tuple(np.diff([0, *sorted(found), length]).tolist()))


def test_regions_of_whole_chunks_are_written(tmp_path: Path) -> None:
    target = zarr_kit.create_array(tmp_path, shape=(7, 10), dtype="i8", chunks=(3, 4))
    upper = da.from_array(DATA[:3], chunks=(3, 4))
    lower = da.from_array(DATA[3:], chunks=(3, 8))
    zarr_kit.dask.to_zarr(upper, tmp_path, region=(slice(3), slice(None)))
    zarr_kit.dask.to_zarr(lower, target, region=(slice(3, None), slice(None)))
    np.testing.assert_array_equal(target[...], DATA)


@pytest.mark.parametrize(
    ("region", "advised"),
    [
        ((slice(0, 3), slice(0, 5)), "(slice(0, 3), slice(0, 8))"),
        ((slice(1, 3), slice(4, 10)), "(slice(0, 3), slice(4, 10))"),
        ((slice(3, 5), slice(1, 10)), "(slice(3, 6), slice(0, 10))"),
    ],
)
def test_regions_with_parts_of_chunks_are_refused(tmp_path: Path, region: Any, advised: str) -> None:
    target = zarr_kit.create_array(tmp_path, shape=(7, 10), dtype="i8", chunks=(3, 4))
    with pytest.raises(InvalidInputError, match=re.escape(advised)):
        zarr_kit.dask.to_zarr(da.from_array(DATA[region], chunks=-1), target, region=region)
    assert target.nchunks_initialized == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"region": (slice(0, 7),)}, "each of 2 dimensions"),
        ({"region": (slice(0, 7, 2), slice(None))}, "without a step"),
        ({"region": (slice(0, 3), slice(None))}, r"shape \(7, 10\) cannot be written to a region of shape \(3, 10\)"),
        (
            {"region": (slice(None), slice(None)), "chunks": (3, 4), "fill_value": 1},
            "does not accept chunks, fill_value",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_refused(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    zarr_kit.create_array(tmp_path, shape=(7, 10), dtype="i8", chunks=(3, 4))
    with pytest.raises(InvalidInputError, match=message):
        zarr_kit.dask.to_zarr(da.from_array(DATA, chunks=(3, 4)), tmp_path, **arguments)


def test_an_open_array_does_not_take_arguments_for_opening(tmp_path: Path) -> None:
    array = zarr_kit.create_array(tmp_path, data=DATA)
    with pytest.raises(InvalidInputError, match="does not take path, threads"):
        zarr_kit.dask.from_zarr(array, "a", threads=1)
    with pytest.raises(InvalidInputError, match="does not take zarr_format"):
        zarr_kit.dask.to_zarr(da.from_array(DATA, chunks=-1), array, zarr_format=3)


def test_blocks_of_unknown_lengths_are_refused(tmp_path: Path) -> None:
    array = da.from_array(DATA, chunks=(3, 4))
    with pytest.raises(InvalidInputError, match="compute_chunk_sizes"):
        zarr_kit.dask.to_zarr(array[array > 20], tmp_path)


def test_an_array_is_replaced_only_with_overwrite(tmp_path: Path) -> None:
    array = da.from_array(DATA, chunks=(3, 4))
    zarr_kit.dask.to_zarr(array, tmp_path, "a")
    with pytest.raises(FileExistsError):
        zarr_kit.dask.to_zarr(array + 1, tmp_path, "a")
    zarr_kit.dask.to_zarr(array + 1, tmp_path, "a", overwrite=True)
    np.testing.assert_array_equal(zarr_kit.open_array(tmp_path, path="a", mode="r")[...], DATA + 1)


def test_a_read_only_array_is_refused_before_anything_is_computed(tmp_path: Path) -> None:
    zarr_kit.create_array(tmp_path, shape=(7, 10), dtype="i8")
    with pytest.raises(PermissionError):
        zarr_kit.dask.to_zarr(da.from_array(DATA, chunks=-1), zarr_kit.open_array(tmp_path, mode="r"))


def test_elements_are_written_later(tmp_path: Path) -> None:
    later = zarr_kit.dask.to_zarr(da.from_array(DATA, chunks=(3, 4)), tmp_path, compute=False)
    target = zarr_kit.open_array(tmp_path, mode="r")
    assert target.nchunks_initialized == 0
    assert later is not None
    later.compute()
    np.testing.assert_array_equal(target[...], DATA)


def test_each_call_reads_the_current_elements(tmp_path: Path) -> None:
    target = zarr_kit.create_array(tmp_path, data=DATA, chunks=(3, 4))
    first = zarr_kit.dask.from_zarr(tmp_path)
    target[...] = DATA + 1
    second = zarr_kit.dask.from_zarr(tmp_path)
    assert first.name != second.name
    assert zarr_kit.dask.from_zarr(tmp_path, name="mine").name == "mine"
    np.testing.assert_array_equal(second.compute(), DATA + 1)


@pytest.mark.parametrize("zarr_format", [2, 3, "v3-draft"])
def test_two_processes_write_and_read(client: Client, tmp_path: Path, zarr_format: Any) -> None:
    data = np.arange(100 * 90, dtype=np.float64).reshape(100, 90)
    group = zarr_kit.create_group(tmp_path, zarr_format=zarr_format)
    group.create_array("first", data=data, chunks=(10, 30))
    if zarr_format != "v3-draft":
        zarr_kit.consolidate(tmp_path)
    lazy = zarr_kit.dask.from_zarr(tmp_path, "first")
    zarr_kit.dask.to_zarr(lazy.T + 1, tmp_path, "second", chunks=(15, 10))
    second = zarr_kit.dask.from_zarr(tmp_path, "second")
    np.testing.assert_array_equal(second.compute(), data.T + 1)
    np.testing.assert_array_equal(zarr_kit.open_array(tmp_path, path="second", mode="r")[...], data.T + 1)
    processes = set(client.run(os.getpid).values())
    assert len(processes - {os.getpid()}) == 2


def test_two_processes_write_shards(client: Client, tmp_path: Path) -> None:
    data = np.arange(64 * 64, dtype=np.int32).reshape(64, 64)
    array = da.from_array(data, chunks=(16, 32))
    zarr_kit.dask.to_zarr(array, tmp_path, chunks=(4, 4), shards=(16, 16))
    np.testing.assert_array_equal(zarr.open_array(tmp_path, mode="r")[...], data)


def test_a_data_set_of_xarray_is_computed_by_two_processes(client: Client, tmp_path: Path) -> None:
    data = xr.Dataset({"t": (("time", "x"), np.arange(400.0).reshape(20, 20))}, coords={"x": np.arange(20)})
    data.to_zarr(tmp_path, encoding={"t": {"chunks": (5, 20)}}, consolidated=False)
    opened = xr.open_dataset(tmp_path, engine="zarr-kit", chunks={})
    xr.testing.assert_identical(opened.mean("time").compute(), data.mean("time"))


def test_the_error_of_a_worker_reaches_the_caller(client: Client, tmp_path: Path) -> None:
    zarr_kit.create_array(tmp_path, data=DATA, chunks=(3, 4), compressors=None)
    (tmp_path / "c/0/1").write_bytes(b"damaged")
    with pytest.raises(zarr_kit.ZarrError, match="c/0/1"):
        zarr_kit.dask.from_zarr(tmp_path).compute()


def test_an_array_in_memory_does_not_reach_other_processes(client: Client) -> None:
    array = zarr_kit.create_array("memory:", data=DATA, chunks=(3, 4))
    with pytest.raises(TypeError, match="serialize") as refused:
        zarr_kit.dask.from_zarr(array).compute()
    assert "a store in memory cannot be pickled" in "".join(traceback.format_exception(refused.value))
