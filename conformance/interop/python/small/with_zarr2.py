"""Writes small hierarchies with zarr-python 2.18, in v2."""

from pathlib import Path

import numcodecs
import numpy as np
import zarr

from codec_tables import v2_filters
from samples import ATTRIBUTES, FIXED, NUMBERS, blobs, sample, smooth, texts

FLAT = [("a", "<i4"), ("b", ">f8"), ("c", "u1")]
STRUCTURES = {
    "flat": FLAT,
    "nested": [("a", ">u2"), ("b", [("x", "<f4"), ("y", [("z", "i1"), ("t", "?")])])],
    "subarrays": [("x", "<f4"), ("z", ">i2", (2, 2)), ("w", "S2", (3,))],
    "times": [("t", "<M8[ms]"), ("d", ">m8[h]")],
}
COMPRESSORS = {
    "zlib": {"id": "zlib", "level": 1},
    "gzip": {"id": "gzip", "level": 1},
    "bz2": {"id": "bz2", "level": 1},
    "lz4": {"id": "lz4", "acceleration": 1},
    "zstd": {"id": "zstd", "level": 1},
    "lzma-xz": {"id": "lzma", "format": 1, "preset": 1},
    "lzma-alone": {"id": "lzma", "format": 2, "preset": 1},
    "lzma-raw": {"id": "lzma", "format": 3, "filters": [{"id": 3, "dist": 4}, {"id": 33, "preset": 1}]},
    **{
        f"blosc-{name}-{shuffle}": {"id": "blosc", "cname": name, "clevel": 5, "shuffle": shuffle, "blocksize": 0}
        for name, shuffle in (("blosclz", 0), ("lz4", 1), ("lz4hc", 2), ("zlib", 1), ("zstd", 2))
    },
}
FILTERS = {
    "bitround": ("<f4", {"id": "bitround", "keepbits": 3}),
    "quantize": ("<f8", {"id": "quantize", "digits": 2, "dtype": "<f8", "astype": "<f4"}),
    "astype": ("<i4", {"id": "astype", "encode_dtype": "<i8", "decode_dtype": "<i4"}),
    "packbits": ("|b1", {"id": "packbits"}),
    "base64": ("<i4", {"id": "base64"}),
    "crc32": ("<i4", {"id": "crc32"}),
    "adler32": ("<i4", {"id": "adler32"}),
    "fletcher32": ("<i4", {"id": "fletcher32"}),
    "jenkins": ("<i4", {"id": "jenkins_lookup3"}),
}


def write(directory: Path) -> None:
    """Writes everything."""
    for part in (types, geometries, compressors, filters, fills, objects, groups):
        part(directory)


def array(file: Path, values: np.ndarray, chunks: tuple[int, ...], **options: object) -> zarr.Array:
    """Writes an array at the root of its store, with all of `values`."""
    options = {"compressor": None, "dtype": values.dtype, "write_empty_chunks": True} | options
    made = zarr.create(values.shape, chunks=chunks, store=zarr.DirectoryStore(file), **options)
    made[...] = values
    return made


