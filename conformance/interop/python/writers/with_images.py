"""Writes arrays whose chunks are images, with zarr-python 3 and imagecodecs.

Every codec is written in v2, through numcodecs, and in v3. Only lossless images are here, because decoders of lossy
images round differently.
"""

import warnings

import imagecodecs.numcodecs
import imagecodecs.zarr
import numcodecs
import numpy as np

from cases import CaseBook
from codec_tables import v3
from writers.with_zarr3 import Store

GREY, COLORS = (9, 13), (9, 13, 3)
IMAGES = [
    ("png", {}, [("|u1", GREY), ("<u2", GREY), ("|u1", COLORS), ("<u2", COLORS), ("|u1", (9, 13, 4))]),
    ("jpegxl", {"lossless": True}, [("|u1", GREY), ("<u2", GREY), ("|u1", COLORS), ("<u2", COLORS), ("<f4", GREY)]),
    ("jpegxl", {"lossless": True, "effort": 3, "usecontainer": True}, [("|u1", (9, 13, 4)), ("|u1", (9, 13, 2))]),
    ("webp", {"lossless": True}, [("|u1", COLORS), ("|u1", (9, 13, 4))]),
    ("lerc", {}, [(dtype, GREY) for dtype in ("|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<f4", "<f8")]),
    ("lerc", {"version": 3}, [("<i2", GREY)]),
    ("lerc", {}, [("<i2", (9, 13, 5))]),
    ("lerc", {"level": 0.5}, [("<f4", GREY), ("<f8", (9, 13, 2))]),
    ("wavpack", {}, [(dtype, GREY) for dtype in ("|i1", "|u1", "<i2", "<u2", "<i4", "<f4")]),
    ("wavpack", {"channels": True, "level": 4}, [("<i2", (9, 13, 5)), ("<f4", (9, 13, 20))]),
]


def write(directory) -> None:  # noqa: ANN001
    """Writes everything."""
    warnings.simplefilter("ignore")
    imagecodecs.numcodecs.register_codecs(verbose=False)
    imagecodecs.zarr.register_codecs(verbose=False)
    book = CaseBook(directory)
    for zarr_format in (2, 3):
        store = Store(book, f"v{zarr_format}-images", zarr_format)
        for number, (codec, parameters, types) in enumerate(IMAGES):
            name = f"imagecodecs_{codec}"
            for dtype, shape in types:
                options: dict = {"serializer": v3(name, **parameters)}
                if zarr_format == 2:
                    options = {"compressors": numcodecs.get_codec({"id": name, **parameters})}
                chunks = (5, 8, *shape[2:])
                label = f"{number}-{codec}-{dtype[1:]}-{len(shape)}-{shape[-1]}"
                store.array(label, picture(dtype, shape), chunks, lossy="level" in parameters, **options)
    book.save()


def picture(dtype: str, shape: tuple) -> np.ndarray:
    """Returns numbers that grow along all dimensions, and wrap around."""
    numbers = np.indices(shape).transpose(*range(1, len(shape) + 1), 0) @ np.array([23, 7, 61][: len(shape)])
    if dtype[1] == "f":
        return (numbers / 64).astype(dtype)
    return (numbers * (211 if dtype[2] != "1" else 1)).astype(dtype)
