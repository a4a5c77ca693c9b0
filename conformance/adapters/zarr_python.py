"""Reads an array with zarr-python 2 or 3: `zarr_python.py STORE ARRAY OUT`."""

import sys
from pathlib import Path

import numpy as np
import zarr

sys.path.insert(0, str(Path(__file__).parents[1] / "interop" / "python"))
from raw import raw_bytes


def with_texts(elements: np.ndarray) -> np.ndarray:
    """Returns the elements. Converts objects that are neither strings nor bytes to strings, so that they can be compared."""
    if elements.dtype.kind != "O":
        return elements
    return np.array([it if isinstance(it, str | bytes) else str(it) for it in elements.ravel()], dtype=object)


store, path, out = sys.argv[1:]
array = zarr.open_array(store, path=path.strip("/"), mode="r")
Path(out).write_bytes(raw_bytes(with_texts(np.asarray(array[...]))))