def types(directory: Path) -> None:
    """Writes every type of fixed size, with alternating byte orders and element orders."""
    times = ["M8[ns]", "M8[10us]", "m8[D]"]
    for number, dtype in enumerate((*NUMBERS, *FIXED, *times)):
        typed = np.dtype(dtype).newbyteorder("<>"[number % 2])
        name = f"type-{dtype}".replace("[", "-").replace("]", "")
        array(directory / name, sample(typed, (3, 2)), (2, 2), order="CF"[number // 2 % 2])
    for name, fields in STRUCTURES.items():
        array(directory / f"structure-{name}", sample(fields, (3,)), (2,))


def geometries(directory: Path) -> None:
    """Writes shapes, chunk shapes, orders and separators."""
    shapes = (((), ()), ((0,), (2,)), ((3,), (10,)), ((5, 3), (2, 2)), ((2, 1, 3, 2), (1, 1, 2, 2)))
    for number, (shape, chunks) in enumerate(shapes):
        for separator, word, order in ((".", "dot", "C"), ("/", "slash", "F")):
            options = {"dimension_separator": separator, "order": order, "fill_value": 7}
            array(directory / f"shape-{number}-{word}", sample("<u2", shape), chunks, **options)


def compressors(directory: Path) -> None:
    """Writes every compressor."""
    for name, codec in COMPRESSORS.items():
        array(directory / f"codec-{name}", smooth("<i4", (12,)), (8,), compressor=numcodecs.get_codec(dict(codec)))


def filters(directory: Path) -> None:
    """Writes filters, also in chains and before a compressor."""
    for name, (dtype, codec) in FILTERS.items():
        array(directory / f"filter-{name}", smooth(dtype, (12,)), (8,), filters=[numcodecs.get_codec(dict(codec))])
    for number, chain in enumerate(v2_filters("<i4", 4)):
        chain = [numcodecs.get_codec(dict(codec)) for codec in chain]
        compressor = numcodecs.Zlib(1) if number % 2 else None
        array(directory / f"chain-{number}", smooth("<i4", (12,)), (8,), filters=chain, compressor=compressor)


def fills(directory: Path) -> None:
    """Writes fill values with some chunks missing."""
    table = {
        "nan": ("<f4", np.nan),
        "infinity": (">f8", -np.inf),
        "none": ("<i4", None),
        "highest": ("<u8", 2**64 - 1),
        "bytes": ("S3", b"\xffz"),
        "text": ("<U3", "日本"),
        "time": ("<M8[s]", np.datetime64("NaT", "s")),
        "complex": ("<c8", complex(-np.inf, 1)),
        "structure": (FLAT, np.array((3, np.nan, 255), FLAT)[()]),
    }
    for name, (dtype, fill) in table.items():
        store = zarr.DirectoryStore(directory / f"fill-{name}")
        made = zarr.create((7,), chunks=(2,), dtype=dtype, store=store, compressor=None, fill_value=fill)
        made[2:4] = sample(dtype, (7,))[2:4]


def objects(directory: Path) -> None:
    """Writes items of variable size, with each object codec."""
    words = np.array(["a", "", "日本", "a", "b"], object)
    anything = np.array([None, True, -1, 0.1, "é", [1, [2]], {"k": None}], object)
    table = {
        "vlen-utf8": (texts((5,)), numcodecs.VLenUTF8()),
        "vlen-bytes": (blobs((5,)), numcodecs.VLenBytes()),
        "categorize": (words, numcodecs.Categorize(["a", "b"], dtype=object)),
        "json2": (anything, numcodecs.JSON()),
        "msgpack2": (anything, numcodecs.MsgPack()),
    }
    for name, (values, codec) in table.items():
        for compressor in (None, numcodecs.Zstd(1)):
            file = directory / f"objects-{name}{'-zstd' if compressor else ''}"
            made = zarr.create(
                values.shape,
                chunks=(3,),
                dtype=object,
                object_codec=codec,
                compressor=compressor,
                store=zarr.DirectoryStore(file),
            )
            made[...] = values


def groups(directory: Path) -> None:
    """Writes nested groups with attributes, with and without consolidated metadata."""
    for name in ("groups", "consolidated"):
        store = zarr.DirectoryStore(directory / name)
        root = zarr.open_group(store, mode="w")
        root.attrs.put(ATTRIBUTES)
        root.create_group("a/b").attrs.put({"x": 1})
        for path, dtype in (("a/one", "<f4"), ("a/b/日本語", "<u2")):
            root.create(path, shape=(3,), chunks=(2,), dtype=dtype, compressor=None)[...] = sample(dtype, (3,))
        if name == "consolidated":
            zarr.consolidate_metadata(store)
