"""The engine ``zarr-kit`` of xarray against xarray's own engine for Zarr."""

import asyncio
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples
from xarray.backends.plugins import guess_engine
from xarray_comparison import assert_equal_with_encoding, assert_same, weather, write

import zarr_kit

# The writers of the samples warn about data types and codecs that the specification of v3 does not have.
_WARNINGS = [
    "ignore:The data type .* does not have a Zarr V3 specification",
    "ignore:Consolidated metadata is currently not part in the Zarr format 3 specification",
    "ignore:The specified chunks separate the stored chunks",
]
pytestmark = [pytest.mark.filterwarnings(warning) for warning in _WARNINGS]

FORMATS = [2, 3]


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


def test_fill_values_are_missing_on_request(tmp_path: Path) -> None:
    write(tmp_path, 3, fill_value=5)
    plain = xr.open_dataset(tmp_path, engine="zarr-kit")
    masked = xr.open_dataset(tmp_path, engine="zarr-kit", use_zarr_fill_value_as_mask=True)
    assert not plain["data"].isnull().any()
    assert masked["data"].isnull().values.sum() == 7
    assert masked["data"].encoding["_FillValue"] == 5


@pytest.mark.parametrize("zarr_format", FORMATS)
def test_opened_data_sets_are_written_as_by_the_other_engine(tmp_path: Path, zarr_format: Any) -> None:
    # xarray cannot write strings that it has read from v2.
    weather().drop_vars("texts").to_zarr(tmp_path / "first", zarr_format=zarr_format)
    for engine in ["zarr", "zarr-kit"]:
        opened = xr.open_dataset(tmp_path / "first", engine=engine)
        opened.to_zarr(tmp_path / engine, zarr_format=zarr_format)
    ours = xr.open_dataset(tmp_path / "zarr-kit", engine="zarr")
    theirs = xr.open_dataset(tmp_path / "zarr", engine="zarr")
    ours.encoding["source"] = theirs.encoding["source"]
    assert_equal_with_encoding(ours, theirs)


@examples(100)
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


def test_the_engine_is_used_only_where_it_is_named(tmp_path: Path) -> None:
    weather().to_zarr(tmp_path / "w.zarr")
    assert "zarr-kit" in xr.backends.list_engines()
    assert guess_engine(tmp_path / "w.zarr") == "zarr"
    with pytest.raises(TypeError, match="'chunk'"):
        xr.open_dataset(tmp_path / "w.zarr", engine="zarr-kit", chunk=5)


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
