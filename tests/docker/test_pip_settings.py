"""pip's settings on their way into the image's build."""

from __future__ import annotations

import io
from pathlib import Path

from tests.docker.pip_settings import local_paths, parse_settings


def test_settings_of_files_become_a_pip_conf() -> None:
    written = io.StringIO()
    parse_settings("global.timeout='5'\ninstall.find-links='/a /b'\n").write(written)
    assert written.getvalue() == "[global]\ntimeout = 5\n\n[install]\nfind-links = /a /b\n\n"


def test_a_variable_wins_over_a_file() -> None:
    config = parse_settings(":env:.timeout='7'\nglobal.timeout='5'\n")
    assert config.get("global", "timeout") == "7"


def test_an_address_may_hold_a_percent_sign() -> None:
    config = parse_settings("global.index-url='https://me:a%40b@packages.example.com/simple'\n")
    assert config.get("global", "index-url").endswith("a%40b@packages.example.com/simple")


def test_what_the_settings_name_on_this_machine_is_found(tmp_path: Path) -> None:
    for name in ("wheels", "index/simple", "index/files"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "certificate.pem").touch()
    config = parse_settings(
        f"global.cert='{tmp_path}/certificate.pem'\n"
        f"global.find-links='{tmp_path}/wheels {tmp_path}/missing'\n"
        f"global.extra-index-url='file://{tmp_path}/index/simple'\n"
        "global.index-url='https://packages.example.com/simple'\n"
    )
    expected = [tmp_path / name for name in ("certificate.pem", "index", "wheels")]
    assert local_paths(config) == expected
