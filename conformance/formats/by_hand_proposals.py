"""Handwritten examples of extensions that are proposed for version 3, for rows of `requirements/extensions.md`.

The texts are pull requests of the registry of extensions: 28 (`suffix`), 31 (`fanout`), 69 (`template`), 75
(`encoded_chunk_shapes`), 33 (`optional`) and 71 (`ndarray`). They may still change, so readers may refuse all examples.
"""

import gzip
import re
import struct

from book import Book
from by_hand_v3 import LITTLE, crc, document, i16, index, sharding, transpose

PACKBITS = {"name": "packbits"}
BYTES = {"name": "bytes"}


def write(book: Book) -> None:
    suffixes(book)
    fanouts(book)
    templates(book)
    wrong_keys(book)
    encoded_shapes(book)
    wrong_encoded_shapes(book)
    optional_elements(book)
    wrong_optional_elements(book)
    lists(book)
    wrong_lists(book)


def valid(book: Book, name: str, rows: str, about: str, files: dict[str, object], elements: bytes) -> None:
    book.add(f"proposal-{name}", rows, about, files, elements, may_refuse=True)


def wrong(book: Book, name: str, rows: str, about: str, files: dict[str, object]) -> None:
    book.add(f"wrong-proposal-{name}", rows, about, files)


def suffix(text: str, base: dict) -> dict:
    return {"name": "suffix", "configuration": {"suffix": text, "base_encoding": base}}


def suffixes(book: Book) -> None:
    default = {"name": "default"}
    valid(
        book,
        "suffix",
        "EX-GRID-12",
        "Keys with a suffix after those of `default`. A value without the suffix is not a chunk.",
        {
            "zarr.json": document([2, 4], chunk=[1, 2], fill_value=-1, chunk_key_encoding=suffix(".tiff", default)),
            "c/0/0.tiff": i16(1, 2),
            "c/1/1.tiff": i16(7, 8),
            "c/1/0": i16(9, 9),
        },
        i16(1, 2, -1, -1, -1, -1, 7, 8),
    )
    valid(
        book,
        "suffix-after-v2",
        "EX-GRID-12",
        "Keys with a suffix after those of `v2`, whose separator is a dot by default.",
        {
            "zarr.json": document([1, 4], chunk=[1, 2], chunk_key_encoding=suffix(".shard.zip", {"name": "v2"})),
            "0.0.shard.zip": i16(1, 2),
            "0.1.shard.zip": i16(3, 4),
        },
        i16(1, 2, 3, 4),
    )
    valid(
        book,
        "suffix-without-dimensions",
        "EX-GRID-12",
        "The chunk of an array without dimensions is `c.tiff`.",
        {"zarr.json": document([], chunk=[], chunk_key_encoding=suffix(".tiff", default)), "c.tiff": i16(258)},
        i16(258),
    )
    valid(
        book,
        "suffix-twice",
        "EX-GRID-12",
        "The base of an encoding with a suffix has a suffix, too.",
        {
            "zarr.json": document([2], chunk=[1], chunk_key_encoding=suffix(".gz", suffix(".raw", default))),
            "c/0.raw.gz": i16(1),
            "c/1.raw.gz": i16(2),
        },
        i16(1, 2),
    )


def fanout_key(indices: tuple[int, ...], decimal_len: int) -> str:
    """Follows the algorithm of the proposal step by step."""
    parts = ["c"]
    for number in indices:
        digits = str(number)
        groups = []
        while digits:
            groups.insert(0, digits[-decimal_len:].rjust(decimal_len, "0"))
            digits = digits[:-decimal_len]
        parts += [str(len(groups) - 1), *groups]
    return "/".join(parts)


