"""Converts hierarchies of the older draft to hierarchies of the draft with codec lists.

No other program writes the draft of December 2022, but its chunks are those of the older draft. The
hierarchies of `write_cases.py --writer zarr2-draft` therefore serve as examples of both; this script rewrites their
keys and documents. It reads them from IN_DIR and writes stores, expected elements and a `cases.json` to OUT_DIR.
It omits features without a form in the newer text: filters, null fill values, items of variable length.
"""

import argparse
import json
import shutil
import sys
from pathlib import Path

FORMAT = "v3-draft-b"
CODECS = "https://purl.org/zarr/spec/codecs"
TYPES = "https://purl.org/zarr/spec/extensions/data-types"
NAMES = {"i": "int", "u": "uint", "f": "float", "c": "complex"}
ENTRY = {
    "zarr_format": "https://purl.org/zarr/spec/core/3.0",
    "metadata_encoding": {"type": "json", "metadata_key_suffix": ".json"},
    "extensions": [],
}


class NotInDraftError(Exception):
    """The newer text cannot represent this."""


def relabel(document: dict) -> dict:
    """Converts an array document to the newer text."""
    if "filters" in document["attributes"]:
        raise NotInDraftError("filters")
    old = document["data_type"]
    data_type, big = new_type(old["type"] if isinstance(old, dict) else old)
    codecs = [{"type": f"{CODECS}/endian/1.0", "configuration": {"endian": "big"}}] if big else []
    if "compressor" in document:
        compressor = document["compressor"]
        uri = compressor["codec"].replace("/codec/gzip/", "/codecs/gzip/").replace("/codec/blosc/", "/codecs/blosc/")
        codecs.append({"type": uri, "configuration": compressor["configuration"]})
    new = {
        "shape": document["shape"],
        "data_type": data_type,
        "chunk_grid": document["chunk_grid"],
        "chunk_memory_layout": document["chunk_memory_layout"],
        "fill_value": new_fill(document["fill_value"]),
        "extensions": [],
        "attributes": document["attributes"],
        "codecs": codecs,
    }
    if document.get("storage_transformers"):
        if document["shape"] == []:
            raise NotInDraftError("a shard of rank 0")
        new["storage_transformers"] = document["storage_transformers"]
    return new


def new_type(old: object) -> tuple[object, bool]:
    """Returns the data type, and whether a codec must specify that it is big endian."""
    if isinstance(old, list):
        size = sum(8 * field_size(field) for field in old)
        return {"extension": f"{TYPES}/struct/1.0", "type": new_fields(old), "fallback": f"r{size}"}, False
    mark, kind = (old[0], old[1:]) if old[0] in "<>|" else ("|", old)
    match kind[0]:
        case "b":
            return "bool", False
        case "M" | "m":
            return {"extension": f"{TYPES}/datetime/1.0", "type": old, "fallback": "int64"}, False
        case "S" | "U":
            size = int(kind[1:]) * (8 if kind[0] == "S" else 32)
            return {"extension": f"{TYPES}/string/1.0", "type": old.lstrip("|"), "fallback": f"r{size}"}, False
        case "O" | "V":
            raise NotInDraftError(old)
        case _:
            return f"{NAMES[kind[0]]}{8 * int(kind[1:])}", mark == ">"


def new_fields(fields: list) -> list:
    """Returns the fields of a structure. Numbers keep the older names, because the newer names lack the byte order."""
    single = {"|b1": "bool", "|i1": "int8", "|u1": "uint8"}
    renamed = []
    for name, field, *shape in fields:
        if isinstance(field, list):
            renamed.append([name, new_fields(field), *shape])
        elif field.startswith("|V"):
            renamed.append([name, f"r{8 * int(field[2:])}", *shape])
        else:
            renamed.append([name, single.get(field, field.lstrip("|")), *shape])
    return renamed


def field_size(field: list) -> int:
    """Returns the bytes of one field of a structure."""
    _, of, *shape = field
    count = 1
    for length in shape[0] if shape else ():
        count *= length
    if isinstance(of, list):
        return count * sum(map(field_size, of))
    return count * int(of[2:]) * (4 if of[1] == "U" else 1)


def new_fill(old: object) -> object:
    """Returns a fill value; the older writer spelled infinity without its sign."""
    if old is None:
        raise NotInDraftError("fill_value null")
    if isinstance(old, list):
        return [new_fill(part) for part in old]
    return "+Infinity" if old == "Infinity" else old


def move(source: Path, target: Path, case: dict) -> dict:
    """Writes one node under its new keys, and returns its case."""
    path = case["path"].rstrip("/")
    features = set(case.get("features", ()))
    if case["node_type"] == "array":
        document = relabel(json.loads((source / f"meta/root{path}.array.json").read_text()))
        if (source / f"data/root{path}").is_dir():
            shutil.copytree(source / f"data/root{path}", target / f"data{path}")
        if document["shape"] == [] and (target / f"data{path}/c0").exists():
            (target / f"data{path}/c0").rename(target / f"data{path}/c")
        if any("/endian/" in codec["type"] for codec in document["codecs"]):
            features.add("codec-bytes")
    else:
        explicit = source / f"meta/root{path}.group.json"
        if not explicit.exists():
            return case | {"format": FORMAT}
        document = json.loads(explicit.read_text())
    kind = case["node_type"]
    file = target / (f"meta{path}.{kind}.json" if path else f"meta/{kind}.json")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document, ensure_ascii=False))
    return case | {"format": FORMAT} | ({"features": sorted(features)} if kind == "array" else {})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("in_dir", metavar="IN_DIR", type=Path)
    parser.add_argument("out_dir", metavar="OUT_DIR", type=Path)
    arguments = parser.parse_args()
    if not (arguments.in_dir / "cases.json").exists():
        parser.error(f"{arguments.in_dir} has no cases.json")
    if arguments.out_dir.exists():
        parser.error(f"{arguments.out_dir} already exists")
    (arguments.out_dir / "expected").mkdir(parents=True)
    moved = []
    for index in sorted(arguments.in_dir.glob("cases*.json")):
        for case in json.loads(index.read_text()):
            target = arguments.out_dir / case["store"]
            try:
                moved.append(move(arguments.in_dir / case["store"], target, case))
            except NotInDraftError:
                continue
            (target / "zarr.json").write_text(json.dumps(ENTRY))
            if case["node_type"] == "array":
                shutil.copy(arguments.in_dir / case["raw"], arguments.out_dir / case["raw"])
    (arguments.out_dir / "cases.json").write_text(json.dumps(moved, ensure_ascii=False, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
