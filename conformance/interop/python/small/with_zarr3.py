"""Writes small hierarchies with zarr-python 3, in v3 and in v2."""

from pathlib import Path

import numcodecs
import numpy as np
import zarr
import zarr.dtype
from numcodecs.zfpy import ZFPY
from zarr.codecs import CastValue, ScaleOffset

from codec_tables import in_v3, v3
from samples import ATTRIBUTES, FIXED, NUMBERS, blobs, sample, smooth, texts

STRING = zarr.dtype.VariableLengthUTF8()
BYTES = zarr.dtype.VariableLengthBytes()
LITTLE = v3("bytes", endian="little")
CRC = {"name": "crc32c"}
ZSTD = v3("zstd", level=1, checksum=False)
FLAT = [("a", "<i4"), ("b", "<f8"), ("c", "u1")]
NESTED = [("a", "<u2"), ("b", [("x", "<f4"), ("y", [("z", "i1"), ("t", "?")])])]
COMPRESSORS = {
    "gzip": [v3("gzip", level=1)],
    "zstd": [ZSTD],
    "zstd-checksum": [v3("zstd", level=1, checksum=True)],
    "crc32c": [CRC],
    "gzip-crc32c": [v3("gzip", level=1), CRC],
    **{
        f"blosc-{name}": [v3("blosc", cname=name, clevel=5, shuffle=shuffle, typesize=4, blocksize=0)]
        for name, shuffle in (("blosclz", "shuffle"), ("lz4", "bitshuffle"), ("lz4hc", "noshuffle"))
        + (("zlib", "shuffle"), ("zstd", "bitshuffle"))
    },
    **{
        f"numcodecs-{codec['id']}": [in_v3(codec)]
        for codec in (
            {"id": "zlib", "level": 1},
            {"id": "bz2", "level": 1},
            {"id": "lzma", "preset": 1},
            {"id": "lz4", "acceleration": 1},
            {"id": "shuffle", "elementsize": 4},
            {"id": "crc32"},
            {"id": "adler32"},
            {"id": "fletcher32"},
            {"id": "jenkins_lookup3", "initval": 7},
        )
    },
}
FILTERS = {
    "delta": ("<i4", {"id": "delta", "dtype": "<i4", "astype": "<i4"}),
    "scaled": ("<f8", {"id": "fixedscaleoffset", "offset": 1, "scale": 4, "dtype": "<f8", "astype": "<i2"}),
    "quantize": ("<f8", {"id": "quantize", "digits": 2, "dtype": "<f8"}),
    "bitround": ("<f4", {"id": "bitround", "keepbits": 3}),
    "astype": ("<u2", {"id": "astype", "encode_dtype": "<f4", "decode_dtype": "<u2"}),
    "packbits": ("|b1", {"id": "packbits"}),
}


def write(directory: Path) -> None:
    """Writes everything."""
    for part in (types, geometries, compressors, filters, serializers, shards, fills, groups, second_format):
        part(directory)


def array(file: Path, values: np.ndarray, chunks: tuple[int, ...], **options: object) -> None:
    """Writes an array at the root of its store, with all of `values`."""
    options = {"compressors": None, "dtype": values.dtype, "config": {"write_empty_chunks": True}} | options
    made = zarr.create_array(file, shape=values.shape, chunks=chunks, **options)
    made[...] = values[()]


def types(directory: Path) -> None:
    """Writes every type, with alternating byte orders."""
    for number, dtype in enumerate(NUMBERS):
        endian = ("little", "big")[number % 2]
        array(directory / f"type-{dtype}", sample(dtype, (3,)), (2,), serializer=v3("bytes", endian=endian))
    for dtype in (*FIXED, "M8[ms]", "m8[10us]"):
        name = f"type-{dtype}".replace("[", "-").replace("]", "")
        array(directory / name, sample(dtype, (3,)), (2,))
    array(directory / "structure-flat", sample(FLAT, (3,)), (2,))
    array(directory / "structure-nested", sample(NESTED, (3,)), (2,))
    for name, dtype, values in (("string", STRING, texts((5,))), ("bytes", BYTES, blobs((5,)))):
        array(directory / f"type-{name}", values, (3,), dtype=dtype)
        array(directory / f"type-{name}-zstd", values, (3,), dtype=dtype, compressors=[ZSTD])


def geometries(directory: Path) -> None:
    """Writes shapes, chunk shapes and key encodings."""
    shapes = (((), ()), ((0,), (2,)), ((3,), (10,)), ((5, 3), (2, 2)), ((2, 1, 3, 2), (1, 1, 2, 2)))
    keys = (("default", "/"), ("default", "."), ("v2", "."), ("v2", "/"), ("default", "."))
    for number, ((shape, chunks), (name, separator)) in enumerate(zip(shapes, keys, strict=True)):
        encoding = {"name": name, "separator": separator}
        array(directory / f"shape-{number}", sample("i2", shape), chunks, chunk_key_encoding=encoding, fill_value=7)
    names = {"dimension_names": ["y", None], "attributes": ATTRIBUTES}
    array(directory / "names", sample("i2", (2, 3)), (2, 2), **names)


def compressors(directory: Path) -> None:
    """Writes every compressor."""
    for name, chain in COMPRESSORS.items():
        array(directory / f"codec-{name}", smooth("i4", (12,)), (8,), compressors=chain)


