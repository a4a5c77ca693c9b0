"""The messages of the package, each caused by a call, in `snapshots/messages.txt`.

`UPDATE_SNAPSHOTS=1` rewrites the file.
"""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

import zarr_kit

SNAPSHOT = Path(__file__).parent / "snapshots" / "messages.txt"


def calls(folder: Path) -> dict[str, Callable[[], object]]:
    """Return calls that fail, by their descriptions."""
    path = folder / "a.zarr"
    data = np.arange(12, dtype="i4").reshape(3, 4)
    array = zarr_kit.create_array(path / "a", data=data, chunks=(2, 2))
    group = zarr_kit.create_group(folder / "g.zarr")
    read_only = zarr_kit.open_array(path / "a", mode="r")

    def write_element() -> None:
        read_only[0, 0] = 1

    def write_shape() -> None:
        array[0] = np.zeros(3, dtype="i4")

    def write_text() -> None:
        array[0, 0] = "red"

    def create(**arguments: object) -> Callable[[], object]:
        return lambda: zarr_kit.create_array("memory:", **arguments)  # type: ignore[arg-type]

    return {
        "opening a folder that does not exist": lambda: zarr_kit.open(folder / "none"),
        "opening an array as a group": lambda: zarr_kit.open_group(path / "a", mode="r"),
        "opening with an unknown mode": lambda: zarr_kit.open(path, mode="x"),  # type: ignore[call-overload]
        "a node that does not exist": lambda: group["b"],
        "an index that is out of bounds": lambda: array[3],
        "too many indices": lambda: array[0, 0, 0],
        "an index that is a float": lambda: array[1.5],  # type: ignore[index]
        "a mask of another shape": lambda: array[np.array([True, False])],
        "lists of different lengths": lambda: array[[0, 1], [0, 1, 2]],
        "a step of zero": lambda: array[::0],
        "writing to an array that is open for reading": write_element,
        "writing elements of another shape": write_shape,
        "writing a text to an array of integers": write_text,
        "reading into an array of another shape": lambda: array.read(out=np.empty((2, 2), dtype="i4")),
        "appending rows of another length": lambda: array.append(np.zeros((1, 3), dtype="i4")),
        "resizing to another number of dimensions": lambda: array.resize((3,)),
        "creating without a data type": create(shape=(2,)),
        "creating with an unknown data type": create(shape=(2,), dtype="int17"),
        "creating with an unknown codec": create(shape=(2,), dtype="i4", compressors="zstdd"),
        "creating with chunks of another rank": create(shape=(2, 2), dtype="i4", chunks=(2,)),
        "creating with an unknown format": create(shape=(2,), dtype="i4", zarr_format=4),
        "creating with a fill value that is out of range": create(shape=(2,), dtype="i1", fill_value=300),
        "no threads": lambda: zarr_kit.open(path / "a", threads=0),
    }


def test_the_messages_are_those_of_the_snapshot(tmp_path: Path) -> None:
    lines = []
    for what, call in calls(tmp_path).items():
        try:
            call()
        except Exception as error:  # noqa: BLE001
            message = str(error).replace(str(tmp_path), "FOLDER")
            lines.append(f"{what}\n    {type(error).__name__}: {message}\n")
        else:
            lines.append(f"{what}\n    NO ERROR\n")
    text = "\n".join(lines)
    if os.environ.get("UPDATE_SNAPSHOTS"):
        SNAPSHOT.write_text(text, encoding="utf-8")
    assert text == SNAPSHOT.read_text(encoding="utf-8")
    assert "NO ERROR" not in text
