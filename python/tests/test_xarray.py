"""The engine ``zarr-kit`` of xarray against xarray's own engine for Zarr."""

import asyncio
import pickle
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from xarray.backends.plugins import guess_engine
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, TransposeCodec

import zarr_kit

# zarr-python and xarray's writer warn about data types and metadata that are not in the specification of v3.
pytestmark = pytest.mark.filterwarnings("ignore")

FORMATS = [2, 3]
# It has no annotations.
numcodecs: Any = import_module("numcodecs")


def weather() -> xr.Dataset:
    """Return variables of all kinds that conventions encode."""
    rows = np.arange(24, dtype=np.float64).reshape(4, 6)
    packed = xr.Variable(
        ("time", "x"),
        np.where(rows % 5 == 0, np.nan, rows / 2),
        {"units": "K", "long_name": "température"},
        {"dtype": "int16", "scale_factor": 0.5, "add_offset": 1.0, "_FillValue": np.int16(-99)},
    )
    dates = np.datetime64("2020-01-01T00:30", "ns") + np.arange(4) * np.timedelta64(90, "m")
    return xr.Dataset(
        {
            "packed": packed,
            "missing": (("time", "x"), np.where(rows > 20, np.nan, rows), {}, {"_FillValue": -1.0}),
            "single": (("x",), np.arange(6, dtype=np.float32), {"cell_methods": "time: mean"}),
            "flags": (("x",), np.array([True, False] * 3)),
            "counts": (("x",), np.arange(6, dtype=np.uint8)),
            "waves": (("x",), np.arange(6) * (1 + 2j)),
            "lags": (("x",), np.arange(6).astype("m8[s]").astype("m8[ns]")),
            "fixed": (("x",), np.array(["a", "bb", "", "é", "x", "y"])),
            "bytes": (("x",), np.array([b"a", b"bb", b"", b"d", b"x", b"y"])),
            "texts": (("x",), np.array(["a", "bb", "", "é", "x", "a longer text"], dtype=object)),
            "scalar": ((), 3.5, {"grid_mapping_name": "latitude_longitude"}),
        },
        coords={
            "time": ("time", dates, {}, {"units": "hours since 2019-12-31", "dtype": "float64"}),
            "x": ("x", np.linspace(0, 1, 6)),
            "height": ((), 2, {"units": "m"}),
            "area": ("x", np.arange(6)),
        },
        attrs={"title": "Weather", "levels": [1, 2.5, None], "history": {"created": "today"}},
    )


def assert_same(path: Path, **arguments: Any) -> None:
    """Assert that both engines return the same data set, with the same encodings."""
    theirs = xr.open_dataset(path, engine="zarr", **arguments)
    ours = xr.open_dataset(path, engine="zarr-kit", **arguments)
    assert_equal_with_encoding(ours, theirs)


def assert_equal_with_encoding(ours: xr.Dataset, theirs: xr.Dataset) -> None:
    xr.testing.assert_identical(ours, theirs)
    assert ours.encoding == theirs.encoding
    assert ours.variables.keys() == theirs.variables.keys()
    for name in theirs.variables:
        assert ours[name].dtype == theirs[name].dtype, name
        np.testing.assert_equal(ours[name].encoding, theirs[name].encoding, err_msg=str(name))


@pytest.mark.parametrize("zarr_format", FORMATS)
@pytest.mark.parametrize("consolidated", [True, False])
@pytest.mark.parametrize(
    "decoding",
    [
        {},
        {"decode_cf": False},
        {"mask_and_scale": False},
        {"decode_times": False, "decode_coords": "all"},
        {"drop_variables": ["packed", "area"]},
        {"chunks": {}},
        {"chunks": {"time": 3}},
    ],
)
def test_data_sets_are_those_of_the_other_engine(
    tmp_path: Path, zarr_format: Any, consolidated: bool, decoding: dict[str, Any]
) -> None:
    encoding = {"missing": {"chunks": (2, 3)}}
    weather().to_zarr(tmp_path, zarr_format=zarr_format, consolidated=consolidated, encoding=encoding)
    assert_same(tmp_path, consolidated=consolidated, **decoding)
    if not decoding:
        expected = weather()
        xr.testing.assert_equal(xr.open_dataset(tmp_path, engine="zarr-kit"), expected)


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


def test_chunks_of_different_lengths_are_the_same(tmp_path: Path) -> None:
    with zarr.config.set({"array.rectilinear_chunks": True}):
        write(tmp_path, 3, chunks=[[1, 2, 1], [4, 2]])
        assert_same(tmp_path, consolidated=False)
        assert_same(tmp_path, consolidated=False, chunks={})


def test_fill_values_are_missing_if_the_caller_says_so(tmp_path: Path) -> None:
    write(tmp_path, 3, fill_value=5)
    plain = xr.open_dataset(tmp_path, engine="zarr-kit")
    masked = xr.open_dataset(tmp_path, engine="zarr-kit", use_zarr_fill_value_as_mask=True)
    assert not plain["data"].isnull().any()
    assert masked["data"].isnull().values.sum() == 7
    assert masked["data"].encoding["_FillValue"] == 5


