"""Arrays of zarr-python with codecs of imagecodecs, under the names of numcodecs and as codecs of v3."""

import imagecodecs.numcodecs as image
import imagecodecs.zarr
import numpy as np
import zarr

image.register_codecs(verbose=False)
imagecodecs.zarr.register_codecs(verbose=False)

ABOUT = "Images, numbers and bytes with lossless codecs of imagecodecs: compressors and filters of v2, and codecs of v3."
PACKAGES = ["imagecodecs", "zarr"]

BYTES = {
    "brotli": image.Brotli(),
    "lz4h5": image.Lz4h5(),
    "lzf": image.Lzf(),
    "lzw": image.Lzw(),
    "snappy": image.Snappy(),
    "bitshuffle": image.Bitshuffle(itemsize=2),
    "blosc2": image.Blosc2(),
    "packbits": image.Packbits(),
    "lz4f": image.Lz4f(contentchecksum=True, contentsize=True),
}
IMAGES = {
    "png": image.Png(),
    "jpeg2k": image.Jpeg2k(reversible=True),
    "jpegxl": image.Jpegxl(lossless=True),
    "jpegls": image.Jpegls(),
    "webp": image.Webp(lossless=True),
    "lerc": image.Lerc(),
    "htj2k": image.Htj2k(reversible=True),
}
NUMBERS = {
    "zfp": image.Zfp(),
    "zfp_without_header": image.Zfp(header=False, shape=(4, 8), dtype="<f4"),
    "pcodec": image.Pcodec(shape=(4, 8), dtype="<f4"),
}


def pixels(dtype: str, shape: tuple) -> np.ndarray:
    return (np.arange(np.prod(shape)) ** 2 % 199).reshape(shape).astype(dtype)


def write_v3(index) -> None:
    store = "v3.zarr"
    root = zarr.create_group(index.path(store), zarr_format=3)
    data = pixels("<u2", (6, 8))
    for name in ("Brotli", "Lz4f", "Lz4h5", "Lzf", "Lzw", "Snappy"):
        codec = getattr(imagecodecs.zarr, name)()
        root.create_array(f"bytes/{name.lower()}", data=data, chunks=(4, 8), compressors=codec)
        index.expect(store, f"/bytes/{name.lower()}", data)
    for name in ("Png", "Jpegxl", "Htj2k"):
        codec = getattr(imagecodecs.zarr, name)(**({"reversible": True} if name == "Htj2k" else {}))
        root.create_array(f"images/{name.lower()}", data=data, chunks=(6, 8), serializer=codec, compressors=None)
        index.expect(store, f"/images/{name.lower()}", data)
    floats = pixels("<f4", (6, 8)) / 3
    for name in ("Zfp", "Pcodec"):
        codec = getattr(imagecodecs.zarr, name)()
        root.create_array(f"numbers/{name.lower()}", data=floats, chunks=(4, 8), serializer=codec, compressors=None)
        index.expect(store, f"/numbers/{name.lower()}", floats)
    delta = imagecodecs.zarr.Delta(axis=-1)
    root.create_array("filters/delta", data=data, chunks=(4, 8), filters=[delta], compressors=imagecodecs.zarr.Lzw())
    index.expect(store, "/filters/delta", data)


def write(index) -> None:
    store = "v2.zarr"
    root = zarr.create_group(index.path(store), zarr_format=2)

    def add(name: str, data: np.ndarray, **options) -> None:
        """Stores an array. All codecs are lossless; zarr-python does not read all of them as it wrote them."""
        root.create_array(name, data=data, **options)
        index.expect(store, f"/{name}", data)

    write_v3(index)

    for name, codec in BYTES.items():
        data = pixels("<u2", (6, 8))
        add(f"bytes/{name}", data, chunks=(4, 8), compressors=codec)
    for name, codec in IMAGES.items():
        data = pixels("u1", (8, 16, 3)) if name == "webp" else pixels("u1", (8, 16))
        add(f"images/{name}", data, chunks=data.shape, compressors=codec)
    for name, codec in NUMBERS.items():
        add(f"numbers/{name}", pixels("<f4", (6, 8)) / 3, chunks=(4, 8), compressors=codec)
    delta = image.Delta(shape=(4, 8), dtype="<i2", axis=-1)
    data = pixels("<i2", (4, 8))
    add("filters/delta", data, chunks=(4, 8), filters=[delta], compressors=image.Lzw())
    floats = image.Floatpred(shape=(4, 8), dtype="<f4")
    data = pixels("<f4", (4, 8)) / 3
    add("filters/floatpred", data, chunks=(4, 8), filters=[floats], compressors=image.Lzw())
