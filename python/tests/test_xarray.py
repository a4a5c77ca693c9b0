"""The backend of xarray gives what the backend of zarr-python gives."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import zarr_kit

pytestmark = pytest.mark.filterwarnings("ignore:.*[Cc]onsolidated.*", "ignore:.*does not have a Zarr V3 specification")
FORMATS = [2, 3]


def sample() -> xarray.Dataset:
    """A data set with scaled, masked, timed and textual variables."""
    random = np.random.default_rng(1)
    temperature = random.normal(10, 3, (6, 4, 5))
    temperature[0, 0, 0] = np.nan
    return xarray.Dataset(
        {
            "temperature": (("time", "y", "x"), temperature, {"units": "degC", "list": [1, 2]}),
            "packed": (("y", "x"), np.where(random.random((4, 5)) < 0.3, np.nan, random.random((4, 5)).round(2))),
            "count": (("time",), np.arange(6), {"long_name": "count"}),
            "name": (("y",), np.array(["a", "bb", "", "d"], dtype="U2")),
            "scalar": ((), 5),
        },
        coords={
            "time": np.array("2020-01-01", "M8[ns]") + np.arange(6) * np.timedelta64(6, "h"),
            "delay": (("y",), np.array([1, 2, 3, 4], dtype="m8[s]").astype("m8[ns]")),
            "x": [1.5, 2.5, 3.5, 4.5, 5.5],
        },
        attrs={"title": "sample", "nested": {"a": None}},
    )


@pytest.fixture(params=[(zarr_format, consolidated) for zarr_format in FORMATS for consolidated in (False, True)])
def location(request: Any, tmp_path: Path) -> Path:
    """The sample, written by xarray and zarr-python in both formats, consolidated or not."""
    zarr_format, consolidated = request.param
    encoding = {
        "packed": {"scale_factor": 0.01, "dtype": "int16", "_FillValue": -1},
        "temperature": {"chunks": (4, 2, 5)},
    }
    sample().to_zarr(tmp_path / "data", zarr_format=zarr_format, consolidated=consolidated, encoding=encoding)
    return tmp_path / "data"


def same(ours: xarray.Dataset, theirs: xarray.Dataset) -> None:
    xarray.testing.assert_identical(ours, theirs)
    for name, variable in theirs.variables.items():
        encoding = ours[name].encoding
        assert encoding.keys() == variable.encoding.keys(), name
        for key, value in variable.encoding.items():
            # NaN is not equal to itself, but has the same text.
            assert encoding[key] == value or repr(encoding[key]) == repr(value), (name, key)


@pytest.mark.parametrize("arguments", [{}, {"decode_cf": False}, {"drop_variables": "packed"}])
def test_data_sets_are_those_of_the_other_backend(location: Path, arguments: dict[str, Any]) -> None:
    ours = xarray.open_dataset(location, engine="zarr-kit", **arguments)
    same(ours, xarray.open_dataset(location, engine="zarr", **arguments))


def test_parts_are_read_where_they_are_used(location: Path) -> None:
    ours = xarray.open_dataset(location, engine="zarr-kit")
    theirs = xarray.open_dataset(location, engine="zarr")
    rows = xarray.DataArray([0, 5], dims="points")
    columns = xarray.DataArray([4, 1], dims="points")
    selections: list[dict[str, Any]] = [
        {"time": 1, "x": slice(None, None, -2)},
        {"time": [3, 1], "y": [0, 0, 2]},
        {"time": rows, "x": columns},
        {"y": slice(1, 1)},
    ]
    for select in selections:
        xarray.testing.assert_identical(ours.isel(select), theirs.isel(select))
    assert ours["temperature"].sel(time="2020-01-01T06:00", x=2.5).shape == (4,)


def test_dask_reads_chunks(location: Path) -> None:
    chunked = xarray.open_dataset(location, engine="zarr-kit", chunks={})
    assert chunked["temperature"].chunks == ((4, 2), (2, 2), (5,))
    xarray.testing.assert_identical(chunked.compute(), xarray.open_dataset(location, engine="zarr").load())
    again = pickle.loads(pickle.dumps(chunked))
    xarray.testing.assert_identical(again.compute(), chunked.compute())


@pytest.mark.parametrize("zarr_format", FORMATS)
def test_groups_are_trees(tmp_path: Path, zarr_format: Any) -> None:
    tree = xarray.DataTree.from_dict({"/": sample()[["scalar"]], "/a": sample()[["count"]], "/a/b": sample()[["x"]]})
    tree.to_zarr(tmp_path, zarr_format=zarr_format, consolidated=False)
    theirs = xarray.open_datatree(tmp_path, engine="zarr", consolidated=False)
    xarray.testing.assert_identical(xarray.open_datatree(tmp_path, engine="zarr-kit"), theirs)
    assert sorted(xarray.open_groups(tmp_path, engine="zarr-kit", group="a")) == ["/", "/b"]
    same(
        xarray.open_dataset(tmp_path, engine="zarr-kit", group="a"),
        xarray.open_dataset(tmp_path, engine="zarr", group="a", consolidated=False),
    )


def test_the_draft_is_read(tmp_path: Path) -> None:
    data = np.array([[1.5, np.nan], [3, 4]])
    group = zarr_kit.create_group(tmp_path, zarr_format="v3-draft", attributes={"title": "T"})
    group.create_array("a", data=data, dimension_names=["y", "x"], fill_value=np.nan, attributes={"units": "K"})
    opened = xarray.open_dataset(tmp_path, engine="zarr-kit")
    expected = xarray.Dataset({"a": (("y", "x"), data, {"units": "K"})}, attrs={"title": "T"})
    xarray.testing.assert_identical(opened, expected)


def test_the_backend_is_used_only_where_it_is_asked_for(tmp_path: Path) -> None:
    sample().to_zarr(tmp_path / "data.zarr", zarr_format=3, consolidated=False)
    backend = xarray.backends.list_engines()["zarr-kit"]
    assert not backend.guess_can_open(tmp_path / "data.zarr")
    with pytest.raises(TypeError, match="'chunk'"):
        xarray.open_dataset(tmp_path / "data.zarr", engine="zarr-kit", chunk=5)


def test_codecs_that_zarr_python_lacks_are_read(tmp_path: Path) -> None:
    data = np.array([True, False, True])
    group = zarr_kit.create_group(tmp_path)
    group.create_array("a", data=data, dimension_names=["x"], serializer={"name": "packbits"})
    opened = xarray.open_dataset(tmp_path, engine="zarr-kit")
    assert opened["a"].values.tolist() == data.tolist()
    assert "compressors" not in opened["a"].encoding
