"""rillway/pipeline/jobs/options.py: what the jobs have in common."""

from __future__ import annotations

import argparse

import pytest

from rillway.pipeline.jobs.options import add_options, one_line_errors


def read(*words: str) -> dict[str, str]:
    parser = argparse.ArgumentParser()
    add_options(parser)
    found: dict[str, str] = parser.parse_args(list(words)).option
    return found


def test_options_of_the_format_are_collected() -> None:
    assert read() == {}
    assert read("--option", "stream=s", "--option", "url=redis://h/?a=b") == {
        "stream": "s",
        "url": "redis://h/?a=b",
    }
    assert read() == {}  # the default is not what was collected before


@pytest.mark.parametrize("word", ["stream", "=s"])
def test_an_option_without_name_or_value_is_refused(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        read("--option", word)
    assert "expected NAME=VALUE" in capsys.readouterr().err


def test_an_error_is_one_line_and_the_status(capsys: pytest.CaptureFixture[str]) -> None:
    with one_line_errors("job") as outcome:
        raise ValueError("no such column")
    assert outcome.status == 1
    assert capsys.readouterr().err == "job: no such column\n"


def test_no_error_is_status_0() -> None:
    with one_line_errors("job") as outcome:
        pass
    assert outcome.status == 0
