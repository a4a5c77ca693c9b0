"""Recordings of zarr-python with WavPack, as programs for electrophysiology store them."""

import numpy as np
import wavpack_numcodecs
import zarr
from wavpack_numcodecs.wavpack import WavPack

ABOUT = "Recordings with one and several channels, compressed without loss: integers and floats, in v2 and v3."
PACKAGES = ["wavpack-numcodecs", "zarr"]

# Arrays and chunks. Chunks of fewer samples do not become smaller, which wavpack-numcodecs refuses.
SHAPES = {"one": ((500,), (400,)), "two": ((300, 2), (200, 2)), "five": ((120, 5), (80, 5))}


def recording(dtype: str, shape: tuple) -> np.ndarray:
    """Returns waves with a frequency for each channel."""
    times = np.arange(shape[0]).reshape(-1, *[1] * (len(shape) - 1))
    channels = np.arange(1, shape[1] + 1) if len(shape) > 1 else 1
    waves = 50 * np.sin(times * channels / 9) + 3 * times % 7
    return np.round(waves).astype(dtype)


def write(index) -> None:
    for store, zarr_format, options in (
        ("v2.zarr", 2, {"compressors": WavPack(level=2)}),
        ("v3.zarr", 3, {"serializer": wavpack_numcodecs.WavPack(level=2), "compressors": None, "filters": None}),
    ):
        root = zarr.create_group(index.path(store), zarr_format=zarr_format)
        for dtype in ("int16", "int32", "float32"):
            for name, (shape, chunks) in SHAPES.items():
                data = recording(dtype, shape)
                root.create_array(f"{name}/{dtype}", data=data, chunks=chunks, **options)
                index.expect(store, f"/{name}/{dtype}", data)
