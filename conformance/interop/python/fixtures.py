"""Prints the chunks of other programs for `conformance/src/suite/codec/fixtures.tsv`:

    TABLE=conformance/src/suite/codec/fixtures.tsv
    target/interop/zarr3-.../bin/python conformance/interop/python/fixtures.py $TABLE > new.tsv && mv new.tsv $TABLE

Some codecs use libraries that come with Python, whose versions differ between machines. Their rows in the given
table are kept as long as they decode to the same elements. Each line is one chunk, in tab-separated columns (see
`COLUMNS`). Elements are in the memory form of a little endian machine. Elements of variable size are 64-bit
offsets, one more than there are elements, followed by the payload. The program that encoded a chunk also decodes it
again, and the table holds that result.
"""

import json
import lzma
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import imagecodecs.numcodecs
import imagecodecs.zarr
import numcodecs
import numpy as np
import tensorstore
import zarr
import zfpy

COLUMNS = ("format", "codec", "data type", "shape", "decoded", "encoded", "program")
NUMCODECS = f"numcodecs {numcodecs.__version__}"
IMAGECODECS = f"imagecodecs {imagecodecs.__version__}"
TABLE = Path(sys.argv[1]).read_text().splitlines() if sys.argv[1:] else []
TEXTS = ["", "a", "é", "日本", "😀"]
ITEMS = [None, True, -1, 0.5, "é", [1, [2.5, "x"]], {"a": {"b": None}}]


def line(form: str, codec: dict, data_type: str, shape: tuple, decoded: bytes, encoded: bytes, program: str) -> str:
    document = json.dumps(codec, ensure_ascii=False)
    cells = (form, document, data_type, ",".join(map(str, shape)), decoded.hex(), encoded.hex(), program)
    return "\t".join(cells)


def ramp(dtype: str, shape: tuple = (4, 6)) -> np.ndarray:
    """Returns numbers in which each differs from the previous one."""
    numbers = np.arange(np.prod(shape)).reshape(shape)
    return ((numbers * 7 - 30) / (8 if dtype[1] == "f" else 1)).astype(dtype)


