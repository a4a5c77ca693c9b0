"""Writes hierarchies with zarr-python 3, in v3 and in v2."""

import itertools
import warnings
from pathlib import Path

import numcodecs.blosc
import numpy as np
import zarr
import zarr.dtype

from cases import CaseBook
from codec_tables import in_v3, label, v2_compressors, v2_filters, v3, v3_compressors
from raw import raw_bytes
from samples import (
    ATTRIBUTES,
    FIXED,
    FLOATS,
    GEOMETRIES,
    INTEGERS,
    NAMES,
    NAN_BITS,
    NUMBERS,
    UNITS,
    blobs,
    from_bits,
    sample,
    smooth,
    texts,
)

BLOSC_NAMES = numcodecs.blosc.list_compressors()
STRING = zarr.dtype.VariableLengthUTF8()
BYTES = zarr.dtype.VariableLengthBytes()
LITTLE = v3("bytes", endian="little")
CRC = {"name": "crc32c"}
STRUCTURES = {
    "flat": [("a", "<i4"), ("b", "<f8"), ("c", "u1")],
    "nested": [("a", "<u2"), ("b", [("x", "<f4"), ("y", [("z", "i1"), ("t", "?")])])],
    "texts": [("s", "S3"), ("u", "<U2"), ("c", "<c8"), ("v", "V2")],
    "times": [("t", "<M8[ms]"), ("d", "<m8[h]")],
}


class Store:
    """One store on disk, and the book that records its nodes."""

    def __init__(self, book: CaseBook, name: str, zarr_format: int = 3, attributes: dict | None = None) -> None:
        self.book = book
        self.name = f"{name}.zarr"
        self.format = f"v{zarr_format}"
        self.zarr_format = zarr_format
        self.root = zarr.open_group(
            book.directory / self.name, mode="w", zarr_format=zarr_format, attributes=attributes or {}
        )

    def array(
        self,
        name: str,
        values: np.ndarray,
        chunks: tuple[int, ...],
        *,
        written: list | None = None,
        lossy: bool = False,
        **options: object,
    ) -> None:
        """Writes `values` (or only the selections in `written`), reads everything back, and records the case."""
        options.setdefault("compressors", None)
        options.setdefault("dtype", values.dtype)
        # Otherwise a chunk of -0.0 in structures counts as the fill value 0.0 and is dropped.
        options["config"] = {"write_empty_chunks": True}
        array = self.root.create_array(name, shape=values.shape, chunks=chunks, **options)
        expected = values
        if written is None:
            array[...] = values[()]
        else:
            expected = np.full(values.shape, options["fill_value"], values.dtype)
            for selection in written:
                array[selection] = values[selection]
                expected[selection] = values[selection]
        # Strings of rank 0 are returned as Python scalars without their padding.
        read = np.asarray(array[...], values.dtype if values.dtype.kind in "OSU" else None)
        if lossy:
            expected = read
        elif raw_bytes(read) != raw_bytes(expected):
            raise ValueError(f"zarr-python reads /{name} in {self.name} differently from what it wrote")
        self.book.array(self.name, f"/{name}", self.format, expected, dict(array.attrs))


def write(directory: Path) -> None:
    """Writes everything."""
    warnings.simplefilter("ignore")
    book = CaseBook(directory)
    for part in (
        numbers,
        geometries,
        codecs,
        numcodecs_codecs,
        transposes,
        shards,
        fills,
        nan_fills,
        texts_and_bytes,
        extension_types,
        tree,
        consolidated,
        roots,
        v2_types,
        v2_pipelines,
        v2_geometries,
    ):
        part(book)
    book.save()


def numbers(book: CaseBook) -> None:
    """Writes every core type in both byte orders."""
    store = Store(book, "v3-numbers")
    for dtype in NUMBERS:
        for endian in ("little", "big"):
            store.array(f"{dtype}-{endian}", sample(dtype, (7, 5)), (3, 2), serializer=v3("bytes", endian=endian))


def geometries(book: CaseBook) -> None:
    """Writes shapes, chunk shapes and key encodings."""
    store = Store(book, "v3-geometries")
    for position, (shape, chunks) in enumerate(GEOMETRIES):
        for encoding, separator in (("default", "/"), ("default", "."), ("v2", "."), ("v2", "/")):
            for dtype in ("u1", "f4"):
                name = f"{position:02}-{encoding}{'slash' if separator == '/' else 'dot'}-{dtype}"
                keys = {"name": encoding, "separator": separator}
                store.array(name, sample(dtype, shape), chunks, chunk_key_encoding=keys, fill_value=7)


