"""Credential providers of obstore, in the form that the engine calls."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from zarr_kit.errors import InvalidInputError

# Credentials are replaced when they expire within this time.
_MARGIN = timedelta(minutes=5)

type Credentials = tuple[str, list[tuple[str, str]]]


class CredentialSource:
    """Calls a provider, which may be a coroutine function, and caches its credentials until shortly before they expire.

    The engine calls an instance for each request, on one of its own threads. The result is the kind of credentials, and
    their names and texts.
    """

    def __init__(self, provider: Callable[[], Any]) -> None:
        self._provider = provider
        self._lock = threading.Lock()
        self._cached: tuple[Credentials, datetime | None] | None = None

    def __call__(self) -> Credentials:
        with self._lock:
            if self._cached is None or _is_old(self._cached[1]):
                self._cached = self._request()
            return self._cached[0]

    def __reduce__(self) -> tuple[Callable[..., "CredentialSource"], tuple[Callable[[], Any]]]:
        return CredentialSource, (self._provider,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CredentialSource) and self._provider == other._provider

    def __hash__(self) -> int:
        return hash(self._provider)

    def _request(self) -> tuple[Credentials, datetime | None]:
        returned = self._provider()
        if hasattr(returned, "__await__"):
            # Imported only here, because the import takes long.
            import asyncio

            returned = asyncio.run(_awaited(returned))
        return _credentials(returned), returned.get("expires_at")


def credential_source(store: Any) -> CredentialSource | None:
    """Return the source of the credentials of a store of obstore that has a credential provider."""
    provider = getattr(_innermost(store), "credential_provider", None)
    return None if provider is None else CredentialSource(provider)


def _innermost(store: Any) -> Any:
    """Return the store of obstore in a store of zarr-python."""
    for base in type(store).__mro__:
        package = base.__module__.partition(".")[0]
        if package == "obstore":
            return store
        if package == "zarr" and base.__name__ == "ObjectStore":
            return _innermost(store.store)
    return None


async def _awaited(returned: Any) -> Any:
    return await returned


def _is_old(end: datetime | None) -> bool:
    return end is not None and datetime.now(UTC) + _MARGIN >= (end if end.tzinfo else end.replace(tzinfo=UTC))


def _credentials(returned: Any) -> Credentials:
    if "access_key_id" in returned:
        texts = [("id", returned["access_key_id"]), ("secret", returned["secret_access_key"])]
        token = returned.get("token")
        return "keys", texts if token is None else [*texts, ("token", token)]
    if "access_key" in returned:
        return "account_key", [("key", returned["access_key"])]
    if "sas_token" in returned:
        parameters = returned["sas_token"]
        return "signature", _parameters(parameters) if isinstance(parameters, str) else list(parameters)
    if "token" in returned:
        return "token", [("token", returned["token"])]
    names = ", ".join(sorted(returned))
    raise InvalidInputError(
        f"a credential provider returned {names} (expected access_key_id, access_key, sas_token or token)"
    )


def _parameters(query: str) -> list[tuple[str, str]]:
    from urllib.parse import parse_qsl

    return parse_qsl(query.removeprefix("?"), strict_parsing=True)
