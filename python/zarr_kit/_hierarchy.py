"""Hierarchies, with the options for opening them again in other processes."""

import dataclasses
import operator
import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from zarr_kit import _engine
from zarr_kit._credentials import CredentialSource
from zarr_kit._location import is_in_memory
from zarr_kit.errors import InvalidInputError, ReadOnlyError

type Mode = Literal["r", "r+", "a", "w", "w-"]
type ZarrFormat = Literal[2, 3, "v2", "v3", "v3-draft"]

MODES = ("r", "r+", "a", "w", "w-")
_FORMATS: dict[object, str] = {
    2: "v2",
    3: "v3",
    "v2": "v2",
    "v3": "v3",
    "v3-draft": "v3-draft",
}
THREADS_VARIABLE = "ZARR_KIT_THREADS"


@dataclass(frozen=True, kw_only=True)
class Opening:
    """The options with which a hierarchy is opened."""

    location: str
    format: str | None = None
    strict: bool = False
    consolidated: bool = True
    write_empty_chunks: bool = False
    threads: int | None = None
    read_only: bool = False
    credentials: CredentialSource | None = None


class Hierarchy:
    """A hierarchy of the engine, with the options for opening it again."""

    def __init__(self, engine: _engine.Hierarchy, opening: Opening) -> None:
        self.engine = engine
        self.opening = opening
        self._store_in_memory = uuid.uuid4().hex if is_in_memory(opening.location) else ""

    @classmethod
    def open(cls, opening: Opening) -> "Hierarchy":
        """Open an existing hierarchy."""
        return cls(_engine.Hierarchy.open(engine_options(opening)), opening)

    @classmethod
    def create(cls, opening: Opening) -> "Hierarchy":
        """Open a hierarchy, or create it in an empty store."""
        return cls(_engine.Hierarchy.create(engine_options(opening)), opening)

    @property
    def read_only(self) -> bool:
        """Whether the hierarchy cannot be written."""
        return self.opening.read_only or self.engine.read_only is not None

    @property
    def token(self) -> tuple[object, ...]:
        """Values that differ between stores. Hierarchies with equal values have the same nodes."""
        values = (getattr(self.opening, field.name) for field in dataclasses.fields(Opening))
        # Credentials do not change what is stored.
        return *(value for value in values if not isinstance(value, CredentialSource)), self._store_in_memory

    def check_writable(self, path: str) -> None:
        """Raise an error if the hierarchy cannot be written."""
        if self.opening.read_only:
            raise ReadOnlyError(f'{path} was opened with mode="r": open it with mode="r+" to write')
        if (reason := self.engine.read_only) is not None:
            raise ReadOnlyError(f"{path} cannot be written: {reason}")

    def __reduce__(self) -> tuple[Callable[[Opening], "Hierarchy"], tuple[Opening]]:
        if is_in_memory(self.opening.location):
            raise TypeError("a node of a store in memory cannot be pickled: copy it to a folder first")
        return Hierarchy.open, (self.opening,)


def format_name(zarr_format: ZarrFormat | None) -> str | None:
    """Return the name of a format in the engine."""
    if zarr_format is None:
        return None
    if not isinstance(zarr_format, (int, str)) or zarr_format not in _FORMATS:
        raise InvalidInputError(f"unknown zarr_format {zarr_format!r} (expected 2, 3 or 'v3-draft')")
    return _FORMATS[zarr_format]


def checked_flag(name: str, value: Any) -> bool:
    """Return an option that is true or false."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidInputError(f"{name}={value!r}: expected True or False")
    return bool(value)


def check_mode(mode: str) -> None:
    """Raise an error for an unknown mode."""
    if mode not in MODES:
        raise InvalidInputError(f"unknown mode {mode!r} (expected one of {', '.join(MODES)})")


def engine_options(opening: Opening) -> dict[str, Any]:
    # The environment is read here, because a pickled node is opened again in a process with its own environment.
    # `dataclasses.asdict` would copy the source of credentials.
    options = {field.name: getattr(opening, field.name) for field in dataclasses.fields(Opening)}
    flags = {name: checked_flag(name, options[name]) for name in ("strict", "write_empty_chunks")}
    return {**options, **flags, "threads": thread_count(opening.threads)}


def thread_count(threads: int | None) -> int | None:
    """Return the number of threads from the argument or the environment; None for the default."""
    if threads is not None:
        if not hasattr(threads, "__index__") or isinstance(threads, bool) or operator.index(threads) < 0:
            raise InvalidInputError(f"threads={threads!r}: expected a number of threads")
        return operator.index(threads)
    text = os.environ.get(THREADS_VARIABLE, "")
    if not text:
        return None
    if not text.isdecimal() or int(text) == 0:
        raise InvalidInputError(f"environment variable {THREADS_VARIABLE}: {text!r} is not a number of threads")
    return int(text)
