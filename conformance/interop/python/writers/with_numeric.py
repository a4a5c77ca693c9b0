"""Writes numeric codecs, checksums, and items of variable length with zarr-python 3 and numcodecs.

Every codec is written in v2, and also in v3 if numcodecs has a name for it in v3.
"""

import json
import warnings

import numcodecs
import numpy as np
from numcodecs.zfpy import ZFPY
from zarr.codecs import CastValue, ScaleOffset

from cases import CaseBook
from codec_tables import in_v3, label
from samples import TEXTS, sample, smooth
from writers import with_numcodecs
from writers.with_zarr3 import Store

SHAPE, CHUNKS = (9, 8), (4, 8)
FILTERS = [
    *(("<f2", {"id": "bitround", "keepbits": bits}) for bits in (1, 5, 10)),
    *(("<f4", {"id": "bitround", "keepbits": bits}) for bits in (1, 3, 23)),
    *(("<f8", {"id": "bitround", "keepbits": bits}) for bits in (2, 29, 52)),
    *(("<f4", {"id": "quantize", "digits": digits, "dtype": "<f4", "astype": "<f2"}) for digits in (0, 1, 3)),
    *(("<f8", {"id": "quantize", "digits": digits, "dtype": "<f8", "astype": "<f4"}) for digits in (0, 2, 5)),
    *((dtype, {"id": "quantize", "digits": 2, "dtype": dtype}) for dtype in ("<f2", "<f4", "<f8")),
    ("<i4", {"id": "astype", "encode_dtype": "<i8", "decode_dtype": "<i4"}),
    ("<i4", {"id": "astype", "encode_dtype": "|i1", "decode_dtype": "<i4"}),
    ("<u2", {"id": "astype", "encode_dtype": "<f4", "decode_dtype": "<u2"}),
    ("<f8", {"id": "astype", "encode_dtype": "<f4", "decode_dtype": "<f8"}),
    ("<f4", {"id": "astype", "encode_dtype": "<f2", "decode_dtype": "<f4"}),
    ("|b1", {"id": "packbits"}),
]
CHECKSUMS = [
    *({"id": name, "location": location} for name in ("crc32", "adler32") for location in ("start", "end")),
    {"id": "fletcher32"},
    {"id": "jenkins_lookup3"},
    {"id": "jenkins_lookup3", "initval": 7},
]
ZFP_MODES = [{}, {"mode": 4, "tolerance": 0.01}, {"mode": 3, "precision": 12}, {"mode": 2, "rate": 14}]
ITEMS = [None, True, -1, 2**53, 0.1, 1234.5, "", "é 日本 😀", [], [1, [2.5, "x"]], {}, {"ключ": {"b": None}}]


def write(directory) -> None:  # noqa: ANN001
    """Writes everything."""
    warnings.simplefilter("ignore")
    book = CaseBook(directory)
    for zarr_format in (2, 3):
        numbers(book, zarr_format)
    values_of_v3(book)
    items(book)
    book.save()


def numbers(book: CaseBook, zarr_format: int) -> None:
    """Writes filters, checksums and compressors of numbers."""

    def codec(configuration: dict) -> object:
        return in_v3(configuration) if zarr_format == 3 else numcodecs.get_codec(dict(configuration))

    store = Store(book, f"v{zarr_format}-filters", zarr_format)
    for dtype, configuration in FILTERS:
        if zarr_format == 3 and configuration["id"] == "quantize" and configuration.get("astype", dtype) != dtype:
            # If `astype` differs from the type of the array, zarr-python uses it as the type of the array.
            continue
        values = elements(dtype, configuration["id"])
        name = f"{dtype[1:]}-{label(configuration)}"
        store.array(name, values, CHUNKS, filters=[codec(configuration)], lossy=True)
    store = Store(book, f"v{zarr_format}-checksums", zarr_format)
    for number, configuration in enumerate(CHECKSUMS):
        for dtype in ("|u1", "<i4"):
            name = f"{dtype[1:]}-{configuration['id']}{number}"
            store.array(name, sample(dtype, SHAPE), CHUNKS, compressors=[codec(configuration)])
    store = Store(book, f"v{zarr_format}-compressed", zarr_format)
    for dtype in ("<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"):
        for level in (0, 8, 12):
            compressed(store, f"{dtype[1:]}-pcodec{level}", smooth(dtype, SHAPE), {"id": "pcodec", "level": level})
    special = {"id": "pcodec", "delta_spec": "try_consecutive", "delta_encoding_order": 2, "equal_pages_up_to": 10}
    compressed(store, "pcodec-pages", sample("<i8", SHAPE), special)
    for dtype in ("<i4", "<i8", "<f4", "<f8"):
        # zfpy does not support a tolerance for integers.
        for number, mode in enumerate(ZFP_MODES):
            if dtype[1] == "f" or mode.get("mode") != 4:
                configuration = {key: value for key, value in ZFPY(**mode).get_config().items() if value is not None}
                compressed(store, f"{dtype[1:]}-zfpy{number}", smooth(dtype, (9, 8, 5)), configuration)


