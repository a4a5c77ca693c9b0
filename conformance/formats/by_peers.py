"""Examples that zarr-python and TensorStore wrote, with the elements that they were given."""

import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import tensorstore
import zarr
from book import Book
from zarr.codecs import BloscCodec, BytesCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec

sys.path.insert(0, str(Path(__file__).parents[1] / "interop" / "python"))
from raw import raw_bytes

NUMBERS = np.arange(5 * 7, dtype="int32").reshape(5, 7) - 9
WORDS = np.array(["", "a", "héé", "日本", "x" * 20], dtype=object)


def write(books: dict[str, Book]) -> None:
    v2, v3 = books["v2"], books["v3"]
    with_zarr(v3, "default", "V3-CODEC-08 V3-ARR-14", "An array with all defaults.", NUMBERS, chunks=(2, 3), may_refuse=True)
    with_zarr(
        v3,
        "sharded",
        "V3-SHARD-07 V3-SHARD-11",
        "Shards of transposed inner chunks behind gzip, with the index at the start.",
        NUMBERS,
        chunks=(4, 6),
        filters=[],
        serializer=ShardingCodec(
            chunk_shape=(2, 3), codecs=[TransposeCodec(order=(1, 0)), BytesCodec(endian="big"), GzipCodec()], index_location="start"
        ),
        compressors=[],
        fill_value=-9,
    )
    with_zarr(v3, "blosc", "V3-BLOSC-06", "A chunk behind blosc.", NUMBERS, chunks=(5, 7), compressors=[BloscCodec(cname="zstd", typesize=4)])
    with_zarr(v3, "text", "EX-TYPE-06 EX-CODEC-19", "Texts of variable length.", WORDS, dtype=str, chunks=(3,), compressors=[ZstdCodec()], may_refuse=True)
    with_zarr(v2, "default", "V2-PIPE-12 V2-ARR-20", "An array with all defaults.", NUMBERS, chunks=(2, 3), zarr_format=2)
    with_zarr(v2, "text", "V2-OBJ-02 V2-OBJ-04", "Texts of variable length.", WORDS, dtype=str, chunks=(3,), zarr_format=2, may_refuse=True)
    chain = [
        {"name": "transpose", "configuration": {"order": [1, 0]}},
        {
            "name": "sharding_indexed",
            "configuration": {
                "chunk_shape": [3, 2],
                "codecs": [{"name": "bytes", "configuration": {"endian": "big"}}, {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle"}}],
                "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
            },
        },
    ]
    grid = {"name": "regular", "configuration": {"chunk_shape": [4, 6]}}
    metadata = {"data_type": "int32", "shape": [5, 7], "chunk_grid": grid, "codecs": chain, "fill_value": 3}
    with_tensorstore(v3, "sharded", "V3-SHARD-20 V3-TRANS-02", "Shards of a transposed array behind blosc.", "zarr3", metadata)
    metadata = {"dtype": ">i4", "shape": [5, 7], "chunks": [2, 3], "order": "F", "compressor": {"id": "blosc"}, "fill_value": 3}
    with_tensorstore(v2, "order-f", "V2-CHUNK-09 V2-CODEC-07", "Order F and big endian behind blosc.", "zarr", metadata)


def with_zarr(
    book: Book, name: str, rows: str, about: str, elements: np.ndarray, *, may_refuse: bool = False, dtype: object = None, **options: object
) -> None:
    name = f"zarr-python-{name}"
    if book.has(name):
        return
    dtype = elements.dtype if dtype is None else dtype
    array = zarr.create_array(book.folder(name), shape=elements.shape, dtype=dtype, **options)
    array[...] = elements
    origin = f"zarr-python {zarr.__version__}"
    book.note(name, rows, about, raw_bytes(elements), may_refuse=may_refuse, array="/", origin=origin)


def with_tensorstore(book: Book, name: str, rows: str, about: str, driver: str, metadata: dict) -> None:
    name = f"tensorstore-{name}"
    if book.has(name):
        return
    spec = {"driver": driver, "kvstore": {"driver": "file", "path": f"{book.folder(name)}/"}, "metadata": metadata}
    elements = NUMBERS.copy()
    elements[:4, :6] = metadata["fill_value"]
    array = tensorstore.open(spec, create=True, open=True).result()
    array.write(elements).result()
    origin = f"tensorstore {version('tensorstore')}"
    book.note(name, rows, about, raw_bytes(elements), may_refuse=False, array="/", origin=origin)
