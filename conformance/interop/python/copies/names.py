"""Writes an array for each codec of numcodecs that zarr-python reads in v3, and compares copies with the originals.

names.py write FOLDER: writes `v2` and `v3`, with an array named after each codec.
names.py compare SOURCE COPY: exits with status 1 if an array cannot be read or differs.
names.py open ARRAY: exits with status 1 if the array cannot be read.
"""

import sys
import warnings

import numcodecs
import numpy as np
import zarr
import zarr.codecs.numcodecs as v3

warnings.simplefilter("ignore")

# numcodecs identifies a codec by `id`, zarr-python by `numcodecs.` and the `id`. Each row also has the kind,
# configuration and data type.
CODECS = [
    ("adler32", "compressors", v3.Adler32, {}, "f4"),
    ("astype", "filters", v3.AsType, {"encode_dtype": "<f4", "decode_dtype": "<f8"}, "f8"),
    ("bitround", "filters", v3.BitRound, {"keepbits": 10}, "f4"),
    ("blosc", "compressors", v3.Blosc, {"cname": "lz4", "clevel": 3, "shuffle": 1}, "f4"),
    ("bz2", "compressors", v3.BZ2, {"level": 1}, "f4"),
    ("crc32", "compressors", v3.CRC32, {}, "f4"),
    ("delta", "filters", v3.Delta, {"dtype": "<i4"}, "i4"),
    (
        "fixedscaleoffset",
        "filters",
        v3.FixedScaleOffset,
        {"offset": 0, "scale": 4, "dtype": "<f8", "astype": "<i2"},
        "f8",
    ),
    ("fletcher32", "compressors", v3.Fletcher32, {}, "f4"),
    ("gzip", "compressors", v3.GZip, {"level": 1}, "f4"),
    ("jenkins_lookup3", "compressors", v3.JenkinsLookup3, {}, "f4"),
    ("lz4", "compressors", v3.LZ4, {"acceleration": 1}, "f4"),
    ("lzma", "compressors", v3.LZMA, {"preset": 1}, "f4"),
    ("packbits", "filters", v3.PackBits, {}, "bool"),
    ("quantize", "filters", v3.Quantize, {"digits": 3, "dtype": "<f4"}, "f4"),
    ("shuffle", "compressors", v3.Shuffle, {"elementsize": 4}, "f4"),
    ("zlib", "compressors", v3.Zlib, {"level": 1}, "f4"),
    ("zstd", "compressors", v3.Zstd, {"level": 1}, "f4"),
]

# zarr-python itself reads a v3 array with `packbits` only if its chunks are multiples of eight elements.
SHAPE, CHUNKS = (24,), (8,)


def elements(dtype):
    return (np.arange(24) / 4).astype(dtype)


def write(folder):
    for name, kind, codec, configuration, dtype in CODECS:
        options = {"filters": None, "compressors": None, "chunks": CHUNKS, "shape": SHAPE, "dtype": dtype}
        in_v3 = {**options, kind: [codec(**configuration)]}
        zarr.create_array(f"{folder}/v3", name=name, zarr_format=3, **in_v3)[:] = elements(dtype)
        in_v2 = {**options, kind: [numcodecs.get_codec({"id": name, **configuration})]}
        zarr.create_array(f"{folder}/v2", name=name, zarr_format=2, **in_v2)[:] = elements(dtype)


def differences(source, copy):
    for name, *_ in CODECS:
        try:
            ours = zarr.open_array(f"{copy}/{name}", mode="r")
            theirs = zarr.open_array(f"{source}/{name}", mode="r")
            if not np.array_equal(ours[:], theirs[:]):
                yield f"{name}: {ours[:]} instead of {theirs[:]}"
        except Exception as error:
            yield f"{name}: {type(error).__name__}: {error}"


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2])
    elif sys.argv[1] == "open":
        zarr.open_array(sys.argv[2], mode="r")[:]
    else:
        found = list(differences(sys.argv[2], sys.argv[3]))
        print("\n".join(found))
        sys.exit(bool(found))