def steps(dtype: str) -> np.ndarray:
    """Returns numbers that compress well."""
    return (np.arange(48) // 8).astype(dtype).reshape(6, 8)


def of_variable_size(items: list[bytes]) -> bytes:
    offsets = np.cumsum([0, *map(len, items)]).astype("<u8")
    return offsets.tobytes() + b"".join(items)


def by_numcodecs(codec: dict, given: np.ndarray) -> str:
    """Returns a row for elements of fixed size; filters of numcodecs lose the shape."""
    made = numcodecs.get_codec(dict(codec))
    encoded = bytes(numcodecs.compat.ensure_bytes(made.encode(given)))
    if codec["id"] in BY_PYTHON:
        encoded = next((old for old in known(codec, given) if bytes(made.decode(old)) == given.tobytes()), encoded)
    stored = np.frombuffer(encoded, made.encode(given).dtype) if codec["id"] in FILTERS else encoded
    decoded = bytes(numcodecs.compat.ensure_bytes(made.decode(stored)))
    program = IMAGECODECS if codec["id"].startswith("imagecodecs_") else NUMCODECS
    return line("v2", codec, given.dtype.name, given.shape, decoded, encoded, program)


# Codecs whose libraries come with Python or the machine.
BY_PYTHON = ("bz2", "gzip", "lzma", "zlib")
FILTERS = ("astype", "bitround", "delta", "fixedscaleoffset", "packbits", "quantize")


def known(codec: dict, given: np.ndarray) -> Iterator[bytes]:
    """Yields the encoded bytes in the table for these elements and this codec."""
    wanted = line("v2", codec, given.dtype.name, given.shape, given.tobytes(), b"", NUMCODECS).split("\t")
    for row in TABLE:
        cells = row.split("\t")
        if cells[:5] == wanted[:5]:
            yield bytes.fromhex(cells[5])


def of_bytes() -> Iterator[str]:
    """Yields rows of compressors and checksums."""
    for given in (steps("<i2"), ramp("|u1")):
        yield by_numcodecs({"id": "base64"}, given)
        yield by_numcodecs({"id": "bz2", "level": 9}, given)
        yield by_numcodecs({"id": "gzip", "level": 6}, given)
        yield by_numcodecs({"id": "lz4", "acceleration": 1}, given)
        yield by_numcodecs({"id": "zlib", "level": 6}, given)
        yield by_numcodecs({"id": "zstd", "level": 3, "checksum": False}, given)
        yield by_numcodecs({"id": "zstd", "level": 19, "checksum": True}, given)
        for location in ("start", "end"):
            for checksum in ("adler32", "crc32", "crc32c"):
                yield by_numcodecs({"id": checksum, "location": location}, given)
        yield by_numcodecs({"id": "fletcher32"}, given)
        yield by_numcodecs({"id": "jenkins_lookup3", "initval": 5, "prefix": None}, given)
    for form, check, filters in (
        (lzma.FORMAT_XZ, lzma.CHECK_CRC32, None),
        (lzma.FORMAT_ALONE, -1, None),
        (lzma.FORMAT_RAW, -1, [{"id": lzma.FILTER_DELTA, "dist": 2}, {"id": lzma.FILTER_LZMA2, "preset": 6}]),
    ):
        preset = None if filters else 1
        codec = {"id": "lzma", "format": form, "check": check, "preset": preset, "filters": filters}
        yield by_numcodecs(codec, steps("<i2"))
    for cname in numcodecs.blosc.list_compressors():
        for shuffle in (0, 1, 2):
            codec = {"id": "blosc", "cname": cname, "clevel": 5, "shuffle": shuffle, "blocksize": 0}
            yield by_numcodecs(codec, steps("<i2"))
    for dtype in ("<i2", "<f8"):
        yield by_numcodecs({"id": "shuffle", "elementsize": np.dtype(dtype).itemsize}, ramp(dtype))


def of_numbers() -> Iterator[str]:
    """Yields rows of filters, and of compressors that depend on the data type."""
    for dtype, narrow in (("<i4", "<i2"), ("<f8", "<f4")):
        yield by_numcodecs({"id": "astype", "encode_dtype": narrow, "decode_dtype": dtype}, ramp(dtype))
        yield by_numcodecs({"id": "delta", "dtype": dtype}, ramp(dtype, (24,)))
        yield by_numcodecs({"id": "delta", "dtype": dtype, "astype": narrow}, ramp(dtype, (24,)))
        scaled = {"id": "fixedscaleoffset", "scale": 2, "offset": 5, "dtype": dtype, "astype": narrow}
        yield by_numcodecs(scaled, ramp(dtype))
    for dtype in ("<f4", "<f8"):
        yield by_numcodecs({"id": "bitround", "keepbits": 4}, ramp(dtype))
        yield by_numcodecs({"id": "quantize", "digits": 1, "dtype": dtype}, ramp(dtype))
    for count in (8, 13):
        yield by_numcodecs({"id": "packbits"}, np.arange(count) % 3 == 0)
    for dtype in ("<i2", "<u4", "<f8"):
        yield by_numcodecs(numcodecs.PCodec(level=8).get_config(), ramp(dtype))
    yield from of_zfp()


def of_zfp() -> Iterator[str]:
    """Yields rows with the header that numcodecs requires, and rows without it, which is `zfp` of v3."""
    for dtype in ("<i4", "<f4", "<f8"):
        given = ramp(dtype)
        for options in ({}, {"tolerance": 0.25}, {"rate": 16.0}, {"precision": 20}):
            if dtype == "<i4" and options:
                continue
            name, value = next(iter(options.items()), ("reversible", None))
            mode = {"reversible": 4, "tolerance": 4, "rate": 2, "precision": 3}[name]
            codec = {"id": "zfpy", "mode": mode, "tolerance": -1, "rate": -1, "precision": -1} | options
            yield by_numcodecs(codec, given)
            encoded = zfpy.compress_numpy(given, write_header=False, **options)
            kind = zfpy.dtype_to_ztype(given.dtype)
            decoded = zfpy._decompress(encoded, kind, given.shape, **options)
            named = {"tolerance": "fixed_accuracy", "rate": "fixed_rate", "precision": "fixed_precision"}
            codec = {"name": "zfp", "configuration": {"mode": named.get(name, name)} | options}
            yield line("v3", codec, given.dtype.name, given.shape, decoded.tobytes(), encoded, f"zfpy {version('zfpy')}")


def of_objects() -> Iterator[str]:
    """Yields rows of texts, byte strings and JSON values."""
    for texts in (TEXTS, ["word " * 6]):
        given = np.array(texts, object)
        encoded = [text.encode() for text in texts]
        yield object_line({"id": "vlen-utf8"}, "string", given, encoded)
        blobs = np.empty(len(texts), object)
        blobs[:] = [text + b"\x00\xff" for text in encoded]
        yield object_line({"id": "vlen-bytes"}, "bytes", blobs, list(blobs))
    for labels in (TEXTS[1:], ["a", "é"]):
        codec = {"id": "categorize", "labels": labels, "dtype": "|O", "astype": "|u1"}
        given = np.array(["é", "a", "", "a"], object)
        yield object_line(codec, "string", given, [text.encode() for text in given])
    for items in (ITEMS, ITEMS[4:]):
        given = np.empty(len(items), object)
        given[:] = items
        texts = [json.dumps(item, ensure_ascii=False, separators=(",", ":")).encode() for item in items]
        for made in (numcodecs.JSON(), numcodecs.MsgPack()):
            yield object_line(made.get_config(), "zarr-kit.json", given, texts)
        for protocol in range(6):
            yield object_line(numcodecs.Pickle(protocol).get_config(), "zarr-kit.json", given, texts)

    yield from of_ragged()


def of_ragged() -> Iterator[str]:
    """Yields rows of arrays of variable length."""
    for dtype, lists in (("<i4", [[1, 2, 3], [], [-4]]), (">i4", [[1, 2, 3], [-4]]), ("<f8", [[0.5], [], [1, -2]])):
        codec = {"id": "vlen-array", "dtype": dtype}
        made = numcodecs.get_codec(dict(codec))
        given = np.empty(len(lists), object)
        given[:] = [np.array(numbers, dtype) for numbers in lists]
        encoded = made.encode(given)
        items = [item.astype(item.dtype.newbyteorder("<")).tobytes() for item in made.decode(encoded)]
        configuration = {"dtype": np.dtype(dtype).name, "inner_shape": []}
        data_type = json.dumps({"name": "vlen-ndarray", "configuration": configuration})
        decoded = of_variable_size(items)
        yield line("v2", codec, data_type, given.shape, decoded, bytes(encoded), NUMCODECS)


def object_line(codec: dict, data_type: str, given: np.ndarray, items: list[bytes]) -> str:
    made = numcodecs.get_codec(dict(codec))
    encoded = made.encode(given)
    if (decoded := made.decode(encoded)).tolist() != given.tolist():
        raise ValueError(f"{codec}: {decoded} instead of {given}")
    stored = bytes(numcodecs.compat.ensure_bytes(encoded))
    return line("v2", codec, data_type, given.shape, of_variable_size(items), stored, NUMCODECS)


def of_zarr_python() -> Iterator[str]:
    """Yields rows of v3 codecs, followed by the codecs that complete their chains."""
    little = {"name": "bytes", "configuration": {"endian": "little"}}
    for order in ("little", "big"):
        yield by_zarr_python({"name": "bytes", "configuration": {"endian": order}}, ramp("<i2"), [])
        yield by_zarr_python({"name": "bytes", "configuration": {"endian": order}}, ramp("<f8", (2, 3)), [])
    yield by_zarr_python({"name": "transpose", "configuration": {"order": [1, 0]}}, ramp("<i2"), [little])
    yield by_zarr_python({"name": "transpose", "configuration": {"order": [2, 0, 1]}}, ramp("<i2", (2, 3, 4)), [little])
    for configuration in ({"data_type": "int16", "out_of_range": "clamp"}, {"data_type": "float32"}):
        yield by_zarr_python({"name": "cast_value", "configuration": configuration}, ramp("<f8"), [little])
    scaled = {"name": "scale_offset", "configuration": {"offset": 5, "scale": 2}}
    for dtype in ("<i4", "<f8"):
        yield by_zarr_python(scaled, ramp(dtype), [little])


def by_zarr_python(codec: dict, given: np.ndarray, behind: list[dict]) -> str:
    """Returns a row for an uncompressed array with one chunk."""
    chain = [codec, *behind]
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(given.shape),
        "data_type": given.dtype.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(given.shape)}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": 0,
        "codecs": chain,
    }
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "zarr.json").write_text(json.dumps(document))
        array = zarr.open_array(folder, mode="r+")
        array[...] = given
        encoded = Path(folder, "c", *["0"] * given.ndim).read_bytes()
        decoded = np.ascontiguousarray(array[...]).astype(given.dtype).tobytes()
    return line("v3", codec, given.dtype.name, given.shape, decoded, encoded, f"zarr-python {zarr.__version__}")


