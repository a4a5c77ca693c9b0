"""Handwritten examples of version 3, for rows of `requirements/v3-final.md` and `data-types.md`."""

import gzip
import json
import struct
import zlib

from book import Book
from numcodecs import blosc, zstd
from numcodecs.checksum32 import CRC32C

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
BIG = {"name": "bytes", "configuration": {"endian": "big"}}
CRC = {"name": "crc32c"}
GZIP = {"name": "gzip", "configuration": {"level": 5}}
ZSTD = {"name": "zstd", "configuration": {"level": 1, "checksum": True}}
NONE = 2**64 - 1


def document(shape: list, data_type: object = "int16", chunk: list | None = None, **members: object) -> dict:
    """Returns an array document; a member that is `...` is omitted."""
    chunk_grid = {"name": "regular", "configuration": {"chunk_shape": shape if chunk is None else chunk}}
    whole = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": data_type,
        "chunk_grid": chunk_grid,
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [LITTLE],
        **members,
    }
    return {name: member for name, member in whole.items() if member is not ...}


def transpose(*order: int) -> dict:
    return {"name": "transpose", "configuration": {"order": [*order]}}


def blosc_codec(name: str = "lz4", shuffle: str = "shuffle", size: int = 2) -> dict:
    configuration = {"cname": name, "clevel": 5, "shuffle": shuffle, "typesize": size, "blocksize": 0}
    return {"name": "blosc", "configuration": configuration}


def sharding(inner: list, codecs: list | None = None, index: list | None = None, **members: object) -> dict:
    configuration = {
        "chunk_shape": inner,
        "codecs": codecs or [LITTLE],
        "index_codecs": [LITTLE, CRC] if index is None else index,
        **members,
    }
    given = {name: member for name, member in configuration.items() if member is not ...}
    return {"name": "sharding_indexed", "configuration": given}


def crc(content: bytes) -> bytes:
    """Returns the content followed by its CRC-32C."""
    return bytes(CRC32C().encode(content))


def index(*entries: int, order: str = "<") -> bytes:
    """Returns a shard index with its checksum."""
    return crc(struct.pack(f"{order}{len(entries)}Q", *entries))


def i16(*numbers: int, order: str = "<") -> bytes:
    return struct.pack(f"{order}{len(numbers)}h", *numbers)


def write(book: Book) -> None:
    types(book)
    grids(book)
    fills(book)
    codecs(book)
    shards(book)
    documents(book)
    wrong_documents(book)
    wrong_extensions(book)
    wrong_chunks(book)
    wrong_shards(book)


def types(book: Book) -> None:
    """Writes each core type big endian, and some also little endian, with values at the ends of its range."""
    tables = [
        ("bool", "?", [False, True], "DT-B-01 V3-BYTES-04"),
        ("int8", "b", [-128, 127], "DT-I-02"),
        ("uint8", "B", [0, 255], "DT-I-03"),
        ("int16", "h", [-32768, 32767], "DT-I-04"),
        ("uint16", "H", [1, 65535], "DT-I-05"),
        ("int32", "i", [-(2**31), 2**31 - 1], "DT-I-06"),
        ("uint32", "I", [1, 2**32 - 1], "DT-I-07"),
        ("int64", "q", [-(2**63), 9007199254740993], "DT-I-08"),
        ("uint64", "Q", [9007199254740993, 2**64 - 1], "DT-I-09"),
        ("float32", "I", [0x7FC00001, 0x80000000], "DT-F-15 DT-ID-07"),
        ("float64", "Q", [0x7FF8000000000001, 0x8000000000000000], "DT-F-15 DT-ID-07"),
        ("complex64", "I", [0x3F800000, 0x40000000, 0x7FC00001, 0x80000000], "DT-ID-08 V3-BYTES-05"),
        ("complex128", "Q", [0x3FF0000000000000, 0x4000000000000000, 1, 2**63], "DT-ID-08 V3-BYTES-05"),
    ]
    for name, letter, values, rows in tables:
        for order, codec in (("<", LITTLE), (">", BIG)):
            shape = [2]
            fill = {"bool": False, "complex64": [0, 0], "complex128": [0, 0]}.get(name, 0)
            end = "little" if order == "<" else "big"
            if end == "little" and name not in ("int16", "float64"):
                continue
            book.add(
                f"type-{name}-{end}",
                f"{rows} V3-BYTES-01 DT-ID-06",
                f"Elements of type {name} at the ends of its range (for floating point: a NaN with a payload, -0), {end} endian.",
                {
                    "zarr.json": document(shape, name, fill_value=fill, codecs=[codec]),
                    "c/0": struct.pack(f"{order}{len(values)}{letter}", *values),
                },
                struct.pack(f"<{len(values)}{letter}", *values),
            )
    book.add(
        "type-float16",
        "DT-ID-02 DT-ID-07",
        "Elements of the optional type float16, big endian.",
        {"zarr.json": document([2], "float16", codecs=[BIG]), "c/0": bytes.fromhex("3e00 7e01")},
        bytes.fromhex("003e 017e"),
        may_refuse=True,
    )
    book.add(
        "type-r16",
        "DT-R-01 DT-R-03 V3-BYTES-06",
        "Raw bits, whose bytes stay as they are although the codec says big endian; one chunk is missing.",
        {"zarr.json": document([2], "r16", [1], fill_value=[1, 2], codecs=[BIG]), "c/1": b"\x00\xff"},
        bytes.fromhex("0102 00ff"),
        may_refuse=True,
    )
    book.add(
        "bytes-without-endian",
        "V3-BYTES-02",
        "For elements of one byte, `bytes` has no configuration at all.",
        {"zarr.json": document([3], "uint8", codecs=[{"name": "bytes"}]), "c/0": b"\x01\x02\x03"},
        b"\x01\x02\x03",
    )


