"""Arrays are exchanged with zarr-python in both directions."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
import zarr.codecs
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.typing import NDArray
from strategies import examples

import zarr_kit
import zarr_kit.dask

FORMATS = [2, 3]
SAMPLES: dict[str, NDArray[Any]] = {
    "bool": np.array([[True, False], [False, True], [True, True]]),
    "int8": np.array([[-1, 2], [3, -128], [5, 127]], dtype=np.int8),
    "uint64": np.array([[0, 2**64 - 1], [1, 2], [3, 4]], dtype=np.uint64),
    "float16": np.array([[0.5, np.nan], [np.inf, -0.0], [1, 2]], dtype=np.float16),
    "float64": np.array([[0.1, np.nan], [np.inf, -0.0], [1, 2]]),
    "complex64": np.array([[1 + 2j, 0], [3, 4j], [5, 6]], dtype=np.complex64),
    "datetime": np.array([["2020-01-01T00:00", "NaT"], ["1969-12-31", "1970-01-01"], ["2100", "1900"]], "M8[ms]"),
    "timedelta": np.array([[1, -2], [3, 4], [5, 6]], dtype="m8[10s]"),
    "text": np.array([["", "aé"], ["b", "cc"], ["ddd", "e"]], dtype="U3"),
    "bytes": np.array([[b"", b"a"], [b"b", b"cc"], [b"ddd", b"e"]], dtype="S3"),
    "structure": np.array([[(1, 2.5), (3, 4)], [(5, 6), (7, 8)], [(9, 0), (1, 2)]], dtype=[("n", "<i2"), ("x", "<f8")]),
}


def equal(one: NDArray[Any], other: NDArray[Any]) -> None:
    assert one.dtype == other.dtype
    assert one.shape == other.shape
    np.testing.assert_array_equal(one, other)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zarr_format", FORMATS)
@pytest.mark.parametrize("name", SAMPLES)
def test_arrays_of_zarr_python_are_read(tmp_path: Path, name: str, zarr_format: Any) -> None:
    data = SAMPLES[name]
    zarr.create_array(tmp_path, data=data, chunks=(2, 1), zarr_format=zarr_format)
    array = zarr_kit.open_array(tmp_path, mode="r")
    equal(array[...], data)
    assert array.chunks == (2, 1)
    assert array.zarr_format == zarr_format


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zarr_format", FORMATS)
@pytest.mark.parametrize("name", SAMPLES)
def test_zarr_python_reads_what_is_written(tmp_path: Path, name: str, zarr_format: Any) -> None:
    data = SAMPLES[name]
    zarr_kit.create_array(tmp_path, data=data, chunks=(2, 1), zarr_format=zarr_format)
    array = zarr.open_array(tmp_path, mode="r")
    equal(np.asarray(array[...]), data)
    assert array.chunks == (2, 1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zarr_format", FORMATS)
@pytest.mark.parametrize("name", SAMPLES)
def test_fill_values_are_those_of_zarr_python(tmp_path: Path, name: str, zarr_format: Any) -> None:
    data = SAMPLES[name]
    fill = data[1, 0]
    ours = zarr_kit.create_array(
        tmp_path / "ours", shape=(3,), dtype=data.dtype, fill_value=fill, zarr_format=zarr_format
    )
    zarr.create_array(tmp_path / "theirs", shape=(3,), dtype=data.dtype, fill_value=fill, zarr_format=zarr_format)
    expected = np.full(3, fill, dtype=data.dtype)
    equal(ours[...], expected)
    equal(np.asarray(zarr.open_array(tmp_path / "ours", mode="r")[...]), expected)
    theirs = zarr_kit.open_array(tmp_path / "theirs", mode="r")
    equal(theirs[...], expected)
    np.testing.assert_array_equal(np.array(theirs.fill_value), np.array(ours.fill_value))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zarr_format", FORMATS)
def test_strings_are_read_and_written(tmp_path: Path, zarr_format: Any) -> None:
    data = np.array([["", "é"], ["a longer text", "x"]], dtype=np.dtypes.StringDType())
    zarr.create_array(tmp_path / "theirs", data=data, chunks=(1, 2), zarr_format=zarr_format)
    equal(zarr_kit.open_array(tmp_path / "theirs", mode="r")[...], data)
    zarr_kit.create_array(tmp_path / "ours", data=data, chunks=(1, 2), zarr_format=zarr_format)
    assert np.asarray(zarr.open_array(tmp_path / "ours", mode="r")[...]).tolist() == data.tolist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "arguments",
    [
        {"shards": (4, 6), "chunks": (2, 3)},
        {"compressors": None},
        {"compressors": {"name": "gzip", "configuration": {"level": 1}}},
        {"compressors": [zarr.codecs.BloscCodec(cname="zstd", clevel=3)]},
        {"filters": [zarr.codecs.TransposeCodec(order=(1, 0))]},
        {"serializer": zarr.codecs.BytesCodec(endian="big")},
        {"chunk_key_encoding": {"name": "v2", "separator": "."}},
        {"dimension_names": ("y", None), "attributes": {"units": "K"}},
        {"shape": (8, 9), "dtype": "i4", "chunks": (3, 4), "fill_value": 7},
        {"order": "F"},
    ],
)
def test_arguments_mean_what_they_mean_to_zarr_python(tmp_path: Path, arguments: dict[str, Any]) -> None:
    data = np.arange(72, dtype=np.int32).reshape(8, 9)
    given_data = {} if "shape" in arguments else {"data": data}
    for location, module in [(tmp_path / "ours", zarr_kit), (tmp_path / "theirs", zarr)]:
        module.create_array(location, **given_data, **arguments)
    for location in [tmp_path / "ours", tmp_path / "theirs"]:
        ours: Any = zarr_kit.open(location, mode="r+")
        theirs: Any = zarr.open(location, mode="r+")
        ours[1:5, 2:7] = data[1:5, 2:7] + 1
        equal(np.asarray(theirs[...]), ours[...])
        assert (ours.chunks, ours.shards) == (theirs.chunks, theirs.shards)
        assert ours.attrs.asdict() == dict(theirs.attrs)
        assert (ours.dimension_names or (None, None)) == (theirs.metadata.dimension_names or (None, None))
        assert ours.nchunks_initialized == theirs.nchunks_initialized


@examples(60)
@given(data=st.data(), zarr_format=st.sampled_from(FORMATS))
def test_any_elements_are_exchanged(tmp_path_factory: Any, data: st.DataObject, zarr_format: Any) -> None:
    folder = tmp_path_factory.mktemp("exchange")
    dtypes = st.one_of(npst.integer_dtypes(endianness="<"), npst.floating_dtypes(endianness="<", sizes=(16, 32, 64)))
    shape = data.draw(npst.array_shapes(max_dims=3, max_side=6))
    elements = data.draw(npst.arrays(dtypes, shape))
    chunks = tuple(data.draw(st.integers(1, length)) for length in shape)
    zarr_kit.create_array(folder / "ours", data=elements, chunks=chunks, zarr_format=zarr_format)
    zarr.create_array(folder / "theirs", data=elements, chunks=chunks, zarr_format=zarr_format)
    equal(np.asarray(zarr.open_array(folder / "ours", mode="r")[...]), elements)
    equal(zarr_kit.open_array(folder / "theirs", mode="r")[...], elements)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zarr_format", FORMATS)
def test_groups_are_exchanged(tmp_path: Path, zarr_format: Any) -> None:
    theirs = zarr.create_group(tmp_path / "theirs", zarr_format=zarr_format, attributes={"a": [1, None]})
    theirs.create_group("b").create_array("c", data=np.arange(3))
    zarr.consolidate_metadata(tmp_path / "theirs")
    ours: Any = zarr_kit.open(tmp_path / "theirs")
    assert ours.attrs["a"] == [1, None]
    assert ours["b/c"][...].tolist() == [0, 1, 2]
    group = zarr_kit.create_group(tmp_path / "ours", zarr_format=zarr_format, attributes={"x": {"y": 1.5}})
    group.create_group("b").create_array("c", data=np.arange(3))
    zarr_kit.consolidate(tmp_path / "ours")
    read: Any = zarr.open_group(tmp_path / "ours", mode="r")
    assert dict(read.attrs) == {"x": {"y": 1.5}}
    assert np.asarray(read["b/c"][...]).tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", SAMPLES)
def test_the_draft_has_the_same_elements(tmp_path: Path, name: str) -> None:
    # The draft has no units with a factor.
    data = SAMPLES[name].astype("m8[s]") if name == "timedelta" else SAMPLES[name]
    zarr_kit.create_array(tmp_path, name="a", data=data, chunks=(2, 1), zarr_format="v3-draft", fill_value=data[0, 0])
    array = zarr_kit.open_array(tmp_path, path="a", mode="r")
    assert array.format == "v3-draft"
    equal(array[...], data)
    np.testing.assert_array_equal(np.array(array.fill_value, dtype=data.dtype), data[0, 0])


def test_arrays_with_padded_last_chunks_are_read_as_one(tmp_path: Path) -> None:
    """Join two arrays of zarr-python without changing their chunks, as `encoded_chunk_shapes` proposes."""
    data = np.arange(1, 1101, dtype=np.int16)
    for part, start in [("one", 0), ("two", 550)]:
        zarr.create_array(tmp_path / part, data=data[start : start + 550], chunks=(200,))
    document = json.loads((tmp_path / "one" / "zarr.json").read_text())
    configuration = {"kind": "inline", "chunk_shapes": [[[200, 2], 150, [200, 2], 150]], "encoded_chunk_shapes": [200]}
    document |= {"shape": [1100], "chunk_grid": {"name": "rectilinear", "configuration": configuration}}
    both = tmp_path / "both"
    (both / "c").mkdir(parents=True)
    (both / "zarr.json").write_text(json.dumps(document))
    for chunk in range(6):
        stored = tmp_path / ("one" if chunk < 3 else "two") / "c" / str(chunk % 3)
        shutil.copy(stored, both / "c" / str(chunk))
    array = zarr_kit.open_array(both, mode="r+")
    equal(array[...], data)
    equal(array[540:560], data[540:560])
    equal(array[[1099, 0, 549, 550]], data[[1099, 0, 549, 550]])
    equal(array.blocks[2], data[400:550])
    array[500:600] = 7
    data[500:600] = 7
    equal(array[...], data)
    blocks = zarr_kit.dask.from_zarr(both)
    assert blocks.chunks == ((200, 200, 150, 200, 200, 150),)
    equal(np.asarray(blocks), data)
