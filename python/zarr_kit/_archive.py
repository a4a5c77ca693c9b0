"""Digests, comparisons, checks and repairs of hierarchies.

All reports are dictionaries, as ``zarrctl`` prints them with ``--json``. `progress` is called with the number of chunks
that are done and planned. An exception of `progress` or Ctrl-C ends the call.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

from zarr_kit import _engine
from zarr_kit._array import Report
from zarr_kit._credentials import credential_source
from zarr_kit._hierarchy import Opening, ZarrFormat, checked_flag, engine_options, format_name
from zarr_kit._location import Location, store_location
from zarr_kit.errors import InvalidInputError, check_names

Level = Literal["metadata", "present", "sizes", "decode", "checksums"]


class ArchiveOptions(TypedDict, total=False):
    """Options of all functions."""

    zarr_format: ZarrFormat | None
    storage_options: Mapping[str, Any] | None
    strict: bool
    threads: int | None
    progress: Report | None


def digest(store: Location, path: str = "/", **options: Unpack[ArchiveOptions]) -> dict[str, Any]:
    """Hash the content of a node and all nodes below it, whatever its format, chunks, codecs and store.

    The result is a manifest: its member `digest` is the digest, and :func:`verify` takes it.
    """
    check_names("digest()", options, ArchiveOptions.__annotations__)
    return _loaded(_engine.digest(_opening(store, options), path, _progress(options)))


def diff(
    first: Location,
    second: Location,
    path: str = "/",
    *,
    second_path: str | None = None,
    absolute: float | None = None,
    relative: float | None = None,
    values: bool = True,
    attributes: bool = True,
    **options: Unpack[ArchiveOptions],
) -> dict[str, Any]:
    """Compare two hierarchies.

    Numbers `a` and `b` are equal if ``abs(a - b) <= absolute + relative * abs(b)``. Without a tolerance, elements are
    equal if their bits are, except that all NaNs are equal. The member `equal` of the result is true if nothing differs.
    """
    check_names("diff()", options, ArchiveOptions.__annotations__)
    how = {
        "path": path,
        "second_path": path if second_path is None else second_path,
        "absolute": _tolerance("absolute", absolute),
        "relative": _tolerance("relative", relative),
        "values": checked_flag("values", values),
        "attributes": checked_flag("attributes", attributes),
    }
    openings = _opening(first, options), _opening(second, options)
    return _loaded(_engine.diff(*openings, how, _progress(options)))


def verify(
    store: Location,
    *,
    level: Level = "decode",
    complete: bool = False,
    manifest: Mapping[str, Any] | None = None,
    **options: Unpack[ArchiveOptions],
) -> dict[str, Any]:
    """Check a store for damage, and count the chunks of each array.

    With `complete`, missing chunks are damage. With a `manifest` of :func:`digest`, the content is compared with it. The
    member `whole` of the result is true if no damage was found.
    """
    check_names("verify()", options, ArchiveOptions.__annotations__)
    check = _check(level, manifest, complete=complete)
    return _loaded(_engine.verify(_opening(store, options), check, _progress(options)))


def repair(
    store: Location,
    *,
    run: bool = False,
    level: Level = "decode",
    quarantine_chunks: bool = False,
    **options: Unpack[ArchiveOptions],
) -> dict[str, Any]:
    """Plan the repair of the damage in a store, and run it if `run` is true.

    The result has the members `repairs` and `remaining`, the damage that the plan does not repair. Values are moved to
    the quarantine, `__zarrctl/quarantine/`, and never deleted. With `quarantine_chunks`, damaged chunks are moved too, and
    then read as the fill value.
    """
    check_names("repair()", options, ArchiveOptions.__annotations__)
    check = _check(level, None, complete=False)
    choices = checked_flag("quarantine_chunks", quarantine_chunks), checked_flag("run", run)
    return _loaded(_engine.repair(_opening(store, options), check, choices, _progress(options)))


def _opening(store: Location, options: ArchiveOptions) -> dict[str, Any]:
    opening = Opening(
        location=store_location(store, options.get("storage_options")),
        format=format_name(options.get("zarr_format")),
        strict=options.get("strict", False),
        consolidated=False,
        threads=options.get("threads"),
        credentials=credential_source(store),
    )
    return engine_options(opening)


def _check(level: str, manifest: Mapping[str, Any] | None, *, complete: bool) -> dict[str, Any]:
    if manifest is not None and not isinstance(manifest, Mapping):
        raise InvalidInputError(f"manifest={manifest!r}: expected a dictionary, as digest() returns it")
    text = None if manifest is None else json.dumps(dict(manifest))
    return {"level": str(level), "complete": checked_flag("complete", complete), "manifest": text}


def _tolerance(name: str, value: Any) -> float | None:
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if value is not None and not (is_number and value >= 0):
        raise InvalidInputError(f"{name}={value!r}: expected a number that is not negative")
    return None if value is None else float(value)


def _progress(options: ArchiveOptions) -> _engine.Progress:
    return _engine.Progress(options.get("progress"))


def _loaded(text: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(text)
    return loaded
