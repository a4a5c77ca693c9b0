"""Arrays of zarr-python 2 with the filters and compressors of numcodecs, objects and structures."""

import numcodecs
import numpy as np
import zarr

ABOUT = "Arrays with each filter and compressor of numcodecs, texts, bytes, structures, dates, and no chunk at all; v2."
PACKAGES = ["zarr", "numcodecs"]

COMPRESSORS = {
    "blosc": numcodecs.Blosc("lz4", 5, numcodecs.Blosc.BITSHUFFLE),
    "bz2": numcodecs.BZ2(),
    "gzip": numcodecs.GZip(),
    "lz4": numcodecs.LZ4(),
    "lzma": numcodecs.LZMA(),
    "zlib": numcodecs.Zlib(),
    "zstd": numcodecs.Zstd(),
    "none": None,
}
FILTERS = {
    "delta": ("<i4", [numcodecs.Delta("<i4", "<i2")]),
    "scaled": ("<f8", [numcodecs.FixedScaleOffset(offset=0, scale=10, dtype="<f8", astype="<i2")]),
    "quantized": ("<f4", [numcodecs.Quantize(2, "<f4")]),
    "astype": ("<f8", [numcodecs.AsType("<f4", "<f8")]),
    "bits": ("|b1", [numcodecs.PackBits()]),
    "shuffled": ("<i4", [numcodecs.Shuffle(4)]),
    "rounded": ("<f4", [numcodecs.BitRound(8)]),
    "summed": ("<i4", [numcodecs.Fletcher32()]),
    "crc": ("<i4", [numcodecs.CRC32()]),
    "adler": ("<i4", [numcodecs.Adler32()]),
}
OBJECT_ITEMS = [{"a": [1, 2.5]}, [], None, {"é": True}]
OBJECTS = {
    "vlen_utf8": (numcodecs.VLenUTF8(), ["a", "", "é", "日本"]),
    "vlen_bytes": (numcodecs.VLenBytes(), [b"a", b"", b"\x00\xff", b"word"]),
    "json": (numcodecs.JSON(), OBJECT_ITEMS),
    "msgpack": (numcodecs.MsgPack(), OBJECT_ITEMS),
    "ragged": (numcodecs.VLenArray("<i4"), [np.arange(3, dtype="i4"), np.zeros(0, "i4"), np.ones(2, "i4"), np.zeros(1, "i4")]),
    "categories": (numcodecs.Categorize(["x", "y"], object), ["x", "y", "", "x"]),
}


def values(dtype: str) -> np.ndarray:
    return (np.arange(20).reshape(4, 5) / 3 * (3 if dtype[1] != "f" else 1)).astype(dtype)


def write(index) -> None:
    store = "filters.zarr"
    root = zarr.open_group(index.path(store), mode="w")
    options = {"chunks": (3, 3)}
    for name, compressor in COMPRESSORS.items():
        root.create_dataset(f"compressors/{name}", data=values("<i4"), compressor=compressor, **options)
    for name, (dtype, filters) in FILTERS.items():
        root.create_dataset(f"filters/{name}", data=values(dtype), filters=filters, compressor=None, **options)
    for name, (codec, items) in OBJECTS.items():
        data = np.empty(len(items), object)
        data[:] = items
        root.create_dataset(f"objects/{name}", data=data, object_codec=codec, chunks=3)
    structures = np.array([(1, 2.5, b"ab"), (3, 4.5, b"c")], [("n", "<i4"), ("x", ">f8"), ("t", "S3")])
    root.create_dataset("types/structures", data=structures)
    root.create_dataset("types/dates", data=np.array(["2000-01-01", "NaT"], "M8[s]"))
    root.create_dataset("types/texts", data=np.array(["ab", "é"], ">U3"))
    root.create_dataset("types/columns", data=values(">i2"), order="F", **options)
    root.create_dataset("types/empty", shape=(4, 5), chunks=(2, 2), dtype="f4", fill_value=np.nan)
    root.create_dataset("types/nested", data=values("|u1"), dimension_separator="/", **options)
    zarr.consolidate_metadata(index.path(store))

    def expect(path: str, node) -> None:
        if isinstance(node, zarr.Array):
            index.expect(store, f"/{node.path}", node[...])

    zarr.open_group(index.path(store), mode="r").visititems(expect)