def fanouts(book: Book) -> None:
    table = [
        ("fanout", "Indices of up to three digits have one group; the limit is 1000 by default.", None, 3, [1001], [0, 12, 999, 1000]),
        ("fanout-of-hundred", "Groups of two digits.", 100, 2, [105], [0, 9, 99, 100, 104]),
        ("fanout-of-two-dimensions", "Each index has its number of groups and its groups.", 100, 2, [102, 3], [0, 101]),
        ("fanout-floored", "The limit of 250 is rounded down to 100, so groups have two digits.", 250, 2, [101], [7, 100]),
        ("fanout-of-ten-thousand", "Groups of four digits.", 10000, 4, [12], [0, 11]),
    ]
    for name, about, limit, digits, shape, stored in table:
        encoding = {"name": "fanout"} if limit is None else {"name": "fanout", "configuration": {"max_children": limit}}
        row = shape[1] if len(shape) > 1 else 1
        metadata = document(shape, "uint8", [1] * len(shape), fill_value=255, chunk_key_encoding=encoding, codecs=[BYTES])
        files: dict[str, object] = {"zarr.json": metadata}
        elements = bytearray(b"\xff" * (shape[0] * row))
        for position, number in enumerate(stored):
            # In two dimensions, the chunks of a diagonal are stored.
            indices = (number,) if len(shape) == 1 else (number, position)
            files[fanout_key(indices, digits)] = bytes([position])
            elements[number * row + indices[-1] if len(shape) > 1 else number] = position
        valid(book, name, "EX-GRID-13", about, files, bytes(elements))
    valid(
        book,
        "fanout-without-dimensions",
        "EX-GRID-13",
        "The chunk of an array without dimensions is `c`.",
        {"zarr.json": document([], chunk=[], chunk_key_encoding={"name": "fanout"}), "c": i16(258)},
        i16(258),
    )


def template(text: str, separator: str | None = None, member: str = "template") -> dict:
    configuration = {member: text} if separator is None else {member: text, "separator": separator}
    return {"name": "template", "configuration": configuration}


def template_key(text: str, separator: str | None, indices: tuple[int, ...]) -> str:
    """Replaces the expressions, which the regular expression of the proposal finds."""
    expression = re.compile(r"\{((\*|-?\d+)(:0(\d+))?)\}")
    named = {int(found[2]) % len(indices) for found in expression.finditer(text) if found[2] != "*"}

    def inserted(found: re.Match) -> str:
        width = int(found[4] or 0)
        if found[2] == "*":
            rest = [number for position, number in enumerate(indices) if position not in named]
            return (separator or "").join(str(number).rjust(width, "0") for number in rest)
        return str(indices[int(found[2])]).rjust(width, "0")

    return expression.sub(inserted, text)


def templates(book: Book) -> None:
    table = [
        ("template", "The keys of `default`, as a template.", "c/{*}", "/"),
        ("template-of-images", "The last index names a folder, the others a file; their digits are padded.", "images/{-1}/{*:04}.jpeg", "_"),
        ("template-of-numbers", "Each index has an expression, in another order, and there is no separator.", "{2}-{0}_{1}", None),
        ("template-of-suffix", "A suffix after all indices.", "{*}.suffix", "_"),
        ("template-without-rest", "A separator that is not used.", "{2}/{0}/{1}", "."),
        ("template-from-both-ends", "Indices that count from the start and from the end.", "{0}/{-1:03}.{-2}", None),
    ]
    shape = [2, 1, 2]
    for name, about, text, separator in table:
        metadata = document(shape, chunk=[1, 1, 1], fill_value=-1, chunk_key_encoding=template(text, separator))
        chunks = {(0, 0, 0): 1, (0, 0, 1): 2, (1, 0, 1): 4}
        files = {template_key(text, separator, indices): i16(number) for indices, number in chunks.items()}
        valid(book, name, "EX-GRID-14", about, {"zarr.json": metadata, **files}, i16(1, 2, -1, 4))
    valid(
        book,
        "template-as-format",
        "EX-GRID-14",
        "The template is in the member `format`, as in the examples and in the schema of the proposal.",
        {
            "zarr.json": document([2], chunk=[1], chunk_key_encoding=template("{0}.raw", member="format")),
            "0.raw": i16(1),
            "1.raw": i16(2),
        },
        i16(1, 2),
    )
    metadata = document([101], "uint8", [1], chunk_key_encoding=template("x{0:02}"), codecs=[BYTES])
    valid(
        book,
        "template-longer-than-its-width",
        "EX-GRID-14",
        "An index with more digits than the width is not cut.",
        {"zarr.json": metadata, "x07": b"\7", "x10": b"\x0a", "x100": b"\x64"},
        bytes({7: 7, 10: 10, 100: 100}.get(number, 0) for number in range(101)),
    )


