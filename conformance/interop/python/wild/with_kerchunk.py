"""References of kerchunk to an HDF5 file, in JSON and in Parquet files."""

import json
from pathlib import Path

import hdf5
from kerchunk.df import refs_to_dataframe
from kerchunk.hdf import SingleHdf5ToZarr

ABOUT = "References to an HDF5 file next to them: JSON with targets and inline chunks, and Parquet files."
PACKAGES = ["kerchunk", "h5py", "fastparquet"]


def write(index) -> None:
    file = index.path("data.h5")
    hdf5.write(file)
    for name, threshold in (("targets", 0), ("inline", 100)):
        with open(file, "rb") as opened:
            references = SingleHdf5ToZarr(opened, "data.h5", inline_threshold=threshold).translate()
        Path(index.path(f"{name}.json")).write_text(json.dumps(references))
        hdf5.expect(index, f"reference:{name}.json", file, references)
        if name == "targets":
            refs_to_dataframe(references["refs"], index.path("targets.parq"), record_size=10)
            hdf5.expect(index, "reference:targets.parq", file, references)