def grids(book: Book) -> None:
    chunks = {"c/0/0": i16(0, 1, 4, 5), "c/0/1": i16(2, 3, 6, 7), "c/1/0": i16(8, 9, -1, -1), "c/1/1": i16(10, 11, -2, -2)}
    book.add(
        "edge-chunks",
        "V3-GRID-03 V3-GRID-04 V3-GRID-05",
        "Chunks at the edge are stored whole, and what lies outside of the array is anything.",
        {"zarr.json": document([3, 4], chunk=[2, 2]), **chunks},
        i16(*range(12)),
    )
    book.add(
        "chunk-larger-than-array",
        "V3-GRID-01 V3-GRID-04",
        "One chunk that reaches past the array in both dimensions.",
        {"zarr.json": document([1, 2], chunk=[2, 3]), "c/0/0": i16(1, 2, 9, 9, 9, 9)},
        i16(1, 2),
    )
    book.add(
        "missing-chunks",
        "V3-GRID-13 DT-G-02",
        "Only the second of three chunks is stored.",
        {"zarr.json": document([5], chunk=[2], fill_value=-7), "c/1": i16(1, 2)},
        i16(-7, -7, 1, 2, -7),
    )
    book.add(
        "no-dimensions",
        "V3-GRID-07",
        "An array without dimensions, whose one element is in the chunk `c`.",
        {"zarr.json": document([], chunk=[]), "c": i16(258)},
        i16(258),
    )
    book.add(
        "no-dimensions-v2-keys",
        "V3-GRID-09",
        "An array without dimensions with the key encoding `v2`: its chunk is `0`.",
        {"zarr.json": document([], chunk=[], chunk_key_encoding={"name": "v2"}), "0": i16(258)},
        i16(258),
    )
    book.add(
        "no-dimensions-missing",
        "V3-GRID-07 V3-GRID-13",
        "An array without dimensions whose chunk is not stored.",
        {"zarr.json": document([], chunk=[], fill_value=5)},
        i16(5),
    )
    book.add(
        "no-elements",
        "V3-GRID-02 V3-ARR-04",
        "A dimension of length zero: there is no chunk and no element.",
        {"zarr.json": document([2, 0, 3], chunk=[1, 1, 1])},
        b"",
    )
    book.add(
        "no-elements-but-huge",
        "V3-GRID-02 V3-ARR-04",
        "No elements, although the lengths of the other dimensions have a product of 2^80. Readers may have a limit, and say so.",
        {"zarr.json": document([2**40, 0, 2**40], chunk=[256, 1, 256])},
        b"",
        may_refuse=True,
    )
    book.add(
        "giant-chunk-that-is-missing",
        "V3-GRID-01 V3-GRID-13",
        "Four elements in a chunk of 2^41 bytes, which is not stored: no reason to have that much memory.",
        {"zarr.json": document([4], chunk=[2**40], fill_value=3)},
        i16(3, 3, 3, 3),
        may_refuse=True,
    )
    data = {(0, 1): i16(1, 2), (1, 0): i16(3, 4)}
    elements = i16(0, 0, 1, 2, 3, 4, 0, 0)
    encodings = {
        "default-dot": ({"name": "default", "configuration": {"separator": "."}}, "c.{}.{}", "V3-GRID-06"),
        "default-bare": ({"name": "default"}, "c/{}/{}", "V3-GRID-10"),
        "v2-dot": ({"name": "v2", "configuration": {"separator": "."}}, "{}.{}", "V3-GRID-08"),
        "v2-slash": ({"name": "v2", "configuration": {"separator": "/"}}, "{}/{}", "V3-GRID-08"),
        "v2-bare": ({"name": "v2"}, "{}.{}", "V3-GRID-10"),
        "v2-without-separator": ({"name": "v2", "configuration": {}}, "{}.{}", "V3-GRID-10"),
    }
    for name, (encoding, pattern, rows) in encodings.items():
        book.add(
            f"keys-{name}",
            rows,
            f"Keys of chunks such as `{pattern.format(0, 1)}`, for {json.dumps(encoding)}.",
            {
                "zarr.json": document([2, 4], chunk=[1, 2], chunk_key_encoding=encoding),
                **{pattern.format(*at): content for at, content in data.items()},
            },
            elements,
        )
    book.add(
        "keys-short-form",
        "V3-EXT-02 V3-ARR-08",
        "The key encoding in its short form, which version 3.1 of the text allows: `\"default\"`.",
        {"zarr.json": document([2, 4], chunk=[1, 2], chunk_key_encoding="default"), "c/0/1": i16(1, 2), "c/1/0": i16(3, 4)},
        elements,
        may_refuse=True,
    )
    book.add(
        "keys-of-many-digits",
        "V3-GRID-06",
        "Indices have no leading zeros, and are ordered as numbers: chunk `c/10` is the eleventh.",
        {"zarr.json": document([12], "uint8", [1]), "c/10": b"\x0a", "c/2": b"\x02", "c/1": b"\x01", "c/01": b"\xff"},
        bytes([0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 10, 0]),
    )


