"""What the pages on operations name exists, and its examples are understood."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import commands.catalogue  # noqa: F401  (declares every command)
from commands.config.configuration import is_known
from commands.core.registry import COMMANDS
from server.config_file import ConfigurationError, load_configuration

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (
    "how-to/run", "how-to/failover", "how-to/back-up", "how-to/monitor",
    "explanation/durability", "explanation/troubleshooting",
)  # fmt: skip
PAGE = "\n".join((DOCS / f"{name}.md").read_text() for name in PAGES)
CODE = re.findall(r"`([^`\n]+)`", PAGE)
# Names with a hyphen that are no directives.
OTHER_NAMES = {
    "ack-journal", "ack-journal-maxlen", "ack-journal-skipped", "dead-after",
    "down-after-milliseconds", "oldest-above", "redis-benchmark", "redis-check-aof", "redis-cli",
    "redis-sentinel", "redis-streams", "storage-option", "valkey-server",
}  # fmt: skip
# Words in capitals that are no commands: a part of a message, a setting, a unit, a signal.
NO_COMMANDS = {
    "BUSY", "BUSYGROUP", "COUNT", "DENIED", "ERR", "LOADING", "MASTERDOWN", "MISCONF", "NOAUTH",
    "NOGROUP", "NOMASTERLINK", "NOPERM", "NOREPLICAS", "OOM", "READONLY", "REDISCLI_AUTH",
    "RILLWAY_STREAM_NODE_MAX_ENTRIES", "SENTINEL",
}  # fmt: skip


def test_every_directive_that_is_named_exists() -> None:
    words = [code.split()[0].removeprefix("--") for code in CODE]
    named = {word for word in words if re.fullmatch(r"[a-z]+(-[a-z]+)+", word)} - OTHER_NAMES
    assert len(named) >= 10
    assert {name for name in named if not is_known(name)} == set()


def test_every_command_that_is_named_exists() -> None:
    first_words = {code.split()[0].strip("-") for code in CODE}
    named = {word for word in first_words if re.fullmatch(r"[A-Z][A-Z_]{2,}", word)} - NO_COMMANDS
    after_cli = set(re.findall(r"redis-cli ([A-Z]+)", PAGE))
    assert len(named | after_cli) > 5
    assert {name for name in named | after_cli if name.lower().encode() not in COMMANDS} == set()


def test_the_example_of_a_file_starts_a_server(tmp_path: Path) -> None:
    file = tmp_path / "rillway.conf"
    file.write_text(text_block("# Where it listens"))
    config, _ = load_configuration([str(file)])
    assert (config.port, config.maxclients, config.stream_node_max_entries) == (7000, 500, 200)


def test_the_example_of_a_set_starts_a_server(tmp_path: Path) -> None:
    file = tmp_path / "rillway.conf"
    file.write_text(
        text_block("# One of three servers. Two of them also have: replicaof 10.0.0.1 6379")
    )
    config, _ = load_configuration([str(file)])
    assert (config.masterauth, config.min_replicas_to_write) == ("secret", 1)


def test_the_example_of_a_mistake_prints_what_the_page_says(tmp_path: Path) -> None:
    file = tmp_path / "rillway.conf"
    file.write_text("\n" * 5 + "maxclient 500\n")
    with pytest.raises(ConfigurationError) as stopped:
        load_configuration([str(file)])
    shown = text_block("rillway: /etc/rillway.conf, line 6:")
    assert str(stopped.value) + "\n" == shown.replace("/etc/rillway.conf", str(file))


@pytest.mark.parametrize("line", ["locale-collate de_DE", "socket-mark-id 7"])
def test_what_the_page_says_is_refused_is_refused(line: str) -> None:
    assert f"`{line}`" in PAGE
    with pytest.raises(ConfigurationError, match="Rillway does not have"):
        load_configuration([f"--{line}"])


def text_block(first_line: str) -> str:
    """The block of the page that begins with this line."""
    found = re.search(rf"```text\n({re.escape(first_line)}\n.*?)```", PAGE, re.DOTALL)
    assert found is not None, f"no block begins with {first_line!r}"
    return found[1]
