"""Writes hierarchies with zarr-python 2.18, in v2."""

import warnings
from pathlib import Path

import numcodecs
import numpy as np
import zarr

from cases import CaseBook
from codec_tables import label, v2_compressors, v2_filters
from raw import raw_bytes
from samples import (
    ATTRIBUTES,
    FIXED,
    FLOATS,
    GEOMETRIES,
    INTEGERS,
    NAMES,
    NUMBERS,
    UNITS,
    blobs,
    sample,
    smooth,
    texts,
)

BLOSC_NAMES = numcodecs.blosc.list_compressors()
STRUCTURES = {
    "flat": [("a", "<i4"), ("b", ">f8"), ("c", "u1")],
    "nested": [("a", ">u2"), ("b", [("x", "<f4"), ("y", [("z", "i1"), ("t", "?")])])],
    "subarrays": [("x", "<f4"), ("z", ">i2", (2, 2)), ("w", "S2", (3,))],
    "nested-subarrays": [("n", [("p", "<u2", (2,)), ("q", "u1")]), ("r", "<c8", (1, 2))],
    "texts": [("s", "S3"), ("u", ">U2"), ("v", "V2")],
    "times": [("t", "<M8[ms]"), ("d", ">m8[h]")],
}


class Store:
    """One store on disk, and the book that records its nodes."""

    def __init__(self, book: CaseBook, name: str) -> None:
        self.book = book
        self.name = f"{name}.zarr"
        self.root = zarr.open_group(zarr.DirectoryStore(book.directory / self.name), mode="w", zarr_version=2)

    def array(
        self,
        name: str,
        values: np.ndarray,
        chunks: tuple[int, ...],
        *,
        written: list | None = None,
        lossy: bool = False,
        attributes: dict | None = None,
        **options: object,
    ) -> None:
        """Writes `values` (or only the selections in `written`), reads everything back, and records the case."""
        options = {"compressor": None, "dtype": values.dtype, "write_empty_chunks": True} | options
        array = self.root.create(name, shape=values.shape, chunks=chunks, **options)
        array.attrs.put(attributes or {})
        expected = values
        if written is None:
            array[...] = values
        else:
            expected = np.full(values.shape, options["fill_value"], values.dtype)
            for selection in written:
                array[selection] = values[selection]
                expected[selection] = values[selection]
        read = np.asarray(array[...], values.dtype)
        if lossy:
            expected = read
        elif raw_bytes(read) != raw_bytes(expected):
            raise ValueError(f"zarr-python reads /{name} in {self.name} differently from what it wrote")
        self.book.array(self.name, f"/{name}", "v2", expected, attributes)


def write(directory: Path) -> None:
    """Writes everything."""
    warnings.simplefilter("ignore", FutureWarning)
    book = CaseBook(directory)
    for part in (types, geometries, pipelines, chains, fills, variable, tree, consolidated, roots):
        part(book)
    book.save()


def types(book: CaseBook) -> None:
    """Writes every type in both byte orders and both orders of elements."""
    store = Store(book, "types")
    times = [f"{kind}8[{unit}]" for kind in "Mm" for unit in (*UNITS, "10us", "25s", "7D")]
    for order in "CF":
        for dtype in (*NUMBERS, *FIXED, *times):
            for mark, word in (("<", "little"), (">", "big")):
                typed = np.dtype(dtype).newbyteorder(mark)
                if mark == ">" and typed == np.dtype(dtype):
                    continue
                store.array(f"{dtype}-{word}-{order}", sample(typed, (5, 4)), (2, 3), order=order)
        for name, fields in STRUCTURES.items():
            store.array(f"{name}-{order}", sample(fields, (5, 4)), (2, 3), order=order)


