"""Writes N5 containers.

    n5_containers.py tensorstore FOLDER   arrays of TensorStore, one for each compression
    n5_containers.py zarr FOLDER          a hierarchy of zarr-python 2.18: groups, attributes and arrays

TensorStore's arrays have 5 by 7 elements in blocks of 3 by 4, and element (i, j) is 100 i + j. The arrays of
zarr-python have the same elements, but `N5Store` reverses the dimensions: element (i, j) is at (j, i) of the dataset.
"""

import sys

import numpy as np

SHAPE = (5, 7)
COMPRESSIONS = {
    "raw": {"type": "raw"},
    "gzip": {"type": "gzip", "level": 3},
    "zlib": {"type": "gzip", "useZlib": True},
    "bzip2": {"type": "bzip2", "blockSize": 5},
    "xz": {"type": "xz", "preset": 2},
    "zstd": {"type": "zstd", "level": 3},
    "blosc": {"type": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1},
}


def elements(dtype: str) -> np.ndarray:
    rows, columns = np.indices(SHAPE)
    return (100 * rows + columns).astype(dtype)


def write_tensorstore(folder: str) -> None:
    import tensorstore as ts

    for name, compression in COMPRESSIONS.items():
        for dtype in ("uint16", "float64"):
            spec = {
                "driver": "n5",
                "kvstore": {"driver": "file", "path": f"{folder}/{name}/{dtype}/"},
                "metadata": {
                    "dimensions": list(SHAPE),
                    "blockSize": [3, 4],
                    "dataType": dtype,
                    "compression": compression,
                    "axes": ["x", "y"],
                },
            }
            ts.open(spec, create=True).result().write(elements(dtype)).result()


def write_zarr(folder: str) -> None:
    import numcodecs
    import zarr

    root = zarr.group(zarr.N5Store(folder))
    root.attrs["n"] = 5
    compressors = {"gzip": numcodecs.GZip(4), "bz2": numcodecs.BZ2(3), "none": None, "lzma": numcodecs.LZMA(preset=1)}
    for name, compressor in compressors.items():
        array = root.create_dataset(f"deep/{name}", data=elements("int32"), chunks=(3, 4), compressor=compressor)
        array.attrs["units"] = "nm"
    root.create_dataset("bytes", data=elements("uint8"), chunks=(2, 2), compressor=None)
    root.create_dataset("empty", shape=SHAPE, chunks=(2, 2), dtype="float32", compressor=None)


if __name__ == "__main__":
    {"tensorstore": write_tensorstore, "zarr": write_zarr}[sys.argv[1]](sys.argv[2])
