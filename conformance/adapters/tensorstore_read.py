"""Reads an array with TensorStore: `tensorstore_read.py STORE ARRAY OUT`."""

import sys
from pathlib import Path

import numpy as np
import tensorstore

sys.path.insert(0, str(Path(__file__).parents[1] / "interop" / "python"))
from raw import raw_bytes


class Bytes:
    """The memory of an array as unsigned bytes."""

    def __init__(self, elements: np.ndarray) -> None:
        self.elements = elements
        self.__array_interface__ = elements.__array_interface__ | {"typestr": "|u1", "descr": [("", "|u1")]}


def with_bytes(elements: np.ndarray) -> np.ndarray:
    """Returns the elements. TensorStore labels the type `byte` as `|V0`, which has size 0, although each element has one byte."""
    return np.asarray(Bytes(elements)) if elements.dtype.itemsize == 0 else elements


def spec(store: Path, path: str) -> dict:
    """Returns the driver and the place of an array in a folder, a zip archive or an N5 container."""
    if store.suffix in (".zip", ".ozx"):
        # Archives in this suite contain v3.
        kvstore = {"driver": "zip", "base": f"file://{store}", "path": f"{path}/" if path else ""}
        return {"driver": "zarr3", "kvstore": kvstore}
    folder = store.joinpath(*path.split("/"))
    drivers = {".zarray": "zarr", "attributes.json": "n5"}
    driver = next((name for file, name in drivers.items() if (folder / file).exists()), "zarr3")
    return {"driver": driver, "kvstore": {"driver": "file", "path": f"{folder}/"}}


store, path, out = sys.argv[1:]
elements = tensorstore.open(spec(Path(store), path.strip("/")), open=True, read=True).result().read().result()
Path(out).write_bytes(raw_bytes(with_bytes(elements)))