def of_tensorstore() -> Iterator[str]:
    """Yields rows with blocks of N5, whose first dimension is the last one in memory."""
    for dtype in ("<u2", "<f4"):
        given = steps(dtype)
        # Uses only the codecs in the examples of the plugin, because a library may not contain others.
        codecs = [
            {"name": "transpose", "configuration": {"order": [1, 0]}},
            {"name": "bytes", "configuration": {"endian": "big"}},
        ]
        metadata = {"dimensions": list(given.shape), "blockSize": list(given.shape), "dataType": given.dtype.name}
        metadata["compression"] = {"type": "raw"}
        with tempfile.TemporaryDirectory() as folder:
            store = {"driver": "file", "path": f"{folder}/"}
            spec = {"driver": "n5", "kvstore": store, "metadata": metadata, "create": True}
            array = tensorstore.open(spec).result()
            array.write(given).result()
            encoded = Path(folder, "0", "0").read_bytes()
            decoded = np.ascontiguousarray(array.read().result()).tobytes()
        codec = {"name": "n5_default", "configuration": {"codecs": codecs}}
        program = f"tensorstore {version('tensorstore')}"
        yield line("v3", codec, given.dtype.name, given.shape, decoded, encoded, program)


def of_imagecodecs() -> Iterator[str]:
    """Yields rows of the codecs of imagecodecs."""
    for given in (steps("<i2"), ramp("|u1")):
        for name in ("brotli", "lz4h5", "lzf", "lzw", "packbits", "snappy"):
            yield by_numcodecs({"id": f"imagecodecs_{name}"}, given)
        yield by_numcodecs({"id": "imagecodecs_lz4h5", "blocksize": 16}, given)
        yield by_numcodecs({"id": "imagecodecs_lzf", "header": False}, given)
        for name in ("blosc", "bz2", "deflate", "isal", "lz4", "lz4f", "lzma", "zlib", "zlibng", "zopfli", "zstd"):
            yield by_numcodecs({"id": f"imagecodecs_{name}"}, given)
        yield by_numcodecs({"id": "imagecodecs_lz4", "header": True}, given)
        checked = {"blocksizeid": 5, "blockchecksum": True, "contentchecksum": True, "contentsize": True}
        yield by_numcodecs({"id": "imagecodecs_lz4f", **checked}, given)
        yield by_numcodecs({"id": "imagecodecs_lzma", "check": "CRC32"}, given)
        szip = {"options_mask": 40, "pixels_per_block": 8, "pixels_per_scanline": given.shape[-1]}
        yield by_numcodecs({"id": "imagecodecs_szip", "bits_per_pixel": 8 * given.itemsize, **szip}, given)
        for parameters in ({}, {"flags": 0}, {"flags": 12, "rsi": 64}):
            yield by_aec(parameters, given)
        yield by_numcodecs({"id": "imagecodecs_bitshuffle", "itemsize": given.dtype.itemsize}, given)
        yield by_bitshuffle(0, given)
        for compressor in ("blosclz", "lz4", "lz4hc", "zlib", "zstd"):
            codec = {"id": "imagecodecs_blosc", "compressor": compressor, "typesize": given.itemsize}
            yield by_numcodecs(codec | {"shuffle": "shuffle" if compressor == "zlib" else "bitshuffle"}, given)
            codec = {"id": "imagecodecs_blosc2", "compressor": compressor, "typesize": given.itemsize}
            yield by_numcodecs(codec | {"shuffle": 1 if compressor == "zlib" else 2}, given)
    for given in (np.zeros((4, 6), "<i2"), np.tile(ramp("<i4"), (6, 4)), np.full((12, 20), 7, "<i4")):
        yield by_numcodecs({"id": "imagecodecs_blosc2"}, given)
    yield by_bitshuffle(8, ramp("<f8"))
    for given in (ramp("<i4"), ramp("<i8", (2, 3, 4)), ramp("<f4", (24,)), ramp("<f8", (2, 3, 4, 5))):
        repeated = {"shape": list(given.shape), "dtype": given.dtype.str}
        yield by_numcodecs({"id": "imagecodecs_zfp"}, given)
        yield by_numcodecs({"id": "imagecodecs_zfp", "header": False, **repeated}, given)
        yield by_numcodecs({"id": "imagecodecs_pcodec", **repeated}, given)
    yield from of_predictors()
    yield from of_images()


