"""Plugins that a user installs and trusts: in the direct API, in pipelines of zarr-python, and in xarray."""

import json
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from plugin_builds import ROOT, ZARRCTL, checked, crates, run, webassembly, write_archive


def test_a_plugin_is_installed_and_used_by_an_unchanged_program(tmp_path: Path) -> None:
    write_archive(tmp_path)
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [3],
        "data_type": "uint8",
        "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3]}},
        "chunk_key_encoding": {"name": "default"},
        "codecs": [{"name": "bytes"}, {"name": "example.xor", "configuration": {"key": 255}}],
    }
    (tmp_path / "x.zarr/c").mkdir(parents=True)
    (tmp_path / "x.zarr/zarr.json").write_text(json.dumps(document))
    (tmp_path / "x.zarr/c/0").write_bytes(bytes([254, 253, 252]))
    program = [sys.executable, "-c", "import zarr; print(zarr.open('x.zarr')[:])"]
    assert "example.xor" in run(program, tmp_path).stderr

    assert run([ZARRCTL, "plugins", "install", "xor.zip"], tmp_path).returncode == 0
    ended = run(program, tmp_path)
    assert ended.returncode != 0 and "`zarrctl plugins trust xor-c`" in ended.stderr

    assert run([ZARRCTL, "plugins", "trust", "xor-c"], tmp_path).returncode == 0
    for environment in [{}, {"ZARR_CODEC_PIPELINE__PATH": "zarr_kit.CodecPipeline"}]:
        ended = run(program, tmp_path, **environment)
        assert (ended.stdout, ended.stderr) == ("[1 2 3]\n", "")
    xarray = """
import sys, xarray
for engine in ("zarr", "zarr-kit"):
    opened = xarray.open_dataset("d.zarr", engine=engine, consolidated=False)
    print(opened["a"].values, [codec.to_dict()["name"] for codec in opened["a"].encoding["compressors"]])
    opened.to_zarr(engine, zarr_format=3, consolidated=False)
    print(xarray.open_dataset(engine, engine=engine, consolidated=False)["a"].values)
"""
    shutil.copytree(tmp_path / "x.zarr", tmp_path / "d.zarr/a")
    (tmp_path / "d.zarr/zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    (tmp_path / "d.zarr/a/zarr.json").write_text(json.dumps({**document, "dimension_names": ["x"]}))
    ended = run([sys.executable, "-c", xarray], tmp_path)
    assert ended.stdout == "[1 2 3] ['example.xor']\n[1 2 3]\n" * 2, ended.stderr
    for engine in ("zarr", "zarr-kit"):
        assert (tmp_path / engine / "a/c/0").read_bytes() == bytes([254, 253, 252])

    written = "import zarr; a = zarr.open('x.zarr', mode='r+'); a[1] = 9; print(a[:])"
    assert run([sys.executable, "-c", written], tmp_path).stdout == "[1 9 3]\n"
    assert (tmp_path / "x.zarr/c/0").read_bytes() == bytes([254, 246, 252])


@dataclass(frozen=True)
class Plugin:
    """A plugin with a codec, and the chunk that it writes for `ELEMENTS`."""

    name: str
    codec: dict[str, Any]
    chunk: bytes


ELEMENTS = [7, 7, 7, 7, 1, 2]
PLUGINS = {
    "a Rust crate": Plugin(
        "outside-xor",
        {"name": "outside.xor", "configuration": {"key": "a500ff"}},
        bytes([7 ^ 0xA5, 7, 7 ^ 0xFF, 7 ^ 0xA5, 1, 2 ^ 0xFF]),
    ),
    # A run is the number of elements minus one, and the element.
    "WebAssembly": Plugin(
        "example-runs", {"name": "example.runs", "configuration": {"width": 1}}, bytes([3, 7, 0, 1, 0, 2])
    ),
}
NEEDS_CLANG = pytest.mark.skipif(
    shutil.which("clang") is None or shutil.which("wasm-ld") is None,
    reason="clang and wasm-ld (Debian packages clang and lld) are not installed",
)

# Reads the array `a` of groups in all ways, and prints the elements or the error.
READER = """
import sys
import xarray, zarr, zarr_kit

def through(pipeline, folder):
    with zarr.config.set({"codec_pipeline.path": pipeline}):
        return zarr.open_group(folder, mode="r")["a"][...]

READERS = [
    lambda folder: zarr_kit.open_array(folder, path="a", mode="r")[...],
    lambda folder: through("zarr.core.codec_pipeline.BatchedCodecPipeline", folder),
    lambda folder: through("zarr.core.codec_pipeline.FusedCodecPipeline", folder),
    lambda folder: through("zarr_kit.CodecPipeline", folder),
    lambda folder: xarray.open_dataset(folder, engine="zarr", consolidated=False)["a"].values,
    lambda folder: xarray.open_dataset(folder, engine="zarr-kit")["a"].values,
]
for folder in sys.argv[1:]:
    for read in READERS:
        try:
            print(read(folder).tolist())
        except Exception as error:
            print(type(error).__name__, " ".join(str(error).split()))
"""
COUNT = READER.count("lambda folder")

# Writes the array `a` in all ways, and changes a part of it.
WRITER = """
import json, sys
import numpy as np
import xarray, zarr, zarr_kit, zarr_kit.xarray

options = {**json.loads(sys.argv[1]), "dimension_names": ["x"]}
elements = np.array([7, 7, 5, 7, 1, 2], dtype="u1")
codec = {"a": {"compressors": options["compressors"]}}
dataset = xarray.Dataset({"a": ("x", elements)})

zarr_kit.create_group("direct").create_array("a", data=elements, **options)
zarr.create_group("default").create_array("a", data=elements, **options)
with zarr.config.set({"codec_pipeline.path": "zarr_kit.CodecPipeline"}):
    zarr.create_group("pipeline").create_array("a", data=elements, **options)
dataset.to_zarr("xarray", encoding=codec, consolidated=False)
zarr_kit.xarray.to_zarr(dataset, "ours", encoding=codec, consolidated=False)

zarr_kit.open_array("direct", path="a", mode="r+")[2] = 7
for folder in ("default", "xarray"):
    zarr.open_group(folder, mode="r+")["a"][2] = 7
with zarr.config.set({"codec_pipeline.path": "zarr_kit.CodecPipeline"}):
    for folder in ("pipeline", "ours"):
        zarr.open_group(folder, mode="r+")["a"][2] = 7
"""
WRITTEN = ["direct", "default", "pipeline", "xarray", "ours"]


def write_group(folder: Path, plugin: Plugin) -> None:
    """Write a group with the array `a` and its chunk, without a program for Zarr."""
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [len(ELEMENTS)],
        "data_type": "uint8",
        "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [len(ELEMENTS)]}},
        "chunk_key_encoding": {"name": "default"},
        "codecs": [{"name": "bytes"}, plugin.codec],
        "dimension_names": ["x"],
    }
    (folder / "a/c").mkdir(parents=True)
    (folder / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    (folder / "a/zarr.json").write_text(json.dumps(document))
    (folder / "a/c/0").write_bytes(plugin.chunk)


def install(library: Path, folder: Path) -> None:
    checked([ZARRCTL, "plugins", "pack", library, "--output", "dist"], folder)
    checked([ZARRCTL, "plugins", "install", "dist"], folder)


@pytest.fixture(scope="module")
def libraries() -> list[Path]:
    """Build the crates of this module together, because they share dependencies."""
    return crates("xor", "twelve-bits")


@pytest.mark.parametrize("kind", ["a Rust crate", pytest.param("WebAssembly", marks=NEEDS_CLANG)])
def test_a_plugin_of_each_kind_is_used_in_all_ways(tmp_path: Path, kind: str, request: pytest.FixtureRequest) -> None:
    plugin = PLUGINS[kind]
    library = webassembly(tmp_path) if kind == "WebAssembly" else request.getfixturevalue("libraries")[0]
    write_group(tmp_path / "foreign", plugin)
    install(library, tmp_path)
    read = [sys.executable, "-c", READER]
    refused = checked([*read, "foreign"], tmp_path).splitlines()
    assert len(refused) == COUNT
    assert [line for line in refused if f"`zarrctl plugins trust {plugin.name}`" not in line] == []

    checked([ZARRCTL, "plugins", "trust", plugin.name], tmp_path)
    codecs = json.dumps({"compressors": [plugin.codec]})
    checked([sys.executable, "-W", "error", "-c", WRITER, codecs], tmp_path)
    for folder in WRITTEN:
        assert (tmp_path / folder / "a/c/0").read_bytes() == plugin.chunk, folder
    ended = run([*read, "foreign", *WRITTEN], tmp_path)
    assert ended.stdout.splitlines() == [str(ELEMENTS)] * COUNT * (1 + len(WRITTEN)), ended.stderr

    # A library that changed after it was trusted is refused.
    [installed] = (tmp_path / ".local/share/zarr/plugins").glob(f"*{library.suffix}")
    installed.chmod(0o644)
    installed.write_bytes(library.read_bytes() + b"\0")
    refused = checked([*read, "foreign"], tmp_path).splitlines()
    assert [line for line in refused if plugin.codec["name"] not in line or "Error" not in line] == []


# A data type of a plugin, and its own codec or one of the engine. In NumPy, the elements are void.
TWELVE_BITS = """
import json, sys
import numpy as np
import xarray, zarr, zarr_kit

ENCODED = "23 01 80 ff f7 ff dd 0e"
elements = np.array([0x123, -2048, 2047, -1, -0x123], dtype="i2").view("V2")
missing = np.array([-1], dtype="i2").view("V2")[0]
PACKED = [{"name": "outside.packed12"}, {"name": "packbits", "configuration": {"last_bit": 11}}]

def check(array):
    assert array.dtype == "V2", array.dtype
    assert array[...].view("i2").tolist() == elements.view("i2").tolist()
    assert array[3:].view("i2").tolist() == [-1, -0x123]

for number, serializer in enumerate(PACKED):
    options = {"shape": 5, "dtype": "outside.int12", "serializer": serializer, "compressors": None}
    options |= {"fill_value": missing, "dimension_names": ["x"]}
    # zarr_kit also takes the value in the document.
    direct = {**options, "fill_value": missing if number == 0 else -1}
    made = {
        "direct": zarr_kit.create_group(f"direct{number}").create_array("a", **direct),
        "default": zarr.create_group(f"default{number}").create_array("a", **options),
    }
    with zarr.config.set({"codec_pipeline.path": "zarr_kit.CodecPipeline"}):
        made["pipeline"] = zarr.create_group(f"pipeline{number}").create_array("a", **options)
    for name, array in made.items():
        folder = f"{name}{number}"
        assert array[...].view("i2").tolist() == [-1] * 5
        with open(f"{folder}/a/zarr.json") as document:
            stored = json.load(document)
        assert (stored["data_type"], stored["fill_value"]) == ("outside.int12", -1)
        array[...] = elements
        with open(f"{folder}/a/c/0", "rb") as chunk:
            assert chunk.read() == bytes.fromhex(ENCODED), folder
        check(zarr_kit.open_array(folder, path="a", mode="r"))
        for pipeline in ("zarr.core.codec_pipeline.BatchedCodecPipeline", "zarr_kit.CodecPipeline"):
            with zarr.config.set({"codec_pipeline.path": pipeline}):
                check(zarr.open_group(folder, mode="r")["a"])
                check(xarray.open_dataset(folder, engine="zarr", consolidated=False)["a"].values)
        check(xarray.open_dataset(folder, engine="zarr-kit")["a"].values)
print("done")
"""


def test_a_data_type_of_a_plugin_is_used_in_all_ways(tmp_path: Path, libraries: list[Path]) -> None:
    install(libraries[1], tmp_path)
    program = [sys.executable, "-c", TWELVE_BITS]
    assert "`zarrctl plugins trust outside-twelve-bits`" in run(program, tmp_path).stderr
    shutil.rmtree(tmp_path / "direct0", ignore_errors=True)
    checked([ZARRCTL, "plugins", "trust", "outside-twelve-bits"], tmp_path)
    ended = run(program, tmp_path)
    assert ended.stdout == "done\n", ended.stderr


def blocks(page: str, kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def test_the_example_of_the_guide_for_plugins_works(tmp_path: Path) -> None:
    write_archive(tmp_path)
    checked([ZARRCTL, "plugins", "install", "xor.zip"], tmp_path)
    checked([ZARRCTL, "plugins", "trust", "xor-c"], tmp_path)
    [example] = blocks("docs/plugins.md", "python")
    checked([sys.executable, "-c", example], tmp_path)
    assert (tmp_path / "python.zarr/c/0").read_bytes() == bytes(number ^ 170 for number in range(4))


@NEEDS_CLANG
def test_the_commands_of_the_example_with_three_ways_work(tmp_path: Path) -> None:
    folder = tmp_path / "examples/three-ways"
    folder.mkdir(parents=True)
    (tmp_path / "zarr-plugin").symlink_to(ROOT / "zarr-plugin")
    for name in ("runs.c", "runs.h"):
        shutil.copy(ROOT / "examples/three-ways" / name, folder)
    page = "examples/three-ways/README.md"
    commands = blocks(page, "sh")
    assert len(commands) == 3
    [example] = blocks(page, "python")
    checked(["sh", "-e", "-c", "".join(commands)], folder)
    assert {path.suffix for path in folder.iterdir()} > {".so", ".wasm"}
    checked([sys.executable, "-c", example], folder)
    assert (folder / "runs.zarr/c/0").read_bytes() == bytes([255, 1, 143, 1, 255, 2, 143, 2])