def geometries(book: CaseBook) -> None:
    """Writes shapes, chunk shapes and separators in both orders."""
    store = Store(book, "geometries")
    for position, (shape, chunks) in enumerate(GEOMETRIES):
        for separator, word in ((".", "dot"), ("/", "slash")):
            for order in "CF":
                for dtype in ("|u1", ">i2", "<c16"):
                    options = {"dimension_separator": separator, "order": order, "fill_value": 7}
                    name = f"{position:02}-{word}-{order}-{dtype[1:]}"
                    store.array(name, sample(dtype, shape), chunks, **options)


def pipelines(book: CaseBook) -> None:
    """Writes every compressor with several types, in both orders."""
    store = Store(book, "compressors")
    for dtype, order in (("|u1", "C"), ("<i4", "F"), (">f8", "C"), ("<c16", "F")):
        for codec in v2_compressors(BLOSC_NAMES):
            options = {"compressor": numcodecs.get_codec(dict(codec)), "order": order}
            store.array(f"{dtype[1:]}-{label(codec)}", smooth(dtype, (9, 8)), (4, 8), **options)
    for dtype in (*NUMBERS, "S5", "U4", "M8[ns]"):
        store.array(f"random-{dtype}", sample(dtype, (9, 8)), (4, 8), compressor=numcodecs.Blosc())


def chains(book: CaseBook) -> None:
    """Writes filter chains before compressors."""
    store = Store(book, "filters")
    for dtype in ("<i4", ">i2", "<u8", "<f8"):
        for position, chain in enumerate(v2_filters(dtype, int(dtype[2]))):
            for compressor in (None, numcodecs.Zlib(1), numcodecs.Blosc("zstd", 5, 1)):
                filters = [numcodecs.get_codec(dict(codec)) for codec in chain]
                name = f"{dtype[1:]}-chain{position}-{compressor.codec_id if compressor else 'none'}"
                options = {"filters": filters, "compressor": compressor, "lossy": True}
                store.array(name, smooth(dtype, (9, 8)), (4, 8), order="CF"[position % 2], **options)
    for dtype in ("M8[s]", "m8[s]"):
        filters = [numcodecs.Delta("<i8")]
        store.array(f"{dtype}-delta", sample(dtype, (12,))[1:], (5,), filters=filters, compressor=numcodecs.BZ2(1))


def fills(book: CaseBook) -> None:
    """Writes fill values with all or some chunks missing; without -0.0, which this program stores as 0.0."""
    store = Store(book, "fills")
    for dtype in INTEGERS:
        bounds = np.iinfo(dtype)
        for fill in sorted({0, 1, int(bounds.min), int(bounds.max)}):
            fill_cases(store, f"{dtype}-{fill}", sample(dtype, (7,)), fill)
    for dtype in FLOATS:
        bounds = np.finfo(dtype)
        for fill in (0.0, 0.1, np.nan, np.inf, -np.inf, float(bounds.max), float(bounds.smallest_subnormal)):
            fill_cases(store, f"{dtype}-{fill}", sample(dtype, (7,)), fill)
    for dtype in ("c8", ">c16"):
        for fill in (0j, 1 + 2j, complex(np.nan, -np.inf), complex(np.inf, 0.1)):
            fill_cases(store, f"{dtype[-3:]}-{fill.real}_{fill.imag}", sample(dtype, (7,)), fill)
    for fill in (True, False):
        fill_cases(store, f"bool-{fill}", sample("b1", (7,)), fill)
    for fill in (0, 5, -1, "NaT"):
        fill_cases(store, f"datetime-{fill}", sample("M8[ms]", (7,)), np.datetime64(fill, "ms"))
        fill_cases(store, f"timedelta-{fill}", sample(">m8[h]", (7,)), np.timedelta64(fill, "h"))
    for fill in ("", "a", "日本", "😀é"):
        fill_cases(store, f"U3-{len(fill)}{fill.encode().hex()}", sample("U3", (7,)), fill)
    for fill in (b"", b"a", b"\x00\xffz"):
        fill_cases(store, f"S3-{fill.hex()}", sample("S3", (7,)), fill)
        fill_cases(store, f"V3-{fill.hex()}", sample("V3", (7,)), np.void(fill.ljust(3, b"\x01")))
    flat = STRUCTURES["flat"]
    fill_cases(store, "struct", sample(flat, (7,)), np.array((3, np.nan, 255), flat)[()])
    for dtype in (*NUMBERS, *FIXED, flat):
        name = dtype if isinstance(dtype, str) else "struct"
        store.array(f"null-{name}", sample(dtype, (7,)), (2,), fill_value=None)