def fills(book: Book) -> None:
    table = [
        ("float32-nan", "float32", "NaN", "0000c07f", "DT-F-10"),
        ("float32-nan-payload", "float32", "0x7fc00001", "0100c07f", "DT-F-11 DT-F-15 DT-G-02"),
        ("float32-signalling-nan", "float32", "0x7f800001", "0100807f", "DT-F-11 DT-F-15"),
        ("float32-negative-nan", "float32", "0xffc00000", "0000c0ff", "DT-F-11 DT-F-15"),
        ("float32-negative-zero", "float32", -0.0, "00000080", "DT-F-07"),
        ("float32-infinity", "float32", "Infinity", "0000807f", "DT-F-08"),
        ("float32-negative-infinity", "float32", "-Infinity", "000080ff", "DT-F-09"),
        ("float32-tie", "float32", 16777219, "0200804b", "DT-F-02 DT-F-03"),
        ("float64-nan-payload", "float64", "0x7ff8000000000001", "010000000000f87f", "DT-F-11 DT-F-15"),
        ("float64-hex-one", "float64", "0x3ff0000000000000", "000000000000f03f", "DT-F-11 DT-F-14"),
        ("float64-integer", "float64", 9007199254740993, "0000000000004043", "DT-F-01 DT-F-03"),
        ("int64-exact", "int64", 9007199254740993, "0100000000002000", "DT-I-08"),
        ("int64-lowest", "int64", -(2**63), "0000000000000080", "DT-I-08"),
        ("uint64-highest", "uint64", 2**64 - 1, "ffffffffffffffff", "DT-I-09"),
        ("bool-true", "bool", True, "01", "DT-B-01"),
        ("complex64", "complex64", ["-Infinity", "NaN"], "000080ff0000c07f", "DT-C-01 DT-C-02"),
        ("complex64-hex", "complex64", ["0x7fc00001", 0], "0100c07f00000000", "DT-C-03"),
        ("complex128-negative-zero", "complex128", [0.0, -0.0], "00" * 15 + "80", "DT-C-04"),
    ]
    for name, data_type, fill, digits, rows in table:
        element = bytes.fromhex(digits)
        book.add(
            f"fill-{name}",
            rows,
            f"Nothing is stored, and the fill value of type {data_type} is {json.dumps(fill)}: its bits are every element.",
            {"zarr.json": document([2], data_type, fill_value=fill, codecs=[BIG])},
            element * 2,
        )
    wrong = [
        ("null", "int32", None, "V3-ARR-09 DT-G-01"),
        ("int8-too-large", "int8", 128, "DT-I-02"),
        ("uint8-negative", "uint8", -1, "DT-I-03"),
        ("uint8-too-large", "uint8", 256, "DT-I-03"),
        ("int64-too-large", "int64", 2**63, "DT-I-08"),
        ("int32-fraction", "int32", 1.5, "DT-I-01"),
        ("int32-text", "int32", "42", "DT-I-01"),
        ("int32-list", "int32", [42], "DT-I-01"),
        ("int32-bool", "int32", True, "DT-I-01"),
        ("bool-number", "bool", 1, "DT-B-01"),
        ("float32-number-as-text", "float32", "1.5", "DT-F-18"),
        ("float32-empty-text", "float32", "", "DT-F-18"),
        ("float32-no-hex", "float32", "0xzz", "DT-F-11"),
        ("complex64-one-part", "complex64", [1], "DT-C-01"),
        ("complex64-number", "complex64", 1, "DT-C-01"),
    ]
    for name, data_type, fill, rows in wrong:
        book.add(
            f"wrong-fill-{name}",
            rows,
            f"The fill value {json.dumps(fill)} is none of type {data_type}, and nothing is stored.",
            {"zarr.json": document([2], data_type, fill_value=fill)},
        )


def codecs(book: Book) -> None:
    six = bytes.fromhex("000301040205")
    table = [
        ("transpose", "V3-TRANS-01 V3-TRANS-02", [2, 3], "uint8", [transpose(1, 0), LITTLE], six, bytes(range(6))),
        (
            "transpose-three-dimensions",
            "V3-TRANS-02",
            [2, 3, 4],
            "uint8",
            [transpose(2, 0, 1), LITTLE],
            bytes(a * 12 + b * 4 + c for c in range(4) for a in range(2) for b in range(3)),
            bytes(range(24)),
        ),
        (
            "transpose-twice",
            "V3-TRANS-02 V3-CODEC-04",
            [2, 3, 4],
            "uint8",
            [transpose(2, 0, 1), transpose(1, 2, 0), LITTLE],
            bytes(range(24)),
            bytes(range(24)),
        ),
        (
            "transpose-big",
            "V3-TRANS-02 V3-BYTES-01",
            [2, 3],
            "int16",
            [transpose(1, 0), BIG],
            i16(0, 3, 1, 4, 2, 5, order=">"),
            i16(*range(6)),
        ),
        ("crc32c", "V3-CRC-01 V3-CRC-02", [2, 3], "uint8", [LITTLE, CRC], six + bytes.fromhex("2ee6364e"), six),
        ("crc32c-twice", "V3-CRC-02 V3-CODEC-04", [2], "int16", [BIG, CRC, CRC], crc(crc(b"\0\1\0\2")), i16(1, 2)),
        ("gzip", "V3-GZIP-01 V3-GZIP-02", [4], "int16", [LITTLE, GZIP], gzip.compress(i16(1, 2, 3, 4), mtime=0), i16(1, 2, 3, 4)),
        (
            "gzip-members",
            "V3-GZIP-02",
            [4],
            "int16",
            [LITTLE, GZIP],
            gzip.compress(i16(1, 2), mtime=0) + gzip.compress(i16(3, 4), mtime=0),
            i16(1, 2, 3, 4),
        ),
        (
            "gzip-and-crc32c",
            "V3-CODEC-04",
            [4],
            "int16",
            [transpose(0), BIG, CRC, GZIP, CRC],
            crc(gzip.compress(crc(i16(1, 2, 3, 4, order=">")), mtime=0)),
            i16(1, 2, 3, 4),
        ),
    ]
    for name, rows, shape, data_type, chain, chunk, elements in table:
        key = "/".join(["c", *("0" for _ in shape)])
        about = f"A chunk behind {' and '.join(codec['name'] for codec in chain)}."
        if name == "gzip-members":
            about = "A gzip file may have several members, whose contents follow one another."
        book.add(name, rows, about, {"zarr.json": document(shape, data_type, codecs=chain), key: chunk}, elements)
    numbers = i16(*range(64))
    blocks = [("lz4", "shuffle"), ("zstd", "bitshuffle"), ("blosclz", "noshuffle"), ("zlib", "shuffle"), ("lz4hc", "bitshuffle")]
    for name, mode in blocks:
        how = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}[mode]
        chunk = blosc.compress(memoryview(numbers).cast("B").cast("h"), name.encode(), 5, how)
        book.add(
            f"blosc-{name}-{mode}",
            "V3-BLOSC-01 V3-BLOSC-03 V3-BLOSC-07",
            f"A chunk behind blosc with {name} and {mode}.",
            {"zarr.json": document([64], codecs=[LITTLE, blosc_codec(name, mode)]), "c/0": bytes(chunk)},
            numbers,
        )
    chunk = blosc.compress(memoryview(numbers).cast("B").cast("h"), b"zstd", 5, 2)
    book.add(
        "blosc-made-otherwise",
        "V3-BLOSC-08",
        "The document says lz4 and shuffle, the chunk was made with zstd and bitshuffle: its own header counts.",
        {"zarr.json": document([64], codecs=[LITTLE, blosc_codec()]), "c/0": bytes(chunk)},
        numbers,
    )
    four = i16(1, 2, 3, 4)
    frames = {
        "zstd": (zstd.compress(four, 1, True), "One frame with a checksum."),
        "zstd-of-unknown-size": (
            bytes.fromhex("28b52ffd 0058 410000") + four,
            "A frame that does not say how large its content is, as programs write that do not know it beforehand.",
        ),
        "zstd-frames": (zstd.compress(four[:4], 1) + zstd.compress(four[4:], 1), "Two frames, whose contents follow one another."),
        "zstd-skippable-frame": (
            bytes.fromhex("502a4d18 03000000 010203") + zstd.compress(four, 1),
            "A frame that is to be skipped, before the one with the content.",
        ),
    }
    for name, (chunk, about) in frames.items():
        book.add(
            name,
            "EX-CODEC-01",
            f"{about} (zstd)",
            {"zarr.json": document([4], codecs=[LITTLE, ZSTD]), "c/0": bytes(chunk)},
            four,
            may_refuse=True,
        )


