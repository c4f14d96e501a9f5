"""Random sequences of commands get the same replies from Rillway and from a real Redis.

Every sequence runs in RESP2 and in RESP3, in each of the WAYS to reach a server: over TCP, over TLS
(Rillway only: the Redis has none), over a Unix socket, and as a user with no rights but those that
the sequence needs, command by command. A sequence is compared up to where Redis 8.2 has a stream
that Redis 8.10 refuses to load; Rillway's must never be one. How many there are follows from the
profile; the nightly run sets RILLWAY_COMPAT_EXAMPLES=10000, and RILLWAY_SEED for sequences that
were never tried.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from storage.snapshot.stream_refusals import payload_refusal
from tests.compat import comparison, differences
from tests.compat.commands.sequences import CLOSING, Argv, Sequence, resolved, sequences
from tests.compat.commands.strategies import Draft
from tests.compat.edges.streams import EDGES, commands_of
from tests.conftest import running
from tests.support.certificates import Authority
from tests.support.examples import compared, compat_seed
from tests.support.programs.ports import free_port
from tests.support.programs.redis_cli import command_line, split_line
from tests.support.programs.servers import RunningServer, start_rillway
from tests.support.resp import Reply, RespClient, encode_command, parse

pytestmark = pytest.mark.compat

WAYS = ("tcp", "tls", "unix", "restricted")
PROTOCOLS = (2, 3)
RESET: list[Argv] = [[b"DISCARD"], [b"UNWATCH"]]
LOGIN: Argv = [b"AUTH", b"app", b"secret"]
# All that sequences name as keys, also where a command is misspelt. They name no channel.
KEYS = """
    s t text count missing set set2 zset zset2 level level2 list list2 hash hash2 bits bits2 hll
    hll2 hll3 numbers words mixed sorted weight:* name:* hash:* letters letters2 FOO COUNT 1