@pytest.mark.parametrize("zarr_format", FORMATS)
def test_what_is_opened_is_written_again_as_by_the_other_engine(tmp_path: Path, zarr_format: Any) -> None:
    # xarray cannot write the strings again that it read from v2.
    weather().drop_vars("texts").to_zarr(tmp_path / "first", zarr_format=zarr_format)
    for engine in ["zarr", "zarr-kit"]:
        opened = xr.open_dataset(tmp_path / "first", engine=engine)
        opened.to_zarr(tmp_path / engine, zarr_format=zarr_format)
    ours = xr.open_dataset(tmp_path / "zarr-kit", engine="zarr")
    theirs = xr.open_dataset(tmp_path / "zarr", engine="zarr")
    ours.encoding["source"] = theirs.encoding["source"]
    assert_equal_with_encoding(ours, theirs)


@settings(max_examples=300, deadline=None)
@given(data=st.data(), zarr_format=st.sampled_from(FORMATS))
def test_selections_are_those_of_arrays_in_memory(tmp_path_factory: Any, data: st.DataObject, zarr_format: Any) -> None:
    path = tmp_path_factory.mktemp("selection")
    write(path, zarr_format, chunks=(2, 3))
    lazy = xr.open_dataset(path, engine="zarr-kit", mask_and_scale=False)["data"]
    memory = xr.open_dataset(path, engine="zarr", consolidated=False, mask_and_scale=False)["data"].load()
    for _ in range(data.draw(st.integers(1, 2))):
        selection = {name: data.draw(indexers(memory.sizes[name])) for name in memory.dims}
        lazy = lazy.isel(selection)
        memory = memory.isel(selection)
        if "points" in memory.dims or memory.ndim < 2 or 0 in memory.shape:
            break
    xr.testing.assert_identical(lazy, memory)


def indexers(length: int) -> st.SearchStrategy[Any]:
    """Return indexers of every kind along a dimension. Those called `points` select single elements together."""
    position = st.integers(-length, length - 1)
    several = st.lists(position, max_size=4)
    return st.one_of(
        position,
        st.slices(length),
        several.map(lambda items: np.array(items, dtype=int)),
        st.lists(st.booleans(), min_size=length, max_size=length).map(np.array),
        st.lists(position, min_size=3, max_size=3).map(lambda items: xr.DataArray(items, dims="points")),
    )


def test_only_selected_chunks_are_read(tmp_path: Path) -> None:
    write(tmp_path, 3, chunks=(2, 3), compressors=None)
    (tmp_path / "data/c/1/1").write_bytes(b"damaged")
    lazy = xr.open_dataset(tmp_path, engine="zarr-kit")["data"]
    assert lazy.isel(x=slice(0, 2)).values.tolist() == np.arange(12).reshape(2, 6).tolist()
    with pytest.raises(zarr_kit.ZarrError, match="/data"):
        lazy.load()


@pytest.mark.parametrize("chunks", [None, {}])
def test_data_sets_are_pickled(tmp_path: Path, chunks: Any) -> None:
    weather().to_zarr(tmp_path)
    opened = xr.open_dataset(tmp_path, engine="zarr-kit", chunks=chunks)
    xr.testing.assert_identical(pickle.loads(pickle.dumps(opened)), opened.compute())


def test_blocks_of_dask_are_chunks(tmp_path: Path) -> None:
    write(tmp_path, 3, chunks=(2, 3))
    opened = xr.open_dataset(tmp_path, engine="zarr-kit", chunks={})
    assert opened["data"].chunks == ((2, 2), (3, 3))


def test_data_sets_are_loaded_asynchronously(tmp_path: Path) -> None:
    write(tmp_path, 3, chunks=(2, 3))
    opened = xr.open_dataset(tmp_path, engine="zarr-kit")
    selected = opened.isel(x=[3, 0], y=xr.DataArray([1, 2], dims="points"))
    loaded = asyncio.run(selected.load_async())
    xr.testing.assert_identical(loaded, opened.load().isel(x=[3, 0], y=xr.DataArray([1, 2], dims="points")))


def tree() -> xr.DataTree:
    return xr.DataTree.from_dict(
        {
            "/": xr.Dataset({"station": ("stations", [1, 2, 3])}, attrs={"level": 0}),
            "/fine": weather(),
            "/coarse": xr.Dataset(attrs={"level": 1}),
            "/coarse/deep": xr.Dataset({"a": (("stations", "y"), np.ones((3, 2)))}),
        }
    )


