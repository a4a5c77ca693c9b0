"""Reads N5 containers that the engine wrote, and prints what is in them as JSON.

    n5_read.py tensorstore FOLDER ARRAY   elements, axes
    n5_read.py zarr FOLDER ARRAY          elements, attributes, groups; `N5Store` reverses the dimensions
    n5_read.py z5py FOLDER ARRAY          elements, attributes; z5py reverses the dimensions
"""

import json
import sys
import warnings

# zarr-python 2 warns of each use of `N5Store`, on the stream that the test reads, too.
warnings.simplefilter("ignore", FutureWarning)


def read(program: str, folder: str, name: str) -> dict:
    if program == "tensorstore":
        import tensorstore as ts

        spec = {"driver": "n5", "kvstore": {"driver": "file", "path": f"{folder}/{name}/"}}
        array = ts.open(spec).result()
        axes = [label or None for label in array.domain.labels]
        return {"elements": array.read().result().tolist(), "axes": axes}
    if program == "zarr":
        import zarr

        store = zarr.N5Store(folder)
        array = zarr.open_group(store, mode="r")[name]
        above = [name.rsplit("/", depth)[0] for depth in range(1, name.count("/") + 1)]
        groups = [zarr.open_group(store, path=path, mode="r").path for path in [*above, ""]]
    else:
        import z5py

        array = z5py.File(folder, mode="r")[name]
        groups = None
    attributes = {key: array.attrs[key] for key in array.attrs.keys()}
    return {"elements": array[...].transpose().tolist(), "attributes": attributes, "groups": groups}


print(json.dumps(read(*sys.argv[1:])))
