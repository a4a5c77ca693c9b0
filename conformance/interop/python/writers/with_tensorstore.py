"""Writes arrays with tensorstore, in v2 and in v3."""

import json
from pathlib import Path

import numpy as np
import tensorstore

from cases import CaseBook
from codec_tables import BLOSC_SHUFFLES, label, v3, v3_compressors
from raw import raw_bytes
from samples import COMPLEX, FLOATS, GEOMETRIES, INTEGERS, NAN_BITS, NUMBERS, from_bits, sample, smooth

BLOSC_NAMES = ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"]
NAMES = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}


class Store:
    """One directory of arrays; tensorstore does not support groups, so this class writes the root group."""

    def __init__(self, book: CaseBook, name: str, format_name: str) -> None:
        self.book = book
        self.name = f"{name}.zarr"
        self.format = format_name
        directory = book.directory / self.name
        directory.mkdir()
        if format_name == "v2":
            (directory / ".zgroup").write_text('{"zarr_format": 2}')
        else:
            (directory / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')

    def array(
        self,
        name: str,
        values: np.ndarray,
        chunks: tuple[int, ...],
        *,
        fill: np.ndarray | None = None,
        written: list | None = None,
        **members: object,
    ) -> None:
        """Writes `values`, or only the selections in `written` over `fill`; reads them back, and records the case."""
        metadata = self.metadata(values, chunks) | members
        spec = {
            "driver": "zarr" if self.format == "v2" else "zarr3",
            "kvstore": {"driver": "file", "path": f"{self.book.directory / self.name / name}/"},
            "metadata": metadata,
            "create": True,
            "store_data_equal_to_fill_value": True,
        }
        array = tensorstore.open(spec).result()
        if written is None:
            array[...] = values
            expected = values
        else:
            expected = np.broadcast_to(fill, values.shape).astype(values.dtype)
            for selection in written:
                array[selection] = values[selection]
                expected[selection] = values[selection]
        read = np.asarray(array.read().result())
        if raw_bytes(read) != raw_bytes(expected):
            raise ValueError(f"tensorstore reads /{name} in {self.name} differently from what it wrote")
        self.book.array(self.name, f"/{name}", self.format, expected)

    def metadata(self, values: np.ndarray, chunks: tuple[int, ...]) -> dict:
        """Returns the members that every array needs."""
        if self.format == "v2":
            return {"shape": values.shape, "chunks": chunks, "dtype": values.dtype.str, "compressor": None}
        return {
            "shape": values.shape,
            "data_type": v3_name(values.dtype),
            "chunk_grid": v3("regular", chunk_shape=chunks),
        }


def v3_name(dtype: np.dtype) -> str:
    """Returns the v3 name of a number type."""
    return "bool" if dtype.kind == "b" else f"{NAMES[dtype.kind]}{8 * dtype.itemsize}"


def little(*codecs: dict) -> list[dict]:
    """Returns a chain of the bytes codec and these codecs."""
    return [v3("bytes", endian="little"), *codecs]


def write(directory: Path) -> None:
    """Writes everything."""
    book = CaseBook(directory)
    for part in (
        v3_types,
        v3_geometries,
        v3_codecs,
        v3_shards,
        v3_fills,
        v3_names,
        v2_types,
        v2_codecs,
        v2_geometries,
        v2_fills,
    ):
        part(book)
    book.save()


def v3_types(book: CaseBook) -> None:
    """Writes every type in both byte orders and several permutations."""
    store = Store(book, "v3-types", "v3")
    for dtype in NUMBERS:
        for endian in ("little", "big"):
            chain = [v3("bytes", endian=endian)]
            store.array(f"{dtype}-{endian}", sample(dtype, (7, 5)), (3, 2), codecs=chain)
            for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)):
                turned = [v3("transpose", order=order), *chain]
                name = f"{dtype}-{endian}-{''.join(map(str, order))}"
                store.array(name, sample(dtype, (5, 4, 3)), (2, 3, 2), codecs=turned)


