"""The options of the formats that look at groups."""

from __future__ import annotations

import pytest

from rillway.pipeline.spark.group_options import groups_options, pending_options
from rillway.pipeline.spark.options import OptionError


def test_the_defaults_are_all_groups_and_everything_that_is_pending() -> None:
    options = pending_options({"stream": "s"})
    assert (options.streams, options.pattern, options.groups) == (("s",), None, ())
    assert (options.consumer, options.min_idle_ms) == (None, 0)
    assert options == groups_options({"stream": "s"})


def test_every_option_is_read() -> None:
    options = pending_options(
        {
            "host": "h", "streamPattern": "s:*", "group": "g, h", "CONSUMER": "c",
            "minIdle": "1.5m", "minPartitions": "3", "entriesPerPartition": "7", "pageSize": "9",
        }
    )  # fmt: skip
    assert options.url == "redis://h:6379/0"
    assert (options.streams, options.pattern, options.groups) == ((), "s:*", ("g", "h"))
    assert (options.consumer, options.min_idle_ms) == ("c", 90_000)
    assert (options.min_partitions, options.entries_per_partition, options.page_size) == (3, 7, 9)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ({}, "one of the options stream and streamPattern"),
        ({"stream": "s", "streamPattern": "*"}, "stream and streamPattern do not go together"),
        ({"stream": "s", "grup": "g"}, "there is no option grup: did you mean group?"),
        ({"stream": "s", "minIdle": "soon"}, "option minIdle: expected a time with a unit"),
        ({"stream": "s", "pageSize": "0"}, "option pageSize: expected a number from 1 up"),
    ],
)
def test_options_that_make_no_sense_are_refused(raw: dict[str, str], text: str) -> None:
    with pytest.raises(OptionError, match=text.replace("?", r"\?")):
        pending_options(raw)


def test_groups_have_no_page_size() -> None:
    with pytest.raises(OptionError, match="there is no option pageSize"):
        groups_options({"stream": "s", "pageSize": "5"})
