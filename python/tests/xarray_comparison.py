"""Data sets, and their comparison as two engines of xarray open them."""

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import zarr


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
