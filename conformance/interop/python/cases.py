"""The index of the data that a writer wrote: `OUT_DIR/cases.json` and `OUT_DIR/expected/*.raw`.

`cases.json` is a list of objects. Every entry has
  case        its name, unique in the file
  node_type   "array" or "group"
  store       the store's directory, relative to OUT_DIR
  path        the node's path, "/" for the root
  format      "v2", "v3", "v3-draft-a" (the draft before codec lists) or "v3-draft-b"
  attributes  the expected attributes; absent if JSON cannot represent them
an array also has
  shape, chunks (the chunk shape, or null), dtype (NumPy descriptor, or "string"/"bytes" for items of variable length),
  fill (as in the metadata document), features (the plugins that reading needs),
  raw         file with all elements in raw form (see raw.py), relative to OUT_DIR
and a group has
  children    names of its children, sorted; null if the writer did not record them.
"""

import json
from pathlib import Path

import numpy as np

from features import features
from raw import raw_bytes

DOCUMENTS = {"v2": ".zarray", "v3": "zarr.json"}


class CaseBook:
    """Collects the cases of one writer, and writes the expected elements next to the stores."""

    def __init__(self, directory: Path, name: str = "cases") -> None:
        self.directory = directory
        self.name = name
        self.entries: list[dict] = []
        self.names: set[str] = set()
        (directory / "expected").mkdir(parents=True, exist_ok=True)

    def document(self, store: str, path: str, format_name: str) -> Path:
        """Returns the file of an array's metadata document."""
        root = self.directory / store
        if format_name == "v3-draft-a":
            return root / f"meta/root{path.rstrip('/')}.array.json"
        return root / path.strip("/") / DOCUMENTS[format_name]

    def patch(self, store: str, path: str, format_name: str, **members: object) -> None:
        """Replaces members of an array's metadata document with forms that the writer does not produce."""
        file = self.document(store, path, format_name)
        document = json.loads(file.read_text()) | members
        file.write_text(json.dumps(document, ensure_ascii=False))

    def array(
        self, store: str, path: str, format_name: str, expected: np.ndarray, attributes: dict | None = None
    ) -> None:
        """Adds an array whose elements must be `expected`."""
        document = json.loads(self.document(store, path, format_name).read_text())
        case = self.unique(f"{store}{path.rstrip('/')}")
        raw = f"expected/{len(self.entries):04}-{self.name}.raw"
        (self.directory / raw).write_bytes(raw_bytes(expected))
        needed = features(document)
        self.entries.append(
            {
                "case": case,
                "node_type": "array",
                "store": store,
                "path": path,
                "format": format_name,
                "shape": list(expected.shape),
                "chunks": chunk_shape(document),
                "dtype": dtype_name(expected.dtype, needed),
                "fill": document["fill_value"],
                "features": needed,
                "raw": raw,
                "attributes": attributes or {},
            }
        )

    def group(
        self, store: str, path: str, format_name: str, attributes: dict, children: list[str] | None = None
    ) -> None:
        """Adds a group that must have these attributes and children."""
        case = self.unique(f"{store}{path.rstrip('/')}")
        self.entries.append(
            {
                "case": case,
                "node_type": "group",
                "store": store,
                "path": path,
                "format": format_name,
                "attributes": attributes,
                "children": None if children is None else sorted(children),
            }
        )

    def unique(self, case: str) -> str:
        """Rejects a case name that was used before, because two nodes would overwrite each other."""
        if case in self.names:
            raise ValueError(f"the case {case} is written twice")
        self.names.add(case)
        return case

    def save(self) -> None:
        """Writes the index. This is the last step, so that an index implies a complete set."""
        text = json.dumps(self.entries, ensure_ascii=False, indent=1)
        (self.directory / f"{self.name}.json").write_text(text)


def chunk_shape(document: dict) -> list[int] | None:
    """Returns the chunk shape of an array document of any format, or None for another grid."""
    if "chunks" in document:
        return document["chunks"]
    grid = document["chunk_grid"]
    return grid.get("configuration", grid).get("chunk_shape")


def dtype_name(dtype: np.dtype, needed: list[str]) -> object:
    """Returns a NumPy descriptor that JSON can represent."""
    if dtype.kind in "OT":
        return "bytes" if "dtype-bytes" in needed else "string"
    return dtype.str if dtype.names is None else dtype.descr
