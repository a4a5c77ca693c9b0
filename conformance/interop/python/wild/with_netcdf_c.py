"""Datasets of netCDF-C: NCZarr with its own members, and plain Zarr with the dimension names of xarray."""

import netCDF4
import numpy as np

ABOUT = "Datasets with groups, dimensions, packed values, texts, CF attributes and each filter; NCZarr and plain Zarr of v2."
PACKAGES = ["netCDF4", f"netCDF-C {netCDF4.__netcdf4libversion__.split()[0]}"]


def write_dataset(path: str, mode: str) -> None:
    with netCDF4.Dataset(f"file://{path}#mode={mode}", "w") as dataset:
        dataset.Conventions = "CF-1.10"
        dataset.title = "stored by netCDF-C"
        for name, length in (("time", None), ("y", 4), ("x", 6)):
            dataset.createDimension(name, length)
        time = dataset.createVariable("time", "i4", ("time",), chunksizes=(2,), fill_value=-1)
        time.units = "days since 2001-01-01"
        time.calendar = "noleap"
        time[:] = np.array([0, 31, 59], "i4")
        packed = dataset.createVariable("t", "i2", ("time", "y", "x"), chunksizes=(2, 2, 4), fill_value=-99, zlib=True)
        packed.units = "K"
        packed.scale_factor = 0.5
        packed.add_offset = 250.0
        packed.grid_mapping = "crs"
        packed[:] = np.arange(72).reshape(3, 4, 6)
        crs = dataset.createVariable("crs", "i4", ())
        crs.grid_mapping_name = "latitude_longitude"
        crs[...] = 4326
        group = dataset.createGroup("station")
        heights = group.createVariable("height", "f4", ("x",))
        heights.long_name = "height above the ground"
        heights[:] = np.arange(6, dtype="f4") / 4
        names = group.createVariable("code", "S1", ("y",))
        names[:] = np.array(["a", "b", "c", "d"], "S1")


def write_filters(path: str, mode: str) -> None:
    """Writes a variable for each filter, and one for each size of elements that the filter `shuffle` rearranges."""
    with netCDF4.Dataset(f"file://{path}#mode={mode}", "w") as dataset:
        dataset.createDimension("x", 60)

        def add(name: str, dtype: str, **options) -> None:
            dataset.createVariable(name, dtype, ("x",), chunksizes=(40,), **options)[:] = np.arange(60) * 100 % 120

        for dtype in ("i1", "u2", "f4", "i8", "f8"):
            add(f"shuffle_{dtype}", dtype, zlib=True, shuffle=True)
        for name in ("zstd", "bzip2", "blosc_lz4", "blosc_zstd"):
            add(name, "i4", compression=name, shuffle=False)
        add("fletcher32", "i4", zlib=True, shuffle=False, fletcher32=True)


def expect_all(index, store: str, mode: str) -> None:
    """Records every variable, as netCDF-C reads it."""
    with netCDF4.Dataset(f"file://{index.path(store)}#mode={mode}", "r") as dataset:
        dataset.set_auto_maskandscale(False)
        for prefix, group in (("", dataset), *((f"/{name}", group) for name, group in dataset.groups.items())):
            for name, variable in group.variables.items():
                elements = np.asarray(variable[...])
                # Plain Zarr does not distinguish characters from texts.
                index.expect(store, f"{prefix}/{name}", elements.astype("S1") if elements.dtype == object else elements)


def write(index) -> None:
    for store, mode in (("nczarr.zarr", "nczarr,file"), ("zarr.zarr", "zarr,file")):
        write_dataset(index.path(store), mode)
        expect_all(index, store, mode)
    write_filters(index.path("filters.zarr"), "nczarr,file")
    expect_all(index, "filters.zarr", "nczarr,file")
