"""Datasets of z5py: an N5 container, and a hierarchy of v2."""

import numpy as np
import z5py

ABOUT = "An N5 container and a hierarchy of v2, both with groups, attributes and several compressions."
PACKAGES = ["z5py"]

COMPRESSIONS = {"n5": ["raw", "gzip", "bzip2"], "zarr": ["raw", "zlib", "blosc"]}


def write(index) -> None:
    for kind, compressions in COMPRESSIONS.items():
        store = f"container.{kind}"
        file = z5py.File(index.path(store), "a", use_zarr_format=kind == "zarr")
        group = file.create_group("volumes")
        group.attrs["resolution"] = [4, 4, 40]
        for compression in compressions:
            for dtype in ("uint8", "uint64", "float32"):
                name = f"{compression}_{dtype}"
                values = (np.arange(4 * 5 * 6) * 3 % 250).reshape(4, 5, 6).astype(dtype)
                data = group.create_dataset(name, data=values, chunks=(2, 3, 6), compression=compression)
                read = data[...]
                assert np.array_equal(read, values)
                # z5py reverses the dimensions of N5.
                expected = read.T if kind == "n5" else read
                index.expect(f"n5:{store}" if kind == "n5" else store, f"/volumes/{name}", expected)
