"""HDF5 files to which references point."""

import h5py
import numpy as np


def numbers() -> np.ndarray:
    return np.arange(70).reshape(10, 7)


def write(path: str) -> None:
    """Writes datasets with the usual filters, dimension scales and attributes."""
    with h5py.File(path, "w") as file:
        file.attrs["title"] = "stored by h5py"
        compressed = {"chunks": (4, 3), "compression": "gzip", "shuffle": True}
        file.create_dataset("g/compressed", data=numbers().astype("<i4"), **compressed)
        file.create_dataset("g/checked", data=numbers().astype("<f4"), chunks=(5, 7), fletcher32=True)
        file.create_dataset("g/plain", data=numbers().astype(">f8"))
        for name, length in (("y", 10), ("x", 7)):
            file.create_dataset(f"g/{name}", data=np.arange(length)).make_scale(name)
        for name in ("compressed", "checked", "plain"):
            for dimension, scale in enumerate("yx"):
                file["g"][name].dims[dimension].attach_scale(file["g"][scale])


def expect(index, store: str, path: str, references: dict) -> None:
    """Records the datasets that the references contain, as h5py reads them."""
    with h5py.File(path) as file:
        for key in references["refs"]:
            if key.endswith("/.zarray"):
                array = key.removesuffix("/.zarray")
                index.expect(store, f"/{array}", file[f"g/{array.removeprefix('g/')}"][...])