def v3_geometries(book: CaseBook) -> None:
    """Writes shapes, chunk shapes and key encodings."""
    store = Store(book, "v3-geometries", "v3")
    for position, (shape, chunks) in enumerate(GEOMETRIES):
        for encoding, separator in (("default", "/"), ("default", "."), ("v2", "."), ("v2", "/")):
            name = f"{position:02}-{encoding}{'slash' if separator == '/' else 'dot'}"
            keys = v3(encoding, separator=separator)
            store.array(name, sample("i2", shape), chunks, chunk_key_encoding=keys, fill_value=7)


def v3_codecs(book: CaseBook) -> None:
    """Writes every compressor, and chains of them."""
    store = Store(book, "v3-codecs", "v3")
    for dtype in ("u1", "i2", "f8"):
        for codec in v3_compressors(np.dtype(dtype).itemsize, BLOSC_NAMES):
            store.array(f"{dtype}-{label(codec)}", smooth(dtype, (13, 11)), (6, 11), codecs=little(codec))
    chains = {
        "gzip-crc": [v3("gzip", level=1), {"name": "crc32c"}],
        "crc-zstd": [{"name": "crc32c"}, v3("zstd", level=1)],
        "crc-crc": [{"name": "crc32c"}, {"name": "crc32c"}],
    }
    for name, chain in chains.items():
        store.array(name, sample("f4", (9,)), (4,), codecs=little(*chain))


def v3_shards(book: CaseBook) -> None:
    """Writes shards with the index at either end, chains inside, permutations on both sides, and nested shards."""
    store = Store(book, "v3-shards", "v3")
    inners = {
        "plain": little(),
        "big": [v3("bytes", endian="big")],
        "turned": [v3("transpose", order=(1, 0)), *little(v3("gzip", level=1))],
        "zstd": little(v3("zstd", level=1)),
    }
    indexes = {"crc": little({"name": "crc32c"}), "bare": little(), "big": [v3("bytes", endian="big")]}
    for location in ("start", "end"):
        for inner_name, inner in inners.items():
            for index_name, index in indexes.items():
                codec = shard((2, 3), inner, index, location)
                name = f"{location}-{inner_name}-{index_name}"
                store.array(name, sample("i2", (7, 9)), (4, 6), codecs=[codec])
                written = [np.s_[0:2, 0:3], np.s_[6:7, 6:9]]
                options = {"written": written, "fill": np.int16(-5), "fill_value": -5}
                store.array(f"{name}-holes", sample("i2", (7, 9)), (4, 6), codecs=[codec], **options)
        nested = shard((4, 4), [shard((2, 1), little(), indexes["bare"], location)], indexes["crc"], location)
        store.array(f"{location}-nested", sample("u4", (10, 9)), (8, 8), codecs=[nested])
        turned = [v3("transpose", order=(1, 0)), shard((3, 2), little(), indexes["crc"], location)]
        store.array(f"{location}-transposed-outside", sample("i4", (7, 8)), (4, 6), codecs=turned)
    for dtype in NUMBERS:
        codec = shard(
            (2, 3), little(v3("blosc", cname="lz4", clevel=5, shuffle="shuffle", blocksize=0)), indexes["crc"], "end"
        )
        store.array(f"type-{dtype}", sample(dtype, (7, 9)), (4, 6), codecs=[codec])


def shard(inner: tuple[int, ...], codecs: list[dict], index: list[dict], location: str) -> dict:
    """Returns a sharding codec."""
    return v3("sharding_indexed", chunk_shape=inner, codecs=codecs, index_codecs=index, index_location=location)


def v3_fills(book: CaseBook) -> None:
    """Writes fill values of every type, NaN patterns as hexadecimal bits, with some chunks missing."""
    store = Store(book, "v3-fills", "v3")
    for dtype, fill, value in fill_table(hexadecimal=True):
        for written in ([], [np.s_[2:4]]):
            name = f"{dtype}-{json.dumps(fill)}-{len(written)}"
            store.array(name, sample(dtype, (7,)), (2,), fill=value, written=written, fill_value=fill)


