"""Multiscale images of ngff-zarr, in OME-Zarr 0.4 and 0.5, in shards and in a zip archive."""

import ngff_zarr
import numpy as np

ABOUT = "Multiscale images: OME-Zarr 0.4 in v2; OME-Zarr 0.5 in v3, in shards and in a zip archive (.ozx)."
PACKAGES = ["ngff-zarr", "zarr"]


def image() -> np.ndarray:
    return (np.arange(20 * 24) ** 2 % 251).reshape(20, 24).astype("u1")


def write(index) -> None:
    pixels = ngff_zarr.to_ngff_image(image(), dims=["y", "x"], scale={"y": 0.5, "x": 0.25}, name="pixels")
    scales = ngff_zarr.to_multiscales(pixels, scale_factors=[2], chunks=8)
    for store, options in {
        "04.zarr": {"version": "0.4"},
        "05.zarr": {"version": "0.5"},
        "05-sharded.zarr": {"version": "0.5", "chunks_per_shard": 2},
        "05.ozx": {"version": "0.5", "chunks_per_shard": 2},
    }.items():
        ngff_zarr.to_ome_zarr(index.path(store), scales, **options)
        read = ngff_zarr.from_ome_zarr(index.path(store))
        assert np.array_equal(read.images[0].data.compute(), image())
        if store.endswith(".ozx"):
            expect_archive(index, store)
        else:
            index.expect_all(store)


def expect_archive(index, store: str) -> None:
    import zarr

    with zarr.storage.ZipStore(index.path(store), mode="r") as archive:
        index.expect_all(store, zarr.open_group(archive, mode="r", use_consolidated=False))
