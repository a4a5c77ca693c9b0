"""Writes hierarchies in the v3 draft before codec lists, with zarr-python 2.18 and its experimental flag.

`write_cases.py` sets the environment variables that this program reads on import.
"""

import warnings
from pathlib import Path

import numcodecs
import numpy as np
import zarr
from zarr._storage.v3 import DirectoryStoreV3
from zarr._storage.v3_storage_transformers import ShardingStorageTransformer

from cases import CaseBook
from codec_tables import label, v2_compressors, v2_filters
from raw import raw_bytes
from samples import ATTRIBUTES, GEOMETRIES, NUMBERS, UNITS, blobs, sample, smooth, texts

FORMAT = "v3-draft-a"
BLOSC_NAMES = numcodecs.blosc.list_compressors()
STRUCTURES = {
    "flat": [("a", "<i4"), ("b", ">f8"), ("c", "u1")],
    "nested": [("a", ">u2"), ("b", [("x", "<f4"), ("y", [("z", "i1"), ("t", "?")])])],
    "subarrays": [("x", "<f4"), ("z", ">i2", (2, 2)), ("w", "S2", (3,))],
    "texts": [("s", "S3"), ("u", ">U2"), ("v", "V2")],
}


class Store:
    """One store on disk, and the book that records its nodes."""

    def __init__(self, book: CaseBook, name: str) -> None:
        self.book = book
        self.name = f"{name}.zarr"
        self.store = DirectoryStoreV3(str(book.directory / self.name))

    def array(
        self,
        path: str,
        values: np.ndarray,
        chunks: tuple[int, ...],
        *,
        written: list | None = None,
        lossy: bool = False,
        attributes: dict | None = None,
        **options: object,
    ) -> None:
        """Writes `values` (or only the selections in `written`), reads everything back, and records the case."""
        options = {"compressor": None, "dtype": values.dtype, "dimension_separator": "/"} | options
        array = zarr.create(
            store=self.store,
            path=path.strip("/"),
            shape=values.shape,
            chunks=chunks,
            zarr_version=3,
            write_empty_chunks=True,
            **options,
        )
        # The filters are stored in the attributes: `put` would remove them.
        array.attrs.update(attributes or {})
        expected = values
        if written is None:
            array[...] = values
        else:
            expected = np.full(values.shape, options["fill_value"], values.dtype)
            for selection in written:
                array[selection] = values[selection]
                expected[selection] = values[selection]
        read = np.asarray(
            zarr.open_array(self.store, mode="r", path=path.strip("/"), zarr_version=3)[...], values.dtype
        )
        if lossy:
            expected = read
        elif raw_bytes(read) != raw_bytes(expected):
            raise ValueError(f"zarr-python reads {path} in {self.name} differently from what it wrote")
        self.book.array(self.name, path, FORMAT, expected, attributes)

    def group(self, path: str, attributes: dict, children: list[str]) -> None:
        """Writes an explicit group, and records the case."""
        zarr.open_group(self.store, path=path.strip("/"), mode="a", zarr_version=3).attrs.put(attributes)
        self.book.group(self.name, path, FORMAT, attributes, children)


def write(directory: Path) -> None:
    """Writes everything except shards."""
    warnings.simplefilter("ignore", FutureWarning)
    book = CaseBook(directory)
    for part in (types, geometries, compressors, filters, fills, variable, tree, roots):
        part(book)
    book.save()


def write_sharded(directory: Path) -> None:
    """Writes arrays with the sharding transformer, with a separate index."""
    book = CaseBook(directory, "cases-sharding")
    store = Store(book, "sharding")
    layouts = (
        ((), (), (1,)),
        ((5,), (1,), (2,)),
        ((9,), (2,), (3,)),
        ((4, 4), (1, 2), (2, 2)),
        ((5, 7), (2, 3), (2, 1)),
        ((3, 4, 5), (2, 2, 2), (1, 2, 3)),
    )
    for number, (shape, chunks, shard) in enumerate(layouts):
        for separator, word in (("/", "slash"), (".", "dot")):
            for dtype in ("|u1", ">i4", "<f8"):
                for compressor in (None, numcodecs.GZip(1)):
                    options = {
                        "storage_transformers": [ShardingStorageTransformer("indexed", chunks_per_shard=shard)],
                        "dimension_separator": separator,
                        "compressor": compressor,
                    }
                    name = f"/{number}-{word}-{dtype[1:]}-{'gzip' if compressor else 'none'}"
                    store.array(name, sample(dtype, shape), chunks, **options)
    for written in ([], [np.s_[4:6]], [np.s_[8:9], np.s_[0:2]]):
        options = {"storage_transformers": [ShardingStorageTransformer("indexed", chunks_per_shard=(3,))]}
        store.array(
            f"/holes{len(written)}-{len(str(written))}",
            sample("<i2", (9,)),
            (2,),
            written=written,
            fill_value=-7,
            **options,
        )
    book.save()


def types(book: CaseBook) -> None:
    """Writes every type that this dialect supports, in both byte orders and both layouts."""
    store = Store(book, "types")
    times = [f"{kind}8[{unit}]" for kind in "Mm" for unit in UNITS]
    for order in "CF":
        for dtype in (*NUMBERS, "S1", "S5", "U1", "U4", *times):
            for mark, word in (("<", "little"), (">", "big")):
                typed = np.dtype(dtype).newbyteorder(mark)
                if mark == ">" and typed == np.dtype(dtype):
                    continue
                name = dtype.replace("[", "-").replace("]", "")
                store.array(f"/{name}-{word}-{order}", sample(typed, (5, 4)), (2, 3), order=order)
        for name, fields in STRUCTURES.items():
            store.array(f"/{name}-{order}", sample(fields, (5, 4)), (2, 3), order=order)


