"""Codecs whose encoded bytes do not contain the size of the chunk: the caller must pass it."""

# imagecodecs and numcodecs are not annotated.
# mypy: allow-untyped-calls

from pathlib import Path
from typing import Any

import imagecodecs.numcodecs
import numpy as np
import pytest
import zarr
from zarr.core.buffer import default_buffer_prototype
from zarr.core.sync import sync

import zarr_kit
from zarr_kit import errors
from zarr_kit_plugins._lazy import codec_for_numcodecs

PIPELINES = [
    "zarr.core.codec_pipeline.BatchedCodecPipeline",
    "zarr.core.codec_pipeline.FusedCodecPipeline",
    "zarr_kit.CodecPipeline",
]
AEC: dict[str, Any] = {"bitspersample": 8, "flags": 8, "blocksize": 16, "rsi": 64}
SZIP = {"options_mask": 36, "pixels_per_block": 8, "bits_per_pixel": 16, "pixels_per_scanline": 32, "header": False}
CODECS = {"imagecodecs_aec": AEC, "numcodecs.imagecodecs_aec": AEC, "imagecodecs_szip": SZIP}


def opened(store: Any, pipeline: str) -> Any:
    with zarr.config.set({"codec_pipeline.path": pipeline}):
        return zarr.open_array(store, mode="r+")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shards", [None, (10, 12)])
@pytest.mark.parametrize("dtype", ["u1", "i2", "f4"])
@pytest.mark.parametrize("name", CODECS)
def test_arrays_of_v3_declare_the_size_of_a_chunk(name: str, dtype: str, shards: Any) -> None:
    # Chunks at the edges are stored as whole chunks.
    data = np.arange(9 * 11).reshape(9, 11).astype(dtype)
    codecs: Any = [{"name": name, "configuration": CODECS[name]}]
    array = zarr.create_array(
        {},
        shape=data.shape,
        chunks=(5, 4),
        shards=shards,
        dtype=dtype,
        compressors=codecs,
    )
    for writer in PIPELINES:
        opened(array.store, writer)[...] = 0
        opened(array.store, writer)[...] = data
        opened(array.store, writer)[2, 3:5] = 7
        for reader in PIPELINES:
            expected = data.copy()
            expected[2, 3:5] = 7
            np.testing.assert_array_equal(opened(array.store, reader)[...], expected)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_imagecodecs_and_the_pipelines_exchange_chunks(pipeline: str) -> None:
    data = np.random.default_rng(3).integers(0, 40, 64, "u1").reshape(8, 8)
    codec: Any = {"name": "imagecodecs_aec", "configuration": AEC}
    array: Any = zarr.create_array({}, shape=(8, 8), chunks=(8, 8), dtype="u1", compressors=[codec])
    opened(array.store, pipeline)[...] = data
    theirs = imagecodecs.numcodecs.Aec(**AEC)
    buffer = default_buffer_prototype()
    stored = sync(array.store.get("c/0/0", buffer))
    assert theirs.decode(stored.to_bytes()) == data.tobytes()
    sync(array.store.set("c/0/0", buffer.buffer.from_bytes(theirs.encode(data + 1))))
    np.testing.assert_array_equal(opened(array.store, pipeline)[...], data + 1)


@pytest.mark.filterwarnings("ignore")
def test_a_preceding_codec_that_changes_the_size_is_refused() -> None:
    codecs: list[Any] = [{"name": "crc32c"}, {"name": "imagecodecs_aec", "configuration": AEC}]
    array: Any = zarr.create_array({}, shape=(16,), dtype="u1", compressors=codecs)
    for pipeline in PIPELINES[:2]:
        with pytest.raises(errors.NotSupportedError, match="16 bytes, but .* 20 bytes.*zarr_kit.CodecPipeline"):
            opened(array.store, pipeline)[...] = 1
    opened(array.store, PIPELINES[2])[...] = 1
    assert opened(array.store, PIPELINES[2])[...].tolist() == [1] * 16


@pytest.mark.parametrize("configuration", [{}, {"blocksize": 16, "rsi": 8}], ids=["default", "large blocks"])
@pytest.mark.parametrize("dtype", ["u1", "u2", "i2", "u4", "i4", "f4"])
def test_numcodecs_passes_the_chunk_or_the_output(dtype: str, configuration: dict[str, int]) -> None:
    """imagecodecs decodes what the engine encodes, and the other way round."""
    chunk = (np.random.default_rng(4).integers(0, 90, 128) - 30).astype(dtype).reshape(8, 16)
    ours = codec_for_numcodecs("imagecodecs_aec")(**configuration)
    for encoded in (ours.encode(chunk), imagecodecs.aec_encode(chunk, **configuration)):
        out = np.empty_like(chunk)
        ours.decode(encoded, out=out)
        np.testing.assert_array_equal(out, chunk)
        # imagecodecs does not take the form of the samples from the output.
        is_signed = chunk.itemsize > 1 and chunk.dtype.kind != "u"
        form: dict[str, int] = {"bitspersample": 8 * chunk.itemsize, "flags": 8 + is_signed, **configuration}
        assert imagecodecs.aec_decode(encoded, **form) == chunk.tobytes()


def test_numcodecs_does_not_pass_the_size_to_a_decoder(tmp_path: Path) -> None:
    """The message names another way, which reads the array."""
    chunk = np.arange(60, dtype="u2").reshape(6, 10)
    encoded = imagecodecs.aec_encode(chunk)
    with pytest.raises(errors.NotSupportedError, match=r"do not contain the size of the chunk.*zarr_kit\.open"):
        codec_for_numcodecs("imagecodecs_aec")().decode(encoded)
    array = zarr_kit.create_array(
        tmp_path, data=chunk, chunks=chunk.shape, zarr_format=2, filters=None, compressors={"id": "imagecodecs_aec"}
    )
    (tmp_path / "0.0").write_bytes(encoded)
    np.testing.assert_array_equal(array[...], chunk)
    np.testing.assert_array_equal(opened(tmp_path, PIPELINES[2])[...], chunk)
