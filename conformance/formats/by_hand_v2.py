"""Handwritten examples of version 2, for rows of `requirements/v2.md`."""

import base64
import bz2
import gzip
import json
import lzma
import struct
import zlib

import numcodecs
from book import Book

A = bytes.fromhex("000000000100000002000000030000000400000005000000")


def document(shape: list, dtype: object = "<i2", chunks: list | None = None, **members: object) -> dict:
    """Returns an array document; a member that is `...` is omitted."""
    whole = {
        "zarr_format": 2,
        "shape": shape,
        "chunks": shape if chunks is None else chunks,
        "dtype": dtype,
        "compressor": None,
        "fill_value": 0,
        "order": "C",
        "filters": None,
        **members,
    }
    return {name: member for name, member in whole.items() if member is not ...}


def i16(*numbers: int, order: str = "<") -> bytes:
    return struct.pack(f"{order}{len(numbers)}h", *numbers)


def items(*content: bytes) -> bytes:
    """Returns items of variable length as `vlen-utf8` encodes them."""
    return struct.pack("<I", len(content)) + raw(*content)


def raw(*content: bytes) -> bytes:
    """Returns the raw form of items of variable length."""
    return b"".join(struct.pack("<I", len(item)) + item for item in content)


def write(book: Book) -> None:
    types(book)
    grids(book)
    fills(book)
    codecs(book)
    objects(book)
    hierarchies(book)
    wrong_documents(book)
    wrong_chunks(book)


def types(book: Book) -> None:
    table = [
        ("bool", "|b1", "0100", "0100", "V2-DT-04", False),
        ("int16-big", ">i2", "fffe0102", "feff0201", "V2-DT-06 V2-CHUNK-10"),
        ("int64-little", "<i8", "00000000000000800100000000002000", None, "V2-DT-06"),
        ("uint32-big", ">u4", "ffffffff00000001", "ffffffff01000000", "V2-DT-07"),
        ("uint64-big", ">u8", "ffffffffffffffff0000000000000001", "ffffffffffffffff0100000000000000", "V2-DT-07"),
        ("float16-little", "<f2", "003e017e", None, "V2-DT-08"),
        ("float32-big", ">f4", "7fc0000180000000", "0100c07f00000080", "V2-DT-08"),
        ("float64-little", "<f8", "010000000000f87f0000000000000080", None, "V2-DT-08"),
        ("complex64-big", ">c8", "3f8000004000000080000000ffc00001", "0000803f00000040000000800100c0ff", "V2-DT-10"),
        ("complex128-little", "<c16", "000000000000f03f0000000000000040" * 2, None, "V2-DT-10"),
        ("datetime-big", ">M8[ns]", "0da59337113500008000000000000000", "000035113793a50d0000000000000080", "V2-DT-11 V2-DT-17"),
        ("timedelta-of-25-seconds", "<m8[25s]", "0500000000000000ffffffffffffffff", None, "V2-DT-13"),
        ("bytes-of-three", "|S3", "780000616263", None, "V2-DT-18"),
        ("text-big", ">U2", "000000780000000000000079000000e9", "780000000000000079000000e9000000", "V2-DT-20"),
        ("void-of-three", "|V3", "646500010203", None, "V2-DT-21"),
    ]
    for name, dtype, stored, elements, rows, *_ in table:
        fill = {"|b1": False, "|S3": "", ">U2": "", "|V3": ""}.get(dtype, [0.0, 0.0] if "c" in dtype else 0)
        book.add(
            f"type-{name}",
            f"{rows} V2-DT-01",
            f"Two elements of type {dtype}.",
            {".zarray": document([2], dtype, fill_value=fill), "0": bytes.fromhex(stored)},
            bytes.fromhex(elements or stored),
            may_refuse=dtype[1] in "cMmSUV",
        )
    structures = [
        ("packed", [["r", "|u1"], ["g", "<u2"], ["b", "<f4"]], "01020000004040", None, "V2-STRUCT-01 V2-STRUCT-05"),
        ("mixed-order", [["a", "<i2"], ["b", ">i2"]], "01000001", "01000100", "V2-STRUCT-07"),
        ("sub-array", [["x", "<f4"], ["z", ">i2", [2, 2]]], "0000803f0001000200030004", "0000803f0100020003000400", "V2-STRUCT-04"),
        ("nested", [["foo", "<f4"], ["bar", [["baz", ">f4"], ["qux", "<i4"]]]], "0000803f3f80000007000000", "0000803f0000803f07000000", "V2-STRUCT-03"),
        ("of-all-kinds", [["a", ">M8[ns]"], ["b", "|S2"], ["c", ">U1"], ["d", "|b1"]], "00000000000000056100000000e901", "05000000000000006100e900000001", "V2-STRUCT-14"),
    ]
    for name, dtype, stored, elements, rows in structures:
        stored = bytes.fromhex(stored)
        book.add(
            f"structure-{name}",
            rows,
            f"A structure of {len(dtype)} fields; the second element is the fill value.",
            {".zarray": document([2], dtype, [1], fill_value=base64.b64encode(bytes(len(stored))).decode()), "0": stored},
            bytes.fromhex(elements) + bytes(len(stored)) if elements else stored + bytes(len(stored)),
            may_refuse=True,
        )


