"""References of kerchunk and virtualizarr to an HDF5 file.

    references.py write FOLDER           writes `data file.h5` and references to it
    references.py values FILE            prints each key of a reference file and its value in hexadecimal, as fsspec
                                         reads them
    references.py read FILE PATH         prints the elements of an array, as zarr-python reads them

`/g/a` is compressed, `/g/plain` is not; element (i, j) of both is 7 i + j.
"""

import json
import os
import sys
import warnings
from pathlib import Path

import fsspec
import h5py
import numpy as np

warnings.simplefilter("ignore")


def elements() -> np.ndarray:
    return np.arange(70).reshape(10, 7)


def write_hdf5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.attrs["n"] = 5
        options = {"chunks": (4, 3), "compression": "gzip", "shuffle": True}
        file.create_dataset("g/a", data=elements().astype("<i4"), **options)
        file.create_dataset("g/plain", data=elements().astype("<f8"))
        for name, length in (("x", 10), ("y", 7)):
            file.create_dataset(f"g/{name}", data=np.arange(length)).make_scale(name)
        for name in ("a", "plain"):
            for dimension, scale in enumerate("xy"):
                file["g"][name].dims[dimension].attach_scale(file["g"][scale])
        file.create_dataset("s", data=np.array(["a", "bb"], dtype="S3"))


def write_kerchunk(folder: Path, path: Path) -> None:
    from kerchunk.hdf import SingleHdf5ToZarr

    def translated(url: str, threshold: int) -> dict:
        with path.open("rb") as file:
            return SingleHdf5ToZarr(file, url, inline_threshold=threshold).translate()

    absolute = translated(str(path), 0)
    (folder / "absolute.json").write_text(json.dumps(absolute))
    (folder / "version-0.json").write_text(json.dumps(absolute["refs"]))
    (folder / "url.json").write_text(json.dumps(translated(path.as_uri(), 0)))
    (folder / "inline.json").write_text(json.dumps(translated(str(path), 10_000)))
    relative = translated(path.name, 60)
    (folder / "relative.json").write_text(json.dumps(relative))
    refs = {key: ["{{u}}", *value[1:]] if isinstance(value, list) else value for key, value in absolute["refs"].items()}
    templated = {"version": 1, "templates": {"u": str(path)}, "refs": refs}
    (folder / "templated.json").write_text(json.dumps(templated))


def write_virtualizarr(folder: Path, path: Path) -> None:
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr import open_virtual_dataset
    from virtualizarr.parsers import HDFParser

    registry = ObjectStoreRegistry({"file://": LocalStore()})
    dataset = open_virtual_dataset(f"file://{path}", registry=registry, parser=HDFParser(group="g"))
    dataset.vz.to_kerchunk(str(folder / "virtualizarr.json"), format="json")


def write_parquet(folder: Path) -> None:
    """Writes small Parquet files: with few references, with paths as categories, with inline bytes, with missing chunks."""
    from kerchunk.df import refs_to_dataframe

    def references(name: str) -> dict:
        return json.loads((folder / f"{name}.json").read_text())["refs"]

    refs_to_dataframe(references("absolute"), str(folder / "absolute.parq"), record_size=5)
    refs_to_dataframe(references("inline"), str(folder / "inline.parq"), record_size=4)
    refs_to_dataframe(references("relative"), str(folder / "categories.parq"), record_size=1000, categorical_threshold=1)
    some = {key: value for key, value in references("absolute").items() if key not in ("g/a/0.1", "g/a/2.0", "g/a/2.1")}
    some["g/a/1.0"] = ["whole.bin"]
    (folder / "whole.bin").write_bytes(b"whole")
    refs_to_dataframe(some, str(folder / "some parts"), record_size=2)


def write_generators(folder: Path) -> None:
    """Writes references to the bytes of files, in a document with templates and generators."""
    (folder / "bytes").mkdir()
    for number in range(3):
        (folder / "bytes" / f"part_{number:03}.bin").write_bytes(bytes(range(10 * number, 10 * number + 40)))
    document = {
        "version": 1,
        "templates": {"u": str(folder / "bytes"), "f": "{{d}}/part_{{c}}.bin"},
        "gen": [
            {
                "key": "g/{{i}}.{{j}}",
                "url": "{{u}}/part_{{ '%03d' % i }}.bin",
                "offset": "{{ (j + 1) * 2 - i // 2 }}",
                "length": "{{ j % 3 + 1 }}",
                "dimensions": {"i": {"stop": 3}, "j": {"start": 9, "stop": 0, "step": -2}},
            },
            {
                "key": "h/{{c}}",
                "url": "{{ f(d=u, c=c) }}",
                "dimensions": {"c": ["000", "002"]},
            },
        ],
        "refs": {
            "g/0.1": "a generated reference replaces it",
            "text": "é",
            "object/.zattrs": {"a": [1, None]},
            "encoded": "base64:AAECAw==",
            "whole": ["{{u}}/part_001.bin"],
            "call": ["{{ f(d=u, c='002') }}", 3, 0],
        },
    }
    (folder / "generators.json").write_text(json.dumps(document))


def write(folder: Path) -> None:
    path = folder / "data file.h5"
    write_hdf5(path)
    write_kerchunk(folder, path)
    write_virtualizarr(folder, path)
    write_parquet(folder)
    write_generators(folder)


def filesystem(file: str):
    return fsspec.filesystem("reference", fo=file, remote_protocol="file", simple_templates=False)


def values(file: str) -> None:
    files = filesystem(file)
    # fsspec resolves relative paths in the working directory.
    os.chdir(Path(file).parent)
    references = files.references
    keys = list(references) if isinstance(references, dict) else parquet_keys(references)
    print(json.dumps({key: files.cat(key).hex() for key in keys}))


def parquet_keys(references) -> list[str]:
    """Returns the keys of references in Parquet files. fsspec itself does not list them if there are nested groups."""

    def is_there(key: str) -> bool:
        # The path of a chunk without a reference is not a number.
        reference = references[key] if key in references else [None]
        return isinstance(reference, bytes) or isinstance(reference[0], str)

    documents = list(references.zmetadata)
    arrays = [name.removesuffix("/.zarray") for name in documents if name.endswith("/.zarray")]
    chunks = [key for array in arrays for key in references._keys_in_field(array)]
    return documents + [key for key in chunks if is_there(key)]


def read(file: str, path: str) -> None:
    import zarr

    # Without a protocol, fsspec lists the references for one, which fails in Parquet files with nested groups.
    options = {} if file.endswith(".json") else {"remote_protocol": "file"}
    files = fsspec.filesystem("reference", fo=file, asynchronous=True, **options)
    store = zarr.storage.FsspecStore(fs=files, read_only=True)
    print(json.dumps(zarr.open_group(store, mode="r")[path][...].tolist()))


if __name__ == "__main__":
    verb, *arguments = sys.argv[1:]
    if verb == "write":
        write(Path(arguments[0]))
    elif verb == "values":
        values(*arguments)
    else:
        read(*arguments)
