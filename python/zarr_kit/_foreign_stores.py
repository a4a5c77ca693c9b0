"""Stores of obstore, fsspec and zarr-python, as descriptions of stores of the engine.

The engine opens each store again, with its own connections. A setting that it does not have raises an error, so that no
program reads other data than it configured. Packages are recognized by the names of classes and are not imported.
"""

import os
from collections.abc import Mapping
from typing import Any

from zarr_kit.errors import InvalidInputError, NotSupportedError

# Credentials, and the environment variables from which the engine reads them.
_CREDENTIALS = {
    "s3": {
        "access_key_id": "AWS_ACCESS_KEY_ID",
        "secret_access_key": "AWS_SECRET_ACCESS_KEY",
        "session_token": "AWS_SESSION_TOKEN",
        "key": "AWS_ACCESS_KEY_ID",
        "secret": "AWS_SECRET_ACCESS_KEY",
        "token": "AWS_SESSION_TOKEN",
    },
    "gs": {
        "service_account": "GOOGLE_SERVICE_ACCOUNT",
        "service_account_key": "GOOGLE_SERVICE_ACCOUNT_KEY",
        "application_credentials": "GOOGLE_APPLICATION_CREDENTIALS",
        "token": "GOOGLE_APPLICATION_CREDENTIALS",
    },
    "az": {
        "account_key": "AZURE_STORAGE_ACCOUNT_KEY",
        "sas_token": "AZURE_STORAGE_SAS_KEY",
        "sas_key": "AZURE_STORAGE_SAS_KEY",
        "client_id": "AZURE_CLIENT_ID",
        "client_secret": "AZURE_CLIENT_SECRET",
        "tenant_id": "AZURE_TENANT_ID",
    },
    "http": {},
}
# Names of options in other packages, and the engine's names of these options.
_NAMES = {
    "anon": "anonymous",
    "skip_signature": "anonymous",
    "endpoint_url": "endpoint",
    "region_name": "region",
    "account_name": "account",
}
# Options of obstore that are part of the URL.
_IN_URL = {"bucket", "bucket_name", "container_name"}
# Options of file systems that concern only caches and threads of fsspec.
_OF_FSSPEC = {
    "asynchronous",
    "auto_mkdir",
    "default_block_size",
    "default_cache_type",
    "default_fill_cache",
    "dircache",
    "listings_expiry_time",
    "loop",
    "max_paths",
    "skip_instance_cache",
    "use_listings_cache",
}
_OBSTORE = {
    "S3Store": ("s3", "s3", "bucket"),
    "GCSStore": ("gs", "gs", "bucket"),
    "AzureStore": ("az", "az", "container_name"),
}
_FSSPEC = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "az": "az", "abfs": "az", "abfss": "az"}


def description_of(store: Any) -> os.PathLike[str] | dict[str, Any] | None:
    """Return a path or a description for a store of another package, or None for any other object."""
    for base in type(store).__mro__:
        package = base.__module__.partition(".")[0]
        if package == "obstore":
            return _of_obstore(store, base.__name__)
        if package == "fsspec" and base.__name__ == "FSMap":
            return _of_file_system(store.fs, store.root)
        if package == "fsspec" and base.__name__ == "DirFileSystem":
            return _of_file_system(store.fs, store.path)
        if package == "fsspec" and base.__name__ == "AbstractFileSystem":
            raise InvalidInputError("a file system is not a location: pass `file_system.get_mapper(path)`")
        if package == "zarr" and base.__name__ == "LocalStore":
            return _folder(store.root)
        if package == "zarr" and base.__name__ == "FsspecStore":
            return _of_file_system(store.fs, store.path)
        if package == "zarr" and base.__name__ == "ObjectStore":
            return description_of(store.store)
    return None


