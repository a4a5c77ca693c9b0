"""Writes v2 hierarchies with numcodecs and plain JSON, without zarr-python.

Every codec is used in every position that the format allows, and chunks hold its exact output, including padding.
"""

import itertools
import json
import math
from pathlib import Path

import numcodecs
import numpy as np

from cases import CaseBook
from codec_tables import label, lzma_codecs, v2_compressors
from samples import NAN_BITS, from_bits, sample, smooth

BLOSC_NAMES = numcodecs.blosc.list_compressors()

FILL = {"b": False, "c": [0.0, 0.0]}


class Store:
    """One store on disk, and the book that records its nodes."""

    def __init__(self, book: CaseBook, name: str) -> None:
        self.book = book
        self.name = f"{name}.zarr"
        self.directory = book.directory / self.name
        self.directory.mkdir()
        write_json(self.directory / ".zgroup", {"zarr_format": 2})

    def array(
        self,
        name: str,
        values: np.ndarray,
        chunks: tuple[int, ...],
        *,
        filters: list[dict] | None = None,
        compressor: dict | None = None,
        order: str = "C",
        **members: object,
    ) -> None:
        """Encodes every chunk of `values`, and decodes it again for the expected elements."""
        members = {"compressor": compressor, "filters": filters, "order": order} | members
        directory = self.document(name, values, chunks, **members)
        separator = members.get("dimension_separator", ".")
        codecs = [numcodecs.get_codec(dict(codec)) for codec in (*(filters or ()), compressor) if codec is not None]
        expected = np.empty_like(values)
        grid = [range(math.ceil(length / chunk)) for length, chunk in zip(values.shape, chunks, strict=True)]
        for index in itertools.product(*grid):
            corner = [position * chunk for position, chunk in zip(index, chunks, strict=True)]
            region = tuple(slice(start, start + chunk) for start, chunk in zip(corner, chunks, strict=True))
            inside = tuple(slice(0, length) for length in values[region].shape)
            # Elements outside the array are undefined, so readers must ignore the value 85.
            chunk = np.full(chunks, 85, values.dtype)
            chunk[inside] = values[region]
            encoded = chunk.ravel(order=order)
            for codec in codecs:
                encoded = codec.encode(encoded)
            decoded = stored = numcodecs.compat.ensure_bytes(encoded)
            for codec in reversed(codecs):
                decoded = codec.decode(decoded)
            flat = np.frombuffer(numcodecs.compat.ensure_bytes(decoded), values.dtype)
            expected[region] = flat.reshape(chunks, order=order)[inside]
            file = directory / (separator.join(map(str, index)) or "0")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(stored)
        self.book.array(self.name, f"/{name}", "v2", expected)

    def empty(self, name: str, expected: np.ndarray, fill_value: object) -> None:
        """Writes an array without chunks."""
        self.document(name, expected, (2,), fill_value=fill_value)
        self.book.array(self.name, f"/{name}", "v2", expected)

    def document(self, name: str, values: np.ndarray, chunks: tuple[int, ...], **members: object) -> Path:
        """Writes the metadata document, and returns the array's directory."""
        directory = self.directory / name
        directory.mkdir()
        document = {
            "zarr_format": 2,
            "shape": list(values.shape),
            "chunks": list(chunks),
            "dtype": values.dtype.str,
            "compressor": None,
            "fill_value": FILL.get(values.dtype.kind, 0),
            "order": "C",
            "filters": None,
        }
        write_json(directory / ".zarray", document | members)
        return directory


def write_json(file: Path, document: dict) -> None:
    """Writes one document."""
    file.write_text(json.dumps(document))


def write(directory: Path) -> None:
    """Writes everything."""
    book = CaseBook(directory)
    for part in (compressors, compressors_as_filters, chains, documents, fills):
        part(book)
    book.save()


def compressors(book: CaseBook) -> None:
    """Writes every compressor with several number types, with partial chunks in both orders."""
    store = Store(book, "compressors")
    for dtype, order in (("|b1", "C"), ("<u2", "F"), (">i8", "C"), ("<f4", "F"), (">c16", "C")):
        for codec in v2_compressors(BLOSC_NAMES):
            store.array(f"{dtype[1:]}-{label(codec)}", sample(dtype, (7, 5)), (4, 3), compressor=codec, order=order)
    for codec in ({"id": "crc32c"}, {"id": "crc32c", "location": "start"}, {"id": "shuffle", "elementsize": 4}):
        store.array(f"slot-{label(codec)}", sample("<i4", (7, 5)), (4, 3), compressor=codec)
    for name in ("zlib", "gzip", "bz2", "zstd", "lz4", "lzma", "blosc"):
        store.array(f"defaults-{name}", smooth("<i4", (7, 5)), (4, 3), compressor={"id": name})


