"""Serves buckets as S3, and a folder over HTTP and HTTPS. zarr-python writes hierarchies to each of them.

The bucket `public` is public, and `private` requires signed requests.

The first line of the output is an object with the URLs `s3`, `http` and `https`, and with `certificate`, the file with
the certificate of the HTTPS server. After that, every line of the input is the path of an array in `public`. The
response is an object with `shape`, `data_type` and `elements` as zarr-python reads them, or with `error`. The server
stops at the end of the input.
"""

import datetime
import functools
import ipaddress
import json
import ssl
import sys
import tempfile
import threading
import warnings
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import boto3
import numpy as np
import obstore.store
import zarr
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from moto.server import ThreadedMotoServer
from zarr.codecs import BytesCodec, ZstdCodec
from zarr.storage import LocalStore, ObjectStore

CREDENTIALS = {"aws_access_key_id": "known", "aws_secret_access_key": "verysecret"}


class Quiet(SimpleHTTPRequestHandler):
    """A request handler that does not log requests."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass


def elements(shape: tuple[int, ...], data_type: str) -> np.ndarray:
    """Returns elements that count up from 0."""
    return np.arange(np.prod(shape), dtype=data_type).reshape(shape)


def write(store: zarr.abc.store.Store) -> None:
    """Writes a hierarchy of v3 and an array of v2."""
    group = zarr.create_group(store, path="data.zarr", attributes={"from": "zarr-python"})
    chunked = group.create_array("chunked", shape=(20, 30), chunks=(7, 8), dtype="uint16", compressors=ZstdCodec())
    chunked[...] = elements((20, 30), "uint16")
    sharded = group.create_array(
        "deep/sharded", shape=(64, 64), shards=(32, 32), chunks=(8, 8), dtype="float32", serializer=BytesCodec()
    )
    sharded[...] = elements((64, 64), "float32")
    group.create_array("empty", shape=(10,), chunks=(5,), dtype="int32", fill_value=7)
    zarr.consolidate_metadata(store, path="data.zarr")
    old = zarr.create_array(store, name="old.zarr", shape=(10, 10), chunks=(4, 4), dtype="int64", zarr_format=2)
    old[...] = elements((10, 10), "int64")


def certificate(folder: Path) -> tuple[Path, Path]:
    """Creates a certificate for this machine; returns it and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    public, private = folder / "certificate.pem", folder / "key.pem"
    public.write_bytes(made.public_bytes(pem))
    private.write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return public, private


def serve(folder: Path, tls: tuple[Path, Path] | None = None) -> int:
    """Serves the files of `folder`, and returns the port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*tls)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


def read(endpoint: str, path: str) -> dict:
    """Reads the array at `path` of the bucket with zarr-python."""
    try:
        array = zarr.open_array(bucket(endpoint, "public"), path=path, mode="r")
        found = np.asarray(array[...])
    except Exception as error:  # noqa: BLE001
        return {"error": f"{type(error).__name__}: {error}"}
    return {"shape": array.shape, "data_type": str(array.dtype), "elements": found.ravel().tolist()}


def bucket(endpoint: str, name: str) -> ObjectStore:
    """Returns the bucket as a store of zarr-python."""
    options = {"allow_http": True}
    return ObjectStore(
        obstore.store.S3Store(name, endpoint=endpoint, region="us-east-1", client_options=options, **CREDENTIALS)
    )


def make_buckets(endpoint: str) -> None:
    """Creates both buckets."""
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **CREDENTIALS)
    for name in ("public", "private"):
        client.create_bucket(Bucket=name)
    resources = ["arn:aws:s3:::public", "arn:aws:s3:::public/*"]
    statement = {"Effect": "Allow", "Principal": "*", "Action": ["s3:*"], "Resource": resources}
    policy = {"Version": "2012-10-17", "Statement": [statement]}
    client.put_bucket_policy(Bucket="public", Policy=json.dumps(policy))


def main(folder: Path) -> None:
    """Serves until the end of the input."""
    warnings.simplefilter("ignore")
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    endpoint = "http://{}:{}".format(*moto.get_host_and_port())
    make_buckets(endpoint)
    write(bucket(endpoint, "public"))
    write(bucket(endpoint, "private"))
    files = folder / "files"
    write(LocalStore(files))
    tls = certificate(folder)
    urls = {
        "s3": endpoint,
        "http": f"http://127.0.0.1:{serve(files)}",
        "https": f"https://127.0.0.1:{serve(files, tls)}",
        "certificate": str(tls[0]),
    }
    print(json.dumps(urls), flush=True)
    for line in sys.stdin:
        print(json.dumps(read(endpoint, line.strip())), flush=True)


with tempfile.TemporaryDirectory() as made:
    main(Path(made))
