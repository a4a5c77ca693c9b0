"""Uses a server of S3 with boto3 as the documentation of S3 describes, and ends with an error if an answer differs.

The argument is the URL of the server, whose bucket `bench` is empty.
"""

import io
import sys

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import ClientError

BUCKET = "bench"
PART = 5 << 20
KEYS = ["a", "a/b", "a/c d", "a+b", "a&<b>", "é/日", "z/%20/~"]

client = boto3.client(
    "s3",
    endpoint_url=sys.argv[1],
    region_name="us-east-1",
    aws_access_key_id="known",
    aws_secret_access_key="secret",
    config=Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 1}),
)


def refused(call: str, **arguments: object) -> str:
    """Returns the code of the error of a call."""
    try:
        getattr(client, call)(Bucket=BUCKET, **arguments)
    except ClientError as error:
        return error.response["Error"]["Code"]
    raise AssertionError(f"{call} {arguments} succeeds")


def equal(found: object, wanted: object) -> None:
    assert found == wanted, f"{found!r} instead of {wanted!r}"


def values_and_ranges() -> None:
    put = client.put_object(Bucket=BUCKET, Key="k", Body=b"0123456789")
    got = client.get_object(Bucket=BUCKET, Key="k")
    equal((got["Body"].read(), got["ETag"], got["ContentLength"]), (b"0123456789", put["ETag"], 10))
    equal(client.head_object(Bucket=BUCKET, Key="k")["ETag"], put["ETag"])
    for name, part in [("2-4", b"234"), ("7-", b"789"), ("-3", b"789")]:
        equal(client.get_object(Bucket=BUCKET, Key="k", Range=f"bytes={name}")["Body"].read(), part)
    equal(refused("get_object", Key="k", Range="bytes=10-"), "InvalidRange")
    equal(refused("get_object", Key="none"), "NoSuchKey")
    equal(refused("head_object", Key="none"), "404")
    client.delete_object(Bucket=BUCKET, Key="k")
    equal(refused("get_object", Key="k"), "NoSuchKey")


def conditions() -> None:
    first = client.put_object(Bucket=BUCKET, Key="k", Body=b"1", IfNoneMatch="*")["ETag"]
    equal(refused("put_object", Key="k", Body=b"2", IfNoneMatch="*"), "PreconditionFailed")
    client.put_object(Bucket=BUCKET, Key="k", Body=b"2", IfMatch=first)
    equal(refused("put_object", Key="k", Body=b"3", IfMatch=first), "PreconditionFailed")
    equal(refused("put_object", Key="none", Body=b"3", IfMatch=first), "NoSuchKey")
    equal(refused("get_object", Key="k", IfMatch=first), "PreconditionFailed")
    equal(refused("delete_object", Key="k", IfMatch=first), "PreconditionFailed")
    equal(client.get_object(Bucket=BUCKET, Key="k")["Body"].read(), b"2")
    client.delete_object(Bucket=BUCKET, Key="k", IfMatch=client.head_object(Bucket=BUCKET, Key="k")["ETag"])


def checksums() -> None:
    for algorithm in ["CRC32", "SHA256"]:
        client.put_object(Bucket=BUCKET, Key="k", Body=b"value", ChecksumAlgorithm=algorithm)
    equal(refused("put_object", Key="k", Body=b"value", ChecksumSHA256="A" * 43 + "="), "BadDigest")
    client.delete_object(Bucket=BUCKET, Key="k")


def uploads() -> None:
    body = bytes(range(256)) * (2 * PART // 256 + 1)
    config = TransferConfig(multipart_threshold=PART, multipart_chunksize=PART, use_threads=False)
    client.upload_fileobj(io.BytesIO(body), BUCKET, "large", Config=config)
    got = client.get_object(Bucket=BUCKET, Key="large")
    assert got["Body"].read() == body
    assert got["ETag"].endswith('-3"'), got["ETag"]
    begun = client.create_multipart_upload(Bucket=BUCKET, Key="none")["UploadId"]
    client.upload_part(Bucket=BUCKET, Key="none", UploadId=begun, PartNumber=1, Body=b"x")
    client.abort_multipart_upload(Bucket=BUCKET, Key="none", UploadId=begun)
    equal(refused("head_object", Key="none"), "404")
    client.delete_object(Bucket=BUCKET, Key="large")


def listings() -> None:
    for key in KEYS:
        client.put_object(Bucket=BUCKET, Key=key, Body=b"")
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, PaginationConfig={"PageSize": 2})
    listed = [entry["Key"] for page in pages for entry in page["Contents"]]
    equal(listed, sorted(KEYS, key=lambda key: key.encode()))
    page = client.list_objects_v2(Bucket=BUCKET, Prefix="a/", Delimiter="/")
    equal([entry["Key"] for entry in page["Contents"]], ["a/b", "a/c d"])
    page = client.list_objects_v2(Bucket=BUCKET, Delimiter="/")
    equal([entry["Prefix"] for entry in page["CommonPrefixes"]], ["a/", "z/", "é/"])
    deleted = client.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": key} for key in KEYS]})
    equal(sorted(entry["Key"] for entry in deleted["Deleted"]), sorted(KEYS))
    equal(client.list_objects_v2(Bucket=BUCKET)["KeyCount"], 0)


for check in (values_and_ranges, conditions, checksums, uploads, listings):
    check()
print("ok")
