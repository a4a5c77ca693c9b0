"""Reads an array over HTTP with zarr-python and fsspec, and prints its elements as JSON.

    served.py URL PATH
"""

import json
import sys

import fsspec
import zarr


def main(url: str, path: str) -> None:
    files = fsspec.filesystem("http", asynchronous=True)
    store = zarr.storage.FsspecStore(files, path=url.rstrip("/"), read_only=True)
    array = zarr.open_array(store, path=path, mode="r")
    last = fsspec.filesystem("http").cat_file(f"{url}zarr.json", start=-3)
    assert last == fsspec.filesystem("http").cat_file(f"{url}zarr.json")[-3:], last
    print(json.dumps(array[:].tolist()))


if __name__ == "__main__":
    main(*sys.argv[1:])
