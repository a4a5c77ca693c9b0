"""Annotated matrices of anndata: dense, sparse, categories, texts, nullable values; in v2 and v3."""

import anndata
import numpy as np
import pandas as pd
import scipy.sparse

ABOUT = "An annotated matrix: sparse and dense matrices, categories, texts, nullable values, structures and scalars."
PACKAGES = ["anndata", "zarr"]


def matrix() -> anndata.AnnData:
    dense = np.where(np.arange(35) % 3 == 0, np.arange(35), 0).reshape(5, 7).astype("f4")
    observations = pd.DataFrame(
        {
            "kind": pd.Categorical(["b", "t", "b", None, "nk"]),
            "count": np.arange(5),
            "batch": ["x", "y", "", "é", "x"],
            "maybe": pd.array([1, None, 3, 4, None], "Int64"),
            "is_good": pd.array([True, None, False, True, False], "boolean"),
        },
        index=[f"cell{number}" for number in range(5)],
    )
    variables = pd.DataFrame({"mean": np.linspace(0, 1, 7)}, index=[f"gene{number}" for number in range(7)])
    return anndata.AnnData(
        X=scipy.sparse.csr_matrix(dense),
        obs=observations,
        var=variables,
        layers={"dense": dense, "columns": scipy.sparse.csc_matrix(dense * 2)},
        obsm={"X_pca": np.arange(10.0).reshape(5, 2), "frame": pd.DataFrame({"u": range(5)}, index=observations.index)},
        obsp={"distances": scipy.sparse.csr_matrix(np.eye(5))},
        uns={
            "title": "stored by anndata",
            "names": np.array(["one", "two"], object),
            "scores": np.array([(1, 2.5), (3, 4.5)], [("rank", "i4"), ("score", "f8")]),
            "nested": {"number": 5, "flag": True},
        },
    )


def write(index) -> None:
    for zarr_format in (2, 3):
        anndata.settings.zarr_write_format = zarr_format
        store = f"v{zarr_format}.zarr"
        matrix().write_zarr(index.path(store))
        read = anndata.read_zarr(index.path(store))
        assert (read.X != matrix().X).nnz == 0
        assert read.obs.astype(object).equals(matrix().obs.astype(object))
        index.expect_all(store)
