"""Codec configurations that the writers share: in v2 form (`id` next to the parameters) and in v3 form."""

import lzma

BLOSC_SHUFFLES = {0: "noshuffle", 1: "shuffle", 2: "bitshuffle"}
LZMA2 = {"id": lzma.FILTER_LZMA2, "preset": 1}
LZMA_DELTA = {"id": lzma.FILTER_DELTA, "dist": 4}


def v2_compressors(blosc_names: list[str]) -> list[dict]:
    """Returns compressors of v2, with every parameter that changes the stored form."""
    return [
        *({"id": "zlib", "level": level} for level in (-1, 0, 1, 9)),
        *({"id": "gzip", "level": level} for level in (0, 1, 9)),
        *({"id": "bz2", "level": level} for level in (1, 9)),
        *({"id": "zstd", "level": level} for level in (-3, 0, 1, 19)),
        *({"id": "lz4", "acceleration": acceleration} for acceleration in (1, 8)),
        *lzma_codecs(),
        *blosc_codecs(blosc_names),
        {"id": "blosc", "cname": "zstd", "clevel": 0, "shuffle": 1, "blocksize": 0},
        {"id": "blosc", "cname": "lz4", "clevel": 9, "shuffle": 2, "blocksize": 64},
    ]


def lzma_codecs() -> list[dict]:
    """Returns the containers of lzma, and filter chains that numcodecs can read back (only in raw form)."""
    defaults = {"id": "lzma", "format": lzma.FORMAT_XZ, "check": -1, "preset": None, "filters": None}
    return [
        defaults,
        defaults | {"check": lzma.CHECK_NONE, "preset": 0},
        defaults | {"check": lzma.CHECK_CRC32, "preset": 2},
        defaults | {"check": lzma.CHECK_SHA256, "preset": 9},
        defaults | {"format": lzma.FORMAT_ALONE, "preset": 1},
        defaults | {"format": lzma.FORMAT_RAW, "filters": [LZMA2]},
        defaults | {"format": lzma.FORMAT_RAW, "filters": [LZMA_DELTA, LZMA2]},
    ]


def blosc_codecs(names: list[str]) -> list[dict]:
    """Returns every inner compressor with every shuffle; -1 chooses the shuffle by the element size."""
    return [
        {"id": "blosc", "cname": name, "clevel": 5, "shuffle": shuffle, "blocksize": 0}
        for name in names
        for shuffle in (0, 1, 2, -1)
    ]


def v2_filters(dtype: str, itemsize: int) -> list[list[dict]]:
    """Returns filter chains for integers of this type."""
    delta = {"id": "delta", "dtype": dtype}
    shuffle = {"id": "shuffle", "elementsize": itemsize}
    scaled = {"id": "fixedscaleoffset", "offset": 0, "scale": 1, "dtype": dtype, "astype": dtype}
    return [
        [delta],
        [delta | {"astype": f"{dtype[0]}i8"}],
        [shuffle],
        [delta, shuffle],
        [scaled],
        [scaled | {"offset": 3, "scale": 2, "astype": "<i4"}],
        [scaled, delta, shuffle],
        [{"id": "crc32c"}],
        [{"id": "crc32c", "location": "start"}],
        [delta, {"id": "crc32c"}],
    ]


def in_v3(codec: dict) -> dict:
    """Converts a v2 configuration to v3 with the name `numcodecs.<id>`."""
    return {"name": f"numcodecs.{codec['id']}", "configuration": {k: v for k, v in codec.items() if k != "id"}}


def v3_compressors(typesize: int, blosc_names: list[str]) -> list[dict]:
    """Returns the compressors with names in the v3 specifications."""
    return [
        *(v3("gzip", level=level) for level in (0, 1, 9)),
        *(v3("zstd", level=level, checksum=checksum) for level in (-3, 0, 5, 19) for checksum in (False, True)),
        *(
            v3("blosc", cname=name, clevel=level, shuffle=shuffle, typesize=typesize, blocksize=0)
            for name in blosc_names
            for shuffle in BLOSC_SHUFFLES.values()
            for level in (5,)
        ),
        v3("blosc", cname="lz4", clevel=0, shuffle="shuffle", typesize=typesize, blocksize=0),
        v3("blosc", cname="zstd", clevel=9, shuffle="bitshuffle", typesize=typesize, blocksize=64),
        {"name": "crc32c"},
    ]


def v3(name: str, **configuration: object) -> dict:
    """Returns a v3 extension object."""
    return {"name": name, "configuration": configuration}


def label(codec: dict) -> str:
    """Returns a short node name for a configuration."""
    parts = [codec.get("id", codec.get("name", "")).removeprefix("numcodecs.")]
    for key, value in (codec.get("configuration") or codec).items():
        if key in ("id", "name", "typesize"):
            continue
        text = "-".join(str(item["id"]) for item in value) if isinstance(value, list) else str(value)
        parts.append(f"{key}{text}")
    return "_".join(parts).replace("|", "").replace("<", "le").replace(">", "be")