def codecs(book: CaseBook) -> None:
    """Writes the compressors of v3, single and stacked."""
    store = Store(book, "v3-codecs")
    for dtype in ("u1", "i2", "f4", "c16"):
        size = np.dtype(dtype).itemsize
        for codec in v3_compressors(size, BLOSC_NAMES):
            store.array(f"{dtype}-{label(codec)}", smooth(dtype, (13, 11)), (6, 11), compressors=[codec])
    chains = {
        "gzip-crc": [v3("gzip", level=1), {"name": "crc32c"}],
        "crc-zstd": [{"name": "crc32c"}, v3("zstd", level=1, checksum=False)],
        "crc-crc": [{"name": "crc32c"}, {"name": "crc32c"}],
        "blosc-gzip": [v3_compressors(4, ["lz4"])[-4], v3("gzip", level=5)],
    }
    for name, chain in chains.items():
        for dtype in ("u1", ">i4", "f8"):
            store.array(f"{name}-{dtype.strip('>')}", sample(dtype, (9,)), (4,), compressors=chain)
    for dtype in NUMBERS:
        store.array(f"random-{dtype}", sample(dtype, (40,)), (25,), compressors=[v3("zstd", level=3, checksum=True)])


def numcodecs_codecs(book: CaseBook) -> None:
    """Writes the codecs of numcodecs under their v3 names."""
    store = Store(book, "v3-numcodecs")
    for dtype in ("|u1", "<i4", "<f8"):
        for codec in (*v2_compressors(BLOSC_NAMES), {"id": "crc32c"}, {"id": "shuffle", "elementsize": int(dtype[2])}):
            store.array(f"{dtype[1:]}-{label(codec)}", smooth(dtype, (9, 8)), (4, 8), compressors=[in_v3(codec)])
    for dtype in ("<i2", "<i4", "<u8"):
        for astype in (dtype, "<i8"):
            codec = in_v3({"id": "delta", "dtype": dtype, "astype": astype})
            store.array(f"{dtype[1:]}-delta-{astype[1:]}", smooth(dtype, (30,)), (12,), filters=[codec])
    for dtype, astype, offset, scale in (("<f8", "<i2", 1.5, 4), ("<f4", "|u1", 0, 2), ("<f8", "<f4", 10, 0.5)):
        codec = in_v3({"id": "fixedscaleoffset", "offset": offset, "scale": scale, "dtype": dtype, "astype": astype})
        name = f"{dtype[1:]}-scaled-{astype[1:]}"
        store.array(name, smooth(dtype, (30,)) + 1.5, (12,), filters=[codec], lossy=True)


def transposes(book: CaseBook) -> None:
    """Writes permutations before the bytes codec."""
    store = Store(book, "v3-transpose")
    orders = ((0,), (1, 0), (0, 1), (2, 1, 0), (1, 2, 0), (2, 0, 1), (0, 2, 1), (3, 1, 0, 2))
    for dtype in ("u1", "i2", "f4", "f8", "c16", "b1"):
        for order in orders:
            shape = (5, 4, 3, 3)[: len(order)]
            for endian in ("little", "big"):
                store.array(
                    f"{dtype}-{''.join(map(str, order))}-{endian}",
                    sample(dtype, shape),
                    (2, 3, 2, 3)[: len(order)],
                    filters=[v3("transpose", order=order)],
                    serializer=v3("bytes", endian=endian),
                )
    twice = [v3("transpose", order=(1, 2, 0)), v3("transpose", order=(0, 2, 1))]
    store.array("twice", sample("i4", (4, 5, 3)), (3, 2, 2), filters=twice, compressors=[v3("gzip", level=1)])