def translated_options(store_type: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of fsspec or obstore with the names of the engine.

    Unknown options are returned, too: the engine names them in its error.
    """
    credentials = _CREDENTIALS.get(store_type, {})
    translated: dict[str, Any] = {}
    # Sorted, because the order of obstore differs from run to run.
    for name, value in sorted(options.items()):
        if name == "client_kwargs" and isinstance(value, Mapping):
            translated |= translated_options(store_type, value)
        elif store_type == "gs" and name == "token" and value in ("anon", "google_default"):
            translated["anonymous"] = value == "anon"
        elif name in credentials:
            _check_credential(name, value, credentials[name])
        elif value is not None:
            translated[_NAMES.get(name, name)] = value
    return translated


def _check_credential(name: str, value: Any, variable: str) -> None:
    if value is not None and value != os.environ.get(variable):
        raise NotSupportedError(
            f"the option {name!r} cannot be taken over, because descriptions of stores contain no credentials: set the "
            f"environment variable {variable}"
        )


def _of_obstore(store: Any, name: str) -> os.PathLike[str] | dict[str, Any]:
    if name == "LocalStore":
        return _folder(store.prefix or "/")
    if name == "MemoryStore":
        raise NotSupportedError("the contents of obstore's MemoryStore cannot be accessed: use another store")
    if name != "HTTPStore" and name not in _OBSTORE:
        raise NotSupportedError(f"the store {name} of obstore is not supported")
    if store.retry_config:
        raise NotSupportedError("the setting 'retry_config' cannot be taken over: leave it out")
    if name == "HTTPStore":
        _check_client(store, store.url)
        return {"type": "http", "url": store.url}
    store_type, scheme, bucket = _OBSTORE[name]
    config = {key.removeprefix("aws_"): value for key, value in store.config.items()}
    options = {key: value for key, value in config.items() if key not in _IN_URL}
    options = {key: _unquoted(value) for key, value in translated_options(store_type, options).items()}
    _check_known(store_type, options)
    _check_client(store, options.get("endpoint", ""))
    return {"type": store_type, "url": f"{scheme}://{config[bucket]}/{store.prefix or ''}".rstrip("/"), **options}


def _check_client(store: Any, url: str) -> None:
    for name, value in (store.client_options or {}).items():
        # The engine needs no setting to use an endpoint whose URL begins with `http:`.
        if name != "allow_http" or not url.startswith("http:"):
            raise NotSupportedError(
                f"the setting {name!r} of client_options ({value!r}) cannot be taken over: leave it out"
            )


def _of_file_system(file_system: Any, path: str) -> os.PathLike[str] | dict[str, Any]:
    protocols = file_system.protocol
    protocol = protocols if isinstance(protocols, str) else protocols[0]
    options = {name: value for name, value in file_system.storage_options.items() if name not in _OF_FSSPEC}
    if protocol in ("file", "local"):
        return _folder(path)
    if protocol in ("http", "https"):
        _check_known("http", options)
        return {"type": "http", "url": path}
    if protocol not in _FSSPEC:
        raise NotSupportedError(
            f"the file system {protocol!r} of fsspec is not supported (expected file, s3, gs, az or http)"
        )
    store_type = _FSSPEC[protocol]
    options = translated_options(store_type, options)
    _check_known(store_type, options)
    return {"type": store_type, "url": f"{store_type}://{path.strip('/')}", **options}


def _folder(path: str | os.PathLike[str]) -> os.PathLike[str]:
    """Return a path object, which is never a URL."""
    # Imported only here, because the import takes long.
    from pathlib import Path

    return Path(path)


def _check_known(store_type: str, options: Mapping[str, Any]) -> None:
    known = {
        "s3": {"anonymous", "region", "endpoint"},
        "gs": {"anonymous", "endpoint"},
        "az": {"anonymous", "account", "endpoint"},
        "http": set[str](),
    }
    for name, value in options.items():
        if name not in known[store_type]:
            raise NotSupportedError(f"the setting {name!r} ({value!r}) cannot be taken over: leave it out")


def _unquoted(value: Any) -> Any:
    """Return the value of a setting, which obstore returns as text."""
    return {"true": True, "false": False}.get(value, value)
