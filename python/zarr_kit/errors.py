"""Errors and warnings of ``zarr_kit``.

Each class also derives from the built-in class that Python programs catch for such an error. Messages are those of
the engine: what was found, what was expected, what to do.
"""

import difflib
import os
import warnings
from collections.abc import Collection, Iterable

_PACKAGE = os.path.dirname(__file__)


class ZarrError(Exception):
    """Base class of all errors of ``zarr_kit``."""

    def __str__(self) -> str:
        # `KeyError` would quote the message.
        return str(self.args[0]) if self.args else ""


class NodeNotFoundError(ZarrError, FileNotFoundError, KeyError):
    """The hierarchy or node does not exist."""

    # `OSError` precedes `KeyError`, because tblib calls `__new__` of the first base, and only `OSError` can create the
    # class.


class NodeExistsError(ZarrError, FileExistsError):
    """The node already exists, or another node is in the way."""


class WrongKindError(ZarrError, TypeError):
    """The node is an array where a group was expected, or a group where an array was expected."""


class NotUnderstoodError(ZarrError, ValueError):
    """The metadata uses something unknown to this program, such as a codec."""


class InvalidInputError(ZarrError, ValueError):
    """An argument is not valid."""


class SelectionError(ZarrError, IndexError):
    """A selection is invalid or outside of the array."""


class ElementsError(ZarrError, TypeError, ValueError):
    """The type or the number of elements does not match."""


class UndefinedFillValueError(ZarrError, ValueError):
    """A chunk is not stored, and the fill value of the array is undefined."""


class NotSupportedError(ZarrError, NotImplementedError):
    """The store, the format or the codec does not support the operation."""


class DamagedError(ZarrError, ValueError):
    """Stored bytes are corrupt or do not conform to the format."""


class OutOfMemoryError(MemoryError, ZarrError):
    """The operation needs more memory than the limits allow or the machine has."""

    # `MemoryError` is first, because tblib calls `__new__` of the first base, and only `MemoryError` can create the
    # class.


class StoreError(ZarrError, OSError):
    """The file system, the network or the service failed."""


class StorePermissionError(StoreError, PermissionError):
    """Credentials are missing, or do not permit the operation."""


class StoreTimeoutError(StoreError, TimeoutError):
    """The store did not respond in time."""


class ReadOnlyError(ZarrError, PermissionError):
    """The node was opened with ``mode="r"``, or its store cannot be written."""


class PluginError(ZarrError, RuntimeError):
    """A loaded plugin failed."""


class CopyError(ZarrError, ValueError):
    """A hierarchy cannot be copied as requested, or copying it failed."""


class CancelledError(ZarrError, RuntimeError):
    """The call was cancelled."""


class InternalError(ZarrError, RuntimeError):
    """This package has a bug."""


class ForkedError(ZarrError, RuntimeError):
    """The node was opened before the process was forked."""


class ZarrWarning(UserWarning):
    """A document contains something that a strict reader may reject."""


def issue_warning(text: str) -> None:
    """Issue a :class:`ZarrWarning` for the line of the program that called this package."""
    warnings.warn(text, ZarrWarning, skip_file_prefixes=(_PACKAGE,))


def check_names(call: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise an error for the first argument that a call does not have."""
    for name in given:
        if name not in known:
            raise unknown_argument(call, name, known)


# Arguments of zarr-python 2 and of xarray, and those that have their meaning here.
_ELSEWHERE = {
    "consolidated": "use_consolidated",
    "dimension_separator": "chunk_key_encoding",
    "dims": "dimension_names",
    "object_codec": "filters",
    "zarr_version": "zarr_format",
}


def unknown_argument(call: str, name: str, known: Iterable[str]) -> TypeError:
    """Return the error for an argument that a call does not have, with the name of a similar one."""
    known = list(known)
    elsewhere = _ELSEWHERE.get(name)
    similar = [elsewhere] if elsewhere in known else difflib.get_close_matches(name, known, 1)
    hint = f" (did you mean {similar[0]!r}?)" if similar else ""
    return TypeError(f"{call} has no argument {name!r}{hint}")
