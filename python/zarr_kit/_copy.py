"""Copies of hierarchies, with the code of ``zarrctl copy``."""

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, Unpack

from zarr_kit import _engine
from zarr_kit._array import Array, Report
from zarr_kit._creation import CodecsLike, codec_list
from zarr_kit._credentials import credential_source
from zarr_kit._group import Group
from zarr_kit._hierarchy import ZarrFormat, format_name, thread_count
from zarr_kit._location import Location, is_in_memory, store_location
from zarr_kit.errors import InvalidInputError, NotSupportedError, check_names

# Lengths per dimension, or by dimension name, or either of these forms by path.
type LengthsLike = Iterable[int] | Mapping[str, Any]


class CopyOptions(TypedDict, total=False):
    """The options of :func:`copy`."""

    path: str | Iterable[str]
    zarr_format: ZarrFormat | None
    chunks: LengthsLike
    shards: LengthsLike | None
    codecs: CodecsLike | Mapping[str, CodecsLike]
    include: str | Iterable[str]
    exclude: str | Iterable[str]
    select: str | Iterable[str] | Mapping[str, str]
    lossy: bool
    consolidate: bool
    max_reads: float
    overwrite: bool
    resume: bool
    skip_unreadable: bool
    verify: bool
    partition: tuple[int, int]
    partition_pass: int
    source_storage_options: Mapping[str, Any] | None
    storage_options: Mapping[str, Any] | None
    threads: int | None
    progress: Report | None


def copy(source: Location | Array | Group, destination: Location, **options: Unpack[CopyOptions]) -> None:
    """Copy a hierarchy or a part of it, and convert its format, chunks or codecs, as ``zarrctl copy`` does.

    `source` is a location, an array or a group. The paths in the destination are those in the source.

    - `path`: copy only these nodes and the nodes below them.
    - `zarr_format`: the format of the copy. The default is the format of the destination if it has one, or else the
      format of the source.
    - `chunks`, `shards`: lengths, such as ``(10, 90)``, ``{"time": 10}`` by dimension name, or ``{"/t2m": (10, 90)}`` by
      path. -1 is the whole dimension. ``shards=None`` removes shards.
    - `codecs`: the codecs of all arrays, or of those at and below paths: ``{"/t2m": "zstd"}``.
    - `include`, `exclude`: patterns of paths, such as ``"**/t2m"``.
    - `select`: copy only a part of the arrays with these dimensions, in the notation of ``zarrctl copy --select``:
      ``{"time": "2001-02", "lat": "0:45"}``, or texts such as ``"/t2m=0:10,5"``.
    - `lossy`: allow changes to elements.
    - `consolidate`: consolidate the metadata of the copy.
    - `max_reads`: copy an array in two passes, through uncompressed chunks in the destination, if one pass would read its
      chunks more often than this on average. The default is 2.
    - `overwrite`: erase existing arrays before they are copied, and replace the attributes of existing groups.
    - `resume`: continue an interrupted copy with the same options. The source must not have changed.
    - `skip_unreadable`: leave out nodes and chunks that cannot be read, each with a warning. Elements of such chunks become
      the fill value.
    - `verify`: read the copy back and compare it with the source before its metadata is written.
    - `partition`: ``(i, n)`` copies part i of n, counted from 1. Parts may run at the same time, in any process; the
      part that finds all other parts complete writes the metadata. `partition_pass` is 1 or 2, for arrays that take two
      passes.
    - `source_storage_options`, `storage_options`: options of the source and of the destination.
    - `progress` is called with the number of chunks that are done and planned. Chunks are planned array by array.

    Metadata is written last. If Ctrl-C or an exception of `progress` ends the call, copied chunks remain in the destination
    without metadata. The same copy with ``resume=True`` continues, and ``zarrctl clean`` removes them.
    """
    check_names("copy()", options, CopyOptions.__annotations__)
    paths = list(_texts(options.get("path", ())))
    opened = isinstance(source, (Array, Group)) and source._hierarchy.opening.credentials
    if opened or credential_source(source) or credential_source(destination):
        raise NotSupportedError(
            "copy() does not call credential providers: set the environment variables of the service instead"
        )
    if isinstance(source, (Array, Group)):
        from_location = source.location
        paths = paths or [source.path]
    else:
        from_location = store_location(source, options.get("source_storage_options"))
    to_location = store_location(destination, options.get("storage_options"))
    for location in (from_location, to_location):
        if is_in_memory(location):
            raise InvalidInputError("a store in memory cannot be copied: write to a folder instead")
    arguments = [*_flags(options), *_repeated("path", paths), *_conversions(options)]
    arguments += _repeated("include", _texts(options.get("include", ())))
    arguments += _repeated("exclude", _texts(options.get("exclude", ())))
    select = options.get("select", ())
    if isinstance(select, Mapping):
        select = [f"{name}={part}" for name, part in select.items()]
    arguments += _repeated("select", _texts(select))
    threads = thread_count(options.get("threads"))
    _engine.copy([*arguments, "--", from_location, to_location], threads, _engine.Progress(options.get("progress")))


def _flags(options: CopyOptions) -> list[str]:
    names = ("lossy", "consolidate", "overwrite", "resume", "skip_unreadable", "verify")
    arguments = [f"--{name.replace('_', '-')}" for name in names if options.get(name, False)]
    if "max_reads" in options:
        arguments.append(f"--max-reads={float(options['max_reads'])}")
    if "partition" in options:
        number, count = options["partition"]
        arguments.append(f"--partition={int(number)}/{int(count)}")
    if "partition_pass" in options:
        arguments.append(f"--pass={int(options['partition_pass'])}")
    return arguments


def _conversions(options: CopyOptions) -> list[str]:
    arguments: list[str] = []
    format = format_name(options.get("zarr_format"))
    if format is not None:
        arguments.append(f"--format={format}")
    arguments += _repeated("chunks", _lengths(options.get("chunks", {})))
    shards = options.get("shards", {})
    arguments += ["--shards=none"] if shards is None else _repeated("shards", _lengths(shards))
    codecs = options.get("codecs", {})
    by_path = codecs if isinstance(codecs, Mapping) and all(map(_is_path, codecs)) else {"": codecs}
    for path, chain in by_path.items():
        for name, configuration in codec_list(chain):
            text = name if configuration is None else f"{name}:{json.dumps(configuration)}"
            arguments.append(f"--codec={path}={text}" if path else f"--codec={text}")
    return arguments


def _lengths(lengths: LengthsLike) -> list[str]:
    """Return lengths in the form of the command line."""
    if not isinstance(lengths, Mapping):
        return [",".join(str(int(length)) for length in lengths)]
    by_path = {path: below for path, below in lengths.items() if _is_path(path)}
    texts = [f"{path}={text}" for path, below in by_path.items() for text in _lengths(below)]
    by_name = [f"{name}={int(length)}" for name, length in lengths.items() if name not in by_path]
    return [*texts, ",".join(by_name)] if by_name else texts


def _is_path(name: str) -> bool:
    return name.startswith("/")


def _texts(texts: str | Iterable[str]) -> Iterable[str]:
    return [os.fspath(texts)] if isinstance(texts, (str, os.PathLike)) else texts


def _repeated(name: str, texts: Iterable[str]) -> list[str]:
    return [f"--{name}={text}" for text in texts]
