"""Every codec and data type of the engine in zarr-python's default pipeline.

The configurations are the examples that `zarrctl plugins show` prints. What the default pipeline stores is read by the
engine, and the other way round.
"""

import functools
import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
import zarr.abc.codec
import zarr.registry
from numpy.typing import NDArray

import zarr_kit
import zarr_kit_plugins._names as names
from zarr_kit_plugins._lazy import codec_for_numcodecs

# numcodecs is not annotated.
numcodecs: Any = import_module("numcodecs")

pytestmark = pytest.mark.filterwarnings("ignore")

DEFAULT = "zarr.core.codec_pipeline.BatchedCodecPipeline"
OTHERS = ["zarr.core.codec_pipeline.FusedCodecPipeline", "zarr_kit.CodecPipeline"]

# Codecs of which the default pipeline cannot use each example, and a part of the error.
REFUSED_V3: dict[str, str] = {
    # zarr-python has codecs with these names, which support less.
    "cast_value": "requires the 'cast-value-rs' package",
    "endian": "Expected 'bytes'. Got endian instead",
    "numcodecs.categorize": "Expected str, got int",
    # The shape of the chunk is in the configuration, and the codec is created without the chunk.
    "numcodecs.imagecodecs_delta": "the chunk has shape",
    "numcodecs.imagecodecs_floatpred": "the chunk has shape",
    "numcodecs.imagecodecs_pcodec": "the chunk has shape",
    # It passes encoded chunks to numcodecs without their data types and shapes.
    "numcodecs.pcodec": "converts elements, not bytes",
    "numcodecs.zfpy": "converts elements, not bytes",
    # It has its codec for texts.
    "zarrs.vlen": "must be `VLenUTF8Codec`",
    "zarrs.vlen_v2": "must be `VLenUTF8Codec`",
    # It does not have these data types.
    "optional": "expected data type `zarrs.optional`",
    "zarrs.optional": "expected data type `zarrs.optional`",
    "vlen-ndarray": "encodes data type `ndarray`",
}
REFUSED_V2: dict[str, str] = {
    # Encoded chunks have no data type and no shape, see `IMAGES` in `_lazy.py`.
    "grib": "converts elements, not bytes",
    "gribberish": "converts elements, not bytes",
    "gribscan.rawgrib": "converts elements, not bytes",
    "imagecodecs_delta": "converts elements, not bytes",
    "imagecodecs_floatpred": "converts elements, not bytes",
    "imagecodecs_jpegxl": "converts elements, not bytes",
    "imagecodecs_lerc": "converts elements, not bytes",
    "imagecodecs_pcodec": "converts elements, not bytes|the chunk has shape",
    "imagecodecs_wavpack": "converts elements, not bytes",
    "imagecodecs_zfp": "converts elements, not bytes",
    "pcodec": "converts elements, not bytes",
    "wavpack": "converts elements, not bytes",
    "zfpy": "converts elements, not bytes",
    # The size of the chunk is not known when it is decoded.
    "imagecodecs_aec": "do not contain the size of the chunk",
    # zarr-python has codecs with these names for its types of text and objects, or requires its own for them.
    "categorize": "requires the numcodecs.VLenUTF8 codec",
    "fill_hdf_strings": "requires the numcodecs.VLenUTF8 codec",
    "json2": "'zarr-kit.json' not understood",
    "msgpack2": "'zarr-kit.json' not understood",
    "vlen-array": "is not recognized|not understood",
    "vlen-bytes": "length must be >= 1",
    "vlen-utf8": "as the first filter|requires the numcodecs.VLenUTF8 codec",
}


@functools.cache
def shown(name: str, format: str) -> dict[str, Any]:
    """Return what `zarrctl` shows about a codec."""
    script = Path(sys.executable).with_name("zarrctl")
    entries: list[dict[str, Any]] = json.loads(subprocess.check_output([script, "plugins", "show", name, "--json"]))
    named = [entry for entry in entries if name == entry[format] or (name in entry["aliases"])]
    [entry] = [entry for entry in named if entry["extension_point"] == "codec"]
    return entry


