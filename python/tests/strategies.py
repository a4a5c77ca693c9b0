"""Settings and strategies of Hypothesis that several tests share.

The examples are the same in each run. With `ZARR_LONG=1`, there are more of them, and they differ from run to run.
"""

import os
from collections.abc import Callable
from typing import Any

import numcodecs
import numpy as np
import zarr.codecs
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.typing import NDArray

IS_LONG = os.environ.get("ZARR_LONG") == "1"
MORE = 25

FIXED = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "datetime64[s]",
    "datetime64[ns]",
    "timedelta64[10us]",
    "timedelta64[D]",
    "S1",
    "S3",
    "U1",
    "U4",
]


def examples[F: Callable[..., Any]](count: int, **others: Any) -> Callable[[F], F]:
    """Return the decorator of a test with this number of examples and other settings."""
    number = count * MORE if IS_LONG else count
    decorate: Callable[[F], F] = settings(max_examples=number, deadline=None, derandomize=not IS_LONG, **others)
    return decorate


@st.composite
def elements(draw: st.DrawFn, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Draw an array of a fixed or variable size per element. Some are almost only zeros."""
    if dtype.kind == "T":
        words = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
        return draw(npst.arrays(object, shape, elements=words)).astype(dtype)
    drawn: NDArray[Any] = draw(npst.arrays(dtype, shape))
    # zarr-python treats negative zeros of complex numbers as the fill value 0. The engine stores them.
    return drawn + dtype.type(0) if dtype.kind == "c" else drawn


@st.composite
def grids(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Draw the shape of an array and of its chunks."""
    shape: tuple[int, ...] = draw(st.lists(st.integers(0, 7), max_size=4).map(tuple))
    return shape, tuple(draw(st.integers(1, max(length, 1) + 1)) for length in shape)


@st.composite
def v3_arrays(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the arguments that create an array of v3."""
    shape, chunks = draw(grids())
    dtype = np.dtype(draw(st.sampled_from([*FIXED, "T"])))
    arguments: dict[str, Any] = {"zarr_format": 3, "shape": shape, "chunks": chunks, "dtype": dtype}
    if draw(st.booleans()) and shape:
        arguments["shards"] = tuple(length * draw(st.integers(1, 3)) for length in chunks)
    compressors: list[Any] = [
        "auto",
        None,
        zarr.codecs.GzipCodec(level=1),
        zarr.codecs.ZstdCodec(level=1, checksum=True),
        [zarr.codecs.ZstdCodec(level=1), zarr.codecs.Crc32cCodec()],
        [zarr.codecs.Crc32cCodec(), zarr.codecs.GzipCodec(level=9), zarr.codecs.ZstdCodec(level=-1)],
        zarr.codecs.BloscCodec(cname="zstd", clevel=3, shuffle="bitshuffle", typesize=max(dtype.itemsize, 1)),
        zarr.codecs.BloscCodec(cname="zlib", clevel=9, shuffle="noshuffle", typesize=max(dtype.itemsize, 1)),
        zarr.codecs.BloscCodec(cname="lz4", clevel=1, shuffle="shuffle", typesize=max(dtype.itemsize, 1)),
    ]
    arguments["compressors"] = draw(st.sampled_from(compressors))
    if dtype.kind in "iufcmM" and dtype.itemsize > 1 and draw(st.booleans()):
        arguments["serializer"] = zarr.codecs.BytesCodec(endian="big")
    if len(shape) > 1 and dtype.kind != "T" and draw(st.booleans()):
        # The engine does not store a transposition without effect.
        orders = st.permutations(range(len(shape))).filter(lambda order: order != sorted(order))
        arguments["filters"] = [zarr.codecs.TransposeCodec(order=draw(orders))]
    separator = draw(st.sampled_from(["/", "."]))
    name = draw(st.sampled_from(["default", "v2"]))
    arguments["chunk_key_encoding"] = {"name": name, "separator": separator}
    if draw(st.booleans()) and shape:
        arguments["dimension_names"] = [draw(st.sampled_from([None, "", "x", "é"])) for _ in shape]
    return arguments


@st.composite
def v2_arrays(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the arguments that create an array of v2."""
    shape, chunks = draw(grids())
    dtype = np.dtype(draw(st.sampled_from([*FIXED, "T"])))
    if dtype.kind in "iufcmMU" and draw(st.booleans()):
        dtype = dtype.newbyteorder(">")
    arguments: dict[str, Any] = {"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": dtype}
    arguments["order"] = draw(st.sampled_from(["C", "F"]))
    compressors = [
        None,
        numcodecs.Zstd(1),
        numcodecs.GZip(1),
        numcodecs.Zlib(1),
        numcodecs.BZ2(1),
        numcodecs.LZ4(),
        numcodecs.LZMA(preset=1),
        numcodecs.Blosc("zstd", 1, numcodecs.Blosc.BITSHUFFLE),
        numcodecs.Blosc("lz4", 5, numcodecs.Blosc.SHUFFLE),
        numcodecs.Blosc("blosclz", 9, numcodecs.Blosc.NOSHUFFLE),
    ]
    arguments["compressors"] = draw(st.sampled_from(compressors))
    filters: list[list[Any]] = [[]]
    if dtype.kind in "iu":
        filters += [[numcodecs.Delta(dtype.str)], [numcodecs.Delta(dtype.str), numcodecs.Shuffle(dtype.itemsize)]]
    if dtype.kind in "iufcSU":
        filters += [[numcodecs.Shuffle(dtype.itemsize)]]
    if dtype.kind == "b":
        filters += [[numcodecs.PackBits()]]
    if (drawn := draw(st.sampled_from(filters))) != []:
        arguments["filters"] = drawn
    arguments["chunk_key_encoding"] = {"name": "v2", "separator": draw(st.sampled_from(["/", "."]))}
    return arguments


@st.composite
def fill_values(draw: st.DrawFn, dtype: np.dtype[Any]) -> Any:
    """Draw a fill value, often zero."""
    if dtype.kind == "T":
        return draw(st.sampled_from(["", "none"]))
    drawn = draw(st.one_of(st.just(np.zeros((), dtype)[()]), npst.from_dtype(dtype)))
    return drawn + dtype.type(0) if dtype.kind == "c" else drawn
