"""Object stores on this machine: moto, in a process of its own, as S3 and as Google's."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.programs.ports import free_port
from tests.support.waiting import until

START_SECONDS = 60.0
BUCKET = "archives"
SOON_GIVEN_UP = {
    "max_retries": "1",
    "backoff_config.init_backoff": "10ms",
    "backoff_config.max_backoff": "20ms",
}
NOWHERE = "http://127.0.0.1:1"


@contextmanager
def s3_server() -> Iterator[dict[str, str]]:
    """The options by which deltalake reaches it; there is a bucket `archives`."""
    with _running(["-m", "moto.server", "-H", "127.0.0.1", "-p"]) as endpoint:
        yield s3_options(endpoint)


@contextmanager
def google_server() -> Iterator[dict[str, str]]:
    """The same of what resembles Google's store."""
    with _running([str(Path(__file__).with_name("google_store.py"))]) as endpoint:
        yield google_options(endpoint)


@contextmanager
def azurite() -> Iterator[dict[str, str]]:
    """It is not started here, but where AZURITE_BLOB_STORAGE_URL says, with a container `archives`.

    Not reached by its endpoint, as Azure is: Azurite takes no notice of `startFrom` in a list of
    blobs. https://github.com/Azure/Azurite/issues/2619
    """
    yield {"azure_storage_use_emulator": "true"}


SERVERS = {"s3": s3_server, "gs": google_server, "abfss": azurite}
"""By the scheme of the URI."""


def s3_options(endpoint: str) -> dict[str, str]:
    return {
        "aws_endpoint_url": endpoint,
        "aws_access_key_id": "somebody",
        "aws_secret_access_key": "secret",
        "aws_region": "us-east-1",
        "aws_allow_http": "true",
    }


def google_options(endpoint: str) -> dict[str, str]:
    account = {"gcs_base_url": endpoint, "disable_oauth": True}
    unused = dict.fromkeys(("client_email", "private_key", "private_key_id"), "")
    return {"google_service_account_key": json.dumps(account | unused)}


def azure_options(endpoint: str) -> dict[str, str]:
    return {
        "azure_storage_account_name": "somebody",
        "azure_storage_account_key": "c2VjcmV0",
        "azure_storage_endpoint": endpoint,
        "azure_allow_http": "true",
    }


AWAY = {
    "s3": s3_options(NOWHERE),
    "gs": google_options(NOWHERE),
    "abfss": azure_options(NOWHERE),
}
"""By the scheme of the URI: the options of an address at which no server listens."""


@contextmanager
def _running(words: Sequence[str]) -> Iterator[str]:
    """Where the program answers; its last argument is a port."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, *words, str(port)],
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
        yield endpoint
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


class Faults:
    """A store behind faulty_proxy.py. `options`: for deltalake, which is to give up soon."""

    def __init__(self, options: dict[str, str], port: int) -> None:
        self._url = f"http://127.0.0.1:{port}"
        self.options = options | SOON_GIVEN_UP | {"aws_endpoint_url": self._url}

    def set(self, *rules: Mapping[str, object]) -> list[dict[str, object]]:
        """Have these rules from now on; the requests that those of before were applied to."""
        body = json.dumps(rules).encode()
        request = urllib.request.Request(f"{self._url}/_faults", method="PUT", data=body)
        with urllib.request.urlopen(request, timeout=60) as reply:
            applied: list[dict[str, object]] = json.load(reply)
        return applied


@contextmanager
def faulty_s3(options: dict[str, str]) -> Iterator[Faults]:
    """The store of `s3_server`, behind a proxy that breaks what it is told to."""
    port, target = free_port(), options["aws_endpoint_url"].rpartition(":")[2]
    program = Path(__file__).with_name("faulty_proxy.py")
    process = subprocess.Popen([sys.executable, str(program), target, str(port)])
    try:
        faults = Faults(options, port)
        until(lambda: _answers(port))
        yield faults
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 5):
        return True
    return False
