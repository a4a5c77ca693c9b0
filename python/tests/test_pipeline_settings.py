"""Settings of the codec pipeline in arrays that are open, and in other processes."""

import multiprocessing
import pickle
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import zarr
import zarr.codecs
import zarr.storage
from test_pipeline import UnknownCodec
from test_pipeline_races import OtherStore

import zarr_kit
from zarr_kit.errors import NotSupportedError

OURS = "zarr_kit.CodecPipeline"


@pytest.fixture(scope="module")
def worker() -> Iterator[ProcessPoolExecutor]:
    """Return a process with the default settings of zarr-python."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


def changed(array: Any) -> Any:
    """Change a part of a chunk in a worker. Return the elements, or the message of the error."""
    assert zarr.config.get("codec_pipeline.path") != OURS
    assert zarr.config.get("codec_pipeline.strict", None) is None
    assert type(array._async_array.codec_pipeline) is zarr_kit.CodecPipeline
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", zarr_kit.ZarrWarning)
            array[1] = 3
    except zarr_kit.ZarrError as error:
        return str(error)
    return array[...].tolist()


@pytest.mark.parametrize(
    ("settings", "has_unknown_codec", "expected"),
    [
        ({}, True, "set `codec_pipeline.strict` to False"),
        ({"strict": False}, True, [0, 3, 0, 0]),
        ({"strict": False, "conditional": "require"}, True, "does not have conditional writes"),
        ({}, False, [0, 3, 0, 0]),
        ({"conditional": "require"}, False, "does not have conditional writes"),
    ],
)
def test_a_pickled_array_has_the_settings_of_the_process_that_pickled_it(
    tmp_path: Path, worker: ProcessPoolExecutor, settings: dict[str, Any], has_unknown_codec: bool, expected: Any
) -> None:
    filters: Any = [UnknownCodec()] if has_unknown_codec else None
    with zarr.config.set({"codec_pipeline.path": OURS, **{f"codec_pipeline.{key}": settings[key] for key in settings}}):
        array: Any = zarr.create_array(OtherStore(tmp_path), shape=4, dtype="u1", chunks=2, filters=filters)
        # A process may pass an array on.
        again = pickle.loads(pickle.dumps(array))
        found = [worker.submit(changed, one).result() for one in (array, again)]
    for result in found:
        assert result == expected or (isinstance(expected, str) and expected in result)


def test_a_folder_to_which_the_engine_does_not_write_is_refused_in_a_worker(
    tmp_path: Path, worker: ProcessPoolExecutor
) -> None:
    with zarr.config.set({"codec_pipeline.path": OURS, "codec_pipeline.conditional": "require"}):
        array = zarr.create_array(tmp_path / "a", shape=4, dtype="u1", chunks=2)
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "a/c").symlink_to(tmp_path / "elsewhere")
        assert "conditional writes" in worker.submit(changed, array).result()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_the_settings_of_a_process_also_hold_for_pickled_arrays(tmp_path: Path) -> None:
    with zarr.config.set({"codec_pipeline.path": OURS}):
        array = pickle.loads(pickle.dumps(zarr.create_array(OtherStore(tmp_path), shape=4, dtype="u1", chunks=2)))
        with (
            zarr.config.set({"codec_pipeline.conditional": "require"}),
            pytest.raises(NotSupportedError, match="conditional writes"),
        ):
            array[1] = 3


@pytest.mark.filterwarnings("ignore:.*async")
def test_inner_chunks_have_the_setting_of_their_open_array(tmp_path: Path) -> None:
    """zarr-python creates the pipeline of inner chunks when it uses them."""
    inner: list[Any] = [UnknownCodec(), zarr.codecs.BytesCodec()]
    serializer = zarr.codecs.ShardingCodec(chunk_shape=(2,), codecs=inner)
    with zarr.config.set({"codec_pipeline.path": OURS}):
        with zarr.config.set({"codec_pipeline.strict": False}):
            array: Any = zarr.create_array(
                zarr.storage.MemoryStore(), shape=8, dtype="u1", chunks=4, serializer=serializer, compressors=None
            )
        with pytest.warns(zarr_kit.ZarrWarning, match="test.unknown") as issued:
            array[...] = 5
        assert len(issued) == 1
        array[1] = 6
        assert array[:3].tolist() == [5, 6, 5]
