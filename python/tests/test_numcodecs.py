"""Codecs of numcodecs and imagecodecs that are enabled by name."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import imagecodecs.numcodecs
import numcodecs.abc
import numcodecs.registry
import numpy as np
import pytest
import zarr

import zarr_kit
from zarr_kit import errors

imagecodecs.numcodecs.register_codecs(verbose=False)


class Inverted(numcodecs.abc.Codec):  # type: ignore[misc]
    codec_id = "inverted"

    def __init__(self, key: int = 255) -> None:
        self.key = key

    def encode(self, buf: Any) -> bytes:
        return bytes(byte ^ self.key for byte in numcodecs.compat.ensure_bytes(buf))

    def decode(self, buf: Any, out: Any = None) -> bytes:
        if bytes(buf) == b"broken":
            raise ValueError("these bytes are broken")
        return self.encode(buf)


numcodecs.registry.register_codec(Inverted)


def test_an_image_codec_works_after_it_is_enabled_by_name(tmp_path: Path) -> None:
    image = np.random.default_rng(0).integers(0, 255, (64, 64), dtype="u1")
    codec = numcodecs.registry.get_codec({"id": "imagecodecs_jpegxr"})
    source = zarr.create_array(
        tmp_path / "a", data=image, chunks=(32, 32), compressors=codec, filters=None, zarr_format=2
    )
    assert np.array_equal(source[...], image)
    program = "import sys, zarr_kit; print(zarr_kit.open_array(sys.argv[1], mode='r')[...].sum())"
    refused = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "a")], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 1
    assert "imagecodecs_jpegxr" in refused.stderr
    zarr_kit.use_numcodecs("imagecodecs_jpegxr")
    assert np.array_equal(zarr_kit.open_array(tmp_path / "a", mode="r")[...], image)
    copy = zarr_kit.create_array(
        tmp_path / "b", data=image, chunks=(32, 32), filters=None, compressors=codec, zarr_format=2
    )
    assert np.array_equal(copy[5:40, 3], image[5:40, 3])
    assert np.array_equal(zarr.open_array(tmp_path / "b", mode="r")[...], image)


@pytest.mark.parametrize("dtype", [">u2", "<f4"])
def test_a_codec_for_bytes_runs_on_both_sides_of_a_compressor(tmp_path: Path, dtype: str) -> None:
    zarr_kit.use_numcodecs("inverted")
    data = np.arange(12).reshape(3, 4).astype(dtype)
    array = zarr_kit.create_array(
        tmp_path / "v2", data=data, zarr_format=2, filters=None, compressors={"id": "inverted", "key": 3}
    )
    assert np.array_equal(array[...], data)
    assert np.array_equal(zarr.open_array(tmp_path / "v2", mode="r")[...], data)
    v3 = zarr_kit.create_array(
        tmp_path / "v3", data=data, compressors=["zstd", {"name": "inverted", "configuration": {"key": 9}}]
    )
    assert np.array_equal(zarr_kit.open_array(tmp_path / "v3", mode="r")[...], data)
    stored = json.loads((tmp_path / "v3" / "zarr.json").read_text())
    assert stored["codecs"][-1] == {"name": "inverted", "configuration": {"key": 9}}
    assert v3.codecs[-1] == ("inverted", {"key": 9})


def document(data: np.ndarray[Any, Any], codecs: list[Any]) -> str:
    return json.dumps(
        {
            "zarr_format": 3,
            "node_type": "array",
            "shape": data.shape,
            "data_type": data.dtype.name,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": data.shape}},
            "chunk_key_encoding": "default",
            "fill_value": 0,
            "codecs": codecs,
            "attributes": {},
        }
    )


@pytest.mark.parametrize("identifier", ["imagecodecs_lzfse", "numcodecs.imagecodecs_lzfse"])
@pytest.mark.parametrize("dtype", ["<u2", ">u2", ">f4"])
def test_a_codec_directly_after_the_bytes_codec_gets_bytes(tmp_path: Path, identifier: str, dtype: str) -> None:
    zarr_kit.use_numcodecs("imagecodecs_lzfse")
    codec = numcodecs.registry.get_codec({"id": "imagecodecs_lzfse"})
    data = np.arange(12).reshape(3, 4).astype(dtype)
    serializer = {"name": "bytes", "configuration": {"endian": "big" if dtype[0] == ">" else "little"}}
    (tmp_path / "zarr.json").write_text(document(data, [serializer, {"name": identifier}]))
    chunk = tmp_path / "c" / "0" / "0"
    chunk.parent.mkdir(parents=True)
    chunk.write_bytes(codec.encode(data.tobytes()))
    array = zarr_kit.open_array(tmp_path, mode="r+")
    assert np.array_equal(array[...], data)
    array[1] = 7
    data[1] = 7
    assert bytes(codec.decode(chunk.read_bytes())) == data.tobytes()
    created = zarr_kit.create_array(tmp_path / "new", data=data, serializer=serializer, compressors=identifier)
    assert [name for name, _ in created.codecs] == ["bytes", identifier]
    assert bytes(codec.decode((tmp_path / "new" / "c" / "0" / "0").read_bytes())) == data.tobytes()


def test_a_codec_directly_after_the_bytes_codec_of_a_shard_gets_bytes(tmp_path: Path) -> None:
    zarr_kit.use_numcodecs("inverted")
    data = np.arange(64, dtype="<u2").reshape(8, 8)
    serializer = {"name": "bytes", "configuration": {"endian": "little"}}
    sharding = {
        "chunk_shape": [4, 8],
        "codecs": [serializer, {"name": "inverted", "configuration": {"key": 5}}],
        "index_codecs": [serializer, {"name": "crc32c"}],
        "index_location": "end",
    }
    codecs = [{"name": "sharding_indexed", "configuration": sharding}]
    (tmp_path / "zarr.json").write_text(document(data, codecs))
    array = zarr_kit.open_array(tmp_path, mode="r+")
    array[...] = data
    shard = (tmp_path / "c" / "0" / "0").read_bytes()
    assert shard[: data.nbytes] == Inverted(5).encode(data.tobytes())
    assert np.array_equal(zarr_kit.open_array(tmp_path, mode="r")[...], data)


def test_errors_of_a_codec_name_it(tmp_path: Path) -> None:
    zarr_kit.use_numcodecs("inverted")
    array = zarr_kit.create_array(tmp_path, data=np.arange(6, dtype="u1"), compressors="inverted")
    (tmp_path / "c" / "0").write_bytes(b"broken")
    with pytest.raises(errors.PluginError, match="inverted of numcodecs.*these bytes are broken"):
        array[...]
    with pytest.raises(errors.InvalidInputError, match="no codec 'missing'"):
        zarr_kit.use_numcodecs("missing")
    with pytest.raises(errors.InvalidInputError, match="zstd"):
        zarr_kit.use_numcodecs("zstd")


def test_open_nodes_share_their_locks_with_later_ones(tmp_path: Path) -> None:
    before = zarr_kit.create_array(tmp_path, data=np.arange(6))
    zarr_kit.use_numcodecs("inverted")
    after = zarr_kit.open_array(tmp_path, mode="r+")
    after[0] = 9
    before[1] = 8
    assert before[...].tolist() == after[...].tolist() == [9, 8, 2, 3, 4, 5]
