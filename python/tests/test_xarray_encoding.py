"""Variables of all types, conventions and codecs, as ``zarr-kit`` and xarray's own engine for Zarr open them."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
import zarr.registry
from xarray_comparison import assert_same, write
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, TransposeCodec

import zarr_kit
from zarr_kit._xarray_encoding import _codecs

# The writers of the samples warn about data types and codecs that the specification of v3 does not have.
_WARNINGS = [
    "ignore:The data type .* does not have a Zarr V3 specification",
    "ignore:Consolidated metadata is currently not part in the Zarr format 3 specification",
    "ignore:The `order` keyword argument has no effect",
    # numcodecs stores the types of filters without their byte order.
    "ignore:.*`f8` lacks a byte order:zarr_kit.ZarrWarning",
]
pytestmark = [pytest.mark.filterwarnings(warning) for warning in _WARNINGS]

FORMATS = [2, 3]
# numcodecs has no annotations.
numcodecs: Any = import_module("numcodecs")
DAYS = np.array(["2000-01-01", "2000-01-02"], dtype="M8[ns]")
VARIABLES: dict[str, xr.Variable] = {
    "characters": xr.Variable("x", np.array([b"ab", b"c"]), encoding={"dtype": "S1", "char_dim_name": "length"}),
    "bytes in objects": xr.Variable("x", np.array([b"a", b"bcd"], dtype=object)),
    "strings": xr.Variable("x", np.array(["a", "bcd"], dtype=np.dtypes.StringDType())),
    "missing strings": xr.Variable("x", np.array(["a", None, np.nan], dtype=object)),
    "texts of 32 bits": xr.Variable("x", np.array(["aé", "漢字"])),
    "dates of another calendar": xr.Variable(
        "x", xr.date_range("2000-02-28", periods=4, calendar="noleap", use_cftime=True)
    ),
    "dates in seconds": xr.Variable("x", np.array(["2000-01-01", "NaT"], dtype="M8[s]")),
    "missing dates": xr.Variable("x", np.array(["2000-01-01", "NaT"], dtype="M8[ns]")),
    "time differences": xr.Variable("x", np.array([1, 2], dtype="m8[D]").astype("m8[ns]")),
    "halves": xr.Variable("x", np.array([1, np.nan], dtype=np.float16)),
    "complex numbers": xr.Variable("x", np.array([1, 2j]), {}, {"_FillValue": complex(np.nan, 0)}),
    "no elements": xr.Variable(("x", "y"), np.zeros((0, 3))),
    "packed in bytes": xr.Variable(
        "x", [0.1, np.nan, 25.0], {}, {"dtype": "u1", "scale_factor": 0.1, "_FillValue": np.uint8(255)}
    ),
    "unsigned in signed": xr.Variable(
        "x", np.array([0, 200, 254], np.uint8), {}, {"_Unsigned": "true", "dtype": "i1", "_FillValue": np.int8(-1)}
    ),
    "two names of missing values": xr.Variable("x", [1.0, np.nan], {}, {"missing_value": -9.0, "_FillValue": -9.0}),
    "flags": xr.Variable("x", np.array([0, 1], np.int8), {"flag_values": [0, 1], "flag_meanings": "no yes"}),
}


@pytest.mark.parametrize("zarr_format", FORMATS)
@pytest.mark.parametrize("name", VARIABLES)
def test_variables_of_all_types_are_the_same(tmp_path: Path, name: str, zarr_format: Any) -> None:
    dataset = xr.Dataset({name: VARIABLES[name]})
    dataset.to_zarr(tmp_path, zarr_format=zarr_format, consolidated=False)
    assert_same(tmp_path, consolidated=False)
    xr.testing.assert_equal(xr.open_dataset(tmp_path, engine="zarr-kit"), dataset)


@pytest.mark.parametrize("zarr_format", FORMATS)
def test_bounds_of_times_are_decoded_as_the_times(tmp_path: Path, zarr_format: Any) -> None:
    times = xr.Variable("time", DAYS[:1], {"bounds": "bounds"}, {"units": "days since 1999-01-01"})
    dataset = xr.Dataset({"bounds": (("time", "edge"), DAYS[np.newaxis])}, coords={"time": times})
    dataset.to_zarr(tmp_path, zarr_format=zarr_format)
    assert_same(tmp_path)


@pytest.mark.parametrize("zarr_format", FORMATS)
@pytest.mark.parametrize(
    "arguments",
    [
        {"chunks": (2, 3), "compressors": None},
        {"order": "F"},
        {"fill_value": 7, "dtype": "i4"},
        {"fill_value": np.nan, "dtype": "f4"},
        {"dtype": "U4"},
        {"dtype": "S4"},
        {"dtype": "M8[s]"},
        {"dtype": "bool"},
    ],
)
def test_arrays_that_xarray_did_not_write_are_the_same(
    tmp_path: Path, zarr_format: Any, arguments: dict[str, Any]
) -> None:
    write(tmp_path, zarr_format, **arguments)
    assert_same(tmp_path, consolidated=False)


@pytest.mark.parametrize(
    "arguments",
    [
        {"filters": [numcodecs.Delta("f8")]},
        {"filters": [numcodecs.Delta("f8")], "compressors": None},
        {"filters": [numcodecs.Shuffle(8)], "compressors": numcodecs.Zlib(3)},
        {"compressors": numcodecs.GZip(1), "chunk_key_encoding": {"name": "v2", "separator": "/"}},
        {"fill_value": None},
    ],
)
def test_codecs_of_v2_are_in_the_encoding(tmp_path: Path, arguments: dict[str, Any]) -> None:
    write(tmp_path, 2, **arguments)
    assert_same(tmp_path, consolidated=False)


@pytest.mark.parametrize(
    "arguments",
    [
        {"chunks": (1, 3), "shards": (4, 6), "compressors": [BloscCodec(), Crc32cCodec()]},
        {"serializer": BytesCodec(endian="big")},
        {"filters": [TransposeCodec(order=(1, 0))]},
        {"filters": [zarr.codecs.numcodecs.Delta(dtype="f8")], "compressors": [zarr.codecs.numcodecs.Zlib(level=3)]},
    ],
)
def test_codecs_of_v3_are_in_the_encoding(tmp_path: Path, arguments: dict[str, Any]) -> None:
    write(tmp_path, 3, **arguments)
    assert_same(tmp_path, consolidated=False)


def test_codecs_of_the_engine_are_in_the_encoding(tmp_path: Path) -> None:
    data = np.array([True, False, True])
    group = zarr_kit.create_group(tmp_path / "first")
    group.create_array("flags", data=data, dimension_names=["x"], serializer={"name": "packbits"})
    opened = xr.open_dataset(tmp_path / "first", engine="zarr-kit")
    assert opened["flags"].encoding["serializer"].to_dict()["name"] == "packbits"
    opened.to_zarr(tmp_path / "second")
    assert zarr_kit.open_array(tmp_path / "second", path="flags", mode="r").codecs[0][0] == "packbits"
    np.testing.assert_array_equal(xr.open_dataset(tmp_path / "second", engine="zarr")["flags"].values, data)


def test_codecs_that_no_package_of_python_has_are_not_in_the_encoding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = zarr_kit.create_group(tmp_path)
    group.create_array("flags", data=np.array([True]), dimension_names=["x"], serializer={"name": "packbits"})
    _codecs.cache_clear()
    monkeypatch.delitem(zarr.registry._codec_registries, "packbits")
    opened = xr.open_dataset(tmp_path, engine="zarr-kit")
    assert not {"filters", "serializer", "compressors"} & opened["flags"].encoding.keys()


def test_chunks_of_different_lengths_are_the_same(tmp_path: Path) -> None:
    with zarr.config.set({"array.rectilinear_chunks": True}):
        write(tmp_path, 3, chunks=[[1, 2, 1], [4, 2]])
        assert_same(tmp_path, consolidated=False)
        assert_same(tmp_path, consolidated=False, chunks={})


def test_names_that_are_none_are_the_same(tmp_path: Path) -> None:
    zarr.open_group(tmp_path, mode="w").create_array("data", data=np.ones((2, 3)), dimension_names=["x", None])
    assert_same(tmp_path, consolidated=False)


@pytest.mark.parametrize(("missing", "dtype"), [(-9999.0, "f8"), (-9999, "i4")])
def test_missing_values_that_other_programs_wrote_as_numbers_are_masked(
    tmp_path: Path, missing: Any, dtype: Any
) -> None:
    group = zarr_kit.create_group(tmp_path)
    attributes = {"_FillValue": missing}
    data = np.array([1, -9999], dtype)
    group.create_array("data", data=data, dimension_names=["x"], attributes=attributes)
    opened = xr.open_dataset(tmp_path, engine="zarr-kit")["data"]
    np.testing.assert_array_equal(opened.values, [1.0, np.nan])


@pytest.mark.parametrize(
    ("inner", "codec", "values", "expected"),
    [
        ("int32", "bytes", [1, 2, 3], [1.0, np.nan, 3.0, np.nan]),
        ("float32", "bytes", [1, 2, 3], np.array([1, np.nan, 3, np.nan], np.float32)),
        ("int64", "bytes", [2**60 + 1, 2, 3], np.array([2**60 + 1, None, 3, None], object)),
        ("bool", "bytes", [True, False, False], np.array([True, None, False, None], object)),
        ("string", "vlen-utf8", ["a", "", "c"], np.array(["a", None, "c", None], object)),
    ],
)
def test_missing_elements_of_optional_types_are_nan_or_none(
    tmp_path: Path, inner: str, codec: str, values: list[Any], expected: Any
) -> None:
    group = zarr_kit.create_group(tmp_path)
    endian = {"endian": "little"} if codec == "bytes" else {}
    codecs = {"mask_codecs": [{"name": "packbits"}], "data_codecs": [{"name": codec, "configuration": endian}]}
    array = group.create_array(
        "data",
        shape=(4,),
        dtype={"name": "zarrs.optional", "configuration": {"name": inner, "configuration": {}}},
        serializer={"name": "zarrs.optional", "configuration": codecs},
        dimension_names=["x"],
    )
    array[:3] = np.ma.MaskedArray(np.array(values, dtype=array.dtype), mask=[False, True, False])
    data = xr.open_dataset(tmp_path, engine="zarr-kit")["data"]
    assert data.dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(data.values, np.asarray(expected))
    np.testing.assert_array_equal(data[2].values, np.asarray(expected)[2])


@pytest.mark.parametrize(
    "dtype", [">i2", ">u4", ">i8", ">f4", ">f8", ">c16", ">M8[s]", ">m8[s]", ">U3", "<i2", "|S3", "|b1"]
)
def test_data_types_of_v2_have_their_byte_order_in_the_encoding(tmp_path: Path, dtype: str) -> None:
    write(tmp_path, 2, dtype=dtype, fill_value=None)
    for decoding in ({}, {"decode_cf": False}, {"mask_and_scale": False}):
        assert_same(tmp_path, consolidated=False, **decoding)


def test_packed_data_of_v2_have_their_byte_order_in_the_encoding(tmp_path: Path) -> None:
    packed = {"dtype": np.dtype(">i2"), "scale_factor": 0.5, "add_offset": 1.0, "_FillValue": np.int16(-9)}
    values = xr.Variable(("x",), [1.0, np.nan, 2.5], {}, packed)
    xr.Dataset({"a": values}).to_zarr(tmp_path, zarr_format=2, consolidated=False)
    assert zarr.open_array(tmp_path / "a", mode="r").metadata.to_dict()["dtype"] == ">i2"
    for decoding in ({}, {"mask_and_scale": False}, {"decode_cf": False}):
        assert_same(tmp_path, consolidated=False, **decoding)
    xr.testing.assert_equal(xr.open_dataset(tmp_path, engine="zarr-kit")["a"], xr.DataArray(values))
