"""An S3 server on this machine: moto, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.servers import free_port

START_SECONDS = 60.0
BUCKET = "archives"


@contextmanager
def s3_server() -> Iterator[dict[str, str]]:
    """The options by which deltalake reaches it; there is a bucket `archives`."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        endpoint = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + START_SECONDS
        while not _put_bucket(endpoint):
            assert process.poll() is None, "moto did not start: pip install 'moto[server]'"
            assert time.monotonic() < deadline, "moto did not start in time"
            time.sleep(0.05)
        yield {
            "aws_endpoint_url": endpoint,
            "aws_access_key_id": "somebody",
            "aws_secret_access_key": "secret",
            "aws_region": "us-east-1",
            "aws_allow_http": "true",
        }
    finally:
        process.kill()
        process.wait()


def _put_bucket(endpoint: str) -> bool:
    request = urllib.request.Request(f"{endpoint}/{BUCKET}", method="PUT")
    try:
        with urllib.request.urlopen(request, timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False