def of_images() -> Iterator[str]:
    """Yields rows of the codecs for images: grey, and in colors."""
    for given in (ramp("|u1"), ramp("<u2", (2, 4, 3)), ramp("|u1", (1, 2, 3, 4))):
        yield by_numcodecs({"id": "imagecodecs_png"}, given)
    # libspng decodes no other images of 16 bits than those with four samples.
    for given in (ramp("|u1"), ramp("|u1", (2, 4, 3)), ramp("<u2", (2, 3, 4))):
        yield by_numcodecs({"id": "imagecodecs_spng"}, given)
    for given in (picture((8, 11)), picture((9, 18, 3))):
        yield by_numcodecs({"id": "imagecodecs_jpeg"}, given)
    yield by_numcodecs({"id": "imagecodecs_jpeg", "level": 50, "subsampling": "420"}, picture((16, 24, 3)))
    for given in (ramp("|u1"), ramp("<u2"), abs(ramp("<f4")), ramp("|u1", (2, 4, 3)), ramp("<u2", (1, 2, 3, 4))):
        yield by_numcodecs({"id": "imagecodecs_jpegxl"}, given)
    for given in (ramp("|u1"), ramp("<u2"), ramp("|u1", (2, 4, 3)), ramp("<u2", (1, 2, 3, 4)), picture((16, 24))):
        yield by_numcodecs({"id": "imagecodecs_jpegls"}, given)
    for given in (picture((16, 24)), picture((9, 18, 3))):
        yield by_numcodecs({"id": "imagecodecs_jpegls", "level": 2}, given)
    for given in (ramp("|u1"), ramp("<u2"), ramp("<i2"), ramp("|u1", (2, 4, 3)), picture((16, 24))):
        yield by_numcodecs({"id": "imagecodecs_jpeg2k", "reversible": True}, given)
        yield by_numcodecs({"id": "imagecodecs_htj2k", "reversible": True}, given)
    for given in (ramp("|u1", (2, 4, 3)), ramp("|u1", (1, 2, 3, 4))):
        yield by_numcodecs({"id": "imagecodecs_webp"}, given)
    for given in (ramp("|u1"), ramp("<i2"), ramp("<f8"), ramp("<u2", (1, 2, 4, 3))):
        yield by_numcodecs({"id": "imagecodecs_lerc"}, given)
    yield by_numcodecs({"id": "imagecodecs_lerc", "level": 0.5}, ramp("<f4"))
    for dtype in ("|i1", "|u1", "<i2", "<u2", "<i4", "<f4"):
        yield by_numcodecs({"id": "imagecodecs_wavpack"}, ramp(dtype))
    yield by_numcodecs({"id": "imagecodecs_wavpack", "channels": True}, ramp("<i2", (40, 3)))


