"""Reads an array with TensorStore: `tensorstore_read.py STORE ARRAY OUT`."""

import sys
from pathlib import Path

import tensorstore

sys.path.insert(0, str(Path(__file__).parents[1] / "interop" / "python"))
from raw import raw_bytes

store, path, out = sys.argv[1:]
folder = Path(store).joinpath(*path.strip("/").split("/"))
driver = "zarr" if (folder / ".zarray").exists() else "zarr3"
spec = {"driver": driver, "kvstore": {"driver": "file", "path": f"{folder}/"}}
elements = tensorstore.open(spec, open=True, read=True).result().read().result()
Path(out).write_bytes(raw_bytes(elements))
