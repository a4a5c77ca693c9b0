"""Prints identifiers of other programs for `zarr-kit/src/known.tsv`:

    pip install -r known_identifiers.txt
    python known_identifiers.py FOLDER > zarr-kit/src/known.tsv

FOLDER holds the sources of the crate zarrs. Each line is the extension point, the identifier, and the provider.
Identifiers of several packages have a line for each. `pickle` is missing: it is refused for safety.

Stores of other programs have a line for each form in which a location names them: `name` is a type, `name://` a scheme, and
`|name:` a step of a pipeline.

OME-Zarr has no lines, because it defines no codecs, data types, chunk grids, chunk key encodings or storage transformers: the
section "Storage format" of its specification allows those of Zarr. Its identifiers are members of the attribute `ome`.
"""

import re
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import distribution, distributions, version
from pathlib import Path

import hdf5plugin
import imagecodecs.numcodecs
import imagecodecs.zarr
import numcodecs
import numcodecs.zarr3
import tensorstore
import zarr.codecs
import zarr.registry
from fsspec.registry import known_implementations

Line = tuple[str, str, str]

# Groups of entry points, by extension point.
GROUPS = {
    "numcodecs.codecs": "codec",
    "zarr.codecs": "codec",
    "zarr.chunk_key_encoding": "chunk key encoding",
    "zarr.data_type": "data type",
}
# Folders of the crate zarrs, by extension point.
FOLDERS = {
    "chunk_grid": "chunk grid",
    "chunk_key_encoding": "chunk key encoding",
    "codec": "codec",
    "data_type": "data type",
    "storage_transformer": "storage transformer",
}


def package(name: str) -> str:
    return f"Python package {name} {version(name)}"


def of_numcodecs() -> Iterator[Line]:
    """Yields the ids of v2, and the names of v3 that begin with `numcodecs.`."""
    own = package("numcodecs")
    for identifier, found in sorted(numcodecs.registry.codec_registry.items()):
        if identifier != "pickle" and found.__module__.startswith("numcodecs."):
            yield "codec", identifier, own
            yield "codec", f"numcodecs.{identifier}", own


def of_imagecodecs() -> Iterator[Line]:
    for name, found in vars(imagecodecs.numcodecs).items():
        if isinstance(found, type) and name != "Codec" and hasattr(found, "codec_id") and found.codec_id:
            yield "codec", found.codec_id, package("imagecodecs")
            yield "codec", f"numcodecs.{found.codec_id}", package("imagecodecs")
    for name in imagecodecs.zarr._CODEC_CLASSES:
        yield "codec", f"imagecodecs_{name}", package("imagecodecs")


def of_zarr_python() -> Iterator[Line]:
    registries = {
        "codec": zarr.registry._codec_registries,
        "data type": zarr.registry.data_type_registry.contents,
        "chunk key encoding": zarr.registry._chunk_key_encoding_registry,
    }
    # Entry points are other packages' names.
    of_others = {name for point, name, _ in of_entry_points()}
    for point, registry in registries.items():
        for name in registry:
            if name not in of_others and not name.startswith(("numcodecs.", "imagecodecs_")):
                yield point, name, package("zarr")


def of_entry_points() -> Iterator[Line]:
    """Yields what installed packages offer to numcodecs and zarr-python, which import them only when they are used."""
    for installed in distributions():
        for entry in installed.entry_points:
            if entry.group in GROUPS:
                provider = package(installed.metadata["Name"].replace("_", "-"))
                yield GROUPS[entry.group], entry.name, provider
                if entry.group == "numcodecs.codecs":
                    yield GROUPS[entry.group], f"numcodecs.{entry.name}", provider


def of_kerchunk() -> Iterator[Line]:
    """Reads the source, because importing it needs more packages."""
    source = Path(distribution("kerchunk").locate_file("kerchunk/codecs.py")).read_text()
    for identifier in re.findall(r'codec_id = "(\w+)"', source):
        yield "codec", identifier, package("kerchunk")


