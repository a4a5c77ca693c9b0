"""Writes hierarchies with GDAL 3.6 in its dialect of the v3 draft, and records their expected content.

Runs with the Python that has GDAL's bindings (Debian: /usr/bin/python3 with python3-gdal). The output has the form of
`write_cases.py`: stores, `expected/*.raw` and `cases.json` in OUT_DIR, which must be empty or absent.
"""

import argparse
import itertools
import sys
from pathlib import Path

import numpy as np

from cases import CaseBook
from raw import raw_bytes
from samples import ATTRIBUTES, sample, smooth

try:
    from osgeo import gdal
except ModuleNotFoundError:
    sys.exit(f"{sys.executable} lacks GDAL's bindings; on Debian: apt-get install python3-gdal")

FORMAT = "v3-draft-a"
TYPES = {
    "u1": gdal.GDT_Byte,
    "u2": gdal.GDT_UInt16,
    "i2": gdal.GDT_Int16,
    "u4": gdal.GDT_UInt32,
    "i4": gdal.GDT_Int32,
    "u8": gdal.GDT_UInt64,
    "i8": gdal.GDT_Int64,
    "f4": gdal.GDT_Float32,
    "f8": gdal.GDT_Float64,
}
COMPRESSORS = {
    "none": ["COMPRESS=NONE"],
    "zlib": ["COMPRESS=ZLIB", "ZLIB_LEVEL=9"],
    "gzip": ["COMPRESS=GZIP"],
    "lzma": ["COMPRESS=LZMA"],
    "lzma-delta": ["COMPRESS=LZMA", "LZMA_DELTA=4", "LZMA_PRESET=1"],
    "zstd": ["COMPRESS=ZSTD"],
    "lz4": ["COMPRESS=LZ4", "LZ4_ACCELERATION=2"],
    "blosc": ["COMPRESS=BLOSC"],
} | {
    f"blosc-{name}-{shuffle}": ["COMPRESS=BLOSC", f"BLOSC_CNAME={name}", f"BLOSC_SHUFFLE={shuffle}"]
    for name in ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")
    for shuffle in ("NONE", "BYTE", "BIT", "2")
}
GEOMETRIES = (
    ((), ()),
    ((1,), (1,)),
    ((10,), (3,)),
    ((3,), (10,)),
    ((5, 7), (2, 3)),
    ((4, 6), (4, 6)),
    ((3, 4, 5), (2, 2, 2)),
    ((2, 3, 4, 3), (1, 2, 3, 2)),
)


class Store:
    """One store on disk, and the book that records its nodes."""

    def __init__(self, book: CaseBook, name: str) -> None:
        self.book = book
        self.name = f"{name}.zarr"
        driver = gdal.GetDriverByName("Zarr")
        self.dataset = driver.CreateMultiDimensional(self.file(), [], ["FORMAT=ZARR_V3"])
        self.root = self.dataset.GetRootGroup()
        self.pending: list[tuple[str, np.ndarray, dict]] = []

    def file(self) -> str:
        """Returns the store's directory in the form that GDAL expects."""
        return str(self.book.directory / self.name)

    def create(self, name: str, values: np.ndarray, chunks: tuple[int, ...], options: list[str]) -> gdal.MDArray:
        """Creates an array with separate dimensions."""
        dimensions = [
            self.root.CreateDimension(f"{name}-{axis}", None, None, length) for axis, length in enumerate(values.shape)
        ]
        if chunks:
            options = [*options, f"BLOCKSIZE={','.join(map(str, chunks))}"]
        data_type = gdal.ExtendedDataType.Create(TYPES[values.dtype.str[1:]])
        return self.root.CreateMDArray(name, dimensions, data_type, options)

    def array(self, name: str, values: np.ndarray, chunks: tuple[int, ...], options: list[str]) -> None:
        """Writes a whole array."""
        self.create(name, values, chunks, options).Write(values)
        self.pending.append((name, values, {}))

    def close(self) -> None:
        """Flushes the documents, reads all arrays back, and records the cases."""
        self.root = self.dataset = None
        group = gdal.OpenEx(self.file(), gdal.OF_MULTIDIM_RASTER).GetRootGroup()
        for name, expected, attributes in self.pending:
            # This version crashes when it reads rank 0 with the separator `/`.
            if expected.shape and bytes(group.OpenMDArray(name).Read()) != raw_bytes(expected):
                raise ValueError(f"GDAL reads /{name} in {self.name} differently from what it wrote")
            self.book.array(self.name, f"/{name}", FORMAT, expected, attributes)


def write(directory: Path) -> None:
    """Writes everything."""
    gdal.UseExceptions()
    book = CaseBook(directory)
    for part in (types, geometries, compressors, fills, documents, tree):
        part(book)
    book.save()


def types(book: CaseBook) -> None:
    """Writes every type that this driver supports, in both layouts."""
    store = Store(book, "types")
    for dtype, layout in itertools.product(TYPES, "CF"):
        store.array(f"{dtype}-{layout}", sample(dtype, (5, 7)), (2, 3), [f"CHUNK_MEMORY_LAYOUT={layout}"])
    store.close()