def shards(book: CaseBook) -> None:
    """Writes shards: index at either end, chains inside and in the index, missing chunks, nested shards."""
    store = Store(book, "v3-shards")
    big = v3("bytes", endian="big")
    chains = {
        "plain": [LITTLE],
        "big": [big],
        "zstd": [LITTLE, v3("zstd", level=1, checksum=False)],
        "blosc": [LITTLE, v3("blosc", cname="lz4", clevel=5, shuffle="bitshuffle", typesize=2, blocksize=0)],
        "crc": [LITTLE, CRC],
    }
    indexes = {"crc": [LITTLE, CRC], "bare": [LITTLE], "big": [big, CRC]}
    layouts = (
        ((), (), ()),
        ((16,), (8,), (2,)),
        ((10,), (8,), (2,)),
        ((7, 9), (4, 6), (2, 3)),
        ((5, 6, 4), (4, 4, 4), (2, 1, 4)),
    )
    ways = itertools.product(enumerate(layouts), ("start", "end"), chains, indexes)
    for (number, (shape, outer, inner)), location, chain, index in ways:
        codec = shard(inner, chains[chain], location, indexes[index])
        store.array(f"{number}-{location}-{chain}-{index}", sample("i2", shape), outer, serializer=codec)
    for dtype in NUMBERS:
        values = sample(dtype, (9, 6))
        store.array(f"type-{dtype}", values, (2, 3), shards=(4, 6), compressors=[v3("gzip", level=1)])
    holes = [np.s_[0:2, 0:3], np.s_[6:8, 4:6]]
    for location in ("start", "end"):
        flat = shard((2, 2), [LITTLE], location)
        nested = shard((4, 4), [flat], location)
        options = {"written": holes, "fill_value": 9}
        store.array(f"holes-{location}", sample("f4", (9, 9)), (6, 6), serializer=flat, **options)
        store.array(f"nested-{location}", sample("u4", (10, 9)), (8, 8), serializer=nested)
        store.array(f"nested-holes-{location}", sample("u4", (10, 9)), (8, 8), serializer=nested, **options)
    turn = v3("transpose", order=(1, 0))
    inside = shard((2, 3), [turn, LITTLE, v3("gzip", level=1)], "end")
    store.array("transposed-inside", sample("i4", (7, 8)), (4, 6), serializer=inside)
    outside = shard((3, 2), [LITTLE], "end")
    store.array("transposed-outside", sample("i4", (7, 8)), (6, 6), filters=[turn], serializer=outside)
    zstd = v3("zstd", level=1, checksum=False)
    store.array("texts", texts((11,)), (2,), shards=(6,), dtype=STRING, compressors=[zstd])


def shard(inner: tuple[int, ...], codecs: list[dict], location: str, index: list[dict] | None = None) -> dict:
    """Returns a sharding codec."""
    return v3(
        "sharding_indexed",
        chunk_shape=inner,
        codecs=codecs,
        index_codecs=index or [LITTLE, CRC],
        index_location=location,
    )


def fills(book: CaseBook) -> None:
    """Writes fill values of every type, with all or some chunks missing."""
    store = Store(book, "v3-fills")
    for dtype in INTEGERS:
        bounds = np.iinfo(dtype)
        for fill in sorted({0, 1, int(bounds.min), int(bounds.max)}):
            fill_cases(store, f"{dtype}-{fill}", sample(dtype, (7,)), fill)
    for dtype in FLOATS:
        bounds = np.finfo(dtype)
        for fill in (0.0, -0.0, 0.1, np.nan, np.inf, -np.inf, float(bounds.max), float(bounds.smallest_subnormal)):
            fill_cases(store, f"{dtype}-{fill}", sample(dtype, (7,)), fill)
    for dtype in ("c8", "c16"):
        for fill in (0j, 1 + 2j, complex(np.nan, -np.inf), complex(-0.0, -0.0), complex(np.inf, 0.1)):
            fill_cases(store, f"{dtype}-{fill.real}_{fill.imag}", sample(dtype, (7,)), fill)
    for fill in (True, False):
        fill_cases(store, f"bool-{fill}", sample("b1", (7,)), fill)
    for fill in (0, 5, -1, "NaT"):
        fill_cases(store, f"datetime-{fill}", sample("M8[ms]", (7,)), np.datetime64(fill, "ms"))
        fill_cases(store, f"timedelta-{fill}", sample("m8[h]", (7,)), np.timedelta64(fill, "h"))
    for fill in ("", "a", "日本", "😀é"):
        fill_cases(store, f"utf32-{len(fill)}{fill}", sample("U3", (7,)), fill)
        fill_cases(store, f"string-{len(fill)}{fill}", texts((7,)), fill, dtype=STRING)
    for fill in (b"", b"a", b"\x00\xffz"):
        fill_cases(store, f"fixed-bytes-{fill.hex()}", sample("S3", (7,)), fill)
        fill_cases(store, f"bytes-{fill.hex()}", blobs((7,)), fill, dtype=BYTES)
    fill_cases(store, "raw", sample("V3", (7,)), np.void(b"\x01\x00\xff"))
    fill_cases(store, "struct", sample(STRUCTURES["flat"], (7,)), np.array((3, np.nan, 255), STRUCTURES["flat"])[()])


