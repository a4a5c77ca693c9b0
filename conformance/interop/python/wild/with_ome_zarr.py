"""Images, labels and a plate of ome-zarr, in OME-Zarr 0.4 and 0.5."""

import numpy as np
import zarr
from ome_zarr.format import FormatV04, FormatV05
from ome_zarr.io import parse_url
from ome_zarr.reader import Reader
from ome_zarr.writer import write_image, write_labels, write_plate_metadata, write_well_metadata

ABOUT = "A multiscale image with labels, and a plate; OME-Zarr 0.4 in v2 and OME-Zarr 0.5 in v3, with and without shards."
PACKAGES = ["ome-zarr", "zarr"]

FORMATS = {"04": FormatV04(), "05": FormatV05()}
OPTIONS = {
    "04": {"chunks": (1, 8, 8)},
    "05": {"chunks": (1, 8, 8)},
    "05-sharded": {"chunks": (1, 4, 4), "shards": (1, 8, 8)},
}


def image() -> np.ndarray:
    return (np.arange(2 * 14 * 18) ** 2 % 4001).reshape(2, 14, 18).astype("u2")


def labels() -> np.ndarray:
    return (np.indices((14, 18)).sum(axis=0) // 6).astype("i4")


def write_one(index, name: str) -> None:
    store = f"image-{name}.zarr"
    version = FORMATS[name[:2]]
    group = zarr.open_group(index.path(store), mode="w", zarr_format=version.zarr_format)
    options = OPTIONS[name]
    write_image(image(), group, scale_factors=[2], axes="cyx", fmt=version, storage_options=dict(options))
    flat = {key: sizes[1:] for key, sizes in options.items()}
    write_labels(labels(), group, name="cells", scale_factors=[2], axes="yx", fmt=version, storage_options=flat)
    nodes = list(Reader(parse_url(index.path(store)))())
    assert np.array_equal(nodes[0].data[0].compute(), image())
    index.expect_all(store)


def write_plate(index, name: str) -> None:
    store = f"plate-{name}.zarr"
    version = FORMATS[name]
    plate = zarr.open_group(index.path(store), mode="w", zarr_format=version.zarr_format)
    write_plate_metadata(plate, ["A"], ["1"], ["A/1"], fmt=version)
    well = plate.require_group("A/1")
    write_well_metadata(well, ["0"], fmt=version)
    write_image(image(), well.require_group("0"), scale_factors=[], axes="cyx", fmt=version)
    index.expect_all(store)


def write(index) -> None:
    for name in OPTIONS:
        write_one(index, name)
    for name in FORMATS:
        write_plate(index, name)
