"""An independent reader of the Zarr version 3 editor's draft dated 25 May 2022 (the text with `codecs` lists).

Written from that text and its companion drafts. Missing, unknown and malformed members are errors.
  draft_reader.py STORE list            one line for each node: its kind (array, group, implicit group) and path
  draft_reader.py STORE get PATH OUT    all elements to the file OUT: C order, little endian, packed
  draft_reader.py check CASES_JSON      compares every node of an index, as read_check.py does
"""

import base64
import bz2
import gzip
import importlib
import itertools
import json
import math
import re
import sys
import zlib
from pathlib import Path

import numpy as np

URI = "https://purl.org/zarr/spec/core/3.0"
SIZES = {"int": (1, 2, 4, 8), "uint": (1, 2, 4, 8), "float": (2, 4, 8), "complex": (8, 16)}
CORE = {f"{name}{8 * size}": f"<{name[0]}{size}" for name, sizes in SIZES.items() for size in sizes} | {"bool": "|b1"}
TYPE_STRING = r"[<>]([iu][248]|f[248]|c8|c16|U[1-9]\d*|[Mm]8\[([YMWDhms]|[munpfa]s)\])|[iu]1|\|?S[1-9]\d*"
CODEC = r"https://purl\.org/zarr/spec/codecs?/(endian|gzip|zlib|bz2|blosc|zstd|lz4|lzma)(/1\.\d+)?"
SHARDING = r"https?://purl\.org/zarr/spec/(extensions/)?storage[-_]transformers/sharding/1\.\d+"
MANDATORY = {"shape", "data_type", "chunk_grid", "chunk_memory_layout", "fill_value", "extensions", "attributes"}
OPTIONAL = {"codecs", "storage_transformers"}
STANDARD = {"gzip": gzip.decompress, "zlib": zlib.decompress, "bz2": bz2.decompress}


def need(condition: object, message: object) -> None:
    """Raises an error for input that the draft does not allow or that this reader does not know."""
    if not condition:
        raise ValueError(message)


def known_type(name: object, extension: bool = False) -> np.dtype | None:
    """Returns the NumPy type of an identifier, or None. Extension types may also use NumPy's own names."""
    if isinstance(name, dict):
        need(re.match(r"[a-z][a-z0-9+.-]*:", name["extension"]), f"{name}: extension is not a URI")
        return known_type(name["type"], extension=True)
    if isinstance(name, list):
        fields = [(field, known_type(of, True), *map(tuple, shape)) for field, of, *shape in name]
        return None if any(field[1] is None for field in fields) else np.dtype(fields)
    if re.fullmatch(r"r[1-9]\d*", name) and int(name[1:]) % 8 == 0:
        return np.dtype(f"V{int(name[1:]) // 8}")
    known = CORE.get(name, name if extension and re.fullmatch(TYPE_STRING, name) else None)
    return None if known is None else np.dtype(known)


def data_type(name: object) -> np.dtype:
    """Returns the type to read with: the type of the identifier, or of its first known fallback."""
    fallback = name.get("fallback", []) if isinstance(name, dict) else []
    candidates = [name, *(fallback if isinstance(fallback, list) else [fallback])]
    found = [dtype for dtype in map(known_type, candidates) if dtype is not None]
    need(found, f"data_type {name} is not known")
    return found[0]


def fill_value(value: object, dtype: np.dtype) -> np.ndarray:
    """Returns the fill value as an array of rank 0."""
    if dtype.names and isinstance(value, dict):
        need(value.keys() == set(dtype.names), f"fill_value names {sorted(value)}")
        result = np.zeros((), dtype)
        for name in dtype.names:
            result[name] = fill_value(value[name], dtype[name].base)
        return result
    size, raw = dtype.itemsize, b""
    digits = f"0x[0-9a-fA-F]{{{2 * size}}}|0b[01]{{{8 * size}}}"
    if dtype.kind in "biufcV" and isinstance(value, str) and re.fullmatch(digits, value):
        raw = int(value, 0).to_bytes(size, "big")
        return np.frombuffer(raw, dtype.newbyteorder(">")).astype(dtype).reshape(())
    need(isinstance(value, bool) == (dtype.kind == "b"), f"fill_value {value!r} for {dtype}")
    match dtype.kind, value:
        case "b" | "i" | "u", int():
            raw = int(value).to_bytes(size, "little", signed=dtype.kind == "i")
        case "f", int() | float() | "NaN" | "+Infinity" | "-Infinity":
            raw = np.array(float(value), f"<f{size}").tobytes()
        case "c", [_, _]:
            raw = b"".join(fill_value(part, np.dtype(f"<f{size // 2}")).tobytes() for part in value)
        case "M" | "m", int() | "NaT":
            raw = (-(2**63) if value == "NaT" else value).to_bytes(8, "little", signed=True)
        case "U", str():
            raw = value.encode("utf-32-le").ljust(size, b"\0")
        case "S" | "V", str():
            raw = base64.b64decode(value, validate=True).ljust(size if dtype.kind == "S" else 0, b"\0")
        case "V", list():
            raw = bytes(value)
    need(len(raw) == size, f"fill_value {value!r} does not fit {dtype}")
    # The Base64 of a structure has the byte orders of its type; the bytes of all other elements are little endian.
    return np.frombuffer(raw, dtype if dtype.names else dtype.newbyteorder("<")).astype(dtype).reshape(())


