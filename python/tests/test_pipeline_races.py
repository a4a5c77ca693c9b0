"""Programs that change parts of the same chunks with the codec pipeline for zarr-python, at the same time."""

import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
import zarr.storage
from test_pipeline import UnknownCodec

import zarr_kit
from zarr_kit.errors import InvalidInputError, NotSupportedError

PROCESSES = 8
ROUNDS = 10
COUNT = PROCESSES * ROUNDS

# Each process writes its own elements of each array, one at a time. The elements of all processes alternate.
WRITER = """
import sys
import zarr

zarr.config.set({"codec_pipeline.path": "zarr_kit.CodecPipeline", "codec_pipeline.conditional": "require"})
group = zarr.open_group(sys.argv[1])
number, processes, rounds = map(int, sys.argv[2:])
for round in range(rounds):
    at = round * processes + number
    group["numbers"][at] = at + 1
    group["shards"][at] = at + 1
    group["points"].vindex[[at]] = at + 1
    group["words"][at : at + 1] = str(at + 1)
    # The value that all elements have at the end is the fill value of this array.
    group["erased"][at] = 5
    group["erased"][at] = 0
"""


class OtherStore(zarr.storage.LocalStore):
    """A store that the engine does not recognize."""


@pytest.fixture(autouse=True)
def _ours() -> Iterator[None]:
    with zarr.config.set({"codec_pipeline.path": "zarr_kit.CodecPipeline"}):
        yield


def test_no_part_of_a_chunk_in_a_local_store_is_lost(tmp_path: Path) -> None:
    group = zarr.create_group(tmp_path)
    for name in ("numbers", "points", "erased"):
        group.create_array(name, shape=COUNT, dtype="u2", chunks=(COUNT,))
    group.create_array("shards", shape=COUNT, dtype="u2", chunks=(4,), shards=(COUNT,))
    group.create_array("words", shape=COUNT, dtype=str, chunks=(COUNT,))
    arguments = [str(PROCESSES), str(ROUNDS)]
    started = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), str(number), *arguments], stderr=subprocess.PIPE, text=True
        )
        for number in range(PROCESSES)
    ]
    for process in started:
        _, text = process.communicate()
        assert process.returncode == 0, text
    opened: Any = zarr.open_group(tmp_path, mode="r")
    expected = list(range(1, COUNT + 1))
    for name in ("numbers", "shards", "points"):
        assert opened[name][...].tolist() == expected, name
    assert opened["words"][...].tolist() == [str(number) for number in expected]
    assert not opened["erased"][...].any()
    assert [path for path in tmp_path.rglob("*") if path.name.startswith(".zarr-tmp-")] == []


def created(store: Any, **options: Any) -> Any:
    return zarr.create_array(store, shape=8, dtype="u2", chunks=(4,), **options)


@pytest.mark.parametrize("dtype", ["u2", str])
def test_a_store_without_conditions_causes_one_warning(tmp_path: Path, dtype: Any) -> None:
    value = np.array(["3"] if dtype is str else [3])
    array: Any = zarr.create_array(OtherStore(tmp_path), shape=8, dtype=dtype, chunks=(4,))
    # A whole chunk is not read before it is written, so there is nothing to lose.
    array[:4] = np.repeat(value, 4)
    with pytest.warns(zarr_kit.ZarrWarning, match=r"OtherStore|file://") as issued:
        array[1:2] = value
    assert len(issued) == 1
    assert "conditional writes" in str(issued[0].message)
    # Another warning would be an error.
    array[2:3] = value
    other: Any = zarr.open_array(OtherStore(tmp_path))
    other[6:7] = value
    assert [str(element) for element in other[...]].count("3") == 5


@pytest.mark.parametrize("store", ["other", "memory", "default pipeline"])
def test_conditions_may_be_required(tmp_path: Path, store: str) -> None:
    options: dict[str, Any] = {}
    settings: dict[str, Any] = {"codec_pipeline.conditional": "require"}
    if store == "default pipeline":
        settings["codec_pipeline.strict"] = False
        settings["codec_pipeline.path"] = "zarr_kit.CodecPipeline"
        # The engine refuses this codec, so a pipeline of zarr-python writes the array.
        options = {"filters": [UnknownCodec()], "compressors": None}
    place: Any = {"other": OtherStore(tmp_path), "memory": zarr.storage.MemoryStore()}.get(store, tmp_path)
    with zarr.config.set(settings), warnings.catch_warnings():
        if store == "default pipeline":
            warnings.simplefilter("ignore", zarr_kit.ZarrWarning)
        array = created(place, **options)
        array[:4] = 2
        with pytest.raises(NotSupportedError, match="conditional writes"):
            array[1] = 3
        with pytest.raises(NotSupportedError, match="conditional writes"):
            array.vindex[[1, 5]] = 3
        assert array[...].tolist() == [2] * 4 + [0] * 4


def test_a_local_store_has_the_required_conditions(tmp_path: Path) -> None:
    with zarr.config.set({"codec_pipeline.conditional": "require"}):
        array = created(tmp_path)
        array[1] = 3
        array.vindex[[2, 5]] = 4
        assert array[...].tolist() == [0, 3, 4, 0, 0, 4, 0, 0]


def test_a_store_in_memory_belongs_to_one_process_and_causes_no_warning() -> None:
    array = created(zarr.storage.MemoryStore())
    array[1] = 3
    assert array[:2].tolist() == [0, 3]


def test_an_unknown_value_of_the_setting_is_an_error(tmp_path: Path) -> None:
    array = created(OtherStore(tmp_path))
    with (
        zarr.config.set({"codec_pipeline.conditional": "always"}),
        pytest.raises(InvalidInputError, match=r"codec_pipeline\.conditional.*'require' or 'warn'"),
    ):
        array[1] = 3


def test_a_folder_without_protection_causes_one_warning(tmp_path: Path) -> None:
    """The engine does not write to a folder behind a link that leads out of the store; zarr-python does."""
    array = created(tmp_path / "a")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "a/c").symlink_to(tmp_path / "elsewhere")
    with (
        zarr.config.set({"codec_pipeline.conditional": "require"}),
        pytest.raises(zarr_kit.ZarrError, match=r"conditional writes.*link"),
    ):
        array[1] = 3
    with pytest.warns(zarr_kit.ZarrWarning, match=r"conditional writes.*link"):
        array[1] = 3
    array[5] = 4
    assert array[...].tolist() == [0, 3, 0, 0, 0, 4, 0, 0]
