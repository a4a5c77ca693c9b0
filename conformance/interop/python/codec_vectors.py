"""Prints test vectors for codecs: known inputs encoded by numcodecs.

Each line is a JSON object:

  codec    the configuration, as in a v2 metadata document
  dtype    NumPy type of the elements ("|O" for items of variable length)
  input    name of the input
  decoded  hex of the decoded form of `encoded`: the elements in NumPy's memory, in C order;
           for "|O" each item as a u32 little endian byte length and the bytes
  encoded  hex of the stored bytes
  from     hex of the encoder's input, only if it differs from `decoded` (lossy configurations)
  writer   program and version

Every vector is decoded again before it is printed, except the few that numcodecs cannot
read itself.
"""

import argparse
import json
import lzma
import struct
import sys
from collections.abc import Iterator

import numcodecs
import numpy as np

TEXTS = ("", "a", "é", "日本", "😀", "word " * 6)


def byte_codecs() -> Iterator[dict]:
    """Yields codecs that accept any bytes."""
    for level in (-1, 0, 1, 9):
        yield {"id": "zlib", "level": level}
        yield {"id": "gzip", "level": level}
    for level in (1, 9):
        yield {"id": "bz2", "level": level}
    for level in (-5, 0, 22):
        for checksum in (False, True):
            yield {"id": "zstd", "level": level, "checksum": checksum}
    for acceleration in (1, 10):
        yield {"id": "lz4", "acceleration": acceleration}
    lzma2 = {"id": lzma.FILTER_LZMA2, "preset": 6}
    delta = {"id": lzma.FILTER_DELTA, "dist": 4}
    x86 = {"id": lzma.FILTER_X86}
    for form, check, preset, filters in (
        (lzma.FORMAT_XZ, -1, None, None),
        (lzma.FORMAT_XZ, lzma.CHECK_NONE, 0, None),
        (lzma.FORMAT_XZ, lzma.CHECK_CRC32, 1, None),
        (lzma.FORMAT_XZ, lzma.CHECK_SHA256, 9, None),
        (lzma.FORMAT_XZ, -1, None, [delta, lzma2]),
        (lzma.FORMAT_XZ, -1, None, [x86, lzma2]),
        (lzma.FORMAT_ALONE, -1, 1, None),
        (lzma.FORMAT_RAW, -1, None, [lzma2]),
        (lzma.FORMAT_RAW, -1, None, [delta, lzma2]),
        (lzma.FORMAT_RAW, -1, None, [{"id": lzma.FILTER_LZMA1, "preset": 1}]),
    ):
        yield {"id": "lzma", "format": form, "check": check, "preset": preset, "filters": filters}
    for location in ("start", "end"):
        yield {"id": "crc32c", "location": location}


def sized_codecs(dtype: str) -> Iterator[dict]:
    """Yields codecs whose result depends on the element size or type."""
    for cname in numcodecs.blosc.list_compressors():
        for shuffle in (0, 1, 2, -1) if cname == "lz4" else (0, 1, 2):
            yield {"id": "blosc", "cname": cname, "clevel": 5, "shuffle": shuffle, "blocksize": 0}
    for clevel, blocksize in ((0, 0), (9, 0), (5, 256)):
        yield {"id": "blosc", "cname": "lz4", "clevel": clevel, "shuffle": 1, "blocksize": blocksize}
    yield {"id": "shuffle", "elementsize": np.dtype(dtype).itemsize}
    yield {"id": "delta", "dtype": dtype}


def typed_codecs() -> Iterator[tuple[dict, str]]:
    """Yields array filters with a separate type, and the type of their elements."""
    for dtype, astype in (("<i4", "<i2"), ("<i4", "<i8"), (">i4", "<i2"), ("<f8", "<f4"), ("<u2", "|u1")):
        yield {"id": "delta", "dtype": dtype, "astype": astype}, dtype
    for dtype, astype, offset, scale in (
        ("<f8", "|u1", 1000, 10),
        ("<f8", "<i2", 0, 100),
        ("<f4", "<i4", -1.5, 8),
        (">f8", "<i2", 0, 1),
        ("<f8", "<f4", 5, 0.5),
        ("<i4", "<i2", 100, 2),
    ):
        yield {"id": "fixedscaleoffset", "dtype": dtype, "astype": astype, "offset": offset, "scale": scale}, dtype