def shards(book: Book) -> None:
    inner = sharding([2, 2], [{"name": "bytes"}])
    entries = index(0, 4, NONE, NONE, NONE, NONE, 4, 4)
    book.add(
        "shard",
        "V3-SHARD-07 V3-SHARD-09 V3-SHARD-14",
        "A shard with an index at its end; two of its four inner chunks are empty.",
        {"zarr.json": document([4, 4], "uint8", codecs=[inner], fill_value=7), "c/0/0": b"\1\1\1\1\2\2\2\2" + entries},
        bytes.fromhex("01010707 01010707 07070202 07070202"),
    )
    inner = sharding([2], [{"name": "bytes"}], index_location="start")
    start = bytes.fromhex("2400000000000000 0200000000000000 ffffffffffffffff ffffffffffffffff 2609790d 0102")
    book.add(
        "shard-index-at-start",
        "V3-SHARD-06 V3-SHARD-08 V3-SHARD-15",
        "The index stands before the inner chunks, and offsets count from the beginning of the shard.",
        {"zarr.json": document([4], "uint8", codecs=[inner]), "c/0": start},
        b"\1\2\0\0",
    )
    order = i16(5, 6) + b"gap" + i16(1, 2) + i16(7, 8)
    entries = (7, 4, 0, 4, 7, 4, 11, 4)
    elements = i16(1, 2, 5, 6, 1, 2, 7, 8)
    book.add(
        "shard-any-order",
        "V3-SHARD-12",
        "Inner chunks lie in any order, with a gap between them, and two entries show the same bytes.",
        {"zarr.json": document([8], codecs=[sharding([2])]), "c/0": order + index(*entries)},
        elements,
    )
    book.add(
        "shard-index-big-endian",
        "V3-SHARD-07 V3-SHARD-10",
        "The index is big endian, and has no checksum.",
        {
            "zarr.json": document([8], codecs=[sharding([2], index=[BIG])]),
            "c/0": order + struct.pack(">8Q", *entries),
        },
        elements,
    )
    book.add(
        "shard-at-the-edge",
        "V3-SHARD-11 V3-GRID-04",
        "The array ends in the middle of the last shard, whose index has an entry for every inner chunk all the same.",
        {
            "zarr.json": document([5], chunk=[4], codecs=[sharding([2])], fill_value=9),
            "c/1": i16(1, -1) + index(0, 4, NONE, NONE),
        },
        i16(9, 9, 9, 9, 1),
    )
    packed = [gzip.compress(i16(*numbers, order=">"), mtime=0) for numbers in ((1, 2), (3, 4))]
    entries = (36 + len(packed[1]), len(packed[0]), 36, len(packed[1]))
    book.add(
        "shard-of-gzip",
        "V3-SHARD-08 V3-SHARD-12",
        "Inner chunks of different sizes behind gzip, the second one first, and the index at the start.",
        {
            "zarr.json": document([4], codecs=[sharding([2], [BIG, GZIP], index_location="start")]),
            "c/0": index(*entries) + packed[1] + packed[0],
        },
        i16(1, 2, 3, 4),
    )
    small = i16(1, 2) + index(0, 2, 2, 2)
    book.add(
        "shard-in-shard",
        "V3-SHARD-03",
        "The inner chunks are shards themselves; one of them is empty.",
        {
            "zarr.json": document([6], codecs=[sharding([2], [sharding([1])])], fill_value=-1),
            "c/0": small + small + index(NONE, NONE, len(small), len(small), 0, len(small)),
        },
        i16(-1, -1, 1, 2, 1, 2),
    )
    rows = [i16(0, 3), i16(1, 4), i16(2, 5)]
    shard = b"".join(rows) + index(0, 4, 4, 4, 8, 4)
    book.add(
        "shard-transposed",
        "V3-SHARD-20 V3-TRANS-02",
        "A transposition before sharding: the inner chunks are pieces of the transposed chunk.",
        {"zarr.json": document([2, 3], codecs=[transpose(1, 0), sharding([1, 2])]), "c/0/0": shard},
        i16(*range(6)),
    )
    book.add(
        "shard-of-transposed",
        "V3-SHARD-07 V3-TRANS-02",
        "A transposition within the inner chunks.",
        {
            "zarr.json": document([2, 4], codecs=[sharding([2, 2], [transpose(1, 0), LITTLE])]),
            "c/0/0": i16(0, 4, 1, 5) + i16(2, 6, 3, 7) + index(0, 8, 8, 8),
        },
        i16(*range(8)),
    )
    shard = i16(1, 2) + i16(3, 4) + index(0, 4, 4, 4)
    book.add(
        "shard-behind-gzip",
        "V3-SHARD-20",
        "The whole shard is behind gzip.",
        {"zarr.json": document([4], codecs=[sharding([2]), GZIP]), "c/0": gzip.compress(shard, mtime=0)},
        i16(1, 2, 3, 4),
    )
    book.add(
        "shard-all-empty",
        "V3-SHARD-09 V3-SHARD-17",
        "A shard that is stored, and has nothing but an index of empty inner chunks.",
        {"zarr.json": document([4], codecs=[sharding([2])], fill_value=6), "c/0": index(NONE, NONE, NONE, NONE)},
        i16(6, 6, 6, 6),
    )