def geometries(book: CaseBook) -> None:
    """Writes shapes, chunk shapes and separators in both layouts."""
    store = Store(book, "geometries")
    for position, (shape, chunks) in enumerate(GEOMETRIES):
        for separator, word in ((".", "dot"), ("/", "slash")):
            for order in "CF":
                options = {"dimension_separator": separator, "order": order, "fill_value": 7}
                store.array(f"/{position:02}-{word}-{order}", sample("<i2", shape), chunks, **options)


def compressors(book: CaseBook) -> None:
    """Writes every compressor, in both layouts."""
    store = Store(book, "compressors")
    for dtype, order in (("|u1", "C"), (">i4", "F"), ("<f8", "C")):
        for codec in v2_compressors(BLOSC_NAMES):
            options = {"compressor": numcodecs.get_codec(dict(codec)), "order": order}
            store.array(f"/{dtype[1:]}-{label(codec)}", smooth(dtype, (9, 8)), (4, 8), **options)


def filters(book: CaseBook) -> None:
    """Writes filter chains, which this program hides in the attributes, together with attributes of the user."""
    store = Store(book, "filters")
    for dtype in ("<i4", ">i2"):
        for position, chain in enumerate(v2_filters(dtype, int(dtype[2]))):
            for compressor in (None, numcodecs.GZip(1)):
                codecs = [numcodecs.get_codec(dict(codec)) for codec in chain]
                name = f"/{dtype[1:]}-chain{position}-{'gzip' if compressor else 'none'}"
                options = {"filters": codecs, "compressor": compressor, "lossy": True, "order": "CF"[position % 2]}
                store.array(name, smooth(dtype, (9, 8)), (4, 8), attributes={"own": "日本"}, **options)


def fills(book: CaseBook) -> None:
    """Writes fill values with all or some chunks missing; without -0.0, which this program stores as 0.0."""
    store = Store(book, "fills")
    floats = (0.0, 0.1, np.nan, np.inf, -np.inf)
    table: list[tuple[str, list]] = [
        ("b1", [True, False]),
        ("i1", [-128, 127]),
        (">u2", [65535]),
        ("<i8", [-(2**63), 2**63 - 1]),
        ("<u8", [2**64 - 1]),
        *((dtype, list(floats)) for dtype in ("<f2", ">f4", "<f8")),
        ("<c8", [1 + 2j, complex(np.nan, -np.inf)]),
        ("<M8[s]", [np.datetime64(5, "s"), np.datetime64("NaT", "s")]),
        ("|S3", [b"ab"]),
        ("<U2", ["é"]),
    ]
    for dtype, values in table:
        for number, fill in enumerate(values):
            name = f"/{dtype.strip('<>|').partition('[')[0]}-{number}"
            elements = sample(dtype, (7,))
            store.array(f"{name}-empty", elements, (2,), written=[], fill_value=fill)
            store.array(f"{name}-holes", elements, (2,), written=[np.s_[2:4], np.s_[6:7]], fill_value=fill)
    for dtype in ("<i4", "<f8", "b1"):
        store.array(f"/null-{dtype.strip('<')}", sample(dtype, (7,)), (2,), fill_value=None)


def variable(book: CaseBook) -> None:
    """Writes items of variable length."""
    store = Store(book, "variable")
    for shape, chunks in (((7,), (3,)), ((5, 4), (2, 3)), ((0,), (2,))):
        for compressor in (None, numcodecs.Zstd(3)):
            name = f"{len(shape)}d{'x'.join(map(str, shape))}-{'zstd' if compressor else 'none'}"
            options = {"compressor": compressor, "dtype": object}
            store.array(f"/string-{name}", texts(shape), chunks, object_codec=numcodecs.VLenUTF8(), **options)
            store.array(f"/bytes-{name}", blobs(shape), chunks, object_codec=numcodecs.VLenBytes(), **options)


def tree(book: CaseBook) -> None:
    """Writes explicit and implicit groups; node names must be ASCII here, attributes need not be."""
    store = Store(book, "tree")
    store.array("/a/b/c", sample("<i4", (3,)), (2,), attributes=ATTRIBUTES)
    store.array("/a.b-c_d/Upper", sample("<i4", (3,)), (2,))
    store.array("/top", sample("<i4", (3,)), (2,))
    store.group("/explicit", ATTRIBUTES, ["below"])
    store.group("/explicit/below", {}, [])
    store.group("/root", {"a group": "that is called root"}, [])
    book.group(store.name, "/", FORMAT, {}, ["a", "a.b-c_d", "explicit", "root", "top"])
    book.group(store.name, "/a", FORMAT, {}, ["b"])
    book.group(store.name, "/a/b", FORMAT, {}, ["c"])


def roots(book: CaseBook) -> None:
    """Writes arrays and groups at the root of their store."""
    for shape, chunks in (((), ()), ((5,), (2,)), ((3, 4), (2, 2))):
        store = Store(book, f"root-{len(shape)}d")
        store.array("/", sample("<i4", shape), chunks, attributes=ATTRIBUTES)
    store = Store(book, "root-group")
    store.array("/inside", sample("<i4", (3,)), (2,))
    store.group("/", ATTRIBUTES, ["inside"])
