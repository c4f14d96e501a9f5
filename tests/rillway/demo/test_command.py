"""`rillway demo`, before one of the two demos begins."""

from __future__ import annotations

import pytest

from rillway.demo.command import main


@pytest.mark.parametrize("arguments", [[], ["departures"]])
def test_a_server_that_does_not_answer_is_said_in_one_line(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--url", "redis://127.0.0.1:1"]) == 1
    printed = capsys.readouterr().err.strip()
    assert printed.startswith("rillway demo: ")
    assert "\n" not in printed
