"""Reads every node of a `cases.json` with another program, and compares it bit for bit.

The index has the form that `cases.py` documents; only `store`, `path`, `format`, and for arrays `shape`, `dtype`
and `raw` are needed here. More members:
  attributes    compared if present
  children      of a group: compared if present and not null
  consolidated  true on a group: opened with its consolidated metadata, and every node below is read from there
  skip          readers that cannot read this, with the reason: {"zarr2": "no such type"}, or a list of names

Prints one line for each node that is different or refused, and finally
`N read, N equal, N different, N refused`. A node is refused if `skip` names it or the program
reports an error. The exit status is 1 if a node is different, or refused without `skip`.
"""

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import Protocol

import numpy as np

from raw import raw_bytes


class UnsupportedError(Exception):
    """The reader cannot return this type, although the stored bytes are valid."""


class Reader(Protocol):
    """The interface of a program. Attributes or children are None if the program does not provide them."""

    def array(self, store: Path, case: dict) -> tuple[np.ndarray, dict | None]:
        """Returns all elements and the attributes."""

    def group(self, store: Path, case: dict) -> tuple[dict | None, list[str] | None]:
        """Returns the attributes and the sorted names of the children."""


class Zarr3:
    """zarr-python 3."""

    def __init__(self) -> None:
        import imagecodecs.numcodecs
        import imagecodecs.zarr
        import zarr

        imagecodecs.numcodecs.register_codecs(verbose=False)
        imagecodecs.zarr.register_codecs(verbose=False)
        self.zarr = zarr

    def array(self, store: Path, case: dict) -> tuple[np.ndarray, dict | None]:
        array = self.zarr.open_array(store, path=case["path"].strip("/"), mode="r", zarr_format=number(case))
        return np.asarray(array[...]), dict(array.attrs)

    def group(self, store: Path, case: dict) -> tuple[dict | None, list[str] | None]:
        group = self.zarr.open_group(
            store,
            path=case["path"].strip("/"),
            mode="r",
            zarr_format=number(case),
            use_consolidated=bool(case.get("consolidated")),
        )
        if case.get("consolidated"):
            for _, node in group.members(max_depth=None):
                if isinstance(node, self.zarr.Array):
                    np.asarray(node[...])
        return dict(group.attrs), sorted(name for name, _ in group.members())


class Zarr2:
    """zarr-python 2.18, which reads v2."""

    def __init__(self) -> None:
        import zarr

        self.zarr = zarr

    def array(self, store: Path, case: dict) -> tuple[np.ndarray, dict | None]:
        self.only_v2(case)
        array = self.zarr.open_array(self.zarr.DirectoryStore(store), path=case["path"].strip("/"), mode="r")
        return np.asarray(array[...], array.dtype), array.attrs.asdict()

    def group(self, store: Path, case: dict) -> tuple[dict | None, list[str] | None]:
        self.only_v2(case)
        root = self.zarr.DirectoryStore(store)
        if case.get("consolidated"):
            group = self.zarr.open_consolidated(root, mode="r", path=case["path"].strip("/") or None)
            group.visitvalues(lambda node: node[...] if isinstance(node, self.zarr.Array) else None)
        else:
            group = self.zarr.open_group(root, path=case["path"].strip("/"), mode="r")
        return group.attrs.asdict(), sorted(group)

    @staticmethod
    def only_v2(case: dict) -> None:
        """Raises an error for other formats: the final v3 is newer than this program."""
        if case["format"] != "v2":
            raise UnsupportedError(f"format {case['format']}")


class Tensorstore:
    """tensorstore, which supports only arrays."""

    def __init__(self) -> None:
        import tensorstore

        self.tensorstore = tensorstore

    def array(self, store: Path, case: dict) -> tuple[np.ndarray, dict | None]:
        if not isinstance(case["dtype"], list):
            return self.values(store, case), None
        dtype = descriptor(case["dtype"])
        if any(dtype[name].names or dtype[name].shape for name in dtype.names):
            raise UnsupportedError("nested fields")
        elements = np.empty(case["shape"], dtype)
        for name in dtype.names:
            elements[name] = self.values(store, case, field=name)
        return elements, None

    def values(self, store: Path, case: dict, **options: str) -> np.ndarray:
        """Reads one array, or one field of a structured one."""
        driver = {"v2": "zarr", "v3": "zarr3"}.get(case["format"])
        if driver is None:
            raise UnsupportedError(f"format {case['format']}")
        directory = f"{store}{case['path'].rstrip('/')}/"
        spec = {"driver": driver, "kvstore": {"driver": "file", "path": directory}, **options}
        array = self.tensorstore.open(spec, read=True).result()
        if array.dtype in (self.tensorstore.byte, self.tensorstore.char):
            raise UnsupportedError("NumPy receives its bytes as items of size 0")
        return np.asarray(array.read().result())

    def group(self, store: Path, case: dict) -> tuple[dict | None, list[str] | None]:
        raise UnsupportedError("groups")


