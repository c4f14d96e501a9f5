"""The arguments of `rillway cluster`."""

from __future__ import annotations

from pathlib import Path

import pytest

from rillway.cluster.arguments import parse_options


def test_what_follows_two_dashes_is_the_nodes() -> None:
    job, options = parse_options(["start", "--nodes", "3", "--", "--appendfsync", "always"])
    assert (job, options.nodes, options.options) == ("start", 3, ["--appendfsync", "always"])
    assert (options.replicas, options.port, options.dir) == (None, None, Path("rillway-cluster"))


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ([], "expected one of: start, status, top, add, remove, restart, upgrade, stop"),
        (["stats"], "there is no job 'stats'. Did you mean 'status'?"),
        (["start", "--nodes", "0"], "--nodes takes a number from 1 up"),
        (["start", "--port", "60000"], "--port takes a number from 1 to 55,535"),
        (["stop", "--", "--save", ""], "only start takes options of the nodes"),
        (["add", "--nodes", "3"], "there is no option --nodes."),
        (
            ["start", "--save", ""],
            "Options of the nodes follow --: -- --save",
        ),
        (["start", "--node", "3"], "there is no option --node. Did you mean --nodes?"),
        (["start", "3"], "unrecognized arguments: 3. Did you mean --nodes 3?"),
        (["remove"], "required: NODE"),
    ],
)
def test_mistakes_are_reported(
    words: list[str], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_options(words)
    assert ended.value.code == 2
    assert what in capsys.readouterr().err
