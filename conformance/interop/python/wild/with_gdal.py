"""Rasters and multidimensional arrays of GDAL."""

import numpy as np
from osgeo import gdal, osr

gdal.UseExceptions()

ABOUT = "Rasters and multidimensional arrays with projections, dimensions and each compression; v2 and the draft of v3."
PACKAGES = [f"GDAL {gdal.__version__}"]

TYPES = {"u1": gdal.GDT_Byte, "i2": gdal.GDT_Int16, "u4": gdal.GDT_UInt32, "f4": gdal.GDT_Float32, "f8": gdal.GDT_Float64}
COMPRESSIONS = ["NONE", "ZLIB", "GZIP", "LZMA", "ZSTD", "LZ4", "BLOSC"]


def elements(dtype: str) -> np.ndarray:
    return (np.arange(35).reshape(5, 7) * 3).astype(dtype)


def earth() -> osr.SpatialReference:
    reference = osr.SpatialReference()
    reference.ImportFromEPSG(4326)
    return reference


def write_raster(index) -> None:
    store = "raster.zarr"
    options = ["COMPRESS=ZLIB", "BLOCKSIZE=3,4"]
    driver = gdal.GetDriverByName("Zarr")
    raster = driver.Create(index.path(store), 7, 5, 1, gdal.GDT_Float32, options)
    raster.SetGeoTransform([10, 0.5, 0, 50, 0, -0.5])
    raster.SetSpatialRef(earth())
    raster.GetRasterBand(1).SetNoDataValue(-1)
    raster.GetRasterBand(1).WriteArray(elements("f4"))
    raster = None


def write_group(index, store: str, version: str) -> None:
    driver = gdal.GetDriverByName("Zarr")
    dataset = driver.CreateMultiDimensional(index.path(store), [], [f"FORMAT={version}"])
    root = dataset.GetRootGroup()
    rows = root.CreateDimension("y", None, None, 5)
    columns = root.CreateDimension("x", None, None, 7)
    axis = root.CreateMDArray("x", [columns], gdal.ExtendedDataType.Create(gdal.GDT_Float64))
    axis.Write(np.linspace(10, 13, 7))
    group = root.CreateGroup("data")
    for dtype, kind in TYPES.items():
        for compression in COMPRESSIONS if dtype == "i2" else ["ZLIB"]:
            options = [f"COMPRESS={compression}", "BLOCKSIZE=3,4"]
            name = f"{dtype}_{compression.lower()}"
            array = group.CreateMDArray(name, [rows, columns], gdal.ExtendedDataType.Create(kind), options)
            array.SetUnit("m")
            if compression == "NONE":
                array.SetSpatialRef(earth())
            array.Write(elements(dtype))
            array = None
    axis = group = root = dataset = None


def expect_all(index, store: str) -> None:
    """Records every array, as GDAL reads it."""
    dataset = gdal.OpenEx(index.path(store), gdal.OF_MULTIDIM_RASTER)

    def expect(group, path: str) -> None:
        for name in group.GetMDArrayNames() or []:
            index.expect(store, f"{path}/{name}", group.OpenMDArray(name).ReadAsArray())
        for name in group.GetGroupNames() or []:
            expect(group.OpenGroup(name), f"{path}/{name}")

    expect(dataset.GetRootGroup(), "")


def write(index) -> None:
    write_raster(index)
    write_group(index, "v2.zarr", "ZARR_V2")
    write_group(index, "draft.zarr", "ZARR_V3")
    for store in ("raster.zarr", "v2.zarr", "draft.zarr"):
        expect_all(index, store)