def documents(book: Book) -> None:
    chunk = {"c/0": i16(1, 2)}
    elements = i16(1, 2)
    table = [
        ("dimension-names", "V3-ARR-15", "One dimension has a name, and one has none.", {"dimension_names": ["x"]}),
        ("dimension-names-null", "V3-ARR-15", "The dimension has the name null, which is none.", {"dimension_names": [None]}),
        ("dimension-names-empty", "V3-ARR-17", "The empty text is a name.", {"dimension_names": [""]}),
        (
            "member-that-need-not-be-understood",
            "V3-ARR-19",
            "A member that nobody knows, and nobody has to know.",
            {"foo": {"name": "x", "must_understand": False}},
        ),
        (
            "member-without-a-name",
            "V3-ARR-19",
            "A member that nobody has to know is an object with `must_understand`, and need not have a name.",
            {"foo": {"must_understand": False, "bar": [1]}},
        ),
        (
            "attributes",
            "V3-ARR-12",
            "Attributes are any JSON: nested, long numbers, names of members of the document.",
            {"attributes": {"shape": [-1], "é": {"a": [None, 1e300, 123456789012345678901234567890]}, "": ""}},
        ),
        ("storage-transformers-empty", "V3-ARR-13 V3-ST-01", "An empty list of storage transformers is none.", {"storage_transformers": []}),
    ]
    for name, rows, about, members in table:
        book.add(name, rows, about, {"zarr.json": document([2], **members), **chunk}, elements)
    book.add(
        "transformer-that-need-not-be-understood",
        "V3-ARR-13 V3-ST-02 V3-EXT-04",
        "A storage transformer that nobody knows, and nobody has to know; the chunks are stored as always.",
        {"zarr.json": document([2], storage_transformers=[{"name": "example.none", "must_understand": False}]), **chunk},
        elements,
        may_refuse=True,
    )
    book.add(
        "codec-that-says-must-understand",
        "V3-EXT-07",
        "A known codec says that it need not be understood, which changes nothing.",
        {"zarr.json": document([2], codecs=[{**LITTLE, "must_understand": False}]), **chunk},
        elements,
        may_refuse=True,
    )
    text = json.dumps(document([2])).replace('"int16"', '"\\u0069nt16"').replace('"shape"', '\n\t"sha\\u0070e"')
    book.add("escapes", "V3-KEY-09", "Names and values are written with escapes, as JSON allows.", {"zarr.json": text, **chunk}, elements)
    group = {"zarr_format": 3, "node_type": "group"}
    book.add(
        "array-in-groups",
        "V3-KEY-02 V3-KEY-03",
        "An array below two groups.",
        {"zarr.json": group, "a/zarr.json": group, "a/b/zarr.json": document([2]), "a/b/c/0": i16(1, 2)},
        elements,
        array="/a/b",
    )
    book.add(
        "names-of-any-script",
        "V3-NAME-01 V3-NAME-06 V3-NAME-09",
        "Names are any Unicode text.",
        {"zarr.json": group, "é/zarr.json": group, "é/日本/zarr.json": document([2]), "é/日本/c/0": i16(1, 2)},
        elements,
        array="/é/日本",
    )
    book.add(
        "array-called-c",
        "V3-KEY-03",
        "An array that is called like the prefix of chunks.",
        {"zarr.json": group, "c/zarr.json": document([2]), "c/c/0": i16(1, 2)},
        elements,
        array="/c",
    )
    book.add(
        "many-dimensions",
        "V3-ARR-04",
        "An array of forty dimensions with one element. Readers may have a limit, and say so.",
        {"zarr.json": document([1] * 40), "/".join(["c", *["0"] * 40]): i16(7)},
        i16(7),
        may_refuse=True,
    )
    deep = '{"a":' * 5000 + "1" + "}" * 5000
    text = json.dumps(document([2], attributes={})).replace('"attributes": {}', f'"attributes": {deep}')
    book.add(
        "deep-attributes",
        "V3-KEY-09 V3-ARR-12",
        "Attributes that are nested 5,000 deep. Readers may have a limit, and say so.",
        {"zarr.json": text, **chunk},
        elements,
        may_refuse=True,
    )


