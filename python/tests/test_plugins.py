"""Codecs and data types of the engine and of plugins in zarr-python's own pipelines, and in numcodecs."""

# numcodecs has no annotations.
# mypy: allow-untyped-calls

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import imagecodecs.numcodecs
import ml_dtypes
import numcodecs
import numpy as np
import pytest
import zarr
import zarr.core.dtype
import zarr.registry
from plugin_builds import run

import zarr_kit
import zarr_kit_plugins._names as names
from zarr_kit import _engine
from zarr_kit_plugins._lazy import codec_for_numcodecs

PIPELINES = [
    "zarr.core.codec_pipeline.BatchedCodecPipeline",
    "zarr.core.codec_pipeline.FusedCodecPipeline",
    "zarr_kit.CodecPipeline",
]
BYTES = ["imagecodecs_lzw", "imagecodecs_snappy", "imagecodecs_brotli", "imagecodecs_lzf", "imagecodecs_lz4h5"]
CODECS: dict[str, dict[str, Any]] = {
    **{name: {"compressors": [{"name": name}]} for name in BYTES},
    "two": {"compressors": [{"name": BYTES[0]}, {"name": "gzip", "configuration": {"level": 1}}]},
    "zfp": {"serializer": {"name": "zfp", "configuration": {"mode": "reversible"}}, "compressors": None},
    "bitround": {"filters": [{"name": "bitround", "configuration": {"keepbits": 22}}]},
    "delta": {"filters": [{"name": "imagecodecs_delta", "configuration": {}}], "dtype": "i4"},
    "reshape": {"filters": [{"name": "reshape", "configuration": {"shape": [[0, 1]]}}]},
    "packbits": {"serializer": {"name": "packbits"}, "compressors": None, "dtype": "bool"},
    "in shards": {"shards": (10, 6), "compressors": [{"name": BYTES[1]}]},
}


def opened(store: Any, pipeline: str) -> Any:
    with zarr.config.set({"codec_pipeline.path": pipeline}):
        return zarr.open_array(store, mode="r+")


def check_in_all_pipelines(array: Any, data: Any) -> None:
    """Write with each pipeline, and read with each of them."""
    for writer in PIPELINES:
        opened(array.store, writer)[...] = data
        for reader in PIPELINES:
            read = np.asarray(opened(array.store, reader)[...])
            assert read.dtype == data.dtype
            np.testing.assert_array_equal(read, data)


@pytest.mark.parametrize("codecs", CODECS)
def test_codecs_of_the_engine_work_in_all_pipelines(codecs: str) -> None:
    options = {"dtype": "f4", **CODECS[codecs]}
    array = zarr.create_array({}, shape=(10, 6), chunks=(5, 3), **options)
    check_in_all_pipelines(array, np.arange(60).reshape(10, 6).astype(options["dtype"]))


def test_images_are_written_unless_their_codec_only_decodes() -> None:
    data = np.arange(10 * 6 * 3).reshape(10, 6, 3).astype("u1")
    options: Any = {"shape": data.shape, "chunks": (5, 3, 3), "dtype": "u1", "compressors": None}
    array = zarr.create_array({}, serializer={"name": "imagecodecs_webp"}, **options)
    check_in_all_pipelines(array, data)
    array = zarr.create_array({}, serializer={"name": "imagecodecs_jpeg"}, **options)
    for pipeline in PIPELINES:
        with pytest.raises(zarr_kit.ZarrError, match="codec `imagecodecs_jpeg` only decodes"):
            opened(array.store, pipeline)[...] = data


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float6_e2m3fn", "int4", "uint2"])
def test_data_types_of_the_engine_work_in_all_pipelines(name: str) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name))
    array: Any = zarr.create_array({}, shape=(8,), chunks=(3,), dtype=name, fill_value=1)
    assert array[...].tolist() == [dtype.type(1)] * 8
    check_in_all_pipelines(array, np.array([0, 1, 1, 0, 1, 0, 1, 0]).astype(dtype))


@pytest.mark.filterwarnings("ignore")
def test_big_endian_numbers_that_numpy_lacks_are_refused() -> None:
    serializer: Any = {"name": "bytes", "configuration": {"endian": "big"}}
    array: Any = zarr.create_array({}, shape=(2,), dtype="bfloat16", serializer=serializer, compressors=None)
    ours = opened(array.store, PIPELINES[2])
    ours[...] = np.array([1, 2], dtype=ml_dtypes.bfloat16)
    assert ours[...].tolist() == [1, 2]
    for pipeline in PIPELINES[:2]:
        with pytest.raises(zarr_kit.ZarrError, match="big-endian.*zarr_kit.CodecPipeline"):
            opened(array.store, pipeline)[...]