def fill_cases(store: Store, name: str, values: np.ndarray, fill: object, **options: object) -> None:
    """Writes one array without any chunk, and one with two of its four chunks."""
    name = name.replace("-inf", "minus-inf").replace("inf", "infinity")
    store.array(f"{name} empty", values, (2,), written=[], fill_value=fill, **options)
    store.array(f"{name} holes", values, (2,), written=[np.s_[2:4], np.s_[6:7]], fill_value=fill, **options)


def nan_fills(book: CaseBook) -> None:
    """Writes NaN fill values with other bits, which this program reads but does not write."""
    store = Store(book, "v3-nan-fills")
    for dtype, patterns in NAN_BITS.items():
        for bits in patterns:
            text = f"0x{bits:0{2 * int(dtype[1])}x}"
            name = f"{dtype}-{text}"
            store.root.create_array(name, shape=(3,), chunks=(2,), dtype=dtype, compressors=None, fill_value=0)
            book.patch(store.name, f"/{name}", "v3", fill_value=text)
            expected = np.repeat(from_bits(dtype, bits).reshape(1), 3)
            book.array(store.name, f"/{name}", "v3", expected)


def texts_and_bytes(book: CaseBook) -> None:
    """Writes items of variable length, plain and compressed."""
    store = Store(book, "v3-variable")
    compressors = {"plain": None, "gzip": [v3("gzip", level=1)], "zstd": [v3("zstd", level=1, checksum=True)]}
    for position, (shape, chunks) in enumerate(GEOMETRIES):
        for name, chain in compressors.items():
            store.array(f"string-{position:02}-{name}", texts(shape), chunks, dtype=STRING, compressors=chain)
            if shape != ():  # numcodecs does not support byte strings of rank 0
                store.array(f"bytes-{position:02}-{name}", blobs(shape), chunks, dtype=BYTES, compressors=chain)


def extension_types(book: CaseBook) -> None:
    """Writes times of every unit, fixed strings, raw bytes and structures."""
    store = Store(book, "v3-types")
    for kind in "Mm":
        for unit in (*UNITS, "10us", "25s", "7D"):
            for endian in ("little", "big"):
                values = sample(f"{kind}8[{unit}]", (5,))
                store.array(f"{kind}8-{unit}-{endian}", values, (2,), serializer=v3("bytes", endian=endian))
    for dtype in FIXED:
        for endian in ("little", "big") if dtype[0] == "U" else ("little",):
            for shape, chunks in (((7,), (3,)), ((3, 4), (2, 3)), ((), ())):
                name = f"{dtype}-{len(shape)}d-{endian}"
                options = {"serializer": v3("bytes", endian=endian)} if dtype[0] == "U" else {}
                store.array(name, sample(dtype, shape), chunks, compressors=[v3("gzip", level=1)], **options)
    for name, dtype in STRUCTURES.items():
        for shape, chunks in (((7,), (3,)), ((3, 4), (2, 3)), ((), ())):
            store.array(f"{name}-{len(shape)}d", sample(dtype, shape), chunks)
        store.array(f"{name}-zstd", sample(dtype, (9,)), (4,), compressors=[v3("zstd", level=1, checksum=False)])


def tree(book: CaseBook) -> None:
    """Writes nested groups with attributes, and names in several scripts."""
    for zarr_format in (2, 3):
        name = f"v{zarr_format}-tree"
        store = Store(book, name, zarr_format, ATTRIBUTES)
        for node in NAMES:
            group = store.root.create_group(node, attributes={"name": node} | ATTRIBUTES)
            inner = group.create_group("inner", attributes={})
            book.group(store.name, f"/{node}", store.format, dict(group.attrs), ["inner", "array"])
            book.group(store.name, f"/{node}/inner", store.format, dict(inner.attrs), [node])
            store.array(f"{node}/array", sample("i4", (3,)), (2,), attributes=ATTRIBUTES)
            store.array(f"{node}/inner/{node}", sample("u1", (2, 2)), (1, 2))
        book.group(store.name, "/", store.format, dict(store.root.attrs), list(NAMES))
    store = Store(book, "v3-dimension-names")
    for position, dimensions in enumerate((["y", "x"], [None, "時"], ["", "a b"], [None, None])):
        store.array(f"{position}", sample("i2", (3, 4)), (2, 2), dimension_names=dimensions)