class Store:
    """A hierarchy in a directory."""

    def __init__(self, root: Path) -> None:
        entry = json.loads((root / "zarr.json").read_bytes())
        extensions, encoding = entry.pop("extensions"), entry["metadata_encoding"]
        self.root, self.suffix = root, encoding.pop("metadata_key_suffix")
        need(entry == {"zarr_format": URI, "metadata_encoding": {"type": "json"}}, f"zarr.json: {entry}")
        need(all(item["must_understand"] is False for item in extensions), f"extensions {extensions}")

    def nodes(self) -> dict[str, str]:
        """Returns the kind of every node by path; groups without a document are implied by the nodes below them."""
        found = {}
        for file in (self.root / "meta").rglob(f"*{self.suffix}"):
            key = "/" + file.relative_to(self.root / "meta").as_posix().removesuffix(self.suffix)
            path, _, kind = ("/", "", key[1:]) if key in ("/array", "/group") else key.rpartition(".")
            found |= {path: kind} if kind in ("array", "group") else {}
        for parent in [parent.as_posix() for path in found for parent in Path(path).parents]:
            found.setdefault(parent, "implicit group")
        return dict(sorted(found.items()))

    def document(self, path: str, kind: str) -> dict:
        """Returns the metadata document of a node."""
        return json.loads((self.root / f"meta{path}{'' if path == '/' else '.'}{kind}{self.suffix}").read_bytes())


class Array:
    """An array of a store."""

    def __init__(self, store: Store, path: str) -> None:
        document = store.document(path, "array")
        need(MANDATORY <= document.keys() <= MANDATORY | OPTIONAL, f"{path} has the members {sorted(document)}")
        need(all(item["must_understand"] is False for item in document["extensions"]), document["extensions"])
        grid, self.layout = document["chunk_grid"], document["chunk_memory_layout"]
        self.shape, self.chunk, self.separator = document["shape"], grid["chunk_shape"], grid["separator"]
        need(grid == {"type": "regular", "chunk_shape": self.chunk, "separator": self.separator}, grid)
        need(self.separator in ("/", ".") and self.layout in ("C", "F"), f"{grid}, layout {self.layout}")
        self.dtype = data_type(document["data_type"])
        self.fill = fill_value(document["fill_value"], self.dtype)
        self.attributes, self.directory = document["attributes"], store.root / f"data{path.rstrip('/')}"
        codecs, transformers = document.get("codecs", []), document.get("storage_transformers", [])
        need(all(item.keys() <= {"type", "configuration"} for item in codecs), codecs)
        need(all(re.fullmatch(CODEC, item["type"]) for item in codecs), f"a codec of {codecs} is not known")
        self.codecs = [(item["type"].split("/")[6], item.get("configuration", {})) for item in codecs]
        known = [item for item in transformers if re.fullmatch(SHARDING, item["extension"])]
        need(known == transformers and len(known) <= 1, f"storage_transformers {transformers}")
        self.shard = known[0]["configuration"]["chunks_per_shard"] if known else None

    def value(self, index: tuple[int, ...]) -> bytes | None:
        """Returns the stored bytes of one chunk."""
        per = self.shard or [1] * len(index)
        where = self.separator.join(str(i // count) for i, count in zip(index, per, strict=True))
        file = self.directory / f"c{where}"
        stored = file.read_bytes() if file.is_file() else None
        if stored is None or self.shard is None:
            return stored
        table = np.frombuffer(stored[-16 * math.prod(per) :], "<u8").reshape(*per, 2)
        offset, size = map(int, table[tuple(i % count for i, count in zip(index, per, strict=True))])
        need(offset == size == 2**64 - 1 or offset + size <= len(stored) - table.nbytes, f"index of {file.name}")
        return None if offset == 2**64 - 1 else stored[offset : offset + size]

    def decode(self, stored: bytes) -> np.ndarray:
        """Decodes one chunk: reverses the codecs, then the memory layout."""
        dtype = self.dtype
        for position, (name, options) in reversed(list(enumerate(self.codecs))):
            if name == "endian":
                need(position == 0, "the endian codec follows a codec that produces bytes")
                dtype = dtype.newbyteorder({"big": ">", "little": "<"}[options["endian"]])
            elif name in STANDARD:
                stored = STANDARD[name](stored)
            else:
                codec = importlib.import_module("numcodecs").get_codec({"id": name} | options)
                stored = bytes(codec.decode(stored))
        need(len(stored) == dtype.itemsize * math.prod(self.chunk), f"a chunk has {len(stored)} bytes")
        return np.frombuffer(stored, dtype).reshape(self.chunk, order=self.layout)

    def read(self) -> np.ndarray:
        """Returns all elements."""
        elements = np.full(self.shape, self.fill, self.dtype)
        counts = [-(-length // size) if length else 0 for length, size in zip(self.shape, self.chunk, strict=True)]
        for index in itertools.product(*map(range, counts)):
            if (stored := self.value(index)) is not None:
                region = tuple(slice(i * size, (i + 1) * size) for i, size in zip(index, self.chunk, strict=True))
                elements[region] = self.decode(stored)[tuple(slice(length) for length in elements[region].shape)]
        return elements


def main(arguments: list[str]) -> int:
    match arguments:
        case ["check", cases]:
            return importlib.import_module("read_check").check("draft", Path(cases))
        case [store, "list"]:
            print("\n".join(f"{kind} {path}" for path, kind in Store(Path(store)).nodes().items()))
        case [store, "get", path, out]:
            array = Array(Store(Path(store)), path)
            Path(out).write_bytes(array.read().astype(array.dtype.newbyteorder("<")).tobytes())
        case _:
            print(__doc__)
            return 0 if "--help" in arguments else 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