def of_hdf5_filters() -> Iterator[Line]:
    """Yields the names of filters, which virtualizarr uses as ids, and their registered numbers."""
    for found in hdf5plugin.get_filters():
        provider = f"{package('hdf5plugin')} (HDF5 filter {found.filter_id})"
        yield "codec", found.filter_name, provider
        yield "codec", str(found.filter_id), provider


def of_zarrs(folder: Path) -> Iterator[Line]:
    """Reads the names of v3 in the sources of the crate."""
    provider = f"crate {folder.name.replace('-', ' ')}"
    for file in sorted(folder.glob("src/array/**/*.rs")):
        point = FOLDERS.get(file.relative_to(folder).parts[2])
        for name in re.findall(r'impl_extension_aliases!\([^;]*?v3: "([^"]+)"', file.read_text()) if point else ():
            yield point, name, provider


def of_tensorstore() -> Iterator[Line]:
    """Yields what TensorStore accepts among the texts in its library, and what its errors list."""
    library = next(Path(tensorstore.__file__).parent.glob("_tensorstore*.so")).read_bytes()
    texts = {text.decode() for text in re.findall(rb"(?<=\0)[a-z][a-z0-9_.-]{1,39}(?=\0)", library)}
    # The library stores a text only once if it is the end of another.
    texts |= {text[found.end() :] for text in texts for found in re.finditer("_(?=[a-z])", text)}
    texts |= {text.replace("_", "-") for text in texts}
    provider = package("tensorstore")

    def accepted(make: Callable[[str], object], refusal: str) -> list[str]:
        return [text for text in texts if refusal not in error(lambda: make(text))]

    def array(metadata: dict) -> object:
        return tensorstore.Spec({"driver": "zarr3", "kvstore": "memory://", "metadata": metadata})

    stores, schemes = tensorstore.KvStore.Spec, "unsupported URL scheme"
    for name in accepted(lambda text: stores({"driver": text}), "is not a registered"):
        yield "store", name, provider
    for name in accepted(lambda text: stores(f"{text}://a"), schemes):
        yield "store", f"{name}://", provider
    for name in accepted(lambda text: tensorstore.Spec(f"memory://|{text}:"), schemes):
        yield "store", f"|{name}:", provider
    codecs = tensorstore.CodecSpec
    for name in accepted(lambda text: codecs({"driver": "zarr3", "codecs": [{"name": text}]}), "is not registered"):
        yield "codec", name, provider
    for name in accepted(lambda text: codecs({"driver": "zarr", "compressor": {"id": text}}), "is not registered"):
        yield "codec", name, provider
    listed = error(lambda: array({"data_type": ""})).split("supported data types: ")[1]
    for name in listed.split(", "):
        yield "data type", name.replace("<N>", "*"), provider
    for point, member in (("chunk grid", "chunk_grid"), ("chunk key encoding", "chunk_key_encoding")):
        refusal = error(lambda member=member: array({member: {"name": "?"}}))
        for name in re.findall(r'"([\w.]+)"', refusal.split("Expected")[1]):
            yield point, name, provider


def error(make: Callable[[], object]) -> str:
    """Returns the message of the error; empty if there is none."""
    try:
        make()
    except Exception as error:
        return str(error)
    return ""


def of_fsspec() -> Iterator[Line]:
    """Yields the schemes of fsspec, with the package that each needs."""
    for name, known in known_implementations.items():
        module = known["class"].split(".")[0]
        needed = "" if module == "fsspec" else f" with {module}"
        yield "store", f"{name}://", package("fsspec") + needed


def main() -> None:
    of_python = (of_numcodecs, of_imagecodecs, of_zarr_python, of_entry_points, of_kerchunk, of_hdf5_filters)
    lines = {line for lines in (*of_python, of_tensorstore, of_fsspec) for line in lines()}
    lines |= set(of_zarrs(Path(sys.argv[1])))
    for line in sorted(lines):
        print("\t".join(line))


main()