def compressors_as_filters(book: CaseBook) -> None:
    """Writes compressors in the list of filters, combined with each other."""
    store = Store(book, "filters")
    names = ("zlib", "gzip", "bz2", "zstd", "lz4", "lzma", "blosc", "crc32c")
    for first, second in itertools.product(names, (None, *names)):
        compressor = None if second is None else {"id": second}
        store.array(f"{first}-{second}", smooth("<i4", (9, 4)), (4, 4), filters=[{"id": first}], compressor=compressor)


def chains(book: CaseBook) -> None:
    """Writes array filters with a separate type, in chains."""
    store = Store(book, "chains")
    for dtype, astype in itertools.product(("|u1", "<i2", ">i4", "<u8"), ("<i2", ">i4", "<i8")):
        delta = {"id": "delta", "dtype": dtype, "astype": astype}
        shuffle = {"id": "shuffle", "elementsize": int(astype[2])}
        for name, filters in (("delta", [delta]), ("delta-shuffle", [delta, shuffle])):
            store.array(f"{name}-{dtype[1:]}-{astype[1:]}", smooth(dtype, (30,)), (12,), filters=filters)
    for dtype in ("<f4", "<f8", ">f8"):
        for astype, offset, scale in (("|u1", 0, 2), ("<i2", 1.5, 10), (">i4", -3, 100), ("<f4", 1, 0.5)):
            codec = {"id": "fixedscaleoffset", "dtype": dtype, "astype": astype, "offset": offset, "scale": scale}
            name = f"scaled-{dtype[1:]}-{'big' if dtype[0] == '>' else 'little'}-{astype[1:]}"
            # Without the cast, the sum would be in native byte order.
            values = (smooth(dtype, (30,)) + 2).astype(dtype)
            store.array(name, values, (12,), filters=[codec], compressor={"id": "zlib", "level": 1})
    for number, codec in enumerate(lzma_codecs()):
        delta = {"id": "delta", "dtype": "<i4"}
        store.array(f"delta-lzma{number}", smooth("<i4", (30,)), (12,), filters=[delta], compressor=codec)


def documents(book: CaseBook) -> None:
    """Writes documents in the forms of other writers."""
    store = Store(book, "documents")
    values = sample("<i4", (7, 5))
    for separator, word in ((".", "dot"), ("/", "slash")):
        store.array(f"separator-{word}", values, (4, 3), dimension_separator=separator)
    store.array("no-filters", values, (4, 3), filters=[])
    store.array("rank-0", sample("<f8", ()), ())
    for dtype, patterns in NAN_BITS.items():
        for bits in patterns:
            elements = np.repeat(from_bits(dtype, bits).reshape(1), 5)
            store.array(f"nan-{dtype}-{bits:x}", elements, (2,))


def fills(book: CaseBook) -> None:
    """Writes fill values of arrays without chunks: the form in the document, and the element that it represents."""
    store = Store(book, "fills")
    table = [
        *(("<f8", fill, float(fill)) for fill in ("NaN", "Infinity", "-Infinity")),
        *((dtype, -0.0, -0.0) for dtype in ("<f2", ">f4", "<f8")),
        (">f4", 0.1, 0.1),
        ("<f2", 1, 1),
        ("<i8", -(2**63), -(2**63)),
        (">u8", 2**64 - 1, 2**64 - 1),
        ("|b1", True, True),
        (">c8", [1.5, -2.0], 1.5 - 2j),
        ("|S5", "YWI=", b"ab"),
        ("|S3", "", b""),
        ("|V3", "AQD/", np.void(b"\x01\x00\xff")),
        (">U3", "日本", "日本"),
        ("<M8[s]", 5, np.datetime64(5, "s")),
        (">m8[h]", -(2**63), np.timedelta64("NaT", "h")),
    ]
    for number, (dtype, fill, element) in enumerate(table):
        store.empty(f"{number:02}-{dtype[1:]}", np.full((3,), element, dtype), fill)
