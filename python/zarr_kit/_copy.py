"""Copies of hierarchies, with the code of ``zarrctl copy``."""

import json
import operator
import os
from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, Unpack

import numpy as np

from zarr_kit import _engine
from zarr_kit._array import Array, Report
from zarr_kit._creation import CodecsLike, codec_list
from zarr_kit._credentials import credential_source
from zarr_kit._group import Group
from zarr_kit._hierarchy import ZarrFormat, format_name, thread_count
from zarr_kit._location import Location, is_in_memory, store_location
from zarr_kit.errors import InvalidInputError, check_names

# The value of the command line for an array without shards or codecs.
_NONE = "none"

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
    select: str | Iterable[str] | Mapping[str, str | float]
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
      path. -1 is the whole dimension. ``shards=None`` and ``shards={"/t2m": None}`` remove shards.
    - `codecs`: the codecs of all arrays, or of those at and below paths: ``{"/t2m": "zstd"}``. ``codecs=None`` removes
      codecs.
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
    paths = _texts("path", options.get("path", ()))
    if isinstance(source, (Array, Group)):
        opening = source._hierarchy.opening
        copied = opening.location, opening.credentials
        paths = paths or [source.path]
    else:
        copied = store_location(source, options.get("source_storage_options")), credential_source(source)
    places = copied, (store_location(destination, options.get("storage_options")), credential_source(destination))
    for location, _ in places:
        if is_in_memory(location):
            raise InvalidInputError("a store in memory cannot be copied: write to a folder instead")
    arguments = [*_flags(options), *_repeated("path", paths), *_conversions(options)]
    arguments += _repeated("include", _texts("include", options.get("include", ())))
    arguments += _repeated("exclude", _texts("exclude", options.get("exclude", ())))
    select = options.get("select", ())
    if isinstance(select, Mapping):
        select = [f"{name}={_selected(part)}" for name, part in select.items()]
    arguments += _repeated("select", _texts("select", select))
    threads = thread_count(options.get("threads"))
    _engine.copy(arguments, places, threads, _engine.Progress(options.get("progress")))


def _flags(options: CopyOptions) -> list[str]:
    names = ("lossy", "consolidate", "overwrite", "resume", "skip_unreadable", "verify")
    arguments = [f"--{name.replace('_', '-')}" for name in names if options.get(name, False)]
    if "max_reads" in options:
        arguments.append(f"--max-reads={_number('max_reads', options['max_reads'])}")
    if "partition" in options:
        arguments.append(f"--partition={_part(options['partition'])}")
    if "partition_pass" in options:
        if options["partition_pass"] not in (1, 2):
            raise InvalidInputError(f"partition_pass={options['partition_pass']!r}: expected 1 or 2")
        if "partition" not in options:
            raise InvalidInputError("partition_pass needs partition: one process runs both passes")
        arguments.append(f"--pass={int(options['partition_pass'])}")
    return arguments


def _selected(part: Any) -> str:
    if isinstance(part, (str, int, float, np.generic)):
        return str(part)
    raise InvalidInputError(
        f'select: {part!r} is not a selection: expected a text, such as "2001-02" or "0:45", or "[0:10]" for positions'
    )


def _number(name: str, value: Any) -> float:
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
        return float(value)
    raise InvalidInputError(f"{name}={value!r}: expected a number")


def _part(value: Any) -> str:
    match value:
        case (int(number), int(count)) if 1 <= number <= count:
            return f"{number}/{count}"
    raise InvalidInputError(f"partition={value!r}: expected (i, n), such as (1, 4) for the first of four parts")


def _conversions(options: CopyOptions) -> list[str]:
    arguments: list[str] = []
    format = format_name(options.get("zarr_format"))
    if format is not None:
        arguments.append(f"--format={format}")
    for name in ("chunks", "shards"):
        arguments += _repeated(name, _lengths(name, options.get(name, {})))
    codecs = options.get("codecs", {})
    by_path = codecs if isinstance(codecs, Mapping) and all(map(_is_path, codecs)) else {"": codecs}
    for path, chain in by_path.items():
        for name, configuration in codec_list(chain) or [(_NONE, None)]:
            text = name if configuration is None else f"{name}:{json.dumps(configuration)}"
            arguments.append(f"--codec={path}={text}" if path else f"--codec={text}")
    return arguments


def _lengths(option: str, lengths: Any) -> list[str]:
    """Return lengths in the form of the command line."""
    if lengths is None and option == "shards":
        return [_NONE]
    if not isinstance(lengths, Mapping):
        given = [None] if isinstance(lengths, str) or not isinstance(lengths, Iterable) else lengths
        return [",".join(_length(option, length, lengths) for length in given)]
    by_path = {path: below for path, below in lengths.items() if _is_path(path)}
    texts = [f"{path}={text}" for path, below in by_path.items() for text in _lengths(option, below)]
    names = [name for name in lengths if name not in by_path]
    by_name = [f"{name}={_length(option, lengths[name], lengths)}" for name in names]
    return [*texts, ",".join(by_name)] if by_name else texts


def _length(option: str, length: Any, lengths: Any) -> str:
    if not hasattr(length, "__index__") or isinstance(length, bool):
        raise InvalidInputError(
            f'{option}={lengths!r}: expected lengths, such as (10, 90), {{"time": 10}} or {{"/t2m": (10, 90)}}'
        )
    return str(operator.index(length))


def _is_path(name: Any) -> bool:
    return isinstance(name, str) and name.startswith("/")


def _texts(option: str, texts: Any) -> list[str]:
    is_one = isinstance(texts, (str, os.PathLike)) or not isinstance(texts, Iterable)
    given = [texts] if is_one else list(texts)
    if not all(isinstance(text, (str, os.PathLike)) for text in given):
        raise InvalidInputError(f"{option}={texts!r}: expected a text, or several texts in a list")
    return [os.fspath(text) for text in given]


def _repeated(name: str, texts: Iterable[str]) -> list[str]:
    return [f"--{name}={text}" for text in texts]
