"""Digests, comparisons, checks and repairs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

import zarr_kit
from zarr_kit import errors


def write(folder: Path, **arguments: Any) -> Path:
    """Write a hierarchy with an array."""
    root = zarr_kit.create_group(folder, attributes={"title": "T"}, zarr_format=arguments.pop("zarr_format", 3))
    root.create_array("a", data=np.arange(24.0).reshape(4, 6), **arguments)
    return folder


def test_the_digest_does_not_depend_on_chunks_and_format(tmp_path: Path) -> None:
    one = write(tmp_path / "one", chunks=(4, 6))
    expected = zarr_kit.digest(one)
    assert len(expected["digest"]) == 64
    assert expected["nodes"]["/a"]["shape"] == ["4", "6"]
    assert zarr_kit.digest(write(tmp_path / "two", chunks=(3, 1), zarr_format=2)) == expected
    group = zarr.create_group(tmp_path / "zarr-python", attributes={"title": "T"})
    group.create_array("a", data=np.arange(24.0).reshape(4, 6), chunks=(1, 5), shards=(2, 10))
    assert zarr_kit.digest(tmp_path / "zarr-python") == expected


def test_differences_are_summarized(tmp_path: Path) -> None:
    one = write(tmp_path / "one", chunks=(4, 6))
    two = write(tmp_path / "two", chunks=(2, 2))
    assert zarr_kit.diff(one, two)["equal"]
    zarr_kit.open_array(two, path="a", mode="r+")[1, 2] = 9
    report = zarr_kit.diff(one, two)
    assert not report["equal"]
    [node] = report["nodes"]
    [difference] = node["differences"]
    assert node["path"] == "/a"
    assert (difference["different"], difference["index"], difference["largest"]) == (1, [1, 2], 1)
    assert zarr_kit.diff(one, two, absolute=1)["equal"]
    assert zarr_kit.diff(one, two, values=False)["equal"]


def test_damage_is_found(tmp_path: Path) -> None:
    store = write(tmp_path / "data", chunks=(2, 3))
    manifest = zarr_kit.digest(store)
    report = zarr_kit.verify(store, manifest=manifest)
    assert report["whole"]
    assert report["arrays"][0]["census"]["picture"] == ["##", "##"]
    (store / "a/c/0/1").write_bytes(b"damaged")
    report = zarr_kit.verify(store)
    assert not report["whole"]
    [finding] = report["arrays"][0]["findings"]
    assert (finding["kind"], finding["chunk"]) == ("chunk", [0, 1])
    (store / "a/c/0/1").unlink()
    assert zarr_kit.verify(store)["whole"]
    assert not zarr_kit.verify(store, complete=True)["whole"]
    assert not zarr_kit.verify(store, manifest=manifest)["whole"]
    with pytest.raises(errors.InvalidInputError, match="the manifest was changed"):
        zarr_kit.verify(store, manifest={**manifest, "digest": "0"})
    with pytest.raises(errors.InvalidInputError, match="unknown level"):
        zarr_kit.verify(store, level="all")  # type: ignore[arg-type]


def test_a_repair_is_planned_and_run(tmp_path: Path) -> None:
    store = write(tmp_path / "data", chunks=(2, 3))
    (store / "old/c").mkdir(parents=True)
    (store / "old/c/0").write_bytes(b"left")
    plan = zarr_kit.repair(store)
    assert [repair["action"] for repair in plan["repairs"]] == ["quarantine"]
    assert (store / "old/c/0").exists()
    assert zarr_kit.repair(store, run=True) == plan
    assert (store / "__zarrctl/quarantine/old%2Fc%2F0.quarantined").read_bytes() == b"left"
    assert zarr_kit.verify(store)["whole"]
    assert zarr_kit.repair(store) == {"repairs": [], "remaining": []}


def test_warnings_of_the_hierarchy_are_issued(tmp_path: Path) -> None:
    """A member that strict readers reject causes a warning, whatever the call."""
    stores = []
    for name in ("one", "two"):
        store = write(tmp_path / name, chunks=(2, 3))
        document = store / "a/zarr.json"
        document.write_text(document.read_text().replace('"endian": "little"', ""))
        stores.append(store)
    with pytest.warns(zarr_kit.ZarrWarning, match="endian") as warned:
        zarr_kit.digest(stores[0])
    assert warned[0].filename == __file__
    with pytest.warns(zarr_kit.ZarrWarning, match="endian") as warned:
        assert zarr_kit.diff(stores[0], stores[1])["equal"]
    assert len(warned) == 2


def test_progress_is_reported_and_may_end_a_call(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    store = write(tmp_path / "data", chunks=(1, 1))
    calls: list[Callable[..., object]] = [
        lambda **options: zarr_kit.digest(store, **options),
        lambda **options: zarr_kit.diff(store, store, **options),
        lambda **options: zarr_kit.verify(store, **options),
        lambda **options: zarr_kit.repair(store, **options),
    ]
    for call in calls:
        reports: list[tuple[int, int]] = []
        call(progress=lambda done, planned, reports=reports: reports.append((done, planned)))
        # The chunk of the element 0 is not stored.
        assert reports[-1][0] == reports[-1][1] >= 23
        assert reports == sorted(reports)

        def stop(done: int, planned: int) -> None:
            raise Stop

        with pytest.raises(Stop):
            call(progress=stop)
