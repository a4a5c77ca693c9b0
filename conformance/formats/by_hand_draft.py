"""Handwritten examples of the draft of version 3, for rows of `requirements/v3-draft.md` and `draft-extensions.md`."""

import gzip
import struct

from book import Book

CODECS = "https://purl.org/zarr/spec/codecs"
GZIP = {"type": f"{CODECS}/gzip/1.0", "configuration": {"level": 1}}
BIG = {"type": f"{CODECS}/endian/1.0", "configuration": {"endian": "big"}}
UNKNOWN = {"extension": "https://example.org/none/1.0", "must_understand": True}


def entry_point(**members: object) -> dict:
    """Returns the document of a hierarchy; a member that is `...` is omitted."""
    whole = {
        "zarr_format": "https://purl.org/zarr/spec/core/3.0",
        "metadata_encoding": {"type": "json", "metadata_key_suffix": ".json"},
        "extensions": [],
        **members,
    }
    return {name: member for name, member in whole.items() if member is not ...}


def document(shape: list, data_type: object = "int16", chunk: list | None = None, **members: object) -> dict:
    """Returns an array document; a member that is `...` is omitted."""
    grid = {"type": "regular", "chunk_shape": shape if chunk is None else chunk, "separator": "/"}
    whole = {
        "shape": shape,
        "data_type": data_type,
        "chunk_grid": grid,
        "chunk_memory_layout": "C",
        "fill_value": 0,
        "extensions": [],
        "attributes": {},
        **members,
    }
    return {name: member for name, member in whole.items() if member is not ...}


def hierarchy(array: dict, chunks: dict[str, bytes], **members: object) -> dict[str, object]:
    """Returns a hierarchy with the array `/a`."""
    files = {f"data/a/{name}": chunk for name, chunk in chunks.items()}
    return {"zarr.json": entry_point(**members), "meta/a.array.json": array, **files}


def i16(*numbers: int, order: str = "<") -> bytes:
    return struct.pack(f"{order}{len(numbers)}h", *numbers)


def write(book: Book) -> None:
    right(book)
    wrong(book)


