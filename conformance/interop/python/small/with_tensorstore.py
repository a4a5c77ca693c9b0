"""Writes small hierarchies with tensorstore, in v3 and in v2: arrays at the root of their stores."""

from pathlib import Path

import numpy as np
import tensorstore

from codec_tables import v3
from samples import NUMBERS, sample, smooth
from writers.with_tensorstore import little, shard, v3_name

BLOSC_NAMES = ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"]
CRC = {"name": "crc32c"}
ZSTD = v3("zstd", level=1)
COMPRESSORS = {
    "gzip": [v3("gzip", level=1)],
    "zstd": [ZSTD],
    "crc32c": [CRC],
    "crc32c-zstd": [CRC, ZSTD],
    **{
        f"blosc-{name}": [v3("blosc", cname=name, clevel=5, shuffle=shuffle, typesize=4, blocksize=0)]
        for name, shuffle in zip(BLOSC_NAMES, ("shuffle", "bitshuffle", "noshuffle") * 2, strict=True)
    },
}
SHAPES = (((), ()), ((0,), (2,)), ((3,), (10,)), ((5, 3), (2, 2)), ((2, 1, 3, 2), (1, 1, 2, 2)))


def write(directory: Path) -> None:
    """Writes everything."""
    for part in (third_format, geometries, codecs, shards, second_format):
        part(directory)


def array(file: Path, values: np.ndarray, *, written: object = ..., **members: object) -> None:
    """Writes an array at the root of its store, with the selected `values`; `members` complete its document."""
    driver = "zarr" if "chunks" in members else "zarr3"
    spec = {
        "driver": driver,
        "kvstore": {"driver": "file", "path": f"{file}/"},
        "metadata": {"shape": values.shape} | members,
        "create": True,
        "store_data_equal_to_fill_value": True,
    }
    tensorstore.open(spec).result()[written] = values[written]


def new(file: Path, values: np.ndarray, chunks: tuple[int, ...], **members: object) -> None:
    """Writes an array of v3."""
    grid = v3("regular", chunk_shape=chunks)
    if "data_type" not in members:
        members["data_type"] = v3_name(values.dtype)
    array(file, values, **{"chunk_grid": grid} | members)


def old(file: Path, values: np.ndarray, chunks: tuple[int, ...], **members: object) -> None:
    """Writes an array of v2."""
    array(file, values, **{"chunks": chunks, "dtype": values.dtype.str, "compressor": None} | members)


def third_format(directory: Path) -> None:
    """Writes every type of v3 with alternating byte orders, and fill values with some chunks missing."""
    for number, dtype in enumerate(NUMBERS):
        chain = [v3("bytes", endian=("little", "big")[number % 2])]
        new(directory / f"type-{dtype}", sample(dtype, (3,)), (2,), codecs=chain)
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "int4"):
        values = np.array([1, -2, 3]).astype(tensorstore.dtype(name).numpy_dtype)
        new(directory / f"type-{name}", values, (2,), data_type=name)
    fills = (("f4", "NaN"), ("f8", "0x7ff8000000000001"), ("f2", "-Infinity"), ("i8", -(2**63)), ("c8", [1.5, "NaN"]))
    for number, (dtype, fill) in enumerate(fills):
        new(directory / f"fill-{number}", sample(dtype, (7,)), (2,), fill_value=fill, written=np.s_[2:4])


def geometries(directory: Path) -> None:
    """Writes shapes, chunk shapes, key encodings and dimension names."""
    encodings = (("default", "/"), ("default", "."), ("v2", "."), ("v2", "/"), ("default", "."))
    for number, ((shape, chunks), (name, separator)) in enumerate(zip(SHAPES, encodings, strict=True)):
        keys = v3(name, separator=separator)
        new(directory / f"shape-{number}", sample("i2", shape), chunks, chunk_key_encoding=keys, fill_value=7)
    new(directory / "names", sample("i2", (2, 3)), (2, 2), dimension_names=["y", None], attributes={"é": [1, None]})


def codecs(directory: Path) -> None:
    """Writes every compressor, and permutations."""
    for name, chain in COMPRESSORS.items():
        new(directory / f"codec-{name}", smooth("i4", (12,)), (8,), codecs=little(*chain))
    for order in ((1, 0), (2, 0, 1)):
        shape = (4, 3, 2)[: len(order)]
        chain = [v3("transpose", order=order), *little()]
        new(directory / f"transpose-{len(order)}", sample("i2", shape), (2, 3, 2)[: len(order)], codecs=chain)


def shards(directory: Path) -> None:
    """Writes shards with the index at either end, codecs inside, missing chunks, and nested shards."""
    inners = {"plain": little(), "zstd": little(ZSTD), "turned": [v3("transpose", order=(1, 0)), *little()]}
    for location in ("start", "end"):
        for name, inner in inners.items():
            codec = shard((2, 3), inner, little() if name == "plain" else little(CRC), location)
            new(directory / f"shard-{location}-{name}", sample("i2", (4, 4)), (4, 3), codecs=[codec])
        nested = shard((2, 2), [shard((1, 2), little(), little(), location)], little(CRC), location)
        new(directory / f"shard-{location}-nested", sample("u1", (5, 4)), (4, 4), codecs=[nested])
        holes = {"codecs": [shard((2,), little(), little(CRC), location)], "fill_value": 9, "written": np.s_[2:4]}
        new(directory / f"shard-{location}-holes", sample("f4", (9,)), (6,), **holes)


def second_format(directory: Path) -> None:
    """Writes types, compressors, shapes and fill values of v2."""
    for number, dtype in enumerate(NUMBERS):
        typed = np.dtype(dtype).newbyteorder("><"[number % 2])
        old(directory / f"v2-type-{dtype}", sample(typed, (3, 2)), (2, 2), order="CF"[number // 2 % 2])
    for name in ("zlib", "gzip", "bz2", "zstd"):
        old(directory / f"v2-codec-{name}", smooth("<i4", (12,)), (8,), compressor={"id": name, "level": 1})
    for name in BLOSC_NAMES:
        codec = {"id": "blosc", "cname": name, "clevel": 5, "shuffle": -1, "blocksize": 0}
        old(directory / f"v2-codec-blosc-{name}", smooth("<i4", (12,)), (8,), compressor=codec)
    for number, (shape, chunks) in enumerate(SHAPES):
        members = {"dimension_separator": "./"[number % 2], "fill_value": 7}
        old(directory / f"v2-shape-{number}", sample("<i2", shape), chunks, **members)
    for number, (dtype, fill) in enumerate((("<f4", "NaN"), (">f8", "-Infinity"), ("<u8", 2**64 - 1))):
        old(directory / f"v2-fill-{number}", sample(dtype, (7,)), (2,), fill_value=fill, written=np.s_[2:4])
