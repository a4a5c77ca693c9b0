"""Reads an array with zarr-python 2 or 3: `zarr_python.py STORE ARRAY OUT`."""

import sys
from pathlib import Path

import zarr

sys.path.insert(0, str(Path(__file__).parents[1] / "interop" / "python"))
from raw import raw_bytes

store, path, out = sys.argv[1:]
array = zarr.open_array(store, path=path.strip("/"), mode="r")
Path(out).write_bytes(raw_bytes(array[...]))