def right(book: Book) -> None:
    def add(name: str, rows: str, about: str, files: dict, elements: bytes, **more: object) -> None:
        book.add(name, rows, about, files, elements, array=more.pop("array", "/a"), **more)

    two = {"c0": i16(1, 2)}
    add("plain", "D3-META-01 D3-CODEC-14", "An array with one chunk.", hierarchy(document([2]), two), i16(1, 2))
    add(
        "edge-chunks",
        "D3-GRID-10 D3-GRID-12 D3-GRID-13",
        "Keys such as `c0/1`; what lies outside of the array is anything.",
        hierarchy(document([3, 3], chunk=[2, 2], fill_value=7), {"c0/0": i16(0, 1, 3, 4), "c0/1": i16(2, -1, 5, -1), "c1/1": i16(8, -1, -1, -1)}),
        i16(0, 1, 2, 3, 4, 5, 7, 7, 8),
    )
    grid = {"type": "regular", "chunk_shape": [1, 2], "separator": "."}
    add(
        "keys-dot",
        "D3-GRID-04 D3-GRID-13",
        "Keys such as `c1.0`.",
        hierarchy(document([2, 2], chunk_grid=grid), {"c1.0": i16(1, 2)}),
        i16(0, 0, 1, 2),
    )
    add("no-dimensions", "D3-GRID-14", "An array without dimensions: its chunk is `c`.", hierarchy(document([]), {"c": i16(5)}), i16(5))
    add("no-elements", "D3-SHAPE-02", "A dimension of length zero.", hierarchy(document([0, 3], chunk=[1, 1]), {}), b"")
    add(
        "layout-f",
        "D3-LAYOUT-03 D3-CODEC-08",
        "Layout F: in a chunk the first dimension runs fastest.",
        hierarchy(document([2, 3], "uint8", chunk_memory_layout="F"), {"c0/0": bytes.fromhex("000301040205")}),
        bytes(range(6)),
    )
    add(
        "endian-and-gzip",
        "D3-DT-21 D3-CODEC-06",
        "Big endian elements behind gzip.",
        hierarchy(document([2], codecs=[BIG, GZIP]), {"c0": gzip.compress(i16(1, 2, order=">"), mtime=0)}),
        i16(1, 2),
    )
    add(
        "gzip-alone",
        "D3-CODEC-10",
        "A codec of bytes at the beginning of the list is given little endian elements in C order.",
        hierarchy(document([2, 3], codecs=[GZIP], chunk_memory_layout="F"), {"c0/0": gzip.compress(i16(0, 3, 1, 4, 2, 5), mtime=0)}),
        i16(*range(6)),
    )
    add(
        "codec-of-a-newer-minor-version",
        "D3-VER-05",
        "A codec whose minor version is newer is read; only the major version counts.",
        hierarchy(document([2], codecs=[{**GZIP, "type": f"{CODECS}/gzip/1.1"}]), {"c0": gzip.compress(i16(1, 2), mtime=0)}),
        i16(1, 2),
    )
    for name, data_type, fill, digits, rows in (
        ("infinity", "float32", "+Infinity", "0000807f", "D3-FILL-08"),
        ("nan", "float64", "NaN", "000000000000f87f", "D3-FILL-08 D3-FILL-10"),
        ("hex", "float32", "0x7fc00001", "0100c07f", "D3-FILL-11"),
        ("binary", "float16", "0b0011110000000000", "003c", "D3-FILL-12"),
        ("uint64", "uint64", 2**64 - 1, "ff" * 8, "D3-FILL-05 D3-DT-11"),
        ("complex", "complex64", [1, 2], "0000803f00000040", "D3-FILL-16"),
        ("bool", "bool", True, "01", "D3-FILL-04"),
    ):
        add(
            f"fill-{name}",
            f"{rows} D3-CODEC-21",
            f"Nothing is stored, and the fill value of type {data_type} is {fill}.",
            hierarchy(document([2], data_type, fill_value=fill), {}),
            bytes.fromhex(digits) * 2,
        )
    add(
        "extension-that-need-not-be-understood",
        "D3-META-18 D3-ARR-10",
        "An unknown extension of the hierarchy and one of the array, which need not be understood.",
        hierarchy(document([2], extensions=[{**UNKNOWN, "must_understand": False}]), two, extensions=[{**UNKNOWN, "must_understand": False}]),
        i16(1, 2),
    )
    add(
        "newer-minor-version",
        "D3-META-05 D3-VER-02",
        "A newer minor version of the format, with a member of the entry point that is not known yet.",
        hierarchy(document([2]), two, zarr_format="https://purl.org/zarr/spec/core/3.7", new_thing={}),
        i16(1, 2),
    )
    files = {
        "zarr.json": entry_point(metadata_encoding={"type": "json", "metadata_key_suffix": ".zmeta"}),
        "meta/b/c.array.zmeta": document([2]),
        "data/b/c/c0": i16(1, 2),
    }
    add(
        "implicit-groups-and-another-suffix",
        "D3-META-10 D3-OP-02",
        "An array below a group that has no document; documents have the suffix that the entry point names.",
        files,
        i16(1, 2),
        array="/b/c",
    )
    shard = {
        "extension": "https://purl.org/zarr/spec/storage_transformers/sharding/1.0",
        "type": "indexed",
        "configuration": {"chunks_per_shard": [2]},
    }
    none = 2**64 - 1
    add(
        "shard",
        "D3-ST-01 DX-SHARD-02 DX-SHARD-07 DX-SHARD-10",
        "Two chunks in a shard; one of the second shard is empty.",
        hierarchy(
            document([7], chunk=[2], storage_transformers=[shard], fill_value=9),
            {
                "c0": i16(3, 4) + i16(1, 2) + struct.pack("<4Q", 4, 4, 0, 4),
                "c1": i16(7, -1) + struct.pack("<4Q", none, none, 0, 4),
            },
        ),
        i16(1, 2, 3, 4, 9, 9, 7),
    )