def wrong_documents(book: Book) -> None:
    chunk = {"c/0": i16(1, 2)}
    table = [
        ("zarr-format-text", "V3-ARR-01", "`zarr_format` is the text \"3\".", {"zarr_format": "3"}),
        ("zarr-format-four", "V3-ARR-01", "`zarr_format` is 4.", {"zarr_format": 4}),
        ("zarr-format-missing", "V3-ARR-01", "There is no `zarr_format`.", {"zarr_format": ...}),
        ("node-type-missing", "V3-ARR-03", "There is no `node_type`.", {"node_type": ...}),
        ("node-type-capital", "V3-ARR-03", "`node_type` is \"Array\".", {"node_type": "Array"}),
        ("node-type-group", "V3-ARR-03", "`node_type` is \"group\", and the members are those of an array.", {"node_type": "group"}),
        ("shape-negative", "V3-ARR-04", "A length is negative.", {"shape": [-2]}),
        ("shape-fraction", "V3-ARR-04", "A length is 2.5.", {"shape": [2.5]}),
        ("shape-number", "V3-ARR-04", "`shape` is a number.", {"shape": 2}),
        ("shape-missing", "V3-ARR-04", "There is no `shape`.", {"shape": ...}),
        ("data-type-missing", "V3-ARR-05", "There is no `data_type`.", {"data_type": ...}),
        ("data-type-of-v2", "V3-ARR-05 DT-ID-04", "The data type is written as in version 2: \"<i2\".", {"data_type": "<i2"}),
        ("data-type-unknown", "DT-ID-09", "Nobody knows the data type \"int17\".", {"data_type": "int17"}),
        (
            "data-type-that-must-be-understood",
            "V3-EXT-05",
            "A data type that nobody knows says that it need not be understood; that is not for data types to say.",
            {"data_type": {"name": "int17", "must_understand": False}},
        ),
        ("grid-missing", "V3-ARR-07", "There is no `chunk_grid`.", {"chunk_grid": ...}),
        ("grid-unknown", "V3-EXT-05", "Nobody knows the chunk grid.", {"chunk_grid": {"name": "hexagonal", "configuration": {"chunk_shape": [2]}}}),
        ("key-encoding-missing", "V3-ARR-08", "There is no `chunk_key_encoding`.", {"chunk_key_encoding": ...}),
        ("key-encoding-unknown", "V3-EXT-05", "Nobody knows the key encoding.", {"chunk_key_encoding": {"name": "roman"}}),
        (
            "key-separator",
            "V3-GRID-06",
            "The separator of keys is neither `/` nor `.`.",
            {"chunk_key_encoding": {"name": "default", "configuration": {"separator": "-"}}},
        ),
        ("fill-missing", "V3-ARR-09", "There is no `fill_value`.", {"fill_value": ...}),
        ("codecs-missing", "V3-ARR-11", "There is no `codecs`.", {"codecs": ...}),
        ("codecs-empty", "V3-ARR-11 V3-CODEC-01", "The list of codecs is empty.", {"codecs": []}),
        ("dimension-names-too-many", "V3-ARR-15", "Two names for one dimension.", {"dimension_names": ["x", "y"]}),
        ("dimension-names-number", "V3-ARR-15", "The name of a dimension is a number.", {"dimension_names": [1]}),
        ("member-unknown", "V3-ARR-19", "A member that nobody knows.", {"foo": 1}),
        ("member-unknown-object", "V3-ARR-19", "A member that nobody knows: an object that does not say whether it matters.", {"foo": {}}),
        ("member-unknown-null", "V3-ARR-19", "A member that nobody knows, and is null.", {"foo": None}),
        ("member-must-understand", "V3-ARR-19", "A member that must be understood, and is not.", {"foo": {"must_understand": True}}),
        (
            "member-must-understand-text",
            "V3-ARR-19",
            "`must_understand` is the text \"false\", which is not false.",
            {"foo": {"must_understand": "false"}},
        ),
        ("member-of-the-draft", "V3-ARR-22", "A member of the draft, which this version does not have.", {"chunk_memory_layout": "F"}),
        ("transformer-unknown", "V3-ST-01 V3-ARR-13", "A storage transformer that nobody knows.", {"storage_transformers": [{"name": "example.none"}]}),
    ]
    for name, rows, about, members in table:
        whole = {**document([2]), **members}
        whole = {member: value for member, value in whole.items() if value is not ...}
        book.add(f"wrong-{name}", rows, about, {"zarr.json": whole, **chunk})
    text = json.dumps(document([2]))
    texts = [
        ("trailing-comma", "V3-KEY-09", "A comma stands behind the last member.", text[:-1] + ",}"),
        ("comment", "V3-KEY-09", "There is a comment in the document.", text[:-1] + "// no JSON\n}"),
        ("list", "V3-KEY-09", "The document is a list with the right object in it.", f"[{text}]"),
        ("two-objects", "V3-KEY-09", "There are two objects, one after the other.", text + text),
        ("cut-off", "V3-KEY-09", "The document ends in the middle.", text[: len(text) // 2]),
        ("empty", "V3-KEY-09", "The document is empty.", ""),
        ("latin-1", "V3-KEY-09", "The document is not UTF-8.", json.dumps(document([2], attributes={"a": "é"}), ensure_ascii=False).encode("latin-1")),
        (
            "bare-nan",
            "DT-F-20",
            "The fill value is NaN without quotes, which is no JSON.",
            json.dumps(document([2], "float32", fill_value=float("nan"))),
        ),
    ]
    for name, rows, about, content in texts:
        book.add(f"wrong-{name}", rows, about, {"zarr.json": content, "c/0": bytes(8) if name == "bare-nan" else i16(1, 2)})
    book.add(
        "wrong-no-document",
        "V3-KEY-05",
        "There is a chunk, and no document: this is no array.",
        {"zarr.json": {"zarr_format": 3, "node_type": "group"}, "a/c/0": i16(1, 2)},
        array="/a",
    )


def wrong_extensions(book: Book) -> None:
    def grid(shape: object) -> dict:
        return {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shape}}}

    def chain(*codecs: dict) -> dict:
        return {"codecs": [*codecs]}

    table = [
        ("chunk-zero", "V3-GRID-01", "A chunk length is zero.", grid([0, 2])),
        ("chunk-negative", "V3-GRID-01", "A chunk length is negative.", grid([-1, 2])),
        ("chunk-rank", "V3-GRID-01", "The chunk has fewer dimensions than the array.", grid([2])),
        ("chunk-rank-more", "V3-GRID-01", "The chunk has more dimensions than the array.", grid([2, 2, 2])),
        ("codec-unknown", "V3-CODEC-01 DT-ID-09", "Nobody knows one of the codecs.", chain(LITTLE, {"name": "example.none"})),
        (
            "codec-unknown-that-need-not-be-understood",
            "V3-EXT-06",
            "A codec that nobody knows says that it need not be understood; without it there is no telling what the bytes are.",
            chain(LITTLE, {"name": "example.none", "must_understand": False}),
        ),
        ("codecs-two-to-bytes", "V3-CODEC-01", "Two codecs turn an array into bytes.", chain(LITTLE, LITTLE)),
        ("codecs-out-of-order", "V3-CODEC-01", "A codec of bytes stands before the one that makes bytes.", chain(CRC, LITTLE)),
        ("codecs-transpose-behind-bytes", "V3-CODEC-01", "A transposition stands behind the codec that makes bytes.", chain(LITTLE, transpose(1, 0))),
        ("codec-without-a-name", "V3-EXT-01", "A codec has no name.", chain({"configuration": {"endian": "little"}})),
        ("endian-in-capitals", "V3-BYTES-01", "The byte order is \"LITTLE\".", chain({"name": "bytes", "configuration": {"endian": "LITTLE"}})),
        ("endian-native", "V3-BYTES-01", "The byte order is \"native\".", chain({"name": "bytes", "configuration": {"endian": "native"}})),
        ("transpose-repeats", "V3-TRANS-01", "The order of a transposition names a dimension twice.", chain(transpose(0, 0), LITTLE)),
        ("transpose-rank", "V3-TRANS-01", "The order of a transposition lacks a dimension.", chain(transpose(0), LITTLE)),
        ("transpose-negative", "V3-TRANS-01", "The order of a transposition has a negative number.", chain(transpose(-1, 0), LITTLE)),
        ("transpose-without-order", "V3-TRANS-01", "A transposition has no order.", chain({"name": "transpose", "configuration": {}}, LITTLE)),
        ("gzip-level", "V3-GZIP-01", "The level of gzip is 10.", chain(LITTLE, {"name": "gzip", "configuration": {"level": 10}})),
        ("crc32c-configuration", "V3-CRC-01", "crc32c has a configuration.", chain(LITTLE, {"name": "crc32c", "configuration": {"x": 1}})),
        ("shard-does-not-divide", "V3-SHARD-02", "The inner chunk does not divide the shard.", chain(sharding([2, 2]))),
        ("shard-inner-zero", "V3-SHARD-02", "An inner chunk length is zero.", chain(sharding([0, 3]))),
        ("shard-inner-rank", "V3-SHARD-02", "The inner chunk has fewer dimensions than the shard.", chain(sharding([2]))),
        ("shard-without-index-codecs", "V3-SHARD-01", "Sharding has no `index_codecs`.", chain(sharding([1, 3], index_codecs=...))),
        ("shard-index-gzip", "V3-SHARD-04", "The index of shards is behind gzip, whose size depends on the values.", chain(sharding([1, 3], index=[LITTLE, GZIP]))),
        ("shard-index-location", "V3-SHARD-06", "The index of shards is in the middle.", chain(sharding([1, 3], index_location="middle"))),
    ]
    for name, rows, about, members in table:
        chunk = i16(*range(6))
        content = {
            "codec-unknown": chunk,
            "crc32c-configuration": crc(chunk),
            "codecs-out-of-order": crc(chunk),
            "gzip-level": gzip.compress(chunk, mtime=0),
        }.get(name, chunk)
        if name.startswith("shard-"):
            content = chunk + index(0, 6, 6, 6)
        book.add(f"wrong-{name}", rows, about, {"zarr.json": document([2, 3], **members), "c/0/0": content})