def picture(shape: tuple) -> np.ndarray:
    """Returns bytes that change slowly, as in a photo."""
    rows, columns, *samples = np.indices(shape)
    brightness = 20 * rows + 9 * columns
    scaled = brightness * (samples[0] + 1) // 2 + 60 * samples[0] if samples else brightness
    return np.clip(scaled, 0, 255).astype("|u1")


def of_predictors() -> Iterator[str]:
    little = {"name": "bytes", "configuration": {"endian": "little"}}
    for dtype, axis in (("<i2", -1), ("|u1", 0), ("<f4", -1)):
        given = ramp(dtype)
        yield by_numcodecs({"id": "imagecodecs_delta", "shape": [4, 6], "dtype": dtype, "axis": axis}, given)
        yield by_zarr_python({"name": "imagecodecs_delta", "configuration": {"axis": axis}}, given, [little])
    for dtype in ("<f2", "<f4", "<f8"):
        yield by_numcodecs({"id": "imagecodecs_floatpred", "shape": [4, 6], "dtype": dtype}, ramp(dtype))
    given = ramp("<f4", (2, 4, 3))
    yield by_numcodecs({"id": "imagecodecs_floatpred", "shape": [2, 4, 3], "dtype": "<f4", "axis": -2}, given)


def by_aec(parameters: dict, given: np.ndarray) -> str:
    """Returns a row for `imagecodecs_aec`.

    The functions of imagecodecs encode and check it, because the codec itself assumes a limit of the decoded size.
    """
    encoded = imagecodecs.aec_encode(given, **parameters)
    decoded = imagecodecs.aec_decode(encoded, out=np.empty_like(given), **parameters)
    if decoded.tobytes() != given.tobytes():
        raise ValueError("aec")
    codec = {"id": "imagecodecs_aec", **parameters}
    return line("v2", codec, given.dtype.name, given.shape, given.tobytes(), bytes(encoded), IMAGECODECS)


def by_bitshuffle(blocksize: int, given: np.ndarray) -> str:
    """Returns a row for the codec of v3.

    The functions of imagecodecs encode and check it, because the codec itself decodes all elements as bytes.
    """
    encoded = imagecodecs.bitshuffle_encode(given, itemsize=given.dtype.itemsize, blocksize=blocksize).tobytes()
    if imagecodecs.bitshuffle_decode(encoded, itemsize=given.dtype.itemsize, blocksize=blocksize) != given.tobytes():
        raise ValueError("bitshuffle")
    codec = {"name": "imagecodecs_bitshuffle", "configuration": {"blocksize": blocksize}}
    return line("v3", codec, given.dtype.name, given.shape, given.tobytes(), encoded, IMAGECODECS)


def main() -> None:
    # The pickles are those of this script.
    numcodecs.pickles.ALLOW_UNSAFE_PICKLE_DECODE = True
    imagecodecs.numcodecs.register_codecs(verbose=False)
    imagecodecs.zarr.register_codecs(verbose=False)
    print("\t".join(COLUMNS))
    for group in (of_bytes, of_numbers, of_objects, of_zarr_python, of_tensorstore, of_imagecodecs):
        for printed in group():
            print(printed)


main()
