"""Prints identifiers of other programs for `zarr-kit/src/known.tsv`:

    pip install -r known_identifiers.txt
    python known_identifiers.py FOLDER > zarr-kit/src/known.tsv

FOLDER holds the sources of the crate zarrs. Each line is the extension point, the identifier, and the provider.
Identifiers of several packages have a line for each. `pickle` is missing: it is refused for safety.
"""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import distribution, version
from pathlib import Path

import imagecodecs.numcodecs
import imagecodecs.zarr
import numcodecs
import numcodecs.zarr3
import zarr.codecs
import zarr.registry

Line = tuple[str, str, str]


def package(name: str) -> str:
    return f"Python package {name} {version(name)}"


def of_numcodecs() -> Iterator[Line]:
    """Yields the ids of v2, and the names of v3 that begin with `numcodecs.`."""
    for identifier in sorted(numcodecs.registry.codec_registry.keys() - {"pickle"}):
        yield "codec", identifier, package("numcodecs")
        yield "codec", f"numcodecs.{identifier}", package("numcodecs")


def of_imagecodecs() -> Iterator[Line]:
    for name, found in vars(imagecodecs.numcodecs).items():
        if isinstance(found, type) and name != "Codec" and hasattr(found, "codec_id") and found.codec_id:
            yield "codec", found.codec_id, package("imagecodecs")
            yield "codec", f"numcodecs.{found.codec_id}", package("imagecodecs")
    for name in imagecodecs.zarr._CODEC_CLASSES:
        yield "codec", f"imagecodecs_{name}", package("imagecodecs")


def of_zarr_python() -> Iterator[Line]:
    for name in zarr.registry._codec_registries:
        if not name.startswith(("numcodecs.", "imagecodecs_")):
            yield "codec", name, package("zarr")
    for name in zarr.registry.data_type_registry.contents:
        yield "data type", name, package("zarr")


def of_kerchunk() -> Iterator[Line]:
    """Reads the source, because importing it needs more packages."""
    source = Path(distribution("kerchunk").locate_file("kerchunk/codecs.py")).read_text()
    for identifier in re.findall(r'codec_id = "(\w+)"', source):
        yield "codec", identifier, package("kerchunk")


def of_zarrs(folder: Path) -> Iterator[Line]:
    """Reads the names of v3 in the sources of the crate."""
    provider = f"crate {folder.name.replace('-', ' ')}"
    for file in sorted(folder.glob("src/array/**/*.rs")):
        point = {"codec": "codec", "data_type": "data type"}.get(file.relative_to(folder).parts[2])
        for name in re.findall(r'impl_extension_aliases!\([^;]*?v3: "([^"]+)"', file.read_text()) if point else ():
            yield point, name, provider


def main() -> None:
    codecs = (*of_numcodecs(), *of_imagecodecs(), *of_zarr_python(), *of_kerchunk(), *of_zarrs(Path(sys.argv[1])))
    for line in sorted(set(codecs)):
        print("\t".join(line))


main()