def wrong_chunks(book: Book) -> None:
    four = i16(1, 2, 3, 4)
    plain, packed, framed = [LITTLE], [LITTLE, GZIP], [LITTLE, ZSTD]
    member = gzip.compress(four, mtime=0)
    flipped = bytearray(member)
    flipped[-6] ^= 1
    frame = bytes(zstd.compress(four, 1, True))
    # The blocks are not compressed, so only the checksum reveals that the content has changed.
    damaged = frame[:-5] + bytes([frame[-5] ^ 0x80]) + frame[-4:]
    numbers = i16(*range(64))
    block = bytes(blosc.compress(memoryview(numbers).cast("B").cast("h"), b"lz4", 5, 1))
    long = block[:4] + struct.pack("<I", 256) + block[8:]
    table = [
        ("chunk-short", "V3-BYTES-07", "A chunk has a byte too few.", plain, four[:-1]),
        ("chunk-long", "V3-BYTES-07", "A chunk has two bytes too many.", plain, four + b"\0\0"),
        ("chunk-empty", "V3-BYTES-07", "A chunk is there, and has no bytes: that is not a missing chunk.", plain, b""),
        ("gzip-cut-off", "V3-GZIP-02", "A gzip file that ends before its checksum.", packed, member[:-8]),
        ("gzip-checksum", "V3-GZIP-02", "A gzip file with a wrong checksum.", packed, bytes(flipped)),
        ("gzip-zlib", "V3-GZIP-02", "A zlib container in the place of a gzip file.", packed, zlib.compress(four)),
        ("gzip-short", "V3-BYTES-07", "A gzip file with fewer elements than the chunk has.", packed, gzip.compress(four[:4], mtime=0)),
        ("gzip-bomb", "V3-BYTES-07", "A gzip file of 16 KB with 16 MB in it, for a chunk of 8 bytes.", packed, gzip.compress(bytes(1 << 24), 9, mtime=0)),
        ("zstd-cut-off", "EX-CODEC-01", "A frame of zstd that ends before its end.", framed, frame[:-6]),
        ("zstd-checksum", "EX-CODEC-01", "A frame of zstd whose content does not fit its checksum.", framed, damaged),
        (
            "zstd-claims-too-much",
            "EX-CODEC-01",
            "A frame of zstd that says it holds 2^50 bytes, for a chunk of 8 bytes.",
            framed,
            bytes.fromhex("28b52ffd e0") + struct.pack("<Q", 2**50) + b"\x41\0\0" + four,
        ),
        ("crc32c-mismatch", "V3-CRC-03", "A chunk that does not fit its checksum.", [LITTLE, CRC], i16(1, 2, 3, 5) + crc(four)[-4:]),
        ("crc32c-big-endian", "V3-CRC-02", "The checksum is big endian.", [LITTLE, CRC], four + crc(four)[:-5:-1]),
        ("crc32c-short", "V3-CRC-03", "A value with fewer bytes than a checksum has.", [LITTLE, CRC], b"\1\2"),
        ("crc32c-alone", "V3-CRC-02 V3-BYTES-07", "A checksum alone, without a chunk.", [LITTLE, CRC], bytes(4)),
    ]
    for name, rows, about, chain, chunk in table:
        book.add(f"wrong-{name}", rows, about, {"zarr.json": document([4], codecs=chain), "c/0": chunk})
    blocks = [
        ("blosc-cut-off", "A blosc buffer that ends before its end.", block[:-3]),
        ("blosc-header-alone", "The header of a blosc buffer, and nothing else.", block[:16]),
        ("blosc-header-cut-off", "Half the header of a blosc buffer.", block[:8]),
        ("blosc-claims-more", "A blosc buffer that says it holds twice as many bytes as it does.", long),
        (
            "blosc-claims-too-much",
            "A blosc buffer of 24 bytes that says it holds 2^31 - 17 bytes.",
            block[:4] + struct.pack("<III", 2**31 - 17, 128, 24) + bytes(8),
        ),
    ]
    for name, about, chunk in blocks:
        chain = [LITTLE, blosc_codec()]
        book.add(f"wrong-{name}", "V3-BLOSC-07", about, {"zarr.json": document([64], codecs=chain), "c/0": chunk})
    book.add(
        "wrong-edge-chunk-cut",
        "V3-GRID-04",
        "The last chunk is stored only as far as the array reaches.",
        {"zarr.json": document([3], chunk=[2]), "c/0": i16(1, 2), "c/1": i16(3)},
    )
    book.add(
        "wrong-giant-chunk",
        "V3-BYTES-07",
        "A chunk of 2^41 bytes, of which 8 are stored.",
        {"zarr.json": document([4], chunk=[2**40]), "c/0": four},
    )
    book.add(
        "wrong-chunk-size-overflows",
        "V3-BYTES-07 V3-GRID-01",
        "A chunk whose size in bytes is 2^64 + 8, which is 8 where sizes wrap around.",
        {"zarr.json": document([4], chunk=[2**63 + 4]), "c/0": four},
    )


