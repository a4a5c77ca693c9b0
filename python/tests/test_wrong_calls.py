"""Calls that a new user gets wrong: the error names the argument, and what to do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarr_kit
from zarr_kit import errors


@pytest.fixture
def group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> zarr_kit.Group:
    monkeypatch.chdir(tmp_path)
    group = zarr_kit.create_group("weather.zarr")
    group.create_array("temperature", data=np.arange(6.0), chunks=2)
    group.create_group("ocean").create_array("salinity", data=[1, 2])
    return group


def option(name: str, value: Any) -> Callable[[Any], Any]:
    """Return a call that opens the hierarchy with an option."""
    return lambda _: zarr_kit.open("weather.zarr", **{name: value})


ARRAY: dict[str, Any] = {"shape": (4,), "dtype": "i4"}
WRONG: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "mode as path": (lambda _: zarr_kit.open("weather.zarr", "r+"), errors.NodeNotFoundError, r"mode='r\+'"),
    "mode as path of nothing": (lambda _: zarr_kit.open("new.zarr", "w"), errors.NodeNotFoundError, "mode='w'"),
    "path that is not text": (lambda _: zarr_kit.open("weather.zarr", 5), errors.InvalidInputError, "path 5 is not"),  # type: ignore[arg-type]
    "similar node": (
        lambda _: zarr_kit.open("weather.zarr", "temprature"),
        errors.NodeNotFoundError,
        r"no node at /temprature \(did you mean /temperature\?\)",
    ),
    "similar node below": (
        lambda group: group["ocean/salinty"],
        errors.NodeNotFoundError,
        r"did you mean /ocean/salinity\?",
    ),
    "node below nothing": (lambda group: group["sky/blue"], errors.NodeNotFoundError, "no node at /sky/blue$"),
    "elements of a group": (lambda group: group[...], errors.WrongKindError, "/ is a group: .* found Ellipsis"),
    "number as name": (lambda group: group[0], errors.WrongKindError, "expected the name of a node, .* found 0"),
    "new array with a number": (
        lambda group: group.create_array(5, **ARRAY),
        errors.WrongKindError,
        "expected the name of a node",
    ),
    "attributes of text": (
        lambda _: zarr_kit.create_group("new.zarr", attributes="x"),  # type: ignore[arg-type]
        errors.InvalidInputError,
        "attributes='x' is not valid: expected a dictionary",
    ),
    "attributes of pairs": (
        lambda group: group.create_array("new", attributes=[("a", 1)], **ARRAY),
        errors.InvalidInputError,
        r"attributes=\[\('a', 1\)\] is not valid",
    ),
    "attributes of a new group": (
        lambda group: group.create_group("new", attributes=5),
        errors.InvalidInputError,
        "attributes=5 is not valid",
    ),
    "separator of zarr-python 2": (
        lambda _: zarr_kit.create_array("new.zarr", dimension_separator=".", **ARRAY),  # type: ignore[call-arg]
        TypeError,
        r"'dimension_separator' \(did you mean 'chunk_key_encoding'\?\)",
    ),
    "format of zarr-python 2": (
        lambda _: zarr_kit.open("weather.zarr", zarr_version=2),  # type: ignore[call-arg]
        TypeError,
        r"'zarr_version' \(did you mean 'zarr_format'\?\)",
    ),
    "dimensions of xarray": (
        lambda _: zarr_kit.create_array("new.zarr", dims=["x"], **ARRAY),  # type: ignore[call-arg]
        TypeError,
        r"'dims' \(did you mean 'dimension_names'\?\)",
    ),
    "consolidated of xarray": (
        lambda _: zarr_kit.open("weather.zarr", consolidated=False),  # type: ignore[call-arg]
        TypeError,
        r"'consolidated' \(did you mean 'use_consolidated'\?\)",
    ),
    "separator without a name": (
        lambda _: zarr_kit.create_array("new.zarr", chunk_key_encoding={"separator": "."}, **ARRAY),
        errors.InvalidInputError,
        r'has no name: expected one such as \{"name": "default", "separator": "\."\}',
    ),
    "assignment to a group": (
        lambda group: group.__setitem__("new", np.zeros(3)),
        TypeError,
        r"use create_array\('new', data=...\)",
    ),
    "dimension names that are not text": (
        lambda group: group.create_array("new", dimension_names=[5], **ARRAY),
        errors.InvalidInputError,
        r"dimension_names=\[5\]: expected a list of texts",
    ),
    "dimension names that are a number": (
        lambda group: group.create_array("new", dimension_names=5, **ARRAY),
        errors.InvalidInputError,
        "dimension_names=5: expected a list of texts",
    ),
    "an attribute that is not a number": (
        lambda group: group.create_array("new", attributes={"a": float("nan")}, **ARRAY),
        errors.InvalidInputError,
        "the attributes cannot be stored as JSON",
    ),
    "attributes that are a number": (
        lambda group: group.attrs.put(5),
        errors.InvalidInputError,
        "attributes=5 is not valid",
    ),
    "flag of text": (option("strict", "yes"), errors.InvalidInputError, "strict='yes': expected True or False"),
    "another flag of text": (
        option("use_consolidated", "no"),
        errors.InvalidInputError,
        "use_consolidated='no': expected True or False",
    ),
    "number as a flag": (
        option("write_empty_chunks", 1),
        errors.InvalidInputError,
        "write_empty_chunks=1: expected True or False",
    ),
    "threads of text": (option("threads", "two"), errors.InvalidInputError, "threads='two': expected a number"),
    "negative threads": (option("threads", -1), errors.InvalidInputError, "threads=-1: expected a number"),
    "formats in a list": (option("zarr_format", [2]), errors.InvalidInputError, r"unknown zarr_format \[2\]"),
    "options of text": (option("storage_options", "x"), errors.InvalidInputError, "storage_options='x': expected a"),
    "node as location": (zarr_kit.digest, errors.InvalidInputError, "give `node.location`, and `node.path`"),
    "tolerance of text": (
        lambda _: zarr_kit.diff("weather.zarr", "weather.zarr", absolute="x"),  # type: ignore[arg-type]
        errors.InvalidInputError,
        "absolute='x': expected a number",
    ),
    "negative tolerance": (
        lambda _: zarr_kit.diff("weather.zarr", "weather.zarr", relative=-1),
        errors.InvalidInputError,
        "relative=-1: expected a number that is not negative",
    ),
    "values of text": (
        lambda _: zarr_kit.diff("weather.zarr", "weather.zarr", values="no"),  # type: ignore[arg-type]
        errors.InvalidInputError,
        "values='no': expected True or False",
    ),
    "level that is a number": (
        lambda _: zarr_kit.verify("weather.zarr", level=5),  # type: ignore[arg-type]
        errors.InvalidInputError,
        'unknown level "5"',
    ),
    "manifest of text": (
        lambda _: zarr_kit.verify("weather.zarr", manifest="m.json"),  # type: ignore[arg-type]
        errors.InvalidInputError,
        r"manifest='m.json': expected a dictionary, as digest\(\) returns it",
    ),
    "completeness of text": (
        lambda _: zarr_kit.verify("weather.zarr", complete="yes"),  # type: ignore[arg-type]
        errors.InvalidInputError,
        "complete='yes': expected True or False",
    ),
    "repair of text": (
        lambda _: zarr_kit.repair("weather.zarr", run="yes"),  # type: ignore[arg-type]
        errors.InvalidInputError,
        "run='yes': expected True or False",
    ),
    "number as codec": (
        lambda _: zarr_kit.use_numcodecs(5),  # type: ignore[arg-type]
        errors.InvalidInputError,
        "5 is not the name of a codec",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_says_what_to_do(group: zarr_kit.Group, name: str) -> None:
    call, kind, message = WRONG[name]
    with pytest.raises(kind, match=message):
        call(group)
    assert not Path("new.zarr").exists()
    assert sorted(group) == ["ocean", "temperature"]


def test_names_of_modes_are_paths_of_nodes(group: zarr_kit.Group) -> None:
    group.create_array("w", data=[3])
    array: Any = zarr_kit.open("weather.zarr", "w")
    assert array[...].tolist() == [3]


def test_a_missing_name_has_a_default(group: zarr_kit.Group) -> None:
    assert group.get("temprature") is None
    assert group.get("temprature", 5) == 5
    assert isinstance(group.get("temperature"), zarr_kit.Array)


def test_attributes_of_groups_and_arrays_may_be_numbers_of_numpy(group: zarr_kit.Group) -> None:
    attributes = {"count": np.int64(3), "limits": np.array([0.5, 1.5])}
    for node in (
        group.create_group("a", attributes=attributes),
        group.create_array("b", attributes=attributes, **ARRAY),
        zarr_kit.create_group("c.zarr", attributes=attributes),
    ):
        node.attrs["scale"] = np.float32(0.5)
        assert node.attrs.asdict() == {"count": 3, "limits": [0.5, 1.5], "scale": 0.5}