def test_the_table_has_the_names_of_the_engine() -> None:
    assert set(names.CODECS_V3) == set(_engine.codec_names("v3"))
    assert set(names.CODECS_V2) == set(_engine.codec_names("v2"))
    assert all(_engine.DataType.open(json.dumps(name)).description["size"] for name in names.DATA_TYPES)


def test_names_of_other_packages_are_not_replaced() -> None:
    ours = ("zarr_kit", "zarr_kit_plugins")
    for name, registry in zarr.registry._codec_registries.items():
        assert not (len(registry) > 1 and any(key.startswith(ours) for key in registry)), name
    assert type(numcodecs.get_codec({"id": "zlib"})) is numcodecs.Zlib
    assert zarr.registry.get_codec_class("zstd") is zarr.codecs.ZstdCodec


def test_no_data_type_of_numpy_has_a_second_match() -> None:
    contents = zarr.core.dtype.data_type_registry.contents.values()
    ours = [data_type for data_type in contents if data_type.__module__.startswith("zarr_kit")]
    assert len(ours) == len(names.DATA_TYPES) + 1
    dtypes = [*np.typecodes["All"].replace("O", ""), "T", "V3", "S2", "U2", "M8[s]", "i4,f8", ml_dtypes.bfloat16]
    for dtype in dtypes:
        for data_type in ours:
            with pytest.raises(zarr.errors.DataTypeValidationError):
                data_type.from_native_dtype(np.dtype(dtype))


@pytest.mark.parametrize("name", ["imagecodecs_lzw", "imagecodecs_snappy"])
def test_codecs_of_v2_convert_bytes(name: str) -> None:
    codec = numcodecs.get_codec({"id": name})
    data = np.arange(50, dtype="u1")
    encoded = codec.encode(data)
    assert bytes(codec.decode(encoded)) == data.tobytes()
    out = np.empty(50, dtype="u1")
    codec.decode(encoded, out=out)
    np.testing.assert_array_equal(out, data)
    assert pickle.loads(pickle.dumps(codec)).get_config() == codec.get_config() == {"id": name}
    array = zarr.create_array({}, shape=(50,), chunks=(20,), dtype="u1", zarr_format=2, compressors=codec)
    check_in_all_pipelines(array, data)


def test_a_codec_of_v2_for_elements_names_another_way() -> None:
    codec = numcodecs.get_codec({"id": "zfpy", "mode": 4, "tolerance": 0.1})
    with pytest.raises(zarr_kit.ZarrError, match=r"zfpy.*elements"):
        codec.encode(np.zeros(4))


def test_a_damaged_chunk_is_an_error() -> None:
    codec: Any = zarr.registry.get_codec_class("imagecodecs_snappy").from_dict({"name": "imagecodecs_snappy"})
    array: Any = zarr.create_array({}, shape=(4,), dtype="u1", compressors=[codec])
    array[...] = 1
    buffer = zarr.core.buffer.default_buffer_prototype().buffer
    array.store._store_dict["c/0"] = buffer.from_bytes(b"\xff" * 9)
    with pytest.raises(zarr_kit.ZarrError, match="imagecodecs_snappy"):
        array[...]


def test_registration_is_quick_and_loads_no_library(tmp_path: Path) -> None:
    program = """
import sys, time
import zarr, zarr.core.dtype
zarr.core.dtype.data_type_registry._lazy_load()
assert "zarr_kit_plugins" in sys.modules and "zarr_kit" not in sys.modules
for module in [name for name in sys.modules if name.startswith("zarr_kit_plugins")]:
    del sys.modules[module]
start = time.perf_counter()
import zarr_kit_plugins
print(time.perf_counter() - start)
assert "zarr_kit" not in sys.modules
"""
    seconds = [float(run([sys.executable, "-c", program], tmp_path).stdout) for _ in range(5)]
    assert min(seconds) < 0.02