def filters(directory: Path) -> None:
    """Writes array filters."""
    for name, (dtype, codec) in FILTERS.items():
        array(directory / f"filter-{name}", smooth(dtype, (12,)), (8,), filters=[in_v3(codec)])
    for order in ((1, 0), (2, 0, 1)):
        shape = (4, 3, 2)[: len(order)]
        turned = [v3("transpose", order=order)]
        array(directory / f"transpose-{len(order)}", sample("i2", shape), (2, 3, 2)[: len(order)], filters=turned)
    cast = CastValue(data_type="int8", out_of_range="clamp", rounding="nearest-even")
    array(directory / "filter-cast", smooth("f4", (12,)), (8,), filters=[cast])
    array(directory / "filter-scale", smooth("f8", (12,)), (8,), filters=[ScaleOffset(offset=-10, scale=0.5)])


def serializers(directory: Path) -> None:
    """Writes array-to-bytes codecs."""
    array(directory / "serializer-pcodec", smooth("i4", (12,)), (8,), serializer=in_v3({"id": "pcodec", "level": 8}))
    for name, mode in (("reversible", {}), ("rate", {"mode": 2, "rate": 14}), ("accuracy", {"tolerance": 0.01})):
        members = {key: value for key, value in ZFPY(**mode).get_config().items() if value is not None}
        array(directory / f"serializer-zfpy-{name}", smooth("f4", (5, 4)), (4, 4), serializer=in_v3(members))


def shards(directory: Path) -> None:
    """Writes shards with the index at either end, codecs inside, missing chunks, and nested shards."""
    inners = {"plain": [LITTLE], "zstd": [LITTLE, ZSTD], "crc32c": [LITTLE, CRC]}
    for location in ("start", "end"):
        for name, inner in inners.items():
            codec = shard((2, 3), inner, location, [LITTLE] if name == "plain" else [LITTLE, CRC])
            array(directory / f"shard-{location}-{name}", sample("i2", (4, 4)), (4, 3), serializer=codec)
        nested = shard((2, 2), [shard((1, 2), [LITTLE], location, [LITTLE])], location, [LITTLE, CRC])
        array(directory / f"shard-{location}-nested", sample("u1", (5, 4)), (4, 4), serializer=nested)
        holes = zarr.create_array(
            directory / f"shard-{location}-holes",
            shape=(9,),
            chunks=(6,),
            dtype="f4",
            fill_value=9,
            serializer=shard((2,), [LITTLE], location, [LITTLE, CRC]),
            compressors=None,
        )
        holes[2:4] = 1
    array(directory / "shard-string", texts((5,)), (2,), shards=(4,), dtype=STRING)


def shard(inner: tuple[int, ...], codecs: list[dict], location: str, index: list[dict]) -> dict:
    """Returns a sharding codec."""
    return v3("sharding_indexed", chunk_shape=inner, codecs=codecs, index_codecs=index, index_location=location)


def fills(directory: Path) -> None:
    """Writes fill values with some chunks missing."""
    table = {
        "nan": ("f4", np.nan),
        "infinity": ("f8", -np.inf),
        "lowest": ("i8", -(2**63)),
        "complex": ("c16", complex(np.nan, -0.0)),
        "time": ("M8[ms]", np.datetime64("NaT", "ms")),
        "text": ("U3", "日本"),
        "bytes": ("S3", b"\xffz"),
        "raw": ("V3", np.void(b"\x01\x00\xff")),
        "structure": (FLAT, np.array((3, np.nan, 255), FLAT)[()]),
    }
    for name, (dtype, fill) in table.items():
        options = {"chunks": (2,), "dtype": dtype, "fill_value": fill, "compressors": None}
        made = zarr.create_array(directory / f"fill-{name}", shape=(7,), **options)
        made[2:4] = sample(dtype, (7,))[2:4]


def groups(directory: Path) -> None:
    """Writes nested groups with attributes, with and without consolidated metadata, in both formats."""
    for zarr_format in (2, 3):
        for name in ("groups", "consolidated"):
            file = directory / f"{name}-v{zarr_format}"
            root = zarr.open_group(file, mode="w", zarr_format=zarr_format, attributes=ATTRIBUTES)
            root.create_group("a/b", attributes={"x": 1})
            for path, dtype in (("a/one", "f4"), ("a/b/日本語", "u2")):
                made = root.create_array(path, shape=(3,), chunks=(2,), dtype=dtype, compressors=None)
                made[...] = sample(dtype, (3,))
            if name == "consolidated":
                zarr.consolidate_metadata(root.store)


def second_format(directory: Path) -> None:
    """Writes arrays of v2."""
    for number, dtype in enumerate(("?", ">i2", "<f8", ">c16", "S3", ">U2", "<M8[s]")):
        options = {"zarr_format": 2, "order": "CF"[number % 2]}
        keys = {"name": "v2", "separator": "./"[number % 2]}
        array(directory / f"v2-{number}", sample(dtype, (3, 2)), (2, 2), chunk_key_encoding=keys, **options)
    chain = [numcodecs.Delta(dtype="<i4"), numcodecs.Shuffle(4)]
    for name in ("zlib", "zstd", "blosc"):
        codec = numcodecs.get_codec({"id": name})
        array(directory / f"v2-{name}", smooth("<i4", (12,)), (8,), zarr_format=2, filters=chain, compressors=codec)
    array(directory / "v2-string", texts((5,)), (3,), zarr_format=2, dtype=STRING)
    array(directory / "v2-structure", sample(FLAT, (3,)), (2,), zarr_format=2)
