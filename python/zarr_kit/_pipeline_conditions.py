"""Conditional writes of the codec pipeline, and what happens in stores without them."""

from typing import Any

import zarr
from zarr.abc.store import Store
from zarr.storage import MemoryStore, StorePath, WrapperStore, ZipStore

from zarr_kit.errors import InvalidInputError, NotSupportedError, issue_warning

# The stores for which there was a warning.
_warned: set[str] = set()


def are_required() -> bool:
    """Return whether the setting of this process refuses changes of parts of chunks without conditional writes."""
    setting = zarr.config.get("codec_pipeline.conditional", "warn")
    if setting not in ("require", "warn"):
        raise InvalidInputError(
            f"the setting `codec_pipeline.conditional` is {setting!r}: it must be 'require' or 'warn'"
        )
    return bool(setting == "require")


def check_store(path: object, *, required: bool) -> None:
    """Refuse to change parts of chunks in a store of zarr-python if conditions are required, or warn once.

    The inner chunks of a shard are in memory, where no other program changes them.
    """
    store = path.store if isinstance(path, StorePath) else None
    if store is None or store.read_only:
        return
    if required:
        raise NotSupportedError(f"{_without(store)}; the setting `codec_pipeline.conditional` requires them")
    if not _belongs_to_one_process(store):
        _warn(store, "")


def refuse_folder(path: Any, reason: Exception) -> None:
    """Refuse to change parts of chunks in a folder to which the engine does not write."""
    if not path.store.read_only:
        text = f"{_without(path.store)}: {reason}; the setting `codec_pipeline.conditional` requires them"
        raise NotSupportedError(text) from reason


def warn_of_folder(path: Any, reason: Exception) -> None:
    """Warn once of changes in a folder to which the engine does not write."""
    _warn(path.store, f": {reason}")


def _belongs_to_one_process(store: Store) -> bool:
    """Return whether no other process can write to a store. Two programs that write one archive destroy it."""
    while isinstance(store, WrapperStore):
        store = store._store
    return isinstance(store, MemoryStore | ZipStore)


def _warn(store: Store, reason: str) -> None:
    if str(store) not in _warned:
        _warned.add(str(store))
        issue_warning(f"{_without(store)}{reason}; changes of other programs at the same time may be lost")


def _without(store: Store) -> str:
    return f"{store}: zarr_kit.CodecPipeline does not have conditional writes in this store"