def test_registration_never_raises(tmp_path: Path) -> None:
    folder = tmp_path / "zarr/plugins"
    folder.mkdir(parents=True)
    for number, text in enumerate(
        ["", "[", "provides = 5", "provides = [{}]", 'provides = [{kind = "codec", name = 3}]']
    ):
        (folder / f"{number}.toml").write_text(text)
    (folder / "folder.toml").mkdir()
    program = "import zarr, zarr.core.dtype; zarr.core.dtype.data_type_registry._lazy_load(); import zarr_kit_plugins"
    ended = run([sys.executable, "-W", "error", "-c", program], tmp_path, XDG_DATA_HOME=str(tmp_path))
    assert (ended.returncode, ended.stderr) == (0, "")
    broken = f"import numcodecs.registry; del numcodecs.registry.register_codec; {program}"
    ended = run([sys.executable, "-c", broken], tmp_path)
    assert ended.returncode == 0 and "are not registered with zarr-python" in ended.stderr


def test_registration_can_be_turned_off(tmp_path: Path) -> None:
    program = """
import zarr, zarr.core.dtype
contents = zarr.core.dtype.data_type_registry.contents
before = list(contents)
zarr.core.dtype.data_type_registry._lazy_load()
assert list(contents) == before
import zarr_kit_plugins, zarr.registry
assert not zarr.registry._codec_registries.get("imagecodecs_lzw")
"""
    ended = run([sys.executable, "-c", program], tmp_path, ZARR_KIT_REGISTRATION="off")
    assert (ended.returncode, ended.stderr) == (0, "")


IMAGES: dict[str, tuple[str, tuple[int, ...], dict[str, Any]]] = {
    "gray": ("png", (5, 7), {}),
    "gray of 16 bits": ("png", (5, 7), {"dtype": "u2"}),
    "colors": ("png", (5, 7, 3), {}),
    "transparent colors": ("png", (5, 7, 4), {"dtype": "u2"}),
    "gray with transparency": ("png", (5, 7, 2), {}),
    "lossless WebP": ("webp", (5, 7, 3), {"lossless": True}),
    "lossless WebP with transparency": ("webp", (6, 7, 4), {"lossless": True}),
    "JPEG-LS": ("jpegls", (5, 7), {}),
    "JPEG-LS of 16 bits": ("jpegls", (5, 7), {"dtype": "u2"}),
    "JPEG-LS in colors": ("jpegls", (5, 7, 3), {}),
    "JPEG 2000": ("jpeg2k", (9, 7), {"codecformat": "j2k", "reversible": True}),
    "JPEG 2000 in boxes": ("jpeg2k", (9, 7, 3), {"codecformat": "jp2", "reversible": True}),
    "JPEG 2000 of 16 bits": ("jpeg2k", (9, 7), {"dtype": "u2", "codecformat": "jp2", "reversible": True}),
    "JPEG": ("jpeg", (16, 24), {}),
    "JPEG in colors": ("jpeg", (16, 24, 3), {}),
}


@pytest.mark.parametrize("name", IMAGES)
def test_codecs_of_images_of_v2_need_no_shape(name: str) -> None:
    """imagecodecs encodes and decodes the same images."""
    codec_name, shape, options = IMAGES[name]
    dtype = options.get("dtype", "u1")
    configuration = {key: value for key, value in options.items() if key != "dtype"}
    image = np.random.default_rng(1).integers(0, 255, shape).astype(dtype)
    image[-1, -1] = 200
    theirs = getattr(imagecodecs.numcodecs, codec_name.capitalize())(**configuration)
    ours = codec_for_numcodecs(f"imagecodecs_{codec_name}")(**configuration)
    encoded = theirs.encode(image)
    decoded = ours.decode(encoded)
    assert (decoded.shape, decoded.dtype) == (shape, np.dtype(dtype))
    # Decoders of JPEG may round and interpolate differently.
    difference = np.abs(decoded.astype(int) - np.asarray(theirs.decode(encoded)))
    assert difference.mean() <= (2 if codec_name == "jpeg" else 0)
    out = np.empty(shape, dtype)
    ours.decode(encoded, out=out)
    np.testing.assert_array_equal(out, decoded)
    if codec_name in ("png", "webp"):
        for layout in (image, np.asfortranarray(image), image.astype(image.dtype.newbyteorder(">"))):
            np.testing.assert_array_equal(np.asarray(theirs.decode(ours.encode(layout))), image)
    else:
        with pytest.raises(zarr_kit.ZarrError, match="only decodes"):
            ours.encode(image)
    for damaged in (b"", b"damaged", encoded[:20]):
        with pytest.raises(zarr_kit.ZarrError, match=f"imagecodecs_{codec_name}"):
            ours.decode(damaged)