"""
PATTERNS = [b"~", *(b"~" + key.encode() for key in KEYS.split())]


@dataclass
class Pair:
    """A connection to each server, and one of an administrator.

    login: what HELLO takes to make it that of a restricted user.
    names: the commands and sub-commands that such a user can be granted.
    """

    ours: RespClient
    theirs: RespClient
    admins: tuple[RespClient, RespClient]
    login: Argv
    names: frozenset[bytes]

    def rules(self, commands: Iterable[Argv]) -> set[bytes]:
        """Those that allow these commands, one by one."""
        words = [(argv[0], b"|".join(argv[:2])) for argv in commands]
        return {
            b"+" + name.lower() for names in words for name in names if name.lower() in self.names
        }

    def grant(self, rules: Iterable[bytes]) -> None:
        """Give the restricted user these rights only."""
        for admin in self.admins if self.login else ():
            reply = admin.send("ACL", "SETUSER", "app", "reset", "on", ">secret", *rules)
            assert reply == b"+OK\r\n", reply


@pytest.fixture(scope="module")
def rillway_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """One that listens in all ways: for its clients, `socket` and `ca.pem` are in its folder."""
    folder = tmp_path_factory.mktemp("rillway")
    own = Authority(folder).issue("server")
    doors = ["--unixsocket", str(folder / "socket"), "--tls-port", str(free_port())]
    doors += ["--tls-cert-file", own.certificate, "--tls-key-file", own.key]
    doors += ["--tls-auth-clients", "no", "--port", str(free_port())]
    yield from running(lambda: start_rillway(folder, *doors))


@pytest.fixture(scope="module", params=["tcp"])
def pair(
    request: pytest.FixtureRequest, rillway_server: RunningServer, redis_server: RunningServer
) -> Iterator[Pair]:
    """Connected in the way that is the parameter."""
    both = rillway_server, redis_server
    with ExitStack() as stack:
        admins = [stack.enter_context(server.connect()) for server in both]
        clients = [server.connect() for server in both]
        if request.param == "unix":
            clients = [RespClient(server.log.parent / "socket") for server in both]
        elif request.param == "tls":
            port = parse(admins[0].send("CONFIG", "GET", "tls-port")).items[1].number
            context = ssl.create_default_context(cafile=rillway_server.log.parent / "ca.pem")
            clients[0] = RespClient(port, context=context)
        ours, theirs = map(stack.enter_context, clients)
        listed = {name.text for name in parse(admins[1].send("COMMAND", "LIST")).items}
        names = frozenset(listed - {name.partition(b"|")[0] for name in listed if b"|" in name})
        login = LOGIN if request.param == "restricted" else []
        yield Pair(ours, theirs, (admins[0], admins[1]), login, names)
        for admin in admins:
            admin.send("CONFIG", "SET", "stream-node-max-entries", 100)
            admin.send("FLUSHALL")
            admin.send("ACL", "DELUSER", "app")


def opening(sequence: Sequence, protocol: int, login: Argv) -> list[Argv]:
    """Leads to an empty server; each of these must succeed."""
    return [
        [b"HELLO", b"%d" % protocol, *login],
        [b"SELECT", b"0"],
        [b"FLUSHALL"],
        [b"CONFIG", b"SET", b"stream-node-max-entries", b"%d" % sequence.max_node_entries],
    ]


def write(pair: Pair, sequence: Sequence) -> None:
    """Sends the sequence in every protocol to both, in one write."""
    data = b"".join(
        encode_command(argv)
        for protocol in PROTOCOLS
        for argv in (*RESET, *opening(sequence, protocol, pair.login), *sequence.commands, *CLOSING)
    )
    pair.theirs.write_bytes(data)
    pair.ours.write_bytes(data)


def read(client: RespClient, sequence: Sequence, protocol: int) -> list[Reply]:
    """The replies to the sequence in one protocol, and to the closing look at the state."""
    for _ in RESET:
        client.read_reply()
    for argv in opening(sequence, protocol, []):
        reply = client.read_reply()
        assert not reply.startswith(b"-"), f"{command_line(argv)}: {reply!r}"
    return [comparison.parsed(client.read_reply()) for _ in (*sequence.commands, *CLOSING)]


def check(pair: Pair, sequence: Sequence, withheld: Iterable[bytes] = ()) -> None:
    """Fails with a script that shows the first reply that differs, in the first protocol.

    A restricted user has the rights that the sequence needs, without those that are withheld.
    """
    commands = [*sequence.commands, *CLOSING]
    needed = pair.rules([*RESET, *opening(sequence, 2, []), *commands]).union(PATTERNS)
    pair.grant(sorted(needed.difference(withheld)))
    write(pair, sequence)
    replies = [
        (protocol, read(pair.ours, sequence, protocol), read(pair.theirs, sequence, protocol))
        for protocol in PROTOCOLS
    ]
    assert list(refusals(pair.admins[0])) == [], "Redis 8.10 would not load it"
    for protocol, ours, theirs in replies:
        mismatch = comparison.first_mismatch(commands, ours, theirs, differences.adjust)
        if mismatch is not None and goes_wrong_before(pair, sequence, protocol, mismatch):
            return
        assert mismatch is None, report(protocol, sequence, commands, mismatch)
        is_closed = any(reply.text.startswith(b"NOPERM") for reply in theirs[-len(CLOSING) :])
        assert withheld or not is_closed, "rights are missing"


def refusals(admin: RespClient) -> Iterator[str]:
    """Why Redis 8.10 would not load the streams of a server."""
    for key in (b"s", b"t"):
        reply = parse(admin.send("DUMP", key))
        reason = payload_refusal(reply.text) if reply.text else None
        if reason is not None:
            yield f"{key.decode()}: {reason}"


def goes_wrong_before(
    pair: Pair, sequence: Sequence, protocol: int, mismatch: comparison.Mismatch
) -> bool:
    """Return True if Redis 8.2 has a stream before a reply differs that Redis 8.10 refuses.

    Such as a node without an entry (redis#15808) or a group that has read more than was added
    (redis#15488): what follows from it is wrong, too.
    """
    before = sequence.commands[: mismatch.exchange.position]
    for argv in (*RESET, *opening(sequence, protocol, pair.login)):
        pair.theirs.send(*argv)
    for argv in before:
        pair.theirs.send(*argv)
        if any(refusals(pair.admins[1])):
            return True
    return False


@pytest.mark.parametrize("pair", WAYS, indirect=True)
@seed(compat_seed())
@settings(max_examples=compared(200))
@given(sequence=sequences())
def test_a_sequence_is_answered_as_redis_answers_it(pair: Pair, sequence: Sequence) -> None:
    check(pair, sequence)


@pytest.mark.parametrize("pair", ["restricted"], indirect=True)
@seed(compat_seed())
@settings(max_examples=compared(50))
@given(sequence=sequences(), drawn=st.tuples(st.integers(0, 99), st.integers(0, 99)))
def test_a_user_is_refused_what_redis_refuses(
    pair: Pair, sequence: Sequence, drawn: tuple[int, int]
) -> None:
    commands = sorted(pair.rules(sequence.commands) - pair.rules(opening(sequence, 2, [])))
    words = {word for argv in sequence.commands for word in argv}
    keys = [pattern for pattern in PATTERNS if pattern[1:] in words]
    withheld = [
        rules[n % len(rules)] for n, rules in zip(drawn, (commands, keys), strict=True) if rules
    ]
    check(pair, sequence, withheld)


@pytest.mark.edge
@pytest.mark.parametrize("name", EDGES)
def test_an_edge_is_answered_as_redis_answers_it(pair: Pair, name: str) -> None:
    drafts: list[Draft] = [list(split_line(line)) for line in commands_of(EDGES[name])]
    check(pair, Sequence(100, resolved(drafts)))


def report(
    protocol: int, sequence: Sequence, commands: list[Argv], mismatch: comparison.Mismatch
) -> str:
    """What differs, and the sequence up to there for pasting into `redis-cli` (`-3` for RESP3)."""
    exchange = mismatch.exchange
    script = [f"CONFIG SET stream-node-max-entries {sequence.max_node_entries}", "FLUSHALL"]
    script += [command_line(argv) for argv in commands[: exchange.position + 1]]
    return "\n".join(
        [
            f"RESP{protocol}: {command_line(exchange.argv)}",
            f"rillway: {exchange.ours.raw()!r}",
            f"redis:   {exchange.theirs.raw()!r}",
            f"differs: {mismatch.place()}",
            "",
            "as a script for redis-cli" + (" -3:" if protocol == 3 else ":"),
            *script,
        ]
    )