def grids(book: Book) -> None:
    book.add(
        "order-f",
        "V2-CHUNK-09 V2-CHUNK-07",
        "Order F: in each chunk the first dimension runs fastest. The second chunk is cut by the edge of the array.",
        {".zarray": document([2, 3], chunks=[2, 2], order="F"), "0.0": i16(0, 3, 1, 4), "0.1": i16(2, 5, 9, 9)},
        i16(*range(6)),
    )
    book.add(
        "order-f-big",
        "V2-CHUNK-09 V2-CHUNK-10",
        "Order F and big endian, in three dimensions.",
        {
            ".zarray": document([2, 3, 2], ">i2", order="F"),
            "0.0.0": b"".join(i16(6 * a + 2 * b + c, order=">") for c in range(2) for b in range(3) for a in range(2)),
        },
        i16(*range(12)),
    )
    book.add(
        "edge-chunks",
        "V2-CHUNK-01 V2-CHUNK-07",
        "What lies outside of the array in the last chunk is anything.",
        {".zarray": document([3], chunks=[2], fill_value=7), "0": i16(1, 2), "1": i16(3, -1)},
        i16(1, 2, 3),
    )
    book.add(
        "missing-chunks",
        "V2-CHUNK-05 V2-CHUNK-06",
        "Only the second of three chunks is stored.",
        {".zarray": document([5], chunks=[2], fill_value=-7), "1": i16(1, 2)},
        i16(-7, -7, 1, 2, -7),
    )
    book.add(
        "no-dimensions",
        "V2-CHUNK-04",
        "An array without dimensions: its chunk is `0`.",
        {".zarray": document([], "<i4"), "0": b"\x2a\0\0\0"},
        b"\x2a\0\0\0",
    )
    book.add(
        "no-elements",
        "V2-CHUNK-01",
        "A dimension of length zero.",
        {".zarray": document([2, 0, 3], chunks=[1, 1, 1])},
        b"",
    )
    for name, separator, pattern, rows in (
        ("slash", {"dimension_separator": "/"}, "{}/{}", "V2-ARR-15 V2-CHUNK-13"),
        ("dot", {"dimension_separator": "."}, "{}.{}", "V2-ARR-15 V2-CHUNK-02"),
        ("not-said", {}, "{}.{}", "V2-ARR-15 V2-CHUNK-02"),
    ):
        book.add(
            f"separator-{name}",
            rows,
            f"Keys such as `{pattern.format(0, 11)}`.",
            {
                ".zarray": document([2, 24], chunks=[1, 2], **separator),
                pattern.format(0, 11): i16(1, 2),
                pattern.format(1, 0): i16(3, 4),
            },
            i16(*[0] * 22, 1, 2, 3, 4, *[0] * 22),
        )
    book.add(
        "chunk-larger-than-array",
        "V2-ARR-06 V2-CHUNK-07",
        "A chunk of ten for four elements.",
        {".zarray": document([4], chunks=[10]), "0": i16(*range(10))},
        i16(*range(4)),
    )
    book.add(
        "giant-chunk-that-is-missing",
        "V2-ARR-06 V2-CHUNK-05",
        "Four elements in a chunk of 2^41 bytes, which is not stored: no reason to have that much memory.",
        {".zarray": document([4], chunks=[2**40], fill_value=3)},
        i16(3, 3, 3, 3),
        may_refuse=True,
    )


