"""The names that the manifests of installed plugins contain.

Manifests are read, but plugins are not loaded here. The engine loads a plugin on its first use, if the user trusts it.
Its error names the command that trusts it.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

_MAX_MANIFEST = 1 << 20
_SYSTEM = (Path("/usr/local/lib/zarr/plugins"), Path("/usr/lib/zarr/plugins"))


class Installed(NamedTuple):
    """The names of one extension."""

    kind: str
    v3: tuple[str, ...]
    v2: tuple[str, ...]


def installed() -> Iterator[Installed]:
    """Return the codecs and data types of all manifests. Invalid manifests do not count."""
    manifests = [manifest for place in _places() for manifest in _manifests(place)]
    if not manifests:
        return
    # Imported only if there are plugins.
    import tomllib

    for manifest in manifests:
        try:
            if manifest.stat().st_size <= _MAX_MANIFEST:
                yield from _provided(tomllib.loads(manifest.read_text()))
        except (OSError, ValueError, TypeError, AttributeError, KeyError):
            # `zarrctl plugins` explains why a plugin is not used.
            continue


def _places() -> list[Path]:
    """Return the folders and manifests in the order of the engine."""
    given = os.environ.get("ZARR_PLUGIN_PATH", "").split(os.pathsep)
    data = os.environ.get("XDG_DATA_HOME", "")
    home = os.environ.get("HOME", "")
    user = data if os.path.isabs(data) else os.path.join(home, ".local/share") if os.path.isabs(home) else None
    own = [] if user is None else [Path(user, "zarr/plugins")]
    return [*(Path(path) for path in given if os.path.isabs(path)), *own, *_SYSTEM]


def _manifests(place: Path) -> list[Path]:
    if place.suffix == ".toml":
        return [place]
    try:
        return sorted(Path(entry.path) for entry in os.scandir(place) if entry.name.endswith(".toml"))
    except OSError:
        return []


def _provided(manifest: dict[str, Any]) -> Iterator[Installed]:
    for provides in manifest["provides"]:
        aliases = [alias for alias in provides.get("aliases", []) if ":" not in alias]
        v3, v2 = ([name for name in [provides.get(member)] if isinstance(name, str)] for member in ("name", "id"))
        yield Installed(provides["kind"], (*v3, *aliases), (*v2, *aliases))