def wrong_keys(book: Book) -> None:
    base = {"name": "default"}
    table = [
        ("suffix-without-base", "The member `base_encoding` is missing.", "EX-GRID-12", {"name": "suffix", "configuration": {"suffix": ".a"}}),
        ("suffix-missing", "The member `suffix` is missing.", "EX-GRID-12", {"name": "suffix", "configuration": {"base_encoding": base}}),
        ("suffix-number", "The suffix is a number.", "EX-GRID-12", {"name": "suffix", "configuration": {"suffix": 1, "base_encoding": base}}),
        ("suffix-of-unknown", "The base encoding is unknown.", "EX-GRID-12", suffix(".a", {"name": "nope"})),
        ("suffix-of-wrong-separator", "The base encoding has a separator that does not exist.", "EX-GRID-12", suffix(".a", {"name": "v2", "configuration": {"separator": "_"}})),
        ("fanout-too-small", "The limit is below 100.", "EX-GRID-13", {"name": "fanout", "configuration": {"max_children": 99}}),
        ("fanout-text", "The limit is a string.", "EX-GRID-13", {"name": "fanout", "configuration": {"max_children": "1000"}}),
        ("fanout-fraction", "The limit has a fraction.", "EX-GRID-13", {"name": "fanout", "configuration": {"max_children": 100.5}}),
        ("fanout-unknown-member", "The configuration has an unknown member.", "EX-GRID-13", {"name": "fanout", "configuration": {"max_child": 1000}}),
        ("template-missing", "The template is missing.", "EX-GRID-14", {"name": "template", "configuration": {"separator": "/"}}),
        ("template-index-missing", "The second index does not have an expression, so two chunks have one key.", "EX-GRID-14", template("{0}")),
        ("template-index-twice", "Two expressions stand for the first index.", "EX-GRID-14", template("{0}_{-2}")),
        ("template-index-outside", "The third index, in two dimensions.", "EX-GRID-14", template("{0}_{1}_{2}")),
        ("template-index-before", "The third index from the end, in two dimensions.", "EX-GRID-14", template("{-3}_{1}")),
        ("template-rest-empty", "The rest is empty, because all indices have an expression.", "EX-GRID-14", template("{0}_{1}_{*}", "/")),
        ("template-rest-twice", "Two expressions for the rest.", "EX-GRID-14", template("{*}_{*}", "/")),
        ("template-without-separator", "The rest needs a separator.", "EX-GRID-14", template("c/{*}")),
        ("template-without-expression", "The template has no expression.", "EX-GRID-14", template("c")),
        ("template-from-root", "The template begins with a slash.", "EX-GRID-14", template("/{*}", "/")),
        ("template-of-parent", "The template leads out of the array.", "EX-GRID-14", template("../{*}", "/")),
        ("template-two-slashes", "A part of the template is empty.", "EX-GRID-14", template("{0}//{1}")),
        ("template-backslash", "The template has a backslash.", "EX-GRID-14", template("{0}\\{1}")),
        ("template-document", "The template has the name of a metadata document.", "EX-GRID-14", template("{*}/zarr.json", "/")),
        ("template-empty-expression", "An expression without an index.", "EX-GRID-14", template("{}_{1}")),
    ]
    for name, about, rows, encoding in table:
        metadata = document([2, 2], chunk=[1, 2], chunk_key_encoding=encoding)
        wrong(book, name, rows, about, {"zarr.json": metadata, "c/0/0": i16(1, 2), "c/1/0": i16(3, 4)})


def rectilinear(chunks: list, encoded: list | None = None, **members: object) -> dict:
    configuration = {"kind": "inline", "chunk_shapes": chunks, "encoded_chunk_shapes": encoded, **members}
    given = {name: member for name, member in configuration.items() if member is not None}
    return {"name": "rectilinear", "configuration": given}