def examples(name: str, format: str) -> list[dict[str, Any]]:
    """Return examples with documents of the format. Names that begin with `numcodecs.` have configurations of v2."""
    found = shown(name, format)["examples"]
    of_v2 = [example for example in found if example["format"] == "v2"]
    if format == "v3" and name.startswith("numcodecs.") and of_v2:
        return [{**example, "document": _as_v3(name, example["document"])} for example in of_v2]
    return [example for example in found if example["format"] == format]


def _as_v3(name: str, document: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "configuration": {key: value for key, value in document.items() if key != "id"}}


def data_types(example: dict[str, Any]) -> list[Any]:
    """Return some data types of an example: those that it names, that of its configuration, or two others."""
    if example["data_types"]:
        return list(example["data_types"][:2])
    document = example["document"]
    configuration = document.get("configuration") or document
    own = configuration.get("decode_dtype") or configuration.get("dtype")
    named = [] if own is None or own == "|O" else [np.dtype(own).name]
    return named or ["uint8", "float32"]


def elements(data_type: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return small numbers, or short texts."""
    numbers = np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2
    found: Any
    if data_type == "bytes":
        found = np.array([b"a", b"b", b"c"], dtype=object)[numbers]
    elif dtype.kind in "TO":
        found = np.array(["a", "b", "c"], dtype=object)[numbers].astype(dtype)
    else:
        found = numbers.astype(dtype)
    return found  # type: ignore[no-any-return]


def opened(folder: Path, pipeline: str) -> Any:
    with zarr.config.set({"codec_pipeline.path": pipeline}):
        return zarr.open_array(folder, mode="r+")


def check(folder: Path, data: NDArray[Any], *, is_exact: bool) -> None:
    """Write with the default pipeline, and read with all others; then write with the engine."""
    array = opened(folder, DEFAULT)
    array[...] = data
    stored = np.asarray(array[...])
    if is_exact:
        np.testing.assert_array_equal(stored, data)
    for pipeline in OTHERS:
        np.testing.assert_array_equal(np.asarray(opened(folder, pipeline)[...]), stored)
    ours = zarr_kit.open_array(folder, mode="r+")
    np.testing.assert_array_equal(ours[...], stored)
    ours[...] = stored
    np.testing.assert_array_equal(np.asarray(opened(folder, DEFAULT)[...]), ours[...])


def created_v3(folder: Path, name: str, example: dict[str, Any], data_type: Any, shape: tuple[int, ...]) -> Any:
    document = {**example["document"], "name": name}
    codec: Any = zarr.registry.get_codec_class(name).from_dict(document)
    arguments: dict[str, Any] = {"filters": [codec], "compressors": None}
    if isinstance(codec, zarr.abc.codec.BytesBytesCodec):
        arguments = {"compressors": [codec]}
    elif isinstance(codec, zarr.abc.codec.ArrayBytesCodec):
        arguments = {"serializer": codec, "compressors": None}
    if data_type == "zarr-kit.json":
        # The default is null, which zarr-python does not store.
        arguments["fill_value"] = 0
    return zarr.create_array(folder, shape=shape, chunks=shape, dtype=data_type, **arguments)


def created_v2(folder: Path, name: str, example: dict[str, Any], data_type: Any, shape: tuple[int, ...]) -> Any:
    codec = numcodecs.get_codec({**example["document"], "id": name})
    options: dict[str, Any] = {"zarr_format": 2, "compressors": codec, "filters": None}
    return zarr.create_array(folder, shape=shape, chunks=shape, dtype=data_type, **options)


def check_examples(folder: Path, name: str, format: str, refused: str | None) -> None:
    """Use each example of a codec. The examples that are refused have this error, and there is at least one."""
    create = created_v2 if format == "v2" else created_v3
    cases = [(example, data_type) for example in examples(name, format) for data_type in data_types(example)]
    refusals = []
    for number, (example, data_type) in enumerate(cases):
        shape = tuple(example["shape"]) or (6, 8)
        try:
            with zarr.config.set({"codec_pipeline.path": DEFAULT}):
                array = create(folder / str(number), name, example, data_type, shape)
            data = elements(data_type, array.dtype, shape)
            if shown(name, format)["decodes_only"]:
                with pytest.raises(zarr_kit.ZarrError, match="only decodes"):
                    array[...] = data
            else:
                check(folder / str(number), data, is_exact=example["loss"]["kind"] == "nothing")
        except Exception as error:
            if refused is None or re.search(refused, str(error)) is None:
                raise
            refusals.append(error)
    assert cases
    assert bool(refusals) is (refused is not None)


@pytest.mark.parametrize("name", names.CODECS_V3)
def test_codecs_of_v3_work_in_the_default_pipeline(tmp_path: Path, name: str) -> None:
    check_examples(tmp_path, name, "v3", REFUSED_V3.get(name))


@pytest.mark.parametrize("name", names.CODECS_V2)
def test_codecs_of_v2_work_in_the_default_pipeline(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # In a program that uses imagecodecs, its classes have precedence.
    monkeypatch.delitem(sys.modules, "imagecodecs.numcodecs", raising=False)
    check_examples(tmp_path, name, "v2", REFUSED_V2.get(name))


@pytest.mark.parametrize("name", names.DATA_TYPES)
def test_data_types_work_in_the_default_pipeline(tmp_path: Path, name: str) -> None:
    with zarr.config.set({"codec_pipeline.path": DEFAULT}):
        array: Any = zarr.create_array(tmp_path, shape=(6,), chunks=(4,), dtype=name)
    if array.dtype.names is None:
        data = np.array([0, 1, 1, 0, 1, 1]).astype(array.dtype)
    else:
        data = np.zeros(6, array.dtype)
        data["imag"] = np.array([0, 1, 1, 0, 1, 1]).astype(array.dtype["imag"])
    array[...] = data
    assert np.asarray(array[...]).tobytes() == data.tobytes()
    for pipeline in OTHERS:
        assert np.asarray(opened(tmp_path, pipeline)[...]).tobytes() == data.tobytes()
    assert zarr_kit.open_array(tmp_path, mode="r")[...].tobytes() == data.tobytes()


PROGRAM_WITH_IMAGECODECS = """
import sys
import numpy as np
import zarr

# zarr-python imports the entry points, before the program imports imagecodecs.
zarr.create_array(sys.argv[1] + "/first", shape=(1,), dtype="uint8")

import imagecodecs.numcodecs
import numcodecs

imagecodecs.numcodecs.register_codecs(verbose=False)
image = np.arange(48, dtype="uint16").reshape(6, 8)
for name, configuration in [("jpegxl", {"lossless": True}), ("jpegls", {}), ("png", {}), ("lzw", {})]:
    codec = numcodecs.get_codec({"id": f"imagecodecs_{name}", **configuration})
    array = zarr.create_array(
        f"{sys.argv[1]}/{name}", data=image, chunks=image.shape, zarr_format=2, filters=None, compressors=codec
    )
    assert np.array_equal(array[...], image)
    print(type(codec).__module__, name)
"""


def test_the_classes_of_imagecodecs_have_precedence_in_a_program_that_imports_them(tmp_path: Path) -> None:
    printed = subprocess.check_output([sys.executable, "-c", PROGRAM_WITH_IMAGECODECS, tmp_path], text=True)
    names_of_codecs = ["jpegxl", "jpegls", "png", "lzw"]
    assert printed.split() == [word for name in names_of_codecs for word in ("imagecodecs.numcodecs", name)]
    for name in names_of_codecs:
        image = np.arange(48, dtype="uint16").reshape(6, 8)
        np.testing.assert_array_equal(zarr_kit.open_array(tmp_path / name, mode="r")[...], image)


@pytest.mark.parametrize("largest", [1, 12, 255])
def test_long_streams_of_lzw_are_exchanged_with_imagecodecs(largest: int) -> None:
    """The table of strings becomes full many times. The two programs empty it at different codes."""
    imagecodecs: Any = import_module("imagecodecs")
    data = np.random.default_rng(largest).integers(0, largest, 200_000, dtype="u1", endpoint=True).tobytes()
    ours = codec_for_numcodecs("imagecodecs_lzw")()
    assert imagecodecs.lzw_decode(ours.encode(data)) == data
    assert bytes(ours.decode(imagecodecs.lzw_encode(data))) == data
