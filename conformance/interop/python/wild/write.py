"""Writes data of one family as its users write it, and the index with its elements.

    write.py FAMILY FOLDER

`with_FAMILY.py` writes below `FOLDER/FAMILY`; `FOLDER/FAMILY.json` lists every array. The elements in the index are those
that the writer's own libraries read, in the raw form of `raw.py`.
"""

import importlib
import json
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from raw import objects_as_text, raw_bytes

warnings.simplefilter("ignore")


class Index:
    """Collects the arrays of a family, which is written to `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.arrays: list[dict] = []

    def path(self, store: str) -> str:
        """Returns the path of a store or a file."""
        return str(self.folder / store)

    def expect(self, store: str, array: str, elements) -> None:
        """Records the elements of an array. `store` starts with a scheme where a path does not suffice."""
        digits = raw_bytes(objects_as_text(np.asarray(elements))).hex()
        self.arrays.append({"store": store, "array": array, "elements": digits})

    def expect_all(self, store: str, group=None) -> None:
        """Records all arrays of a hierarchy, as zarr-python 3 reads them."""
        import zarr

        group = group or zarr.open_group(self.path(store), mode="r", use_consolidated=False)
        for name, node in sorted(group.members(max_depth=None)):
            if isinstance(node, zarr.Array):
                kind = object if node.dtype.kind in "OT" else node.dtype
                self.expect(store, f"/{name}", np.asarray(node[...], dtype=kind))


def written_by(packages: list[str]) -> str:
    """Returns the names of the packages with their versions."""
    return ", ".join(name if " " in name else f"{name} {version(name)}" for name in packages)


def main(family: str, folder: Path) -> None:
    module = importlib.import_module(f"with_{family.replace('-', '_')}")
    index = Index(folder / family)
    index.folder.mkdir(parents=True)
    module.write(index)
    lines = ",\n".join(json.dumps(array) for array in index.arrays)
    about, programs = json.dumps(module.ABOUT), json.dumps(written_by(module.PACKAGES))
    text = f'{{"about": {about},\n"written_by": {programs},\n"arrays": [\n{lines}\n]}}\n'
    (folder / f"{family}.json").write_text(text)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