def encoded_shapes(book: Book) -> None:
    grid = rectilinear([[2, 3], [[1, 2], 2]], [[4, 3], 2])
    valid(
        book,
        "encoded-shapes",
        "EX-GRID-15 EX-GRID-16",
        "Chunks decode to larger shapes than they have in the array. The elements after those of the array are ignored.",
        {
            "zarr.json": document([5, 4], "uint8", chunk_grid=grid, fill_value=255, codecs=[BYTES]),
            # 4 × 2 elements, of which the first two rows of the first column are in the array.
            "c/0/0": bytes([1, 99, 5, 99, 99, 99, 99, 99]),
            "c/0/1": bytes([2, 99, 6, 99, 99, 99, 99, 99]),
            "c/0/2": bytes([3, 4, 7, 8, 99, 99, 99, 99]),
            "c/1/0": bytes([9, 99, 13, 99, 17, 99]),
            "c/1/2": bytes([11, 12, 15, 16, 19, 20]),
        },
        bytes([1, 2, 3, 4, 5, 6, 7, 8, 9, 255, 11, 12, 13, 255, 15, 16, 17, 255, 19, 20]),
    )
    valid(
        book,
        "encoded-shapes-equal",
        "EX-GRID-15",
        "Encoded shapes that equal the shapes of the chunks.",
        {
            "zarr.json": document([3], chunk_grid=rectilinear([[1, 2]], [[1, 2]])),
            "c/0": i16(1),
            "c/1": i16(2, 3),
        },
        i16(1, 2, 3),
    )
    valid(
        book,
        "encoded-shapes-after-the-array",
        "EX-GRID-04 EX-GRID-15",
        "The last of three chunks is after the end of the array; it has an encoded length, too.",
        {
            "zarr.json": document([3], chunk_grid=rectilinear([[2, 2, 2]], [[3, 4, 2]])),
            "c/0": i16(1, 2, 99),
            "c/1": i16(3, 99, 99, 99),
        },
        i16(1, 2, 3),
    )
    chunk = i16(1, 2) + i16(3, 99) + index(0, 4, 4, 4)
    valid(
        book,
        "encoded-shapes-of-shards",
        "EX-GRID-16 EX-GRID-17",
        "Shards of three elements that are encoded as four: inner chunks of two divide the encoded shape.",
        {
            "zarr.json": document([6], chunk_grid=rectilinear([[3, 3]], [4]), codecs=[sharding([2])]),
            "c/0": chunk,
            "c/1": i16(5, 6) + i16(4, 99) + index(4, 4, 0, 4),
        },
        i16(1, 2, 3, 4, 99, 5),
    )
    valid(
        book,
        "encoded-shapes-transposed",
        "EX-GRID-16 EX-GRID-17",
        "The encoded elements are transposed with their padding.",
        {
            "zarr.json": document([2, 2], chunk_grid=rectilinear([[2], [2]], [[2], [3]]), codecs=[transpose(1, 0), LITTLE]),
            "c/0/0": i16(1, 3, 2, 4, 99, 99),
        },
        i16(1, 2, 3, 4),
    )


def wrong_encoded_shapes(book: Book) -> None:
    full = {"c/0": i16(1, 2, 9), "c/1": i16(3, 9, 9)}
    table = [
        ("encoded-shapes-zero", "EX-GRID-15", "An encoded length is zero.", rectilinear([[2, 1]], [[3, 0]]), full),
        ("encoded-shapes-shorter", "EX-GRID-15", "The first encoded length is 1, and its chunk has 2 elements.", rectilinear([[2, 1]], [[1, 3]]), full),
        ("encoded-shapes-too-few", "EX-GRID-15", "One encoded length for two chunks.", rectilinear([[2, 1]], [[3]]), full),
        ("encoded-shapes-too-many", "EX-GRID-15", "Three encoded lengths for two chunks.", rectilinear([[2, 1]], [[[3, 3]]]), full),
        ("encoded-shapes-rank", "EX-GRID-15", "Encoded lengths for two dimensions of one.", rectilinear([[2, 1]], [3, 3]), full),
        ("encoded-shapes-number", "EX-GRID-15", "A number instead of a list.", rectilinear([[2, 1]], 3), full),  # type: ignore[arg-type]
        (
            "encoded-shapes-sum",
            "EX-GRID-04 EX-GRID-15",
            "The chunks end before the array; their encoded lengths do not.",
            rectilinear([[1, 1]], [[3, 3]]),
            full,
        ),
        (
            "encoded-shapes-not-padded",
            "EX-GRID-16",
            "A chunk is stored at its length in the array instead of its encoded length.",
            rectilinear([[2, 1]], [[3, 3]]),
            {"c/0": i16(1, 2, 9), "c/1": i16(3)},
        ),
    ]
    for name, rows, about, grid, chunks in table:
        wrong(book, name, rows, about, {"zarr.json": document([3], chunk_grid=grid), **chunks})


