"""`rillway console`: its arguments, where it may listen, and that it serves."""

from __future__ import annotations

import json
import ssl
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from rillway.console.arguments import parse_options
from rillway.console.command import exposure, main
from tests.rillway.console.processes import console
from tests.support.certificates import Authority
from tests.support.programs.servers import RunningServer

LOOPBACK = ["127.0.0.1", "127.1.2.3", "::1", "localhost"]


@pytest.mark.parametrize("address", LOOPBACK)
def test_on_loopback_nothing_is_asked_for(address: str) -> None:
    assert exposure(parse_options(["--bind", address]), is_login=False) is None


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "10.0.0.5", "128.0.0.1"])
def test_beyond_loopback_it_needs_tls_and_a_login(address: str, tmp_path: Path) -> None:
    plain = ["--bind", address]
    (tmp_path / "pem").touch()
    tls = [*plain, "--tls-cert", str(tmp_path / "pem"), "--tls-key", str(tmp_path / "pem")]
    assert "--tls-cert" in str(exposure(parse_options(plain), is_login=True))
    assert "--password-file" in str(exposure(parse_options(tls), is_login=False))
    assert exposure(parse_options(tls), is_login=True) is None
    assert exposure(parse_options([*plain, "--insecure"]), is_login=False) is None


WRONG = {
    "a port that is none": ["--port", "x"],
    "a password file that is not there": ["--password-file", "/nothing"],
    "a certificate without its key": ["--tls-cert", __file__],
    "a certificate that is not there": ["--tls-cert", "/nothing", "--tls-key", __file__],
    "half a pair": ["--dead-letters", "orders"],
    "a stream of its own dead letters": ["--dead-letters", "a=a"],
    "a URL that is none": ["--url", "http://x"],
}


@pytest.mark.parametrize("words", WRONG.values(), ids=WRONG)
def test_a_wrong_argument_ends_it_with_2(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_options(words)
    assert ended.value.code == 2


def test_the_password_is_the_first_line(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("geheim é\nnext\n")
    assert parse_options(["--password-file", str(tmp_path / "password")]).password == "geheim é"
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(SystemExit):
        parse_options(["--password-file", str(tmp_path / "empty")])


def test_names_are_bytes(tmp_path: Path) -> None:
    options = parse_options(["--dead-letters", "a=b=c", "--dead-letters", "é=d"])
    assert dict(options.dead_letters) == {b"a": b"b=c", "é".encode(): b"d"}


def test_without_a_server_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--url", "redis://:secret@127.0.0.1:1"]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("rillway console: redis://:***@127.0.0.1:1: ")
    assert "secret" not in shown


@pytest.mark.parametrize("package", ["starlette", "uvicorn", "jinja2"])
def test_without_the_extra_the_error_names_it(
    package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cached = ("rillway.console", f"{package}.")
    for module in [name for name in sys.modules if name.startswith(cached)]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    assert main([]) == 1
    assert capsys.readouterr().err == (
        f"rillway: {package} is missing: pip install 'rillway[console]'\n"
    )


@pytest.mark.integration
def test_it_serves_until_a_signal(real: Any, url: str) -> None:
    real.xadd(b"\xff/", {"a": "b"})
    with console("--url", url) as address:
        with urllib.request.urlopen(f"{address}api/s/0/%FF%2F/entries") as answer:
            assert json.load(answer)["entries"][0]["fields"] == [["a", "b"]]
            assert "server" not in answer.headers
        # Open when the signal comes; it ends all the same.
        events = urllib.request.urlopen(f"{address}events?view=overview")
        assert events.readline() == b"retry: 2000\n"
    events.close()


@pytest.mark.integration
def test_a_port_or_a_certificate_that_is_none_is_named(
    rillway_server: RunningServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.pem"
    broken.write_text("no certificate")
    url, taken = f"redis://127.0.0.1:{rillway_server.port}", str(rillway_server.port)
    for words, named in (
        (["--port", taken], f"127.0.0.1:{taken}"),
        (["--port", "0", "--tls-cert", str(broken), "--tls-key", str(broken)], "broken.pem"),
    ):
        assert main(["--url", url, *words]) == 1
        assert named in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--url", url, "--port", "65536"])
    assert "--port takes a number from 0 to 65,535; not '65536'" in capsys.readouterr().err


@pytest.mark.integration
def test_it_serves_https(rillway_server: RunningServer, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    files = authority.issue("console")
    url = f"redis://127.0.0.1:{rillway_server.port}"
    with console("--url", url, "--tls-cert", files.certificate, "--tls-key", files.key) as address:
        assert address.startswith("https://127.0.0.1:")
        context = ssl.create_default_context(cafile=authority.path)
        with urllib.request.urlopen(f"{address}slow", context=context) as answer:
            assert answer.status == 200