def elements(dtype: str, codec: str) -> np.ndarray:
    """Returns numbers that a numeric codec can encode."""
    if codec == "bitround":
        return sample(dtype, SHAPE)
    return sample(dtype, SHAPE) if dtype == "|b1" else smooth(dtype, SHAPE)


def compressed(store: Store, name: str, values: np.ndarray, configuration: dict) -> None:
    """Writes an array with an array-to-bytes codec."""
    chunks = (4, *values.shape[1:])
    if store.zarr_format == 3:
        store.array(name, values, chunks, serializer=in_v3(configuration), lossy=True)
    else:
        store.array(name, values, chunks, compressors=numcodecs.get_codec(dict(configuration)), lossy=True)


def values_of_v3(book: CaseBook) -> None:
    """Writes the codecs of the extension registry that zarr-python supports."""
    store = Store(book, "v3-values")
    for rounding in ("nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"):
        for data_type in ("int8", "uint16", "float16"):
            for source in ("<f4", "<f8"):
                codec = CastValue(data_type=data_type, rounding=rounding, out_of_range="clamp")
                values = (smooth(source, SHAPE) * 0.37).astype(source)
                store.array(f"{source[1:]}-{data_type}-{rounding}", values, CHUNKS, filters=[codec], lossy=True)
    wrapping = CastValue(data_type="int8", out_of_range="wrap", rounding="towards-zero")
    store.array("wrap", smooth("<i4", SHAPE) * 37, CHUNKS, filters=[wrapping], lossy=True)
    narrow = smooth("<i4", SHAPE) % 100
    store.array("exact", narrow.astype("<i4"), CHUNKS, filters=[CastValue(data_type="uint8")])
    missing = smooth("<f8", SHAPE)
    missing[::2, ::3] = np.nan
    mapped = CastValue(
        data_type="int16",
        out_of_range="clamp",
        scalar_map={"encode": {"NaN": -32768}, "decode": {-32768: "NaN"}},
    )
    store.array("map", missing, CHUNKS, filters=[mapped], fill_value=np.nan, lossy=True)
    for dtype in ("<f4", "<f8"):
        codec = ScaleOffset(offset=-10, scale=0.5)
        store.array(f"{dtype[1:]}-scaled", smooth(dtype, SHAPE), CHUNKS, filters=[codec], lossy=True)
        chain = [codec, CastValue(data_type="int32", out_of_range="clamp")]
        store.array(f"{dtype[1:]}-scaled-cast", smooth(dtype, SHAPE), CHUNKS, filters=chain, lossy=True)
    store.array("i4-scaled", smooth("<i4", SHAPE), CHUNKS, filters=[ScaleOffset(offset=5, scale=3)])


def items(book: CaseBook) -> None:
    """Writes objects of v2, and a codec that encodes bytes as text."""
    store = with_numcodecs.Store(book, "items")
    loose = {"id": "json2", "ensure_ascii": False, "separators": [", ", ": "]}
    for number, codec in enumerate(({"id": "json2"}, loose, {"id": "msgpack2"})):
        objects(store, f"{codec['id']}-{number}", codec, ITEMS, [text_of(item) for item in ITEMS])
    labels = ["", "a", "é", "日本"]
    for astype in ("|u1", "<i4"):
        codec = {"id": "categorize", "labels": labels, "dtype": "|O", "astype": astype}
        values = [labels[number % 4] for number in range(12)] + ["not there"]
        wanted = [value if value in labels else "" for value in values]
        objects(store, f"categorize-{astype[1:]}", codec, values, wanted)
    for dtype in ("|u1", "<f8"):
        for place in ("filters", "compressor"):
            codec = {"id": "base64"}
            options = {"filters": [codec]} if place == "filters" else {"compressor": codec}
            store.array(f"base64-{dtype[1:]}-{place}", sample(dtype, SHAPE), CHUNKS, **options)


def text_of(item: object) -> bytes:
    """Returns the JSON text of an item, which is its element."""
    return json.dumps(item, ensure_ascii=False, separators=(",", ":")).encode()


def objects(store: with_numcodecs.Store, name: str, codec: dict, values: list, wanted: list) -> None:
    """Writes one chunk of objects."""
    array = np.empty(len(values), object)
    array[:] = values
    expected = np.empty(len(wanted), object)
    expected[:] = wanted
    directory = store.document(name, array, (len(values),), filters=[codec], fill_value=None, dtype="|O")
    (directory / "0").write_bytes(numcodecs.compat.ensure_bytes(numcodecs.get_codec(dict(codec)).encode(array)))
    store.book.array(store.name, f"/{name}", "v2", expected)
