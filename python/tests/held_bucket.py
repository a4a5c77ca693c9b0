"""A server of S3 in this process that delays or holds requests."""

import os
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

_NAMES = iter(range(1_000_000))


class HeldBucket:
    """A bucket. `delay` is the time in seconds before each response, and `free` is cleared to hold all requests."""

    def __init__(self) -> None:
        self.delay = 0.0
        self.free = threading.Event()
        self.free.set()
        self.requests: list[str] = []
        self._app = DomainDispatcherApplication(create_backend_app)
        self.server = make_server("127.0.0.1", 0, self, threaded=True)
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"
        # All servers of this process share their buckets.
        self.name = f"held-{self.server.server_port}-{next(_NAMES)}"

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        self.requests.append(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}")
        self.free.wait(120)
        time.sleep(self.delay)
        return self._app(environ, start_response)

    @property
    def url(self) -> str:
        """The location of the bucket."""
        return f"s3://{self.name}"

    @property
    def environment(self) -> dict[str, str]:
        """Variables that select this server and its credentials."""
        return {
            "AWS_ACCESS_KEY_ID": "known",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ALLOW_HTTP": "true",
        }

    def wait_for_requests(self, count: int) -> None:
        """Wait until the server has received `count` requests since the list was cleared."""
        end = time.monotonic() + 60
        while len(self.requests) < count:
            assert time.monotonic() < end, self.requests
            time.sleep(0.005)


@contextmanager
def held_bucket() -> Iterator[HeldBucket]:
    """Serve an empty bucket. Its environment is that of this process, too."""
    bucket = HeldBucket()
    threading.Thread(target=bucket.server.serve_forever, daemon=True).start()
    before = {name: os.environ.get(name) for name in bucket.environment}
    os.environ.update(bucket.environment)
    try:
        with urllib.request.urlopen(urllib.request.Request(f"{bucket.endpoint}/{bucket.name}", method="PUT")):
            yield bucket
    finally:
        bucket.free.set()
        bucket.server.shutdown()
        bucket.server.server_close()
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
