"""The requests that the engine ``zarr-kit`` of xarray sends to a server, compared with xarray's own engine."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

pytestmark = pytest.mark.filterwarnings("ignore:Consolidated metadata is currently not part in the Zarr format 3")


@dataclass(frozen=True)
class Server:
    """A server of the files in `folder`, and the requested paths."""

    folder: Path
    url: str
    asked: list[str]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_request(self, code: Any = None, size: Any = None) -> None:
            asked.append(self.path)

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=tmp_path)) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield Server(tmp_path, f"http://127.0.0.1:{listening.server_port}", asked)
        listening.shutdown()
        thread.join()


def requests_of_opening(server: Server, engine: str) -> int:
    server.asked.clear()
    xr.open_dataset(f"{server.url}/d", engine=engine)
    return len(server.asked)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_consolidated_metadata_needs_no_requests_per_variable(server: Server, zarr_format: Any) -> None:
    variables = {f"v{number}": ("x", np.arange(4)) for number in range(500)}
    xr.Dataset(variables).to_zarr(server.folder / "d", zarr_format=zarr_format, consolidated=True)
    ours = requests_of_opening(server, "zarr-kit")
    assert 1 <= ours <= requests_of_opening(server, "zarr")


def test_a_selection_requests_only_its_chunks(server: Server) -> None:
    data = np.arange(40.0).reshape(4, 10)
    encoding = {"a": {"chunks": (2, 5)}}
    xr.Dataset({"a": (("x", "y"), data)}).to_zarr(server.folder / "d", encoding=encoding)
    opened = xr.open_dataset(f"{server.url}/d", engine="zarr-kit")
    server.asked.clear()
    np.testing.assert_array_equal(opened["a"].isel(x=1, y=[9, 5, 8]).values, data[1, [9, 5, 8]])
    assert server.asked == ["/d/a/c/0/1"]