def variable(*items: bytes) -> bytes:
    """Returns elements of variable size in the form of this suite."""
    return b"".join(struct.pack("<I", len(item)) + item for item in items)


def present(*numbers: int | None) -> bytes:
    """Returns optional elements of type int16 in the form of this suite."""
    return variable(*(b"" if number is None else b"\1" + i16(number) for number in numbers))


def chunk_of(mask: bytes, data: bytes) -> bytes:
    """Returns a chunk of the codec `optional`."""
    return struct.pack("<QQ", len(mask), len(data)) + mask + data


def optional(name: str, **members: object) -> dict:
    return {"name": "optional", "configuration": {"name": name, **members}}


def optional_codec(mask: list, data: list) -> dict:
    return {"name": "optional", "configuration": {"mask_codecs": mask, "data_codecs": data}}


def optional_elements(book: Book) -> None:
    codec = optional_codec([PACKBITS], [LITTLE])
    valid(
        book,
        "optional",
        "EX-TYPE-15",
        "Numbers that may be missing: one chunk with some, one without any, and one that is not stored.",
        {
            "zarr.json": document([9], optional("int16", configuration={}), [3], fill_value=None, codecs=[codec]),
            "c/0": chunk_of(b"\5", i16(1, -2)),
            "c/1": chunk_of(b"\0", b""),
        },
        present(1, None, -2, *[None] * 6),
    )
    codec = optional_codec([BYTES], [LITTLE, {"name": "gzip", "configuration": {"level": 5}}])
    valid(
        book,
        "optional-with-fill-value",
        "EX-TYPE-15",
        "The fill value is a present number, in a list. The mask has a byte for each element; the numbers are packed by gzip.",
        {
            "zarr.json": document([4], optional("int16"), [2], fill_value=[42], codecs=[codec]),
            "c/1": chunk_of(b"\0\1", gzip.compress(i16(7), mtime=0)),
        },
        present(42, 42, None, 7),
    )
    codec = optional_codec([transpose(1, 0), BYTES, {"name": "crc32c"}], [LITTLE])
    valid(
        book,
        "optional-mask-of-two-dimensions",
        "EX-TYPE-15",
        "The mask has the dimensions of the chunk and is transposed; the numbers are in the order of the chunk.",
        {
            "zarr.json": document([2, 3], optional("int16"), fill_value=None, codecs=[codec]),
            "c/0/0": chunk_of(crc(b"\1\0\1\1\0\0"), i16(1, 2, 5)),
        },
        present(1, 2, None, None, 5, None),
    )
    codec = optional_codec([PACKBITS], [{"name": "vlen-utf8"}])
    texts = struct.pack("<III", 2, 0, 2) + "é".encode()
    valid(
        book,
        "optional-texts",
        "EX-TYPE-15",
        "Texts that may be missing; an empty one is not missing.",
        {
            "zarr.json": document([3], optional("string"), fill_value=None, codecs=[codec]),
            "c/0": chunk_of(b"\5", texts),
        },
        variable(b"\1", b"", b"\1" + "é".encode()),
    )
    inner = optional_codec([PACKBITS], [LITTLE])
    valid(
        book,
        "optional-twice",
        "EX-TYPE-15",
        "Optional elements in optional elements. The fill value is a present element that contains a missing one.",
        {
            "zarr.json": document(
                [6],
                optional("optional", configuration={"name": "int16"}),
                [3],
                fill_value=[None],
                codecs=[optional_codec([PACKBITS], [inner])],
            ),
            "c/0": chunk_of(b"\3", chunk_of(b"\2", i16(5))),
        },
        variable(b"\1", b"\1\1" + i16(5), b"", b"\1", b"\1", b"\1"),
    )