def geometries(book: CaseBook) -> None:
    """Writes shapes and chunk shapes."""
    store = Store(book, "geometries")
    for number, (shape, chunks) in enumerate(GEOMETRIES):
        # Avoids zeros, because chunks of zeros would not be stored.
        values = np.asarray(smooth("i2", shape) + 1, "i2")
        for layout, separator in itertools.product("CF", "/."):
            name = f"{number}-{layout}-{'slash' if separator == '/' else 'dot'}"
            # This version creates directories only for the slashes in a key.
            Path(store.file(), "data", "root", name).mkdir(parents=True, exist_ok=True)
            options = [f"CHUNK_MEMORY_LAYOUT={layout}", f"DIM_SEPARATOR={separator}"]
            store.array(name, values, chunks, options)
    store.close()


def compressors(book: CaseBook) -> None:
    """Writes every compressor."""
    store = Store(book, "compressors")
    for dtype, (name, options) in itertools.product(("u1", "i4", "f8"), COMPRESSORS.items()):
        store.array(f"{dtype}-{name}", smooth(dtype, (13, 11)) + 1, (6, 11), options)
    store.close()


def fills(book: CaseBook) -> None:
    """Writes fill values with some chunks missing. A missing fill value is `null`, which omits chunks of zeros too."""
    store = Store(book, "fills")
    table = [
        *(("i2", value) for value in (-32768, 7)),
        ("u1", 255),
        *(("i8", value) for value in (-(2**63), 2**63 - 1)),
        # 2^63 itself becomes a float in the document, which this version cannot read back.
        *(("u8", value) for value in (5, 2**63 - 1, 2**64 - 1)),
        *(("f4", value) for value in (0.1, float("nan"), -0.0)),
        *(("f8", value) for value in (0.1, float("nan"), float("inf"), float("-inf"), 1.7976931348623157e308)),
    ]
    for number, (dtype, fill) in enumerate(table):
        expected = np.full((7,), fill, dtype)
        expected[2:4] = sample(dtype, (7,))[2:4]
        array = store.create(f"{number:02}-{dtype}", expected, (2,), [])
        setter = {"i8": array.SetNoDataValueInt64, "u8": array.SetNoDataValueUInt64}
        setter.get(dtype, array.SetNoDataValueDouble)(fill)
        array.Write(expected[2:4], array_start_idx=[2], count=[2])
        store.pending.append((f"{number:02}-{dtype}", expected, {}))
    zeros = np.zeros((7,), "i4")
    zeros[2:4] = 1
    store.array("null-zeros", zeros, (2,), [])
    store.close()


def documents(book: CaseBook) -> None:
    """Writes documents with this driver's additions: attributes of all kinds, bare NaN tokens, dimension names."""
    store = Store(book, "documents")
    values = sample("i2", (3,))
    array = store.create("attributes", values, (2,), [])
    string = gdal.ExtendedDataType.CreateString()
    array.CreateAttribute("текст", [], string).Write("日本 😀")
    array.CreateAttribute("integers", [3], gdal.ExtendedDataType.Create(gdal.GDT_Int32)).Write([1, -2, 3])
    array.CreateAttribute("float", [], gdal.ExtendedDataType.Create(gdal.GDT_Float64)).Write(0.1)
    array.Write(values)
    store.pending.append(("attributes", values, {"текст": "日本 😀", "integers": [1, -2, 3], "float": 0.1}))
    array = store.create("bare-tokens", values, (2,), [])
    array.CreateAttribute("nan", [], gdal.ExtendedDataType.Create(gdal.GDT_Float64)).Write(float("nan"))
    array.CreateAttribute("infinity", [], gdal.ExtendedDataType.Create(gdal.GDT_Float64)).Write(float("inf"))
    array.Write(values)
    store.pending.append(("bare-tokens", values, {}))
    dimension = store.root.CreateDimension("x", "HORIZONTAL_X", "EAST", 3)
    array = store.root.CreateMDArray("x", [dimension], gdal.ExtendedDataType.Create(gdal.GDT_Int16))
    array.Write(values)
    dimension.SetIndexingVariable(array)
    store.pending.append(("x", values, {"_ARRAY_DIMENSIONS": ["x"]}))
    array = dimension = None
    store.close()
    # JSON does not have NaN, so the result of reading these attributes is up to each reader.
    next(entry for entry in book.entries if entry["path"] == "/bare-tokens").pop("attributes")


def tree(book: CaseBook) -> None:
    """Writes nested groups; this driver writes a document for each group and accepts any name."""
    store = Store(book, "tree")
    group = store.root.CreateGroup("outer")
    text = ATTRIBUTES["text"]
    group.CreateAttribute("text", [], gdal.ExtendedDataType.CreateString()).Write(text)
    group.CreateGroup("inner")
    store.array("top", sample("i2", (3,)), (2,), [])
    group = None
    store.close()
    book.group(store.name, "/", FORMAT, {}, ["outer", "top"])
    book.group(store.name, "/outer", FORMAT, {"text": text}, ["inner"])
    book.group(store.name, "/outer/inner", FORMAT, {}, [])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out_dir", metavar="OUT_DIR", type=Path)
    arguments = parser.parse_args()
    if arguments.out_dir.exists() and any(arguments.out_dir.iterdir()):
        parser.error(f"{arguments.out_dir} is not empty")
    arguments.out_dir.mkdir(parents=True, exist_ok=True)
    write(arguments.out_dir)
    return 0


if __name__ == "__main__":
    sys.exit(main())