def fill_table(hexadecimal: bool) -> list[tuple[str, object, np.ndarray]]:
    """Returns types with fill values in JSON and as elements."""
    table: list[tuple[str, object, np.ndarray]] = [("b1", fill, np.array(fill)) for fill in (True, False)]
    for dtype in INTEGERS:
        bounds = np.iinfo(dtype)
        table += [(dtype, fill, np.array(fill, dtype)) for fill in sorted({1, int(bounds.min), int(bounds.max)})]
    named = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}
    for dtype in FLOATS:
        table += [
            (dtype, fill, np.array(named.get(fill, fill), dtype))
            for fill in ("NaN", "Infinity", "-Infinity", 1.5, -0.0)
        ]
        if hexadecimal:
            width = 2 * int(dtype[1])
            table += [(dtype, f"0x{bits:0{width}x}", from_bits(dtype, bits)) for bits in NAN_BITS[dtype]]
    for dtype in COMPLEX:
        table += [(dtype, [1.5, "-Infinity"], np.array(complex(1.5, -np.inf), dtype))]
        table += [(dtype, [-0.0, "NaN"], np.array(complex(-0.0, np.nan), dtype))]
    return table


def v3_names(book: CaseBook) -> None:
    """Writes dimension names."""
    store = Store(book, "v3-names", "v3")
    for number, names in enumerate((["y", "x"], [None, "時"], ["", "a b"])):
        store.array(f"{number}", sample("i2", (3, 4)), (2, 2), dimension_names=names)


def v2_types(book: CaseBook) -> None:
    """Writes every type in both byte orders and both orders of elements."""
    store = Store(book, "v2-types", "v2")
    for dtype in NUMBERS:
        for mark, word in (("<", "little"), (">", "big")):
            typed = np.dtype(dtype).newbyteorder(mark)
            if mark == ">" and typed == np.dtype(dtype):
                continue
            for order in "CF":
                store.array(f"{dtype}-{word}-{order}", sample(typed, (5, 4)), (2, 3), order=order)


def v2_codecs(book: CaseBook) -> None:
    """Writes the compressors of v2 that this program supports; only tensorstore supports snappy inside blosc."""
    store = Store(book, "v2-codecs", "v2")
    codecs = [
        *({"id": name, "level": level} for name in ("zlib", "gzip", "bz2", "zstd") for level in (1, 9)),
        *(
            {"id": "blosc", "cname": name, "clevel": 5, "shuffle": shuffle, "blocksize": 0}
            for name in BLOSC_NAMES
            for shuffle in (*BLOSC_SHUFFLES, -1)
        ),
    ]
    for dtype in ("|u1", "<i4", ">f8"):
        for codec in codecs:
            store.array(f"{dtype[1:]}-{label(codec)}", smooth(dtype, (13, 11)), (6, 11), compressor=codec)


def v2_geometries(book: CaseBook) -> None:
    """Writes shapes, chunk shapes and separators."""
    store = Store(book, "v2-geometries", "v2")
    for position, (shape, chunks) in enumerate(GEOMETRIES):
        for separator, word in ((".", "dot"), ("/", "slash")):
            name = f"{position:02}-{word}"
            store.array(name, sample("<i2", shape), chunks, dimension_separator=separator, fill_value=7)


def v2_fills(book: CaseBook) -> None:
    """Writes fill values of every type, with some chunks missing."""
    store = Store(book, "v2-fills", "v2")
    for dtype, fill, value in fill_table(hexadecimal=False):
        for written in ([], [np.s_[2:4]]):
            name = f"{dtype}-{json.dumps(fill)}-{len(written)}"
            store.array(name, sample(dtype, (7,)), (2,), fill=value, written=written, fill_value=fill)