def wrong_shards(book: Book) -> None:
    two = i16(1, 2) + i16(3, 4)
    bad = bytearray(index(0, 4, 4, 4))
    bad[-1] ^= 1
    swapped = bytearray(index(0, 4, 4, 4))
    swapped[0] = 4
    table = [
        ("index-checksum", "V3-SHARD-05 V3-CRC-03", "The checksum of the index is wrong.", two + bytes(bad)),
        ("index-damaged", "V3-SHARD-05 V3-CRC-03", "An offset in the index is changed, and its checksum is not.", two + bytes(swapped)),
        ("offset-outside", "V3-SHARD-13", "An inner chunk lies behind the end of the shard.", two + index(0, 4, 4096, 4)),
        ("end-outside", "V3-SHARD-13", "An inner chunk reaches past the end of the shard.", two + index(0, 4, 40, 8)),
        ("end-wraps", "V3-SHARD-13", "Offset and size have a sum of 2^64, which is 0 where numbers wrap around.", two + index(0, 4, 2**64 - 4, 4)),
        ("size-giant", "V3-SHARD-13", "An inner chunk of 2^62 bytes.", two + index(0, 4, 4, 2**62)),
        ("half-empty-offset", "V3-SHARD-09", "The offset of an entry says that it is empty, and its size does not.", two + index(0, 4, NONE, 4)),
        ("half-empty-size", "V3-SHARD-09", "The size of an entry says that it is empty, and its offset does not.", two + index(0, 4, 4, NONE)),
        ("inner-short", "V3-BYTES-07", "An inner chunk has two bytes too few.", two + index(0, 4, 4, 2)),
        ("inner-long", "V3-BYTES-07", "An inner chunk has two bytes too many.", two + index(0, 6, 4, 4)),
        ("without-index", "V3-SHARD-13", "A shard that is shorter than its index.", two),
        ("empty", "V3-SHARD-13", "A shard without any bytes.", b""),
        ("index-of-one", "V3-SHARD-11 V3-SHARD-13", "The index has one entry, and there are two inner chunks.", i16(1, 2) + index(0, 4)),
    ]
    for name, rows, about, shard in table:
        book.add(f"wrong-shard-{name}", rows, about, {"zarr.json": document([4], codecs=[sharding([2])]), "c/0": shard})
    deep = sharding([1])
    for _ in range(60):
        deep = sharding([1], [deep])
    shard = i16(5)
    for level in range(61):
        shard += index(0, len(shard))
    book.add(
        "shards-sixty-deep",
        "V3-SHARD-03",
        "Sixty-one shards, one in another. Readers may have a limit, and say so.",
        {"zarr.json": document([1], codecs=[deep]), "c/0": shard},
        i16(5),
        may_refuse=True,
    )
    book.add(
        "wrong-shard-of-too-many",
        "V3-SHARD-13 V3-SHARD-10",
        "A shard with 2^40 inner chunks, whose index would have 2^44 bytes, in a value of 68.",
        {"zarr.json": document([4], "uint8", [2**40], codecs=[sharding([1], [{"name": "bytes"}])]), "c/0": index(*range(8))},
    )