def fills(book: Book) -> None:
    table = [
        ("nan", "<f4", "NaN", "0000c07f", "V2-FILL-01"),
        ("negative-infinity-big", ">f8", "-Infinity", "000000000000f0ff", "V2-FILL-01"),
        ("float32-rounded", "<f4", 0.10000000149011612, "cdcccc3d", "V2-FILL-19"),
        ("float64-negative-zero", "<f8", -0.0, "0000000000000080", "V2-FILL-20"),
        ("uint64-highest", "<u8", 2**64 - 1, "ff" * 8, "V2-FILL-17"),
        ("uint64-exact", ">u8", 9007199254740993, "0100000000002000", "V2-FILL-17"),
        ("bool", "|b1", True, "01", "V2-FILL-16"),
        ("bytes", "|S3", "YWI=", "616200", "V2-FILL-06 V2-FILL-07"),
        ("void", "|V3", "YWJj", "616263", "V2-FILL-11"),
        ("text", ">U2", "é", "e900000000000000", "V2-FILL-12"),
        ("datetime", "<M8[ns]", 946684800000000000, struct.pack("<q", 946684800000000000).hex(), "V2-FILL-14"),
        ("not-a-time", "<M8[D]", -(2**63), "0000000000000080", "V2-FILL-14 V2-DT-17"),
        ("structure", [["r", "|u1"], ["g", "<u2"], ["b", "<f4"]], "AQIAAABAQA==", "01020000004040", "V2-FILL-09"),
        ("complex", "<c8", ["NaN", "-Infinity"], "0000c07f000080ff", "V2-FILL-21"),
    ]
    for name, dtype, fill, element, rows in table:
        book.add(
            f"fill-{name}",
            f"{rows} V2-CHUNK-05",
            f"Nothing is stored, and the fill value of type {json.dumps(dtype)} is {json.dumps(fill, ensure_ascii=False)}.",
            {".zarray": document([2], dtype, fill_value=fill)},
            bytes.fromhex(element) * 2,
            may_refuse=isinstance(dtype, list) or dtype[1] in "cMmSUV",
        )
    book.add(
        "fill-null",
        "V2-FILL-03",
        "There is no fill value, and every chunk is stored.",
        {".zarray": document([2], fill_value=None), "0": i16(1, 2)},
        i16(1, 2),
    )


