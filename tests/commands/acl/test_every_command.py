"""Every command of the table is refused to users who lack one right, and changes nothing then."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from commands.acl.checks import channels_of, keys_of
from commands.acl.selectors import READ, WRITE
from commands.core.registry import NO_AUTH, Command
from commands.documentation import row_of
from commands.pubsub.registry import PubSub
from server.inprocess.server import InProcessServer
from storage.digest import dataset_digest
from tests.support.plain_requests import all_commands, plain_request

KEY = b"-NOPERM No permissions to access a key\r\n"
CHANNEL = b"-NOPERM No permissions to access a channel\r\n"
KEY_WORD = re.compile(r"key\d")
ANYTHING = ("+@all", "~*", "&*")

# By what they are about: a test for each command would take longer to begin than to run.
GROUPS: dict[str, list[Command]] = {}
for one in all_commands():
    GROUPS.setdefault(row_of(one).group, []).append(one)
every_command = pytest.mark.parametrize("group", GROUPS)
# Without these, no client could become another user.
OPEN_TO_ALL = {b"auth", b"hello", b"quit", b"reset"}
LISTENING = {b"publish", b"spublish", b"subscribe", b"ssubscribe", b"psubscribe"}


def denied(command: Command) -> bytes:
    aborted = b"EXECABORT Transaction discarded because of: " * (command.fullname == b"exec")
    text = b"-%bNOPERM User ann has no permissions to run the '%b' command\r\n"
    return text % (aborted, command.fullname)


def rights_of(command: Command) -> list[int]:
    """What is needed for each key of its plain request: READ, WRITE, both, or 0 for any."""
    return [rights for _, rights in keys_of(command, to_argv(command))]


def to_argv(command: Command) -> list[bytes]:
    return [word.encode() for word in plain_request(command)]


class Restricted:
    """A server with a key of each type, its administrator, and Ann, whose rights change."""

    def __init__(self) -> None:
        self.server = InProcessServer()
        self.administrator = self.server.connect()
        run = self.administrator.execute
        run("SET", "key1", "1")
        run("XADD", "key2", "1-1", "f", "v")
        run("HSET", "key3", "f", "v")
        self.ann = self.server.connect()

    def grant(self, rules: Iterable[str]) -> None:
        words = ("ACL", "SETUSER", "ann", "reset", "on", ">p", *rules)
        assert self.administrator.execute(*words) == b"+OK\r\n"
        self.ann.disconnect()
        self.ann = self.server.connect()
        assert self.ann.execute("AUTH", "ann", "p") == b"+OK\r\n"

    def answer(self, command: Command) -> bytes:
        """What Ann is answered; if that is a refusal, nothing has changed."""
        before = self._state()
        answer = self.ann.execute(*plain_request(command))
        if b"no permissions" in answer.lower():
            assert self._state() == before
        return answer

    def may(self, command: Command) -> bytes:
        """What ACL DRYRUN says of the same request."""
        return self.administrator.execute("ACL", "DRYRUN", "ann", *plain_request(command))

    def _state(self) -> object:
        server, administrator = self.server, self.administrator
        pubsub = server.instance.feature(PubSub)
        kinds = (pubsub.channels, pubsub.patterns, pubsub.shard_channels)
        return (
            dataset_digest(server.instance.databases, server.now_ms),
            list(server.propagated),
            administrator.execute("CONFIG", "GET", "*"),
            administrator.execute("ACL", "LIST"),
            administrator.execute("FUNCTION", "LIST"),
            [dict(kind.by_name) for kind in kinds],
            self.ann.closed,
            server.shutdown_requested,
        )


@pytest.fixture(scope="module")
def restricted() -> Restricted:
    return Restricted()


@every_command
def test_a_plain_request_has_the_right_form_and_all_keys(group: str) -> None:
    for command in GROUPS[group]:
        request = plain_request(command)
        assert command.accepts(len(request))
        named = [place for place, word in enumerate(request) if KEY_WORD.fullmatch(word)]
        assert [place for place, _ in keys_of(command, to_argv(command))] == named
        assert bool(channels_of(command, to_argv(command))) == (command.fullname in LISTENING)


@every_command
def test_all_commands_but_this_one(restricted: Restricted, group: str) -> None:
    for command in GROUPS[group]:
        restricted.grant((*ANYTHING, f"-{command.fullname.decode()}"))
        if command.flags & NO_AUTH:
            assert command.fullname in OPEN_TO_ALL
            assert b"no permissions" not in restricted.answer(command).lower()
            continue
        assert restricted.answer(command) == denied(command)
        if command.parent is not None:
            restricted.grant((*ANYTHING, f"-{command.parent.fullname.decode()}"))
            assert restricted.answer(command) == denied(command)


@every_command
def test_this_command_alone_is_allowed(restricted: Restricted, group: str) -> None:
    for command in GROUPS[group]:
        restricted.grant(("~*", "&*", f"+{command.fullname.decode()}"))
        assert restricted.may(command) == b"+OK\r\n"


@every_command
def test_all_commands_but_no_keys(restricted: Restricted, group: str) -> None:
    for command in GROUPS[group]:
        restricted.grant(("+@all", "&*"))
        if rights_of(command):
            assert restricted.answer(command) == KEY
        else:
            assert restricted.may(command) == b"+OK\r\n"


@every_command
def test_keys_that_may_only_be_read_or_only_written(restricted: Restricted, group: str) -> None:
    for command in GROUPS[group]:
        for pattern, lacking in (("%R~*", WRITE), ("%W~*", READ)):
            restricted.grant(("+@all", "&*", pattern))
            if any(rights & lacking for rights in rights_of(command)):
                assert restricted.answer(command) == KEY
            else:
                assert restricted.may(command) == b"+OK\r\n"


@every_command
def test_one_key_too_few(restricted: Restricted, group: str) -> None:
    for command in GROUPS[group]:
        count = len(rights_of(command))
        restricted.grant(("+@all", "&*", *(f"~key{number}" for number in range(1, count))))
        if count:
            assert restricted.answer(command) == KEY
            restricted.grant(("+@all", "&*", *(f"~key{number + 1}" for number in range(count))))
        assert restricted.may(command) == b"+OK\r\n"


@every_command
def test_no_channels(restricted: Restricted, group: str) -> None:
    for command in GROUPS[group]:
        restricted.grant(("+@all", "~*"))
        if command.fullname in LISTENING:
            assert restricted.answer(command) == CHANNEL
            restricted.grant(("+@all", "~*", "&channel2"))
            assert restricted.answer(command) == CHANNEL
        else:
            assert restricted.may(command) == b"+OK\r\n"


@every_command
def test_selectors_do_not_add_up(restricted: Restricted, group: str) -> None:
    for command in GROUPS[group]:
        name = command.fullname.decode()
        restricted.grant(("~*", "&*", f"(+{name})"))
        if rights_of(command):
            assert restricted.answer(command) == KEY
        elif command.fullname in LISTENING:
            assert restricted.answer(command) == CHANNEL
        else:
            assert restricted.may(command) == b"+OK\r\n"
        restricted.grant((f"(+{name} ~* &*)",))
        assert restricted.may(command) == b"+OK\r\n"
