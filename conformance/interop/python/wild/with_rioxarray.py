"""A raster that rioxarray describes with the conventions of GeoZarr, and one with those of CF."""

import numpy as np
import rioxarray  # noqa: F401  adds the accessor `rio`
import xarray as xr
from affine import Affine
from rioxarray.enum import Convention

ABOUT = "A raster with a projection, a transform and bounds, by the conventions of GeoZarr in v3 and of CF in v2 and v3."
PACKAGES = ["rioxarray", "rasterio", "xarray", "zarr"]

TRANSFORM = Affine(10.0, 0.0, 500_000.0, 0.0, -10.0, 5_700_000.0)


def raster(convention: Convention) -> xr.Dataset:
    coordinates = {"y": 5_699_995.0 - 10 * np.arange(5), "x": 500_005.0 + 10 * np.arange(7)}
    array = xr.DataArray(np.arange(35, dtype="u2").reshape(5, 7), coordinates, ("y", "x"), "raster", {"units": "1"})
    array = array.rio.write_crs("EPSG:32633", convention=convention)
    array = array.rio.write_transform(TRANSFORM, convention=convention)
    dataset = array.to_dataset()
    # The conventions of GeoZarr may describe all arrays of a group.
    return dataset.rio.write_crs("EPSG:32633", convention=convention) if convention is Convention.ZARR else dataset


def write(index) -> None:
    for store, convention, zarr_format in (
        ("geozarr.zarr", Convention.ZARR, 3),
        ("cf-v3.zarr", Convention.CF, 3),
        ("cf-v2.zarr", Convention.CF, 2),
    ):
        raster(convention).to_zarr(index.path(store), zarr_format=zarr_format, consolidated=True)
        read = xr.open_zarr(index.path(store), chunks=None, decode_coords="all")["raster"]
        assert read.rio.crs.to_epsg() == 32633 and read.rio.transform() == TRANSFORM
        index.expect_all(store)
