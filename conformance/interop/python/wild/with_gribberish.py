"""GRIB messages of ecCodes as chunks of zarr-python, which gribberish reads."""

from pathlib import Path

import eccodes
import numpy as np
import zarr
from gribberish.zarr import GribberishCodec

ABOUT = "Fields and coordinates of a forecast: each chunk is a GRIB message, in several packings, with missing points; v3."
PACKAGES = ["gribberish", "eccodes", "zarr"]

ROWS, COLUMNS = 4, 6
PACKINGS = {
    "simple": "grid_simple",
    "complex": "grid_complex",
    "differences": "grid_complex_spatial_differencing",
    "ccsds": "grid_ccsds",
}


def message(packing: str, step: int, missing: bool) -> bytes:
    """Returns a message with a field of eighths, so that packing loses nothing."""
    handle = eccodes.codes_grib_new_from_samples("regular_ll_sfc_grib2")
    try:
        for key, value in {
            "Ni": COLUMNS,
            "Nj": ROWS,
            "latitudeOfFirstGridPointInDegrees": 50,
            "latitudeOfLastGridPointInDegrees": 47,
            "longitudeOfFirstGridPointInDegrees": 10,
            "longitudeOfLastGridPointInDegrees": 15,
            "iDirectionIncrementInDegrees": 1,
            "jDirectionIncrementInDegrees": 1,
            "forecastTime": step,
            "bitmapPresent": int(missing),
            "packingType": packing,
            "bitsPerValue": 16,
            "decimalScaleFactor": 0,
        }.items():
            eccodes.codes_set(handle, key, value)
        values = (np.arange(ROWS * COLUMNS) ** 2 * (step + 1) % 97) / 8
        if missing:
            values[[8, 23]] = eccodes.codes_get_double(handle, "missingValue")
        eccodes.codes_set_values(handle, values)
        return eccodes.codes_get_message(handle)
    finally:
        eccodes.codes_release(handle)


def write(index) -> None:
    store = "forecast.zarr"
    root = zarr.create_group(index.path(store), zarr_format=3)

    def add(name: str, shape: tuple, messages: list[bytes], codec: GribberishCodec) -> None:
        chunk = (1, *shape) if len(messages) > 1 else shape
        whole = (len(messages), *shape) if len(messages) > 1 else shape
        options = {"serializer": codec, "filters": None, "compressors": None, "fill_value": np.nan}
        array = root.create_array(name, shape=whole, chunks=chunk, dtype="float64", **options)
        for number, encoded in enumerate(messages):
            places = [number, *[0] * len(shape)] if len(messages) > 1 else [0] * len(shape)
            chunk_file = Path(index.path(store), name, "c", *map(str, places))
            chunk_file.parent.mkdir(parents=True, exist_ok=True)
            chunk_file.write_bytes(encoded)
        index.expect(store, f"/{name}", array[...])

    for name, packing in PACKINGS.items():
        for missing in (False, True):
            messages = [message(packing, step, missing) for step in range(2)]
            field = f"{name}_missing" if missing else name
            add(field, (ROWS, COLUMNS), messages, GribberishCodec(var="t"))
    coordinates = [message("grid_simple", 0, False)]
    add("latitude", (ROWS,), coordinates, GribberishCodec(var="latitude"))
    add("longitude", (COLUMNS,), coordinates, GribberishCodec(var="longitude"))
    turned = GribberishCodec(var="t", north_up=True, adjust_longitude_range=True)
    add("turned", (ROWS, COLUMNS), coordinates, turned)