def wrong(book: Book) -> None:
    two = {"c0": i16(1, 2)}

    def add(name: str, rows: str, about: str, members: dict, chunks: dict | None = None, **hierarchy_members: object) -> None:
        whole = {member: value for member, value in {**document([2]), **members}.items() if value is not ...}
        book.add(f"wrong-{name}", rows, about, hierarchy(whole, two if chunks is None else chunks, **hierarchy_members), array="/a")

    for member in ("shape", "data_type", "chunk_grid", "chunk_memory_layout", "fill_value"):
        add(f"{member.replace('_', '-')}-missing", "D3-ARR-02", f"There is no `{member}`.", {member: ...})
    grid = {"type": "regular", "chunk_shape": [0], "separator": "/"}
    add("member-unknown", "D3-ARR-05", "A member that nobody knows.", {"foo": 1})
    add("member-must-not-be-understood", "D3-ARR-07", "No member may say of itself that it need not be understood.", {"foo": {"must_understand": False}})
    add("shape-negative", "D3-SHAPE-01", "A length is negative.", {"shape": [-2]})
    add("chunk-zero", "D3-SHAPE-05", "A chunk length is zero.", {"chunk_grid": grid})
    add("chunk-rank", "D3-SHAPE-04", "The chunk has more dimensions than the array.", {"chunk_grid": {**grid, "chunk_shape": [2, 2]}})
    add("separator", "D3-GRID-04", "The separator of keys is `-`.", {"chunk_grid": {**grid, "chunk_shape": [2], "separator": "-"}})
    add("grid-unknown", "D3-GRID-19", "Nobody knows the chunk grid.", {"chunk_grid": {"extension": "https://example.org/grid/1.0", "type": "rectilinear"}})
    add("layout-unknown", "D3-LAYOUT-01", "The layout is \"A\".", {"chunk_memory_layout": "A"})
    add("fill-null", "D3-FILL-02", "The fill value is null, and nothing is stored.", {"fill_value": None}, {})
    add("fill-too-large", "D3-FILL-05", "The fill value does not fit the type, and nothing is stored.", {"fill_value": 32768}, {})
    add("fill-hex-short", "D3-FILL-11", "The hexadecimal fill value has too few digits.", {"data_type": "float32", "fill_value": "0x7fc0"}, {})
    add("codec-unknown", "D3-CODEC-05", "Nobody knows the codec.", {"codecs": [{"type": "https://example.org/codec/none/1.0"}]})
    add("codec-of-another-major-version", "D3-VER-05", "The major version of a codec is newer.", {"codecs": [{**GZIP, "type": f"{CODECS}/gzip/2.0"}]}, {"c0": gzip.compress(i16(1, 2), mtime=0)})
    add("transformer-unknown", "D3-ST-03", "Nobody knows the storage transformer.", {"storage_transformers": [{"extension": "https://example.org/st/1.0", "type": "x"}]})
    add("data-type-unknown", "D3-DTX-04", "Nobody knows the data type, and it has no fallback.", {"data_type": {"extension": "https://example.org/x/1.0", "type": "y"}})
    add("extension-of-the-array", "D3-ARR-10", "An extension of the array that must be understood, and is not.", {"extensions": [UNKNOWN]})
    add("extension-of-the-hierarchy", "D3-META-19", "An extension of the hierarchy that must be understood, and is not.", {}, extensions=[UNKNOWN])
    add("must-understand-text", "D3-META-16", "`must_understand` is the text \"false\".", {}, extensions=[{**UNKNOWN, "must_understand": "false"}])
    add("major-version", "D3-META-06", "A newer major version of the format.", {}, zarr_format="https://purl.org/zarr/spec/core/4.0")
    add("metadata-encoding-missing", "D3-META-02", "The entry point has no `metadata_encoding`.", {}, metadata_encoding=...)
    encoding = {"extension": "https://example.org/enc/1.0", "type": "none", "metadata_key_suffix": ".json"}
    add("metadata-encoding-unknown", "D3-META-13", "Nobody knows the metadata encoding.", {}, metadata_encoding=encoding)
    add("chunk-short", "D3-CODEC-15", "A chunk has a byte too few.", {}, {"c0": i16(1, 2)[:-1]})
    add("chunk-long", "D3-CODEC-15", "A chunk has two bytes too many.", {}, {"c0": i16(1, 2, 3)})
    add("gzip-cut-off", "D3-CODEC-16", "A gzip file that ends before its checksum.", {"codecs": [GZIP]}, {"c0": gzip.compress(i16(1, 2), mtime=0)[:-8]})
    book.add(
        "wrong-no-entry-point",
        "D3-META-01",
        "There is an array, and no entry point.",
        {"meta/a.array.json": document([2]), "data/a/c0": i16(1, 2)},
        array="/a",
    )
