"""Examples of proposed extensions that other programs wrote, with the elements that they were given.

    pip install -r by_proposals.txt
    python write.py proposals

The programs are the implementations in Python that the authors of the proposals published.
"""

import json
import struct
import sys
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import zarr
from book import Book
from zarr.codecs import ShardingCodec, ZstdCodec
from zarr_template import TemplateChunkKeyEncoding
from zarr_vlen_ndarray import NDArray, VlenNDArrayCodec

sys.path.insert(0, str(Path(__file__).parents[1] / "interop" / "python"))
from raw import raw_bytes

NUMBERS = np.arange(5 * 7, dtype="int32").reshape(5, 7) - 9


def write(book: Book) -> None:
    with zarr.config.set({"array.rectilinear_chunks": True}):
        rectilinear(book)
        encoded_shapes(book)
    templates(book)
    lists(book)


def origin(package: str) -> str:
    return f"{package} {version(package)}"


def rectilinear(book: Book) -> None:
    name = "zarr-python-rectilinear"
    if not book.has(name):
        array = zarr.create_array(book.folder(name), shape=NUMBERS.shape, chunks=[[2, 3], [3, 3, 1]], dtype="int32")
        array[...] = NUMBERS
        about = "Chunks of individual lengths in both dimensions."
        by_zarr = f"zarr-python {zarr.__version__}"
        book.note(name, "EX-GRID-01 EX-GRID-03", about, raw_bytes(NUMBERS), may_refuse=True, array="/", origin=by_zarr)


def encoded_shapes(book: Book) -> None:
    """Presents two arrays, whose last chunks are padded, as one array, as the example of the proposal does."""
    name = "zarr-python-encoded-shapes"
    if book.has(name):
        return
    files: dict[str, object] = {}
    for number, part in enumerate([NUMBERS, NUMBERS[::-1] * 2]):
        with TemporaryDirectory() as folder:
            array = zarr.create_array(folder, shape=part.shape, chunks=(2, 7), dtype="int32")
            array[...] = part
            document = json.loads((Path(folder) / "zarr.json").read_text())
            files |= {f"c/{3 * number + chunk}/0": (Path(folder) / f"c/{chunk}/0").read_bytes() for chunk in range(3)}
    configuration = {"kind": "inline", "chunk_shapes": [[[2, 2], 1, [2, 2], 1], 7], "encoded_chunk_shapes": [2, 7]}
    document |= {"shape": [10, 7], "chunk_grid": {"name": "rectilinear", "configuration": configuration}}
    book.add(
        name,
        "EX-GRID-15 EX-GRID-16",
        "The chunks of two arrays of five rows, whose last chunks of two rows are padded, as one array of ten.",
        {"zarr.json": document, **files},
        raw_bytes(np.concatenate([NUMBERS, NUMBERS[::-1] * 2])),
        may_refuse=True,
        origin=f"zarr-python {zarr.__version__}, except for the document",
    )


def templates(book: Book) -> None:
    table = [
        ("images", "The last index names a folder, the others a file.", "images/{-1}/{*:04}.jpeg", "_"),
        ("numbers", "An expression for each index, in another order.", "{2}-{0:03}_{1}", None),
        ("braces", "Two braces are one brace of the key.", "{{c}}/{*}", "."),
    ]
    elements = np.arange(2 * 3 * 4, dtype="int16").reshape(2, 3, 4)
    for name, about, text, separator in table:
        name = f"zarr-template-{name}"
        if book.has(name):
            continue
        encoding = TemplateChunkKeyEncoding(format=text, separator=separator)
        options = {"shape": elements.shape, "chunks": (1, 2, 2), "dtype": "int16", "chunk_key_encoding": encoding}
        array = zarr.create_array(book.folder(name), compressors=None, **options)
        array[...] = elements
        by_package = origin("zarr-template")
        book.note(name, "EX-GRID-14", about, raw_bytes(elements), may_refuse=True, array="/", origin=by_package)


def lists(book: Book) -> None:
    pairs = [[[1, 2], [3, 4]], [], [[-5.5, 6]], [[7, 8]], []]
    with_lists(book, "ndarray", "Lists of pairs of numbers.", pairs, NDArray(dtype="float32", shape=(None, 2)))
    numbers = [[1, 2**64 - 1], [3], [], [], [4, 5, 6]]
    of_numbers = NDArray(dtype="uint64", shape=(None,))
    with_lists(book, "ndarray-zstd", "Lists of numbers, compressed.", numbers, of_numbers, compressors=ZstdCodec(level=3))
    inner = ShardingCodec(chunk_shape=(2,), codecs=[VlenNDArrayCodec(), ZstdCodec()])
    with_lists(book, "ndarray-sharded", "Shards of lists.", numbers[:4], of_numbers, chunks=(4,), serializer=inner)
    filled = NDArray(dtype="int16", shape=(None, 1, 2))
    fill = np.array([[[1, 2]], [[3, 4]]], "int16")
    given = [[[[5, 6]]], [], None, None, [[[7, 8]], [[9, 10]]]]
    about = "Lists of tables; the fill value has two items, and one chunk is missing."
    with_lists(book, "ndarray-fill", about, given, filled, fill_value=fill)


def with_lists(book: Book, name: str, about: str, elements: list, data_type: NDArray, **options: object) -> None:
    """Writes an array of lists. `None` is not written."""
    name = f"zarr-vlen-ndarray-{name}"
    if book.has(name):
        return
    chosen = {"chunks": (2,), "serializer": VlenNDArrayCodec(), "compressors": None, **options}
    array = zarr.create_array(book.folder(name), shape=(len(elements),), dtype=data_type, **chosen)
    given = np.empty(len(elements), dtype=object)
    given[:] = [data_type.coerce_cell(array.fill_value if element is None else element) for element in elements]
    for position, element in enumerate(elements):
        if element is not None:
            array[position : position + 1] = given[position : position + 1]
    raw = b"".join(struct.pack("<I", cell.nbytes) + cell.tobytes() for cell in given)
    by_package = origin("zarr-vlen-ndarray")
    book.note(name, "EX-TYPE-14", about, raw, may_refuse=True, array="/", origin=by_package)