def codecs(book: Book) -> None:
    block = numcodecs.Blosc("zstd", 5, 2).encode(memoryview(A).cast("i"))
    table = [
        ("zlib", {"id": "zlib", "level": 1}, zlib.compress(A, 1), "V2-CODEC-01 V2-CHUNK-11"),
        ("zlib-without-level", {"id": "zlib"}, zlib.compress(A, 9), "V2-PIPE-05"),
        ("gzip", {"id": "gzip", "level": 1}, gzip.compress(A, 1, mtime=0), "V2-CODEC-02"),
        ("bz2", {"id": "bz2", "level": 1}, bz2.compress(A, 1), "V2-CODEC-03"),
        ("lzma", {"id": "lzma", "format": 1, "check": -1, "preset": None, "filters": None}, lzma.compress(A), "V2-CODEC-04"),
        ("zstd", {"id": "zstd", "level": 1, "checksum": True}, numcodecs.Zstd(1, True).encode(A), "V2-CODEC-05"),
        ("lz4", {"id": "lz4", "acceleration": 1}, numcodecs.LZ4().encode(A), "V2-CODEC-06"),
        ("blosc", {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}, block, "V2-CODEC-07 V2-CODEC-08"),
        ("crc32c-compressor", {"id": "crc32c"}, numcodecs.get_codec({"id": "crc32c"}).encode(A), "V2-PIPE-08 V2-CODEC-22"),
    ]
    for name, compressor, chunk, rows in table:
        book.add(
            f"codec-{name}",
            rows,
            f"A chunk behind {json.dumps(compressor)}.",
            {".zarray": document([6], "<i4", compressor=compressor), "0": bytes(chunk)},
            A,
            may_refuse=not name.startswith(("zlib", "blosc")),
        )
    filters = [
        ("delta", [{"id": "delta", "dtype": "<i4"}], "640000000200000 0ffffffff09000000", [100, 102, 101, 110], "V2-CODEC-12"),
        ("delta-as-int16", [{"id": "delta", "dtype": "<i4", "astype": "<i2"}], "64000200ffff0900", [100, 102, 101, 110], "V2-CODEC-12"),
        ("shuffle", [{"id": "shuffle", "elementsize": 4}], "01020304" + "00" * 12, [1, 2, 3, 4], "V2-CODEC-11"),
        ("crc32", [{"id": "crc32"}], None, [1, 2, 3, 4], "V2-CODEC-20"),
        ("adler32", [{"id": "adler32"}], None, [1, 2, 3, 4], "V2-CODEC-21"),
        ("fletcher32", [{"id": "fletcher32"}], None, [1, 2, 3, 4], "V2-CODEC-23"),
    ]
    for name, chain, stored, numbers, rows in filters:
        elements = struct.pack("<4i", *numbers)
        chunk = bytes.fromhex(stored.replace(" ", "")) if stored else bytes(numcodecs.get_codec(chain[0]).encode(elements))
        book.add(
            f"filter-{name}",
            f"{rows} V2-PIPE-01",
            f"A chunk behind {json.dumps(chain[0])}, and then zlib.",
            {".zarray": document([4], "<i4", filters=chain, compressor={"id": "zlib", "level": 1}), "0": zlib.compress(chunk)},
            elements,
            may_refuse=True,
        )
    book.add(
        "filter-delta-in-order-f",
        "V2-PIPE-09",
        "With order F, a filter is given the elements with the first dimension running fastest.",
        {
            ".zarray": document([2, 3], order="F", filters=[{"id": "delta", "dtype": "<i2"}]),
            "0.0": bytes.fromhex("00000900f8ff0f00f4ff1500"),
        },
        i16(0, 1, 4, 9, 16, 25),
        may_refuse=True,
    )
    book.add(
        "filter-packbits",
        "V2-CODEC-15",
        "Ten booleans in two bytes, behind a byte with the number of bits that are left over.",
        {".zarray": document([10], "|b1", fill_value=False, filters=[{"id": "packbits"}]), "0": bytes.fromhex("069f40")},
        bytes([1, 0, 0, 1, 1, 1, 1, 1, 0, 1]),
        may_refuse=True,
    )
    book.add(
        "filter-two",
        "V2-PIPE-01 V2-PIPE-02",
        "Two filters: differences first, and then the bytes of those shuffled.",
        {
            ".zarray": document([4], filters=[{"id": "delta", "dtype": "<i2"}, {"id": "shuffle", "elementsize": 2}]),
            "0": bytes.fromhex("0101020300000000"),
        },
        i16(1, 2, 4, 7),
        may_refuse=True,
    )
    book.add(
        "filters-empty",
        "V2-ARR-14",
        "An empty list of filters is none.",
        {".zarray": document([2], filters=[]), "0": i16(1, 2)},
        i16(1, 2),
    )


def objects(book: Book) -> None:
    words = [b"foo", b"", "hé".encode(), b"x"]
    table = [
        ("vlen-utf8", [{"id": "vlen-utf8"}], items(*words), words, "V2-OBJ-01 V2-OBJ-02"),
        ("vlen-bytes", [{"id": "vlen-bytes"}], items(b"foo", b"", b"\xff", b"\0"), [b"foo", b"", b"\xff", b"\0"], "V2-OBJ-05"),
        (
            "categorize",
            [{"id": "categorize", "labels": ["female", "male"], "dtype": "|O", "astype": "|u1"}],
            bytes([2, 1, 0, 1]),
            [b"male", b"female", b"", b"female"],
            "V2-CODEC-16",
        ),
    ]
    for name, chain, chunk, content, rows in table:
        fill = "" if name != "vlen-bytes" else 0
        book.add(
            f"objects-{name}",
            rows,
            f"Items of variable length behind {name} and zlib.",
            {".zarray": document([4], "|O", fill_value=fill, filters=chain, compressor={"id": "zlib", "level": 1}), "0": zlib.compress(chunk)},
            raw(*content),
            may_refuse=True,
        )
    book.add(
        "objects-at-the-edge",
        "V2-OBJ-04 V2-OBJ-12",
        "Texts whose last chunk reaches past the array; the first one is not stored, and the fill value 0 is the empty text.",
        {".zarray": document([3], "|O", [2], filters=[{"id": "vlen-utf8"}]), "1": items(b"abc", b"outside")},
        raw(b"", b"", b"abc"),
        is_usual=True,
    )
    wrong = [
        ("cut-off", items(*words)[:-1], "V2-OBJ-02", "The last text is cut off."),
        ("length", items(*words)[:-5] + b"\xff\xff\xff\x7fx", "V2-OBJ-02", "The length of a text reaches past the chunk."),
        ("count", items(*words[:3]), "V2-OBJ-04", "There are three texts in a chunk of four."),
        ("count-giant", struct.pack("<I", 2**32 - 1) + raw(*words), "V2-OBJ-04", "The chunk says it has 2^32 - 1 texts."),
        ("utf8", items(b"foo", b"", b"\xff\xfe", b"x"), "V2-OBJ-02", "One of the texts is not UTF-8."),
        ("empty", b"", "V2-OBJ-03", "The chunk is there, and has no bytes."),
    ]
    for name, chunk, rows, about in wrong:
        chain = [{"id": "vlen-utf8"}]
        book.add(f"wrong-objects-{name}", rows, about, {".zarray": document([4], "|O", fill_value="", filters=chain), "0": chunk})
    book.add(
        "wrong-objects-without-codec",
        "V2-DT-23",
        "Objects, and nothing that says how they are stored.",
        {".zarray": document([1], "|O", fill_value=""), "0": bytes(8)},
    )