@pytest.mark.parametrize("zarr_format", FORMATS)
@pytest.mark.parametrize("consolidated", [True, False])
@pytest.mark.parametrize("group", [None, "coarse", "/coarse/deep"])
def test_trees_are_those_of_the_other_engine(
    tmp_path: Path, zarr_format: Any, consolidated: bool, group: str | None
) -> None:
    tree().to_zarr(tmp_path, zarr_format=zarr_format, consolidated=consolidated)
    arguments: dict[str, Any] = {"consolidated": consolidated, "group": group}
    theirs = xr.open_datatree(tmp_path, engine="zarr", **arguments)
    ours = xr.open_datatree(tmp_path, engine="zarr-kit", **arguments)
    xr.testing.assert_identical(ours, theirs)
    their_groups = xr.open_groups(tmp_path, engine="zarr", **arguments)
    our_groups = xr.open_groups(tmp_path, engine="zarr-kit", **arguments)
    assert our_groups.keys() == their_groups.keys()
    for name, dataset in their_groups.items():
        assert_equal_with_encoding(our_groups[name], dataset)


@pytest.mark.parametrize("zarr_format", FORMATS)
def test_one_group_of_a_tree_is_opened(tmp_path: Path, zarr_format: Any) -> None:
    tree().to_zarr(tmp_path, zarr_format=zarr_format)
    assert_same(tmp_path, group="fine")
    assert_same(tmp_path / "coarse", group="deep", consolidated=False)


@pytest.mark.parametrize("uses_extension", [False, True])
def test_the_v3_draft_is_what_was_written(tmp_path: Path, uses_extension: bool) -> None:
    days = np.arange(6, dtype=np.int32)
    temperatures = np.array([[-99, 1, 2, 3, 4, 5]], dtype=np.int16)
    group = zarr_kit.create_group(tmp_path, zarr_format="v3-draft", attributes={"title": "draft"})
    units = {"units": "days since 2000-01-01", "calendar": "standard"}
    packed = {"scale_factor": 0.5, "_FillValue": -99, "coordinates": "height", "note": "as written"}
    draft_array(group, "time", days, ["time"], units, uses_extension)
    draft_array(group, "t", temperatures, ["y", "time"], packed, uses_extension)
    draft_array(group, "height", np.array(2.0), [], {"_FillValue": 5.0}, uses_extension)
    opened = xr.open_dataset(tmp_path, engine="zarr-kit")
    expected = xr.Dataset(
        {"t": (("y", "time"), [[np.nan, 0.5, 1.0, 1.5, 2.0, 2.5]], {"note": "as written"})},
        coords={"time": np.datetime64("2000-01-01", "ns") + days * np.timedelta64(1, "D"), "height": 2.0},
        attrs={"title": "draft"},
    )
    xr.testing.assert_identical(opened, expected)
    assert opened["t"].encoding["chunks"] == (1, 6)
    assert opened["t"].encoding["_FillValue"] == -99


def draft_array(
    group: zarr_kit.Group, name: str, data: Any, names: list[str], attributes: dict[str, Any], uses_extension: bool
) -> None:
    if uses_extension:
        group.create_array(name, data=data, attributes=attributes, dimension_names=names)
    else:
        group.create_array(name, data=data, attributes={**attributes, "_ARRAY_DIMENSIONS": names})


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


def test_the_engine_is_used_only_where_it_is_named(tmp_path: Path) -> None:
    weather().to_zarr(tmp_path / "w.zarr")
    assert "zarr-kit" in xr.backends.list_engines()
    assert guess_engine(tmp_path / "w.zarr") == "zarr"


@pytest.mark.parametrize(("name", "group"), [("none.zarr", None), ("w.zarr", "absent")])
def test_a_missing_group_is_a_file_that_is_not_found(tmp_path: Path, name: str, group: str | None) -> None:
    weather().to_zarr(tmp_path / "w.zarr")
    with pytest.raises(FileNotFoundError):
        xr.open_dataset(tmp_path / name, engine="zarr-kit", group=group)


@pytest.mark.parametrize("zarr_format", FORMATS)
def test_dimensions_without_names_are_refused_unless_the_array_is_left_out(tmp_path: Path, zarr_format: Any) -> None:
    group = zarr.create_group(tmp_path, zarr_format=zarr_format)
    group.create_array("unnamed", data=np.ones((2, 3)))
    with pytest.raises(KeyError, match="unnamed has 2 dimensions"):
        xr.open_dataset(tmp_path, engine="zarr-kit")
    opened = xr.open_dataset(tmp_path, engine="zarr-kit", drop_variables="unnamed")
    assert not opened.variables


def test_a_description_of_a_store_is_opened(tmp_path: Path) -> None:
    write(tmp_path, 3)
    description: Any = {"type": "filesystem", "path": str(tmp_path)}
    opened = xr.open_dataset(description, engine="zarr-kit")
    assert opened["data"].shape == (4, 6)


def write(path: Path, zarr_format: Any, *, dtype: Any = "f8", **arguments: Any) -> None:
    """Write an array called `data` with zarr-python, with dimensions `x` and `y`."""
    elements = np.arange(24).reshape(4, 6).astype(dtype)
    group = zarr.open_group(path, mode="w", zarr_format=zarr_format)
    if zarr_format == 2:
        arguments["attributes"] = {"_ARRAY_DIMENSIONS": ["x", "y"], "units": "K"}
    else:
        arguments["dimension_names"] = ("x", "y")
    array = group.create_array("data", shape=elements.shape, dtype=elements.dtype, **arguments)
    array[:3] = elements[:3]
