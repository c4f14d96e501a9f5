"""Which name was meant."""

from __future__ import annotations

from rillway.command_line.suggestions import did_you_mean


def test_the_nearest_name_is_suggested_if_one_is_near() -> None:
    assert did_you_mean("serv", ["check", "serve"]) == " Did you mean 'serve'?"
    assert did_you_mean("--bloc", ["--block"], "") == " Did you mean --block?"
    assert did_you_mean("xyz", ["check", "serve"]) == ""