class Draft:
    """The reader of the v3 draft in `draft_reader.py`."""

    def __init__(self) -> None:
        import draft_reader

        self.draft = draft_reader

    def array(self, store: Path, case: dict) -> tuple[np.ndarray, dict | None]:
        array = self.draft.Array(self.draft.Store(store), case["path"])
        return array.read(), array.attributes

    def group(self, store: Path, case: dict) -> tuple[dict | None, list[str] | None]:
        hierarchy = self.draft.Store(store)
        below = case["path"].rstrip("/") + "/"
        names = [path.removeprefix(below) for path in hierarchy.nodes() if path.startswith(below) and path != "/"]
        explicit = hierarchy.nodes()[case["path"]] == "group"
        attributes = hierarchy.document(case["path"], "group")["attributes"] if explicit else {}
        return attributes, sorted(name for name in names if "/" not in name)


READERS = {"draft": Draft, "zarr3": Zarr3, "zarr2": Zarr2, "tensorstore": Tensorstore}


def number(case: dict) -> int:
    """Returns the number of the format in zarr-python."""
    if case["format"] not in ("v2", "v3"):
        raise UnsupportedError(f"format {case['format']}")
    return int(case["format"][1])


def descriptor(dtype: object) -> np.dtype:
    """Returns a NumPy type from its descriptor in JSON, where tuples have become lists."""
    if isinstance(dtype, str):
        return np.dtype(object if dtype in ("string", "bytes", "json") else dtype)
    fields = [(name, descriptor(field), *map(tuple, shape)) for name, field, *shape in dtype]
    return np.dtype(fields)


def differences(reader: Reader, directory: Path, case: dict) -> list[str]:
    """Returns the differences from the case."""
    found = []
    store = directory / case["store"]
    if case.get("node_type") == "group":
        attributes, children = reader.group(store, case)
        if children is not None and case.get("children") is not None and children != sorted(case["children"]):
            found.append(f"children are {children}, not {sorted(case['children'])}")
    else:
        elements, attributes = reader.array(store, case)
        found += compare_elements(elements, case, (directory / case["raw"]).read_bytes())
    if attributes is not None and "attributes" in case and not same(attributes, case["attributes"]):
        found.append(f"attributes are {attributes}, not {case['attributes']}")
    return found


def compare_elements(elements: np.ndarray, case: dict, expected: bytes) -> list[str]:
    """Compares shape, type and every byte."""
    if list(elements.shape) != case["shape"]:
        return [f"shape is {elements.shape}, not {case['shape']}"]
    dtype = descriptor(case["dtype"])
    if case["dtype"] == "json":
        texts = [json.dumps(item, ensure_ascii=False, separators=(",", ":")) for item in elements.ravel().tolist()]
        elements = np.array(texts, object)
    if dtype.kind in "SU":
        # Scalars of rank 0 are returned without their padding.
        elements = elements.astype(dtype)
    if not dtype.hasobject and elements.dtype.newbyteorder("=") != dtype.newbyteorder("="):
        return [f"type is {elements.dtype}, not {dtype}"]
    read = raw_bytes(elements)
    if read == expected:
        return []
    place = next(
        (i for i, (a, b) in enumerate(zip(read, expected, strict=False)) if a != b), min(len(read), len(expected))
    )
    ends = f"{read[place : place + 16].hex()} instead of {expected[place : place + 16].hex()}"
    return [f"byte {place} on ({len(read)} of {len(expected)} bytes): {ends}"]


def same(left: object, right: object) -> bool:
    """Compares JSON values; 1 differs from 1.0 and true, and 0.0 from -0.0."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def check(name: str, index: Path, allow_refused: bool = False) -> int:
    """Reads everything with the reader of this name, reports, and returns the exit status."""
    warnings.simplefilter("ignore")
    reader = READERS[name]()
    equal = different = refused = 0
    failed = False
    for case in json.loads(index.read_text()):
        if name in case.get("skip", ()):
            refused += 1
            continue
        try:
            found = differences(reader, index.parent, case)
        except Exception as error:  # Any error of the program is reported and fails the run.
            refused += 1
            failed |= not allow_refused
            text = " ".join(str(error).split())[:300]
            print(f"refused: {case['case']}: {type(error).__name__}: {text}")
            continue
        if found:
            different += 1
            print(f"different: {case['case']}: {'; '.join(found)}")
        else:
            equal += 1
    print(f"{equal + different} read, {equal} equal, {different} different, {refused} refused")
    return int(failed or different > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", metavar="CASES_JSON", type=Path)
    parser.add_argument("--reader", required=True, choices=READERS)
    parser.add_argument("--allow-refused", action="store_true", help="refused nodes do not fail the run")
    arguments = parser.parse_args()
    try:
        return check(arguments.reader, arguments.cases, arguments.allow_refused)
    except ModuleNotFoundError as error:
        parser.error(f"{sys.executable} lacks the module {error.name}; see requirements-*.txt")


if __name__ == "__main__":
    sys.exit(main())