def wrong_optional_elements(book: Book) -> None:
    codec = optional_codec([PACKBITS], [LITTLE])
    chunks = [
        ("optional-short-header", "The header is cut off.", struct.pack("<Q", 1)),
        ("optional-sizes-too-large", "The sizes in the header are larger than the chunk.", struct.pack("<QQ", 1, 400) + b"\3" + i16(1, 2)),
        ("optional-sizes-overflow", "The sum of the sizes is 2^64 + 5.", struct.pack("<QQ", 2**64 - 1, 6) + b"\3" + i16(1, 2)),
        ("optional-more-than-sizes", "Bytes follow the elements.", chunk_of(b"\3", i16(1, 2)) + b"\0"),
        ("optional-too-few-numbers", "Two elements are present, and one is stored.", chunk_of(b"\3", i16(1))),
        ("optional-too-many-numbers", "One element is present, and two are stored.", chunk_of(b"\1", i16(1, 2))),
        ("optional-numbers-of-missing", "All elements are missing, and one is stored.", chunk_of(b"\0", i16(1))),
        ("optional-mask-too-long", "The mask has a byte too many.", chunk_of(b"\3\0", i16(1, 2))),
        ("optional-mask-empty", "The mask is empty.", chunk_of(b"", i16(1, 2))),
    ]
    for name, about, chunk in chunks:
        metadata = document([2], optional("int16"), fill_value=None, codecs=[codec])
        wrong(book, name, "EX-TYPE-15", about, {"zarr.json": metadata, "c/0": chunk})
    table = [
        ("optional-fill-bare", "The fill value is a number without a list.", {"fill_value": 42}),
        ("optional-fill-list", "The fill value has two numbers.", {"fill_value": [1, 2]}),
        ("optional-fill-empty", "The fill value is an empty list.", {"fill_value": []}),
        ("optional-in-bytes", "The codec `bytes` cannot store missing elements.", {"codecs": [LITTLE]}),
        ("optional-of-numbers", "The codec is used for a type without missing elements.", {"data_type": "int16", "fill_value": 0}),
        ("optional-of-nothing", "The configuration of the type is empty.", {"data_type": {"name": "optional", "configuration": {}}}),
        ("optional-of-unknown", "The type of the elements is unknown.", {"data_type": optional("nope")}),
        (
            "optional-without-mask-codecs",
            "The codec does not have `mask_codecs`.",
            {"codecs": [{"name": "optional", "configuration": {"data_codecs": [LITTLE]}}]},
        ),
        (
            "optional-without-data-codecs",
            "The codec does not have `data_codecs`.",
            {"codecs": [{"name": "optional", "configuration": {"mask_codecs": [PACKBITS]}}]},
        ),
        ("optional-mask-codecs-empty", "The list of codecs for the mask is empty.", {"codecs": [optional_codec([], [LITTLE])]}),
        ("optional-numbers-as-texts", "The codec for the numbers only stores texts.", {"codecs": [optional_codec([PACKBITS], [{"name": "vlen-utf8"}])]}),
    ]
    for name, about, members in table:
        metadata = document([2], **{"data_type": optional("int16"), "fill_value": None, "codecs": [codec], **members})
        wrong(book, name, "EX-TYPE-15", about, {"zarr.json": metadata, "c/0": chunk_of(b"\3", i16(1, 2))})


def ndarray(dtype: str, *shape: int | None) -> dict:
    return {"name": "ndarray", "configuration": {"dtype": dtype, "shape": [*shape]}}


VLEN = {"name": "vlen-ndarray"}


def lists(book: Book) -> None:
    valid(
        book,
        "ndarray-of-truth-values",
        "EX-TYPE-14",
        "Lists of 2 × 3 truth values; the fill value has one item.",
        {
            "zarr.json": document([3], ndarray("bool", None, 2, 3), [2], fill_value="AQABAAEA", codecs=[VLEN]),
            "c/0": struct.pack("<I", 2) + variable(b"\1\1\1\0\0\0" * 2, b""),
        },
        variable(b"\1\1\1\0\0\0" * 2, b"", b"\1\0\1\0\1\0"),
    )
    first = {"name": "vlen-ndarray", "configuration": {"dtype": "int16", "inner_shape": [2]}}
    valid(
        book,
        "ndarray-under-its-first-name",
        "EX-TYPE-14",
        "The first name of the data type, with the lengths of an item in `inner_shape`.",
        {
            "zarr.json": document([4], first, [2], fill_value="", codecs=[VLEN]),
            "c/0": struct.pack("<I", 2) + variable(i16(1, 2, 3, 4), b""),
        },
        variable(i16(1, 2, 3, 4), b"", b"", b""),
    )
    valid(
        book,
        "ndarray-of-fixed-shape",
        "EX-TYPE-14",
        "Elements of 3 × 2 numbers, without a variable length, which the codec `bytes` stores.",
        {
            "zarr.json": document([2], ndarray("int16", 3, 2), [1], fill_value="AQACAAMABAAFAAYA"),
            "c/1": i16(*range(6)),
        },
        i16(1, 2, 3, 4, 5, 6, *range(6)),
    )


