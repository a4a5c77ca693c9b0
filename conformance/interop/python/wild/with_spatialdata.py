"""A spatial dataset: an image, labels and a table. Points and shapes are Parquet files, which are not arrays."""

import anndata
import numpy as np
import pandas as pd
import spatialdata
import zarr
from spatialdata.models import Image2DModel, Labels2DModel, TableModel

ABOUT = "An image and labels as OME-Zarr 0.5, and an annotated table, in one hierarchy of v3."
PACKAGES = ["spatialdata", "ome-zarr", "anndata", "zarr"]


def dataset() -> spatialdata.SpatialData:
    pixels = (np.arange(3 * 12 * 16) ** 2 % 251).reshape(3, 12, 16).astype("u1")
    labels = (np.indices((12, 16)).sum(axis=0) // 9).astype("i2")
    observations = pd.DataFrame({"region": pd.Categorical(["cells"] * 3), "instance": [0, 1, 2]}, index=["a", "b", "c"])
    table = anndata.AnnData(np.arange(6.0).reshape(3, 2), obs=observations)
    return spatialdata.SpatialData(
        images={"pixels": Image2DModel.parse(pixels, dims=("c", "y", "x"), scale_factors=[2])},
        labels={"cells": Labels2DModel.parse(labels, dims=("y", "x"))},
        tables={"table": TableModel.parse(table, region="cells", region_key="region", instance_key="instance")},
    )


def write(index) -> None:
    store = "dataset.zarr"
    original = dataset()
    original.write(index.path(store))
    read = spatialdata.read_zarr(index.path(store))
    assert np.array_equal(read["cells"].values, original["cells"].values)
    assert np.array_equal(read["table"].X, original["table"].X)
    index.expect_all(store, zarr.open_group(index.path(store), mode="r", use_consolidated=False))
