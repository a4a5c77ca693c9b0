"""Determines the plugins that an array document needs, by the names of their cargo features."""

from collections.abc import Iterator

CORE = {"bool", "float16", "float32", "float64", "complex64", "complex128"}
CORE |= {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
V3_TYPES = {
    "string": "dtype-string",
    "bytes": "dtype-bytes",
    "variable_length_bytes": "dtype-bytes",
    "numpy.datetime64": "dtype-datetime",
    "numpy.timedelta64": "dtype-datetime",
    "fixed_length_utf32": "dtype-fixed-length",
    "null_terminated_bytes": "dtype-fixed-length",
    "raw_bytes": "dtype-fixed-length",
    "struct": "dtype-struct",
    "structured": "dtype-struct",
}
V2_KINDS = {"M": "dtype-datetime", "m": "dtype-datetime", "S": "dtype-fixed-length", "U": "dtype-fixed-length"}
OBJECTS = {"vlen-utf8": "dtype-string", "categorize": "dtype-string", "json2": "dtype-json", "msgpack2": "dtype-json"}
ENDS = {"C": "layout-c", "F": "layout-f"}


def features(document: dict) -> list[str]:
    """Returns the sorted feature names for an array document of any format."""
    if document.get("zarr_format") == 2:
        found = {*v2_types(document["dtype"], document["filters"]), ENDS[document["order"]]}
        codecs = [*(document["filters"] or ()), document["compressor"]]
        found.update(codec(item["id"]) for item in codecs if item is not None)
    elif document.get("zarr_format") == 3:
        found = {*v3_types(document["data_type"]), *v3_codecs(document["codecs"])}
        found.add(f"key-encoding-{name_of(document['chunk_key_encoding'])}")
    else:
        found = {*draft_features(document)}
    return sorted(found | {"grid-regular"})


def draft_features(document: dict) -> Iterator[str]:
    """Yields the features of the draft before codec lists: v2 type strings, one compressor, attributes with filters."""
    filters = document["attributes"].get("filters") or []
    data_type = document["data_type"]
    yield from v2_types(data_type["type"] if isinstance(data_type, dict) else data_type, filters)
    yield ENDS[document["chunk_memory_layout"]]
    for item in filters:
        yield codec(item["id"])
    if "compressor" in document:
        yield codec(document["compressor"]["codec"].split("/codec/")[1].split("/")[0])
    if document.get("storage_transformers"):
        yield "transformer-sharding"


def v2_types(data_type: object, filters: list[dict] | None) -> Iterator[str]:
    """Yields the features of the types in a v2 type description."""
    if isinstance(data_type, list):
        yield "dtype-struct"
        for _, field, *_ in data_type:
            yield from v2_types(field, filters)
    elif data_type == "|O":
        yield OBJECTS.get(filters[0]["id"] if filters else "", "dtype-bytes")
    elif "V" in data_type:
        yield "dtype-fixed-length"
    else:
        yield V2_KINDS.get(data_type.lstrip("<>|")[0], "dtype-core")


def v3_types(data_type: object) -> Iterator[str]:
    """Yields the features of the types in a v3 `data_type`."""
    name = name_of(data_type)
    if name in CORE or (name[0] == "r" and name[1:].isdigit()):
        yield "dtype-core"
        return
    yield V3_TYPES[name]
    for field in data_type["configuration"].get("fields", ()) if isinstance(data_type, dict) else ():
        yield from v3_types(field["data_type"] if isinstance(field, dict) else field[1])


def v3_codecs(codecs: list[dict]) -> Iterator[str]:
    """Yields the features of the codecs in a v3 chain, including those inside shards."""
    for item in codecs:
        yield codec(name_of(item))
        if name_of(item) == "sharding_indexed":
            yield from v3_codecs(item["configuration"]["codecs"])
            yield from v3_codecs(item["configuration"]["index_codecs"])


def codec(name: str) -> str:
    """Returns the feature of a codec."""
    return "codec-" + name.removeprefix("numcodecs.").replace("_", "-")


def name_of(extension: object) -> str:
    """Returns the name of a v3 extension, which may be a bare string."""
    return extension if isinstance(extension, str) else extension["name"]
