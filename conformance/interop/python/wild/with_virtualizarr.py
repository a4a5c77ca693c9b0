"""References of virtualizarr to an HDF5 file, as JSON."""

import json
from pathlib import Path

import hdf5
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore
from virtualizarr import open_virtual_dataset
from virtualizarr.parsers import HDFParser

ABOUT = "References to an HDF5 file next to them, as JSON."
PACKAGES = ["virtualizarr", "h5py"]


def write(index) -> None:
    file = index.path("data.h5")
    hdf5.write(file)
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    dataset = open_virtual_dataset(f"file://{file}", registry=registry, parser=HDFParser(group="g"))
    references = dataset.vz.to_kerchunk(format="dict")
    # virtualizarr writes absolute targets; stored targets must not depend on a machine.
    for value in references["refs"].values():
        if isinstance(value, list):
            value[0] = "data.h5"
    Path(index.path("virtual.json")).write_text(json.dumps(references))
    hdf5.expect(index, "reference:virtual.json", file, references)
