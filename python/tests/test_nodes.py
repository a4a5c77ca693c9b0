"""Groups, attributes, modes, and how nodes are shown."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarr_kit
from zarr_kit import errors

FORMATS: list[Any] = [2, 3, "v3-draft"]


@pytest.fixture(params=FORMATS)
def group(request: Any, tmp_path: Path) -> zarr_kit.Group:
    """A group with an array and a group below it, in each format."""
    root = zarr_kit.create_group(tmp_path / "data", zarr_format=request.param, attributes={"title": "T"})
    root.create_array("numbers", data=np.arange(6).reshape(2, 3), chunks=(1, 3))
    root.create_group("below", attributes={"n": 1}).create_array("deep", shape=(2,), dtype="f4")
    return root


def test_a_group_is_a_mapping_of_nodes(group: zarr_kit.Group) -> None:
    assert list(group) == ["below", "numbers"]
    assert len(group) == 2
    assert "numbers" in group
    assert "below/deep" in group
    assert "other" not in group
    assert [name for name, _ in group.arrays()] == ["numbers"]
    assert [name for name, _ in group.groups()] == ["below"]
    assert group.get("other", 5) == 5
    assert group["below"].attrs["n"] == 1
    del group["numbers"]
    assert group.keys() == ["below"]
    assert group.require_group("below").attrs.asdict() == {"n": 1}
    assert group.require_group("new").keys() == []


def test_attributes_are_stored(group: zarr_kit.Group) -> None:
    for node in [group, group["numbers"]]:
        node.attrs["unit"] = "K"
        node.attrs.update({"list": [1, {"a": None}]}, flag=True)
        again = zarr_kit.open(node.location, node.path).attrs
        assert again["unit"] == "K"
        assert (again["list"], again["flag"]) == ([1, {"a": None}], True)
        del node.attrs["unit"]
        with pytest.raises(KeyError):
            del node.attrs["unit"]
        assert "unit" not in zarr_kit.open(node.location, node.path).attrs
        node.attrs.put({"only": 1})
        assert dict(zarr_kit.open(node.location, node.path).attrs) == {"only": 1}
        node.attrs.clear()
        assert len(node.attrs) == 0


def test_changes_of_two_objects_for_one_node_are_both_stored(group: zarr_kit.Group) -> None:
    other = zarr_kit.open(group.location, mode="r+")
    group.attrs["a"] = 1
    other.attrs["b"] = 2
    assert {"a", "b"} <= set(zarr_kit.open(group.location).attrs)


def test_an_array_is_resized_and_appended_to(group: zarr_kit.Group) -> None:
    array: Any = group["numbers"]
    assert array.append([[6, 7, 8]]) == (3, 3)
    assert array.append([[0], [1], [2]], axis=1) == (3, 4)
    assert array[...].tolist() == [[0, 1, 2, 0], [3, 4, 5, 1], [6, 7, 8, 2]]
    with pytest.raises(errors.ElementsError, match="axis"):
        array.append([1, 2])
    array.resize((1, 2))
    again: Any = zarr_kit.open(array.location, array.path)
    assert again[...].tolist() == [[0, 1]]
    assert array.nchunks_initialized == 1


def test_modes_are_those_of_zarr_python(tmp_path: Path) -> None:
    location = tmp_path / "data"
    for mode in ["r", "r+"]:
        with pytest.raises(FileNotFoundError):
            zarr_kit.open(location, mode=mode)  # type: ignore[arg-type]
    group = zarr_kit.open(location, mode="a")
    assert isinstance(group, zarr_kit.Group)
    with pytest.raises(FileExistsError):
        zarr_kit.open_group(location, mode="w-")
    array = zarr_kit.open_array(location, path="a", mode="a", shape=(3,), dtype="i4")
    array[...] = 5
    assert zarr_kit.open_array(location, path="a", mode="a")[0] == 5
    assert zarr_kit.open_array(location, path="a", mode="w", shape=(2,), dtype="i4")[...].tolist() == [0, 0]
    assert isinstance(zarr_kit.open(location, "a", mode="a"), zarr_kit.Array)
    assert zarr_kit.open_group(location, mode="w").keys() == []
    with pytest.raises(ValueError, match="unknown mode"):
        zarr_kit.open(location, mode="x")  # type: ignore[arg-type]


def test_nothing_is_written_in_read_only_mode(group: zarr_kit.Group) -> None:
    read_only: Any = zarr_kit.open(group.location)
    assert read_only.read_only
    array = read_only["numbers"]
    with pytest.raises(PermissionError, match="mode"):
        array[0, 0] = 1
    with pytest.raises(PermissionError):
        array.attrs["a"] = 1
    with pytest.raises(PermissionError):
        array.append([[1, 2, 3]])
    with pytest.raises(PermissionError):
        array.resize((9, 9))
    with pytest.raises(PermissionError):
        read_only.create_group("x")
    with pytest.raises(PermissionError):
        del read_only["numbers"]


def test_nodes_are_shown_as_text_and_html(group: zarr_kit.Group) -> None:
    array: Any = group["numbers"]
    assert group.tree().splitlines() == [
        "/",
        "├── below",
        "│   └── deep (2,) float32",
        "└── numbers (2, 3) int64",
    ]
    assert re.search(r"^Shape +: \(2, 3\)$", repr(array.info), re.MULTILINE)
    assert re.search(r"^Arrays +: 1$", repr(group.info), re.MULTILINE)
    assert array.path in repr(array)
    assert "<svg" in array._repr_html_()
    assert "(2, 3)" in array._repr_html_()
    assert "<details><summary>below</summary>" in group._repr_html_()
    words = zarr_kit.create_array("memory:", shape=2, dtype="string")
    assert re.search(r"^Fill value +: ''$", repr(words.info), re.MULTILINE)


def test_the_picture_of_an_array_has_the_edges_of_its_chunks() -> None:
    uneven = zarr_kit.create_array("memory:", shape=(10, 20), dtype="i4", chunks=[[2, 3, 5], [10, 10]])
    # 120 pixels are 20 elements.
    assert '<path d="M0 12.0H120M0 30.0H120M60.0 0V60" stroke="#023047"/>' in uneven._repr_html_()
    assert "3 × 2 chunks</div>" in uneven._repr_html_()
    sharded = zarr_kit.create_array("memory:", shape=(40,), dtype="u1", chunks=(10,), shards=(20,))
    shown = sharded._repr_html_()
    assert '<path d="M30.0 0V8M60.0 0V8M90.0 0V8" stroke="#023047" stroke-width="0.3"/>' in shown
    assert '<path d="M60.0 0V8" stroke="#023047"/>' in shown
    assert "sharding_indexed (bytes, zstd)" in shown
    many = zarr_kit.create_array("memory:", shape=(10**9, 10**9), dtype="u1", chunks=(1, 1))
    assert '<path d="" stroke="#023047"/>' in many._repr_html_()


def test_arrays_that_cannot_be_read_are_shown(tmp_path: Path) -> None:
    group = zarr_kit.create_group(tmp_path)
    group.create_array("a", shape=(2,), dtype="i4")
    document = tmp_path / "a" / "zarr.json"
    document.write_text(document.read_text().replace('"zstd"', '"example.unknown"'))
    opened: Any = zarr_kit.open(tmp_path)
    assert opened.tree().splitlines() == ["/", "└── a (cannot be read)"]
    assert "a (cannot be read)" in opened._repr_html_()
    with pytest.raises(ValueError, match=r"example\.unknown"):
        opened["a"]


@pytest.mark.filterwarnings("ignore:.*has characters other than")
def test_foreign_text_is_escaped_in_html(tmp_path: Path) -> None:
    group = zarr_kit.create_group(tmp_path / "<b>")
    group.create_array("<i>", shape=(2,), dtype="i1", dimension_names=["<u>"])
    shown = group._repr_html_() + group["<i>"]._repr_html_()
    assert "&lt;i&gt;" in shown
    assert not any(tag in shown for tag in ["<i>", "<u>", f"{tmp_path}/<b>"])


def test_locations_are_paths_urls_and_descriptions(tmp_path: Path) -> None:
    zarr_kit.create_array(tmp_path / "a", data=np.arange(3))
    description = {"type": "filesystem", "path": str(tmp_path / "a")}
    locations: list[Any] = [tmp_path / "a", str(tmp_path / "a"), f"file://{tmp_path}/a"]
    for location in [*locations, description, json.dumps(description)]:
        array: Any = zarr_kit.open(location)
        assert array[...].tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="storage_options"):
        zarr_kit.open(tmp_path / "a", storage_options={"anonymous": True})


def test_metadata_of_an_array_are_attributes_of_python(tmp_path: Path) -> None:
    array = zarr_kit.create_array(
        tmp_path, shape=(10, 20), dtype="<f4", chunks=(2, 5), shards=(4, 10), dimension_names=["y", "x"], fill_value=-1
    )
    assert (array.shape, array.ndim, array.size, array.nbytes) == ((10, 20), 2, 200, 800)
    assert (array.chunks, array.shards, array.cdata_shape, array.nchunks) == ((2, 5), (4, 10), (5, 4), 20)
    assert array.nchunks_initialized == 0
    array[0, 0] = 1
    assert array.nchunks_initialized == 4
    assert array.dimension_names == ("y", "x")
    assert array.fill_value == -1
    assert [name for name, _ in array.codecs] == ["sharding_indexed"]


def test_a_new_array_needs_a_shape_and_a_data_type(tmp_path: Path) -> None:
    invalid: list[dict[str, Any]] = [{}, {"shape": (2,)}, {"dtype": "i4"}, {"data": [1], "shape": (1,)}]
    for arguments in invalid:
        with pytest.raises(ValueError, match="shape"):
            zarr_kit.create_array(tmp_path, **arguments)
    with pytest.raises(ValueError, match="unknown"):
        zarr_kit.create_array(tmp_path, shape=(2,), dtype="nothing")
    with pytest.raises(ValueError, match="not a codec"):
        zarr_kit.create_array(tmp_path, shape=(2,), dtype="i4", compressors=[5])
    with pytest.raises(FileExistsError):
        zarr_kit.create_array(tmp_path, shape=(2,), dtype="i4")
        zarr_kit.create_array(tmp_path, shape=(2,), dtype="i4")


def test_overwriting_the_root_replaces_a_hierarchy_of_another_format(tmp_path: Path) -> None:
    zarr_kit.create_group(tmp_path, zarr_format=2).create_array("a", shape=(2,), dtype="i4")
    with pytest.raises(FileExistsError):
        zarr_kit.create_array(tmp_path, data=np.arange(3), zarr_format=3)
    array = zarr_kit.create_array(tmp_path, data=np.arange(3), zarr_format=3, overwrite=True)
    assert array.format == "v3"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "zarr.json"]
    assert zarr_kit.open(tmp_path, mode="w", data=np.arange(2), zarr_format=2).shape == (2,)  # type: ignore[union-attr]


def test_arguments_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    unknown: Any = {"chunk": 5}
    with pytest.raises(TypeError, match="'chunk'"):
        zarr_kit.create_array(tmp_path, shape=(2,), dtype="i4", **unknown)
    with pytest.raises(TypeError, match="'chunk'"):
        zarr_kit.create_group(tmp_path).create_array("a", shape=(2,), dtype="i4", **unknown)
    array = zarr_kit.create_array(tmp_path / "b", shape=(2,), dtype="i4")
    with pytest.raises(ValueError, match="does not accept shape"):
        zarr_kit.open(tmp_path / "b", shape=(2,))
    with pytest.raises(ValueError, match="negative"):
        array.resize((-1,))
    with pytest.raises(ValueError, match="shape"):
        zarr_kit.create_array(tmp_path / "c", shape=(-2,), dtype="i4")


def test_chunks_of_different_lengths_are_listed(tmp_path: Path) -> None:
    data = np.arange(42).reshape(6, 7)
    array = zarr_kit.create_array(tmp_path, data=data, chunks=[[1, 2, 3], [4, 3]])
    assert array.cdata_shape == (3, 2)
    assert array.blocks[2, 1].tolist() == data[3:, 4:].tolist()
    assert array[::-1].tolist() == data[::-1].tolist()


def test_many_arrays_are_created_with_one_call(group: zarr_kit.Group, tmp_path: Path) -> None:
    common: Any = {"shape": (4, 6), "chunks": (2, 3), "dtype": "int16"}
    new = {
        "a": common,
        "below/b": {"data": np.arange(5.0), "fill_value": np.nan, "attributes": {"unit": "K"}},
        "c": common,
        "d": {**common, "fill_value": 7},
    }
    zarr_format: Any = "v3-draft" if group.format == "v3-draft" else group.zarr_format
    at_once = zarr_kit.create_group(tmp_path / "at_once", zarr_format=zarr_format)
    created = at_once.create_arrays(new)
    one_by_one = zarr_kit.create_group(tmp_path / "one_by_one", zarr_format=zarr_format)
    for name, arguments in new.items():
        one_by_one.create_array(name, **arguments)
    assert stored(tmp_path / "at_once") == stored(tmp_path / "one_by_one")

    assert {name: array.path for name, array in created.items()} == {name: f"/{name}" for name in new}
    created["a"][...] = 3
    assert [read_array(at_once, name)[0, 0] for name in "acd"] == [3, 0, 7]
    np.testing.assert_array_equal(read_array(at_once, "below/b"), np.arange(5.0))
    assert at_once.create_arrays({}) == {}


def read_array(group: zarr_kit.Group, name: str) -> Any:
    array: Any = group[name]
    return array[...]


def stored(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_arrays_of_one_call_are_checked_before_anything_is_written(group: zarr_kit.Group) -> None:
    common: Any = {"shape": (4,), "dtype": "int16"}
    for refused, message in (
        ({"new": common, "wrong": {"shape": (4,)}}, "`shape` and `dtype`"),
        ({"new": common, "wrong": {**common, "dtype": "int17"}}, "int17"),
        ({"new": common, "wrong": {**common, "chunks": (2, 2)}}, "chunks"),
        ({"new": common, "new/": common}, "two of the names are the same path"),
    ):
        with pytest.raises(errors.ZarrError, match=re.escape(message)):
            group.create_arrays(refused)
        assert "new" not in group, refused
    wrong: list[Any] = [["new"], {"new": "int16"}, None]
    for arrays in wrong:
        with pytest.raises(errors.InvalidInputError, match="mapping from names to arguments"):
            group.create_arrays(arrays)
    for name in ("numbers", "numbers/below"):
        with pytest.raises(errors.NodeExistsError, match="/numbers"):
            group.create_arrays({name: common})
    assert read_array(group, "numbers").shape == (2, 3)
    group.create_arrays({"numbers": common, "new": common}, overwrite=True)
    assert read_array(group, "numbers").shape == (4,)
    reading = zarr_kit.open_group(group.location, mode="r")
    with pytest.raises(errors.ReadOnlyError, match='mode="r\\+"'):
        reading.create_arrays({"later": common})