def inputs(dtype: str, small: bool) -> Iterator[tuple[str, np.ndarray]]:
    """Yields named 1-dimensional arrays."""
    random = np.random.default_rng(20221202)
    yield "empty", np.zeros(0, dtype)
    yield "one", np.array([7], dtype)
    yield "ramp", np.arange(6).astype(dtype)
    yield "compressible", (np.arange(32 if small else 512) // 8).astype(dtype)
    yield "random", np.frombuffer(random.bytes(12 * np.dtype(dtype).itemsize), dtype)
    if not small:
        yield "random-long", np.frombuffer(random.bytes(300 * np.dtype(dtype).itemsize), dtype)


def float_inputs(dtype: str) -> Iterator[tuple[str, np.ndarray]]:
    """Yields numbers that a scaled integer can represent, including ties."""
    yield "empty", np.zeros(0, dtype)
    yield "one", np.array([1000], dtype)
    yield "steps", np.array([1000, 1000.11, 1000.25, 1001.9, 1000.5, 1001.5], dtype)


def item_bytes(items: np.ndarray) -> bytes:
    """Returns items of variable length, each with its u32 byte length."""
    raw = [item.encode() if isinstance(item, str) else bytes(item) for item in items.ravel()]
    return b"".join(struct.pack("<I", len(item)) + item for item in raw)


def not_read_back(configuration: dict, name: str) -> bool:
    """Returns whether numcodecs can write this but not read it (the affected codecs are lossless)."""
    xz_filters = configuration.get("format") == lzma.FORMAT_XZ and configuration["filters"] is not None
    return xz_filters or (configuration["id"] in ("blosc", "lz4", "zstd") and name == "empty")


def suits_delta(given: np.ndarray) -> bool:
    """Excludes empty input, on which numcodecs fails, and random floats with NaN, whose difference is meaningless."""
    return given.size > 0 and not (given.dtype.kind in "fc" and bool(np.isnan(given).any()))


def vector(configuration: dict, dtype: str, name: str, given: np.ndarray) -> dict:
    """Encodes and decodes the input, and describes both results."""
    codec = numcodecs.get_codec(dict(configuration))
    encoded = bytes(numcodecs.compat.ensure_bytes(codec.encode(given)))
    if dtype == "|O":
        source = item_bytes(given)
        decoded = item_bytes(codec.decode(encoded))
    else:
        source = given.tobytes()
        if not_read_back(configuration, name):
            decoded = source
        else:
            decoded = bytes(numcodecs.compat.ensure_bytes(codec.decode(encoded)))
    if len(decoded) != len(source):
        raise ValueError(f"{configuration} on {name}: {len(source)} bytes came back as {len(decoded)}")
    line = {
        "codec": configuration,
        "dtype": dtype,
        "input": name,
        "decoded": decoded.hex(),
        "encoded": encoded.hex(),
        "writer": f"numcodecs {numcodecs.__version__}",
    }
    if source != decoded:
        line["from"] = source.hex()
    return line


def vectors(small: bool) -> Iterator[dict]:
    """Yields all vectors; `small` limits them to one or two inputs per configuration."""
    yield from byte_vectors(small)
    for dtype in ("<i4",) if small else ("|u1", "<i2", "<i4", ">i4", "<f4", "<f8", "<c16"):
        yield from sized_vectors(dtype, small)
    yield from typed_vectors(small)
    yield from item_vectors()


def byte_vectors(small: bool) -> Iterator[dict]:
    """Yields vectors of codecs on bytes."""
    for configuration in byte_codecs():
        for name, given in inputs("|u1", small):
            if small and name in ("one", "random") and configuration["id"] not in ("crc32c", "lz4"):
                continue
            yield vector(configuration, "|u1", name, given)


def sized_vectors(dtype: str, small: bool) -> Iterator[dict]:
    """Yields vectors of codecs that depend on the element size."""
    for configuration in sized_codecs(dtype):
        for name, given in inputs(dtype, small):
            if small and (configuration["id"] == "blosc") != (name == "compressible"):
                continue
            if configuration["id"] != "delta" or suits_delta(given):
                yield vector(configuration, dtype, name, given)


def typed_vectors(small: bool) -> Iterator[dict]:
    """Yields vectors of filters with a separate type, without inputs that do not fit the narrower type."""
    for configuration, dtype in typed_codecs():
        if configuration["id"] == "fixedscaleoffset":
            for name, given in float_inputs(dtype):
                yield vector(configuration, dtype, name, given)
            continue
        for name, given in inputs(dtype, small=True):
            if suits_delta(given) and name != "random" and not (small and name == "compressible"):
                yield vector(configuration, dtype, name, given)


def item_vectors() -> Iterator[dict]:
    """Yields vectors of codecs for items of variable length."""
    for count in (0, 1, len(TEXTS)):
        texts = np.array(TEXTS[len(TEXTS) - count :], dtype=object)
        yield vector({"id": "vlen-utf8"}, "|O", f"{count} texts", texts)
        blobs = np.empty(count, dtype=object)
        blobs[:] = [text.encode() + b"\x00\xff" for text in texts]
        yield vector({"id": "vlen-bytes"}, "|O", f"{count} byte strings", blobs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--codec", action="append", metavar="ID", help="only this codec (may be repeated)")
    parser.add_argument("--small", action="store_true", help="short inputs only")
    arguments = parser.parse_args()
    for line in vectors(arguments.small):
        if not arguments.codec or line["codec"]["id"] in arguments.codec:
            json.dump(line, sys.stdout, separators=(",", ":"))
            sys.stdout.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
