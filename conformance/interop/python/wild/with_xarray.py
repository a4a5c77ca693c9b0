"""Datasets of xarray with the encodings of CF, consolidated, in v2 and v3."""

import numpy as np
import pandas as pd
import xarray as xr

ABOUT = "Datasets with packed variables, masks, times, texts and coordinates; consolidated, in v2 and in v3 with shards."
PACKAGES = ["xarray", "zarr"]

ENCODING = {
    "t2m": {"dtype": "i2", "scale_factor": 0.01, "add_offset": 273.15, "_FillValue": -32768},
    "snow": {"dtype": "u1", "_FillValue": 255},
    "mask": {"_FillValue": np.float32(-999)},
    "time": {"units": "hours since 2000-01-01", "dtype": "i4"},
}


def dataset() -> xr.Dataset:
    t2m = 250 + np.arange(4 * 5 * 6).reshape(4, 5, 6) / 4
    t2m[1, 2] = np.nan
    snow = np.where(np.arange(30) % 4 == 0, np.nan, np.arange(30.0)).reshape(5, 6)
    variables = {
        "t2m": (("time", "lat", "lon"), t2m, {"units": "K"}),
        "snow": (("lat", "lon"), snow),
        "mask": (("lat", "lon"), np.where(snow > 9, snow, np.nan).astype("f4")),
        "flag": ("time", np.array([True, False, True, True])),
        "wave": ("lon", np.arange(6) * (1 + 2j)),
        "station": ("lat", np.array(["Oslo", "", "Zürich", "東京", "Lima"], object)),
        "code": ("lat", np.array(["a", "bc", "", "é", "z"], "<U2")),
        "step": ("time", pd.to_timedelta([0, 6, 12, 18], "h")),
        "crs": ((), np.int32(4326)),
    }
    coordinates = {
        "time": pd.date_range("2020-02-28", periods=4, freq="6h"),
        "lat": np.linspace(-60, 60, 5, dtype="f4"),
        "lon": np.arange(0.0, 360, 60),
    }
    return xr.Dataset(variables, coordinates, {"Conventions": "CF-1.8", "title": "stored by xarray"})


def write(index) -> None:
    original = dataset()
    for zarr_format in (2, 3):
        store = f"v{zarr_format}.zarr"
        encoding = {name: dict(options) for name, options in ENCODING.items()}
        encoding["t2m"]["chunks"] = (2, 3, 4)
        if zarr_format == 3:
            encoding["t2m"]["shards"] = (4, 6, 8)
        original.to_zarr(index.path(store), zarr_format=zarr_format, encoding=encoding, consolidated=True)
        decoded = xr.open_zarr(index.path(store), chunks=None).load()
        xr.testing.assert_allclose(decoded, original)
        index.expect_all(store)
        stored = xr.open_zarr(index.path(store), chunks=None, decode_cf=False).load()
        assert stored["t2m"].dtype == "i2" and stored["t2m"].values[1, 2, 0] == -32768