def consolidated(book: CaseBook) -> None:
    """Writes consolidated metadata of both formats."""
    for zarr_format in (2, 3):
        store = Store(book, f"v{zarr_format}-consolidated", zarr_format, ATTRIBUTES)
        store.root.create_group("a/b", attributes={"x": 1})
        store.array("a/one", sample("f4", (5,)), (2,), attributes={"é": "日本"}, fill_value=np.nan)
        store.array("a/b/two", sample("u2", (3, 3)), (2, 2))
        zarr.consolidate_metadata(store.root.store)
        book.group(store.name, "/", store.format, ATTRIBUTES, ["a"])
        book.group(store.name, "/a", store.format, {}, ["b", "one"])
        book.group(store.name, "/a/b", store.format, {"x": 1}, ["two"])


def roots(book: CaseBook) -> None:
    """Writes arrays at the root of their store."""
    for zarr_format in (2, 3):
        for shape, chunks in (((), ()), ((5,), (2,)), ((3, 4), (2, 2))):
            name = f"v{zarr_format}-root-{len(shape)}d.zarr"
            values = sample("i4", shape)
            array = zarr.create_array(
                book.directory / name,
                shape=shape,
                chunks=chunks,
                dtype="i4",
                zarr_format=zarr_format,
                compressors=None,
                attributes=ATTRIBUTES,
            )
            array[...] = values
            book.array(name, "/", f"v{zarr_format}", values, ATTRIBUTES)


def v2_types(book: CaseBook) -> None:
    """Writes types of v2 in both byte orders and both orders of elements."""
    store = Store(book, "v2-types", 2)
    simple = [*NUMBERS, *FIXED, "M8[ns]", "M8[10us]", "m8[D]"]
    for order in "CF":
        for dtype in simple:
            for mark, word in (("<", "little"), (">", "big")):
                typed = np.dtype(dtype).newbyteorder(mark)
                if mark == ">" and typed == np.dtype(dtype):
                    continue
                store.array(f"{dtype}-{word}-{order}", sample(typed, (5, 4)), (2, 3), order=order)
        for name, fields in STRUCTURES.items():
            store.array(f"{name}-{order}", sample(fields, (5, 4)), (2, 3), order=order)
        store.array(f"string-{order}", texts((5, 4)), (2, 3), dtype=STRING, order=order)
        store.array(f"bytes-{order}", blobs((5, 4)), (2, 3), dtype=BYTES, order=order)


def v2_pipelines(book: CaseBook) -> None:
    """Writes compressors and filters of v2."""
    store = Store(book, "v2-pipelines", 2)
    for dtype in ("|u1", "<i4", ">f8"):
        for codec in v2_compressors(BLOSC_NAMES):
            values = smooth(dtype, (9, 8))
            store.array(f"{dtype[1:]}-{label(codec)}", values, (4, 8), compressors=numcodecs.get_codec(dict(codec)))
    for dtype in ("<i4", ">i2"):
        for position, chain in enumerate(v2_filters(dtype, int(dtype[2]))):
            filters = [numcodecs.get_codec(dict(codec)) for codec in chain]
            store.array(f"{dtype[1:]}-chain{position}", smooth(dtype, (9, 8)), (4, 8), filters=filters, lossy=True)


def v2_geometries(book: CaseBook) -> None:
    """Writes shapes, chunk shapes and separators of v2, with some chunks missing."""
    store = Store(book, "v2-geometries", 2)
    for position, (shape, chunks) in enumerate(GEOMETRIES):
        for separator, word in ((".", "dot"), ("/", "slash")):
            for order in "CF":
                keys = {"name": "v2", "separator": separator}
                name = f"{position:02}-{word}-{order}"
                store.array(name, sample("i2", shape), chunks, chunk_key_encoding=keys, order=order, fill_value=-3)
    for fill in (0, -7):
        fill_cases(store, f"fill-{fill}", sample("i4", (7,)), fill)
    store.array("fill-null", sample("i4", (7,)), (2,), fill_value=None)
    for fill in (np.nan, np.inf, -np.inf, -0.0):
        fill_cases(store, f"fill-{fill}", sample("f4", (7,)), fill)