def hierarchies(book: Book) -> None:
    group, chunk = {"zarr_format": 2}, i16(1, 2)
    book.add(
        "array-in-groups",
        "V2-HIER-01 V2-HIER-08",
        "An array below two groups, with attributes.",
        {
            ".zgroup": group,
            "foo/.zgroup": group,
            "foo/bar/.zarray": document([2]),
            "foo/bar/.zattrs": {"a": [None, {"b": 1e300}], "é": ""},
            "foo/bar/0": chunk,
        },
        chunk,
        array="/foo/bar",
    )
    book.add(
        "member-unknown",
        "V2-ARR-19",
        "A member that nobody knows, which readers ignore.",
        {".zarray": document([2], foo={"bar": 1}), "0": chunk},
        chunk,
    )


def wrong_documents(book: Book) -> None:
    table = [
        ("zarr-format-text", "V2-ARR-03", "`zarr_format` is the text \"2\".", {"zarr_format": "2"}),
        ("zarr-format-three", "V2-ARR-03", "`zarr_format` is 3.", {"zarr_format": 3}),
        ("zarr-format-missing", "V2-ARR-03", "There is no `zarr_format`.", {"zarr_format": ...}),
        ("shape-negative", "V2-ARR-05", "A length is negative.", {"shape": [-2]}),
        ("shape-fraction", "V2-ARR-05", "A length is 2.5.", {"shape": [2.5]}),
        ("shape-missing", "V2-ARR-05", "There is no `shape`.", {"shape": ...}),
        ("chunks-missing", "V2-ARR-06", "There is no `chunks`.", {"chunks": ...}),
        ("chunks-rank", "V2-ARR-06 V2-ARR-07", "The chunk has more dimensions than the array.", {"chunks": [2, 2]}),
        ("chunks-zero", "V2-ARR-06 V2-ARR-07", "A chunk length is zero.", {"chunks": [0]}),
        ("dtype-missing", "V2-ARR-08", "There is no `dtype`.", {"dtype": ...}),
        ("dtype-of-three-bytes", "V2-DT-06", "An integer of three bytes.", {"dtype": "<i3"}),
        ("dtype-unknown-unit", "V2-DT-11", "A date in a unit that there is not.", {"dtype": "<M8[foo]"}),
        ("compressor-missing", "V2-ARR-09", "There is no `compressor`.", {"compressor": ...}),
        ("compressor-without-id", "V2-ARR-09 V2-PIPE-03", "The compressor has no `id`.", {"compressor": {"level": 1}}),
        ("compressor-unknown", "V2-PIPE-04", "Nobody knows the compressor.", {"compressor": {"id": "example.none"}}),
        ("filter-unknown", "V2-PIPE-04", "Nobody knows one of the filters.", {"filters": [{"id": "example.none"}]}),
        ("fill-missing", "V2-ARR-10", "There is no `fill_value`.", {"fill_value": ...}),
        ("order-missing", "V2-ARR-11", "There is no `order`.", {"order": ...}),
        ("order-unknown", "V2-ARR-11", "The order is \"X\".", {"order": "X"}),
        ("filters-missing", "V2-ARR-13", "There is no `filters`.", {"filters": ...}),
        ("separator-unknown", "V2-ARR-15 V2-ARR-16", "The separator of keys is \"_\".", {"dimension_separator": "_"}),
    ]
    for name, rows, about, members in table:
        whole = {member: value for member, value in {**document([2]), **members}.items() if value is not ...}
        book.add(f"wrong-{name}", rows, about, {".zarray": whole, "0": i16(1, 2), "0.0": i16(1, 2, 3, 4)})
    text = json.dumps(document([2]))
    for name, about, content in (
        ("list", "The document is a list with the right object in it.", f"[{text}]"),
        ("cut-off", "The document ends in the middle.", text[: len(text) // 2]),
        ("empty", "The document is empty.", ""),
    ):
        book.add(f"wrong-{name}", "V2-ARR-02", about, {".zarray": content, "0": i16(1, 2)})
    fills = [("int32-too-large", "<i4", 2**31, "V2-FILL-17"), ("structure-number", [["a", "<i4"]], 1, "V2-FILL-09"), ("complex-number", "<c8", 1, "V2-FILL-21")]
    for name, dtype, fill, rows in fills:
        about = f"The fill value {json.dumps(fill)} is none of type {json.dumps(dtype)}, and nothing is stored."
        book.add(f"wrong-fill-{name}", rows, about, {".zarray": document([2], dtype, fill_value=fill)})


def wrong_chunks(book: Book) -> None:
    six = struct.pack("<6i", *range(6))
    stream, frame = zlib.compress(six), bytes(numcodecs.Zstd(1, True).encode(six))
    framed = numcodecs.LZ4().encode(six)
    zstd, lz4 = {"id": "zstd", "level": 1}, {"id": "lz4"}
    table = [
        ("chunk-short", "V2-CHUNK-12", "A chunk has a byte too few.", {}, six[:-1]),
        ("chunk-long", "V2-CHUNK-12", "A chunk has four bytes too many.", {}, six + bytes(4)),
        ("chunk-empty", "V2-STORE-04 V2-CHUNK-12", "A chunk is there, and has no bytes: that is not a missing chunk.", {}, b""),
        ("zlib-cut-off", "V2-CODEC-01", "A stream of zlib that ends before its end.", {"compressor": {"id": "zlib"}}, stream[:-5]),
        ("zlib-checksum", "V2-CODEC-01", "A stream of zlib with a wrong checksum.", {"compressor": {"id": "zlib"}}, stream[:-1] + bytes([stream[-1] ^ 1])),
        ("zlib-short", "V2-CHUNK-12", "A stream of zlib with fewer elements than the chunk has.", {"compressor": {"id": "zlib"}}, zlib.compress(six[:12])),
        ("zlib-long", "V2-CHUNK-12", "A stream of zlib with more elements than the chunk has.", {"compressor": {"id": "zlib"}}, zlib.compress(six * 2)),
        ("zstd-checksum", "V2-CODEC-05", "A frame of zstd with a wrong checksum.", {"compressor": zstd}, frame[:-1] + bytes([frame[-1] ^ 1])),
        ("lz4-claims-less", "V2-CODEC-06", "A block of lz4 that says it holds fewer bytes than it does.", {"compressor": lz4}, b"\x08" + framed[1:]),
        ("lz4-claims-too-much", "V2-CODEC-06", "A block of lz4 that says it holds 2^31 - 1 bytes.", {"compressor": lz4}, b"\xff\xff\xff\x7f" + framed[4:]),
        ("crc32", "V2-CODEC-20", "A chunk that does not fit its checksum.", {"filters": [{"id": "crc32"}]}, b"\0\0\0\0" + six),
        ("shuffle", "V2-CODEC-11", "Shuffled bytes that are no whole number of elements.", {"filters": [{"id": "shuffle", "elementsize": 4}]}, six[:-1]),
        ("packbits", "V2-CODEC-15 V2-CHUNK-12", "Packed booleans, more of them than the chunk has.", {"dtype": "|b1", "fill_value": False, "filters": [{"id": "packbits"}]}, b"\0\xff"),
    ]
    for name, rows, about, members, chunk in table:
        book.add(f"wrong-{name}", rows, about, {".zarray": {**document([6], "<i4"), **members}, "0": bytes(chunk)})
    book.add(
        "wrong-edge-chunk-cut",
        "V2-CHUNK-07 V2-CHUNK-12",
        "The last chunk is stored only as far as the array reaches.",
        {".zarray": document([3], chunks=[2]), "0": i16(1, 2), "1": i16(3)},
    )