def fill_cases(store: Store, name: str, values: np.ndarray, fill: object) -> None:
    """Writes one array without any chunk, and one with two of its four chunks."""
    store.array(f"{name} empty", values, (2,), written=[], fill_value=fill)
    store.array(f"{name} holes", values, (2,), written=[np.s_[2:4], np.s_[6:7]], fill_value=fill)


def variable(book: CaseBook) -> None:
    """Writes items of variable length, with and without filters and compressors."""
    store = Store(book, "variable")
    for position, (shape, chunks) in enumerate(GEOMETRIES):
        if shape == ():
            continue  # numcodecs does not support items of variable length at rank 0
        for order in "CF":
            for compressor in (None, numcodecs.Zstd(3)):
                name = f"{position:02}-{order}-{'zstd' if compressor else 'none'}"
                options = {"order": order, "compressor": compressor, "dtype": object}
                store.array(f"string-{name}", texts(shape), chunks, object_codec=numcodecs.VLenUTF8(), **options)
                store.array(f"bytes-{name}", blobs(shape), chunks, object_codec=numcodecs.VLenBytes(), **options)
    options = {"dtype": object, "object_codec": numcodecs.VLenUTF8(), "fill_value": "日本"}
    store.array("string-holes", texts((7,)), (2,), written=[np.s_[2:4]], **options)


def tree(book: CaseBook) -> None:
    """Writes nested groups with attributes."""
    store = Store(book, "tree")
    store.root.attrs.put(ATTRIBUTES)
    for node in NAMES:
        group = store.root.create_group(node)
        group.attrs.put(ATTRIBUTES)
        group.create_group("inner")
        book.group(store.name, f"/{node}", "v2", ATTRIBUTES, ["inner", "array"])
        book.group(store.name, f"/{node}/inner", "v2", {}, [node])
        store.array(f"{node}/array", sample("i4", (3,)), (2,), attributes=ATTRIBUTES)
        store.array(f"{node}/inner/{node}", sample("u1", (2, 2)), (1, 2))
    book.group(store.name, "/", "v2", ATTRIBUTES, list(NAMES))


def consolidated(book: CaseBook) -> None:
    """Writes consolidated metadata."""
    store = Store(book, "consolidated")
    store.root.attrs.put(ATTRIBUTES)
    store.root.create_group("a/b").attrs.put({"x": 1})
    store.array("a/one", sample("f4", (5,)), (2,), attributes={"é": "日本"}, fill_value=np.nan)
    store.array("a/b/two", sample("u2", (3, 3)), (2, 2))
    zarr.consolidate_metadata(store.root.store)
    book.group(store.name, "/", "v2", ATTRIBUTES, ["a"])
    book.group(store.name, "/a", "v2", {}, ["b", "one"])
    book.group(store.name, "/a/b", "v2", {"x": 1}, ["two"])


def roots(book: CaseBook) -> None:
    """Writes arrays at the root of their store, with store classes that use different keys."""
    for kind in (zarr.DirectoryStore, zarr.NestedDirectoryStore):
        for shape, chunks in (((), ()), ((5,), (2,)), ((3, 4), (2, 2))):
            name = f"root-{kind.__name__}-{len(shape)}d.zarr"
            values = sample("i4", shape)
            array = zarr.open_array(
                kind(book.directory / name),
                mode="w",
                shape=shape,
                chunks=chunks,
                dtype="i4",
                compressor=None,
                zarr_version=2,
            )
            array[...] = values
            array.attrs.put(ATTRIBUTES)
            book.array(name, "/", "v2", values, ATTRIBUTES)