def wrong_lists(book: Book) -> None:
    chunks = [
        ("ndarray-half-item", "A list has one number and a half.", struct.pack("<I", 2) + variable(b"\1\0\2", b"")),
        ("ndarray-part-of-item", "A list has three numbers, and an item has two.", struct.pack("<I", 2) + variable(i16(1, 2, 3), b"")),
        ("ndarray-too-few", "One list for a chunk of two.", struct.pack("<I", 1) + variable(i16(1, 2))),
        ("ndarray-too-many", "Three lists for a chunk of two.", struct.pack("<I", 3) + variable(b"", b"", b"")),
        ("ndarray-cut-off", "The last list ends before its end.", struct.pack("<I", 2) + variable(b"", i16(1, 2))[:-2]),
        ("ndarray-too-long", "Bytes follow the last list.", struct.pack("<I", 2) + variable(b"", i16(1, 2)) + b"\0"),
        ("ndarray-claims-too-much", "The length of a list is 2^32 - 4 bytes.", struct.pack("<II", 2, 2**32 - 4) + i16(1, 2)),
        ("ndarray-empty", "A value without any bytes.", b""),
    ]
    for name, about, chunk in chunks:
        metadata = document([2], ndarray("int16", None, 2), fill_value="", codecs=[VLEN])
        wrong(book, name, "EX-TYPE-14", about, {"zarr.json": metadata, "c/0": chunk})
    table = [
        ("ndarray-fill-list", "The fill value is a list instead of Base64.", {"fill_value": [[1, 2]]}),
        ("ndarray-fill-not-base64", "The fill value is not Base64.", {"fill_value": "AQ?="}),
        ("ndarray-fill-half", "The fill value is half an item.", {"fill_value": "AQA="}),
        ("ndarray-of-texts", "The numbers are texts.", {"data_type": ndarray("string", None)}),
        ("ndarray-of-v2", "The numbers have a type of version 2.", {"data_type": ndarray("<i2", None, 2)}),
        ("ndarray-of-raw-bits", "The numbers are raw bits, whose type is not a type of numbers.", {"data_type": ndarray("r16", None, 2)}),
        ("ndarray-last-variable", "The codec needs the variable length in the first place.", {"data_type": ndarray("int16", 2, None)}),
        ("ndarray-two-variable", "Two variable lengths, which do not follow from the size of an element.", {"data_type": ndarray("int16", None, None)}),
        ("ndarray-fixed", "The codec needs a variable length.", {"data_type": ndarray("int16", 2), "fill_value": "AQACAA=="}),
        ("ndarray-without-shape", "The shape has no dimensions.", {"data_type": ndarray("int16")}),
        ("ndarray-length-zero", "A length of an item is zero.", {"data_type": ndarray("int16", None, 0)}),
        ("ndarray-name-alone", "The data type does not have a configuration.", {"data_type": "ndarray"}),
        ("ndarray-in-bytes", "The codec `bytes` cannot store elements of variable length.", {"codecs": [LITTLE]}),
        ("ndarray-codec-of-bytes", "The codec is used for another data type.", {"data_type": "bytes"}),
        ("ndarray-codec-configured", "The codec does not have a configuration.", {"codecs": [{"name": "vlen-ndarray", "configuration": {"dtype": "int16"}}]}),
        (
            "ndarray-members-of-first-name",
            "The member of the first name under the second name.",
            {"data_type": {"name": "ndarray", "configuration": {"dtype": "int16", "inner_shape": [2]}}},
        ),
    ]
    chunk = struct.pack("<I", 2) + variable(i16(1, 2), b"")
    for name, about, members in table:
        metadata = document([2], **{"data_type": ndarray("int16", None, 2), "fill_value": "", "codecs": [VLEN], **members})
        wrong(book, name, "EX-TYPE-14", about, {"zarr.json": metadata, "c/0": chunk})
