"""Writes and reads hierarchies in `LMDBStore` of zarr-python 2.18.

    lmdb_store.py write PATH     a group with attributes, and the array `g/a`
    lmdb_store.py read PATH      prints the elements of `ours` as JSON
    lmdb_store.py change PATH    adds 1 to each element of `ours`

`g/a` has 5 by 7 elements in chunks of 2 by 3, and element (i, j) is 100 i + j.
"""

import json
import sys
import warnings

import numpy as np
import zarr


def write(store: zarr.LMDBStore) -> None:
    root = zarr.open_group(store, mode="w")
    root.attrs["title"] = "written by LMDBStore"
    rows, columns = np.indices((5, 7))
    elements = (100 * rows + columns).astype("<i4")
    root.create_dataset("g/a", data=elements, chunks=(2, 3), compressor=zarr.Zlib(1))


def main(action: str, path: str) -> None:
    with zarr.LMDBStore(path) as store:
        if action == "write":
            write(store)
            return
        array = zarr.open_array(store, mode="r+", path="ours")
        if action == "change":
            array[:] = array[:] + 1
        print(json.dumps(array[:].tolist()))


if __name__ == "__main__":
    # The class is deprecated, which is printed next to the elements.
    warnings.simplefilter("ignore", FutureWarning)
    main(*sys.argv[1:])
