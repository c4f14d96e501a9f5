"""Access control lists are those of a real Redis 8.2: rules, refusals and log, byte for byte.

The same generated rules and the same requests of restricted users go to both servers. What only
Rillway has, or only Redis, is not named.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest

from tests.support.examples import compat_seed
from tests.support.plain_requests import all_commands, plain_request
from tests.support.programs.servers import RunningServer
from tests.support.resp import Reply, RespClient, parse

pytestmark = pytest.mark.compat

ROUNDS = 60
# The key specifications that do not name every key in every request, which Redis 8.2 did not say.
INCOMPLETE = ("georadius", "georadiusbymember", "xread", "xreadgroup")


def _listed(text: str, mark: str = " ") -> list[str]:
    return [word for line in text.split("\n") for word in line.strip().split(mark) if word]


# What differs from one server, or one moment, to the next.
VARIABLE = re.compile(
    rb"\$\d+\r\nid=\d+[^\r]*|age-seconds\r\n(?:\$\d+\r\n|,)[\d.e-]+|(?<=timestamp-created\r\n):\d+"
    rb"|(?<=timestamp-last-updated\r\n):\d+|(?<=entry-id\r\n):\d+"
)


@pytest.fixture(params=[2, 3])
def both(
    request: pytest.FixtureRequest, rillway_server: RunningServer, redis_server: RunningServer
) -> Iterator[tuple[RespClient, RespClient]]:
    """Connections of administrators; afterwards there are no other users."""
    with (
        rillway_server.connect(protocol=request.param) as ours,
        redis_server.connect(protocol=request.param) as theirs,
    ):
        for client in (ours, theirs):
            client.send("FLUSHALL")
            client.send("ACL", "LOG", "RESET")
        yield ours, theirs
        for client in (ours, theirs):
            names = [item.text for item in parse(client.send("ACL", "USERS")).items]
            client.send("ACL", "DELUSER", "nobody", *(name for name in names if name != b"default"))
            client.send("ACL", "LOG", "RESET")


def compare(both: tuple[RespClient, RespClient], *words: str | bytes) -> bytes:
    """Send to both; returns the reply, without what is variable."""
    ours, theirs = both
    expected = VARIABLE.sub(b"", theirs.send(*words))
    assert VARIABLE.sub(b"", ours.send(*words)) == expected, words
    return expected


# -- declarations --------------------------------------------------------------------------------


def described(server: RunningServer) -> dict[str, Reply]:
    """COMMAND INFO of all commands and sub-commands, by full name."""
    found: dict[str, Reply] = {}
    with server.connect() as client:
        pending = list(parse(client.send("COMMAND")).items)
    while pending:
        one = pending.pop()
        found[one.items[0].text.decode()] = one
        pending += one.items[9].items
    return found


def specification(one: Reply) -> list[dict[bytes, object]]:
    """The key specifications of a command, without notes; the order of flags does not matter."""
    found: list[dict[bytes, object]] = []
    for spec in one.items[8].items:
        fields = dict(zip((name.text for name in spec.items[::2]), spec.items[1::2], strict=True))
        flags = sorted(flag.text for flag in fields.pop(b"flags").items)
        fields.pop(b"notes", None)
        found.append({b"flags": flags, **fields})
    return found


def complete(spec: dict[bytes, object]) -> dict[bytes, object]:
    """What Redis 8.2 says, where Redis 8.10 adds that clients cannot rely on it (redis#15478)."""
    flags = spec[b"flags"]
    assert isinstance(flags, list)
    return {**spec, b"flags": [flag for flag in flags if flag != b"incomplete"]}


def categories(one: Reply) -> list[bytes]:
    return sorted(word.text for word in one.items[6].items)


def test_key_rights_and_categories_are_declared_as_in_redis(
    rillway_server: RunningServer, redis_server: RunningServer
) -> None:
    ours, theirs = described(rillway_server), described(redis_server)
    common = ours.keys() & theirs.keys()
    assert len(common) > 340
    for name in sorted(common):
        own = specification(ours[name])
        if name in INCOMPLETE:
            assert any(b"incomplete" in str(spec).encode() for spec in own), name
            own = [complete(spec) for spec in own]
        assert own == specification(theirs[name]), name
        categories = [
            sorted(word.text for word in one[name].items[6].items) for one in (ours, theirs)
        ]
        assert categories[0] == categories[1], name


def test_categories_hold_the_same_commands(both: tuple[RespClient, RespClient]) -> None:
    names = parse(compare(both, "ACL", "CAT")).items
    listed = [{item.text for item in parse(c.send("COMMAND", "LIST")).items} for c in both]
    for name in names:
        ours, theirs = (
            {item.text for item in parse(c.send("ACL", "CAT", name.text)).items} for c in both
        )
        assert ours & listed[1] == theirs & listed[0], name


# -- rules ---------------------------------------------------------------------------------------

RULES = _listed(
    """
    on off nopass resetpass reset resetkeys resetchannels allkeys allchannels allcommands
    nocommands clearselectors sanitize-payload skip-sanitize-payload ON NoPass >a <a >b <b ~* ~a*
    ~b ~a* %R~a* %W~a* %RW~c %WR~c %r~d %~x % %R %X~a %RR~a ~[ab]? &* &a* &b & ~ &a* +@all -@all
    +@read -@read +@write +@keyspace -@dangerous +@ALL +@slow -@slow +@admin +@pubsub +get -get
    +set -set +GET +config -config +config|get -config|get +config|GET +config|set -config|set
    +client +client|id -client|id +select|0 +select|1 +SELECT|0 +select -select +set|k +set|K
    -set|k +config|get|a +config|foo -config|foo +foo -foo +@foo -@foo + - +@ +| +get| +config|
    +acl|whoami -acl +xadd +xgroup|create -xgroup +publish +subscribe +eval foo () (~a (+get
    (+get) (~a%(+@read) (%R~b (&x (on) ((~a)) ( ) x
    """
)
HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
RARE_RULES = [
    *(sign + text for sign in "#!" for text in (HASH, HASH[:-1], HASH.upper(), "")),
    "", "~a b", "&a b", "%R~a\tb", "~a\0", "( ~a  +get )", '("~a" +get)', '("~a)', "(~a\n+get)",
    "(+foo)", "( reset )", ">", "<", ">p w",
]  # fmt: skip


def some_rules(drawn: random.Random, most: int) -> list[str]:
    rules = [drawn.choice(RULES) for _ in range(drawn.randrange(most))]
    if drawn.random() < 0.2:
        rules.append(drawn.choice(RARE_RULES))
    return rules


def test_rules_make_the_same_users(both: tuple[RespClient, RespClient]) -> None:
    drawn = random.Random(compat_seed())
    for _ in range(ROUNDS * 5):
        name = drawn.choice(("one", "two"))
        rules = some_rules(drawn, 6)
        compare(both, "ACL", "SETUSER", name, *rules)
        compare(both, "ACL", "GETUSER", name)
        if drawn.random() < 0.1:
            compare(both, "ACL", "DELUSER", name, "nobody")
    compare(both, "ACL", "LIST")
    compare(both, "ACL", "USERS")


@pytest.mark.parametrize(
    "words",
    [
        "", "FOO", "HELP x", "CAT foo", "CAT", "CAT a b", "GENPASS 0", "GENPASS 4097", "GENPASS x",
        "GENPASS 1 2", "WHOAMI", "WHOAMI x", "LOG", "LOG x", "LOG 1 2", "LOG -5", "LOG reset",
        "SAVE", "LOAD", "LOAD x", "GETUSER", "GETUSER nobody", "GETUSER default", "SETUSER",
        "DELUSER default", "DELUSER a default", "DELUSER nobody", "LIST x", "USERS", "LIST",
        "SETUSER a\tb on", "SETUSER a (~x", "DRYRUN default get", "DRYRUN default get a",
        "DRYRUN nobody get a", "DRYRUN default foo a", "DRYRUN default config foo",
        "DRYRUN default config get a", "DRYRUN default", "CAT STREAM x", "cat Foo",
    ],
)  # fmt: skip
def test_other_requests_answer_the_same(both: tuple[RespClient, RespClient], words: str) -> None:
    compare(both, "ACL", *(words.split(" ") if words else ()))


# -- requests of restricted users ----------------------------------------------------------------

REQUESTS = _listed(
    """
    GET K|SET K v|SET K v GET|SET K v NX EX 9|MGET K K K|MSET K 1 K 2|DEL K K|UNLINK K|EXISTS K K
    TYPE K|STRLEN K|TOUCH K|OBJECT ENCODING K|EXPIRE K 9|PERSIST K|INCR K
    APPEND K v|GETSET K v|GETEX K|GETDEL K|SETRANGE K 0 x|LPUSH K v|LPOP K|LRANGE K 0 1
    RPOPLPUSH K K|LMOVE K K LEFT LEFT|LMPOP 2 K K LEFT|SADD K v|SPOP K|SINTERSTORE K K K
    SINTERCARD 2 K K|ZADD K 1 v|ZUNIONSTORE K 2 K K|ZUNION 2 K K|ZRANGESTORE K K 0 1|HSET K f v
    HGETALL K|HGET K f|XADD K 1-1 f v|XRANGE K - +|XREAD STREAMS K K 0 0|XREAD COUNT 1 STREAMS K 0
    XLEN K|XREADGROUP GROUP g c STREAMS K >|XREADGROUP GROUP streams c STREAMS K K > >
    XINFO STREAM K|XGROUP CREATE K g 0 MKSTREAM|XTRIM K MAXLEN 1|XDEL K 1-1|XACK K g 1-1
    XPENDING K g|COPY K K|RENAME K K|RENAMENX K K|SORT K|SORT K BY x|SORT K BY x*|SORT K GET #
    SORT K STORE K|SORT K STORE K STORE K|SORT_RO K GET x*|SORT K ALPHA LIMIT 0 1 GET x* FOO
    SORT K FOO|BITFIELD K GET u8 0|BITFIELD K SET u8 0 1|BITFIELD_RO K GET u8 0|BITOP AND K K K
    SETBIT K 1 1|PFADD K v|PFCOUNT K K|PFMERGE K K|GEOADD K 1 1 m
    GEOSEARCHSTORE K K FROMLONLAT 1 1 BYRADIUS 1 m|GEORADIUS K 1 1 1 m STORE K
    GEORADIUSBYMEMBER K m 1 m STOREDIST K|RESTORE K 0 x|EVAL RETURN 1 K|EVAL RETURN 2 K K
    EVAL RETURN 0 K|EVAL_RO RETURN 1 K|EVALSHA x 1 K|FCALL f 1 K|EVAL CALL 0 get K
    EVAL CALL 0 set K v|EVAL CALL 0 mget K K|EVAL PCALL 0 set K v|EVAL CALL 0 publish C m
    EVAL CHECK 0 get K|EVAL CHECK 0 set K v|EVAL CHECK 0 foo|EVAL CHECK 0 publish C m
    EVAL CHECK 0 config set|PUBLISH C m|SPUBLISH C m|PUBSUB CHANNELS|PUBSUB NUMSUB C|PING|ECHO x
    SELECT 0|SELECT 1|CONFIG GET hz|CONFIG FOO|CLIENT GETNAME|CLIENT SETNAME x|ACL WHOAMI
    DBSIZE|KEYS x|FLUSHALL|SCRIPT EXISTS x
    WAIT 0 0|GET|FOO|SET K|MULTI|MULTI|EXEC|EXEC|DISCARD|WATCH K|UNWATCH|BLPOP K K 0.01
    BZPOPMIN K 0.01|BLMOVE K K LEFT LEFT 0.01|AUTH one y|AUTH default x|AUTH nobody x|RESET
    LCS K K|SUBSTR K 0 1
    """,
    "|",
)
SCRIPTS = {
    "RETURN": "return 1",
    "CALL": "return redis.call(unpack(ARGV))",
    "PCALL": "return redis.pcall(unpack(ARGV))",
    "CHECK": "return redis.acl_check_cmd(unpack(ARGV))",
}


def some_request(drawn: random.Random) -> list[str]:
    def word(text: str) -> str:
        if text == "K":
            return drawn.choice(("a1", "a2", "ab", "b", "c", "d", "k", "zz"))
        if text == "C":
            return drawn.choice(("a1", "b", "c"))
        return SCRIPTS.get(text, text)

    return [word(text) for text in drawn.choice(REQUESTS).split(" ")]


GRANTS = (
    ["+@all"], ["+@all", "-@dangerous"], ["+@all", "-@slow"], ["+@read"], ["+@write", "+@read"],
    ["+@all", "-get", "-config"], ["+@string", "+@stream", "+eval"],
    ["+@all", "-select", "+select|0"],
    ["+set|k", "+get", "+multi", "+exec"], ["+@fast", "+config|get"], ["+@all", "-@scripting"],
    ["+@all", "-multi"], ["+@all", "-exec"], ["+@all", "-set", "-xadd"],
)  # fmt: skip
PATTERNS: tuple[list[str], ...] = (
    ["~*", "&*"], ["~a*", "&a*"], ["%R~a*", "%W~b", "&b"], ["%R~*", "%W~a*", "&*"], ["%W~*"],
    ["~k", "~b", "%R~c"], [], ["%R~*"], ["%R~*", "%W~*"],
)  # fmt: skip


def some_grant(drawn: random.Random) -> list[str]:
    rules = ["reset", "on", drawn.choice(("nopass", ">x"))]
    rules += drawn.choice(PATTERNS) + drawn.choice(GRANTS)
    for _ in range(drawn.choice((0, 0, 1, 2))):
        rules.append(f"({' '.join(drawn.choice(PATTERNS) + drawn.choice(GRANTS))})")
    return rules


def test_restricted_users_are_refused_the_same(both: tuple[RespClient, RespClient]) -> None:
    drawn = random.Random(compat_seed() + 1)
    for _ in range(ROUNDS):
        compare(both, "ACL", "SETUSER", "one", *some_grant(drawn))
        for _ in range(20):
            compare(both, "ACL", "DRYRUN", "one", *some_request(drawn))


LACKING = (
    "+@all ~* &* -NAME", "~* &* +NAME", "+@all &*", "+@all &* %R~*", "+@all &* %W~*", "+@all ~*",
    "+@all &* ~key1", "~* &* (+NAME)", "(+NAME ~* &*)",
)  # fmt: skip


def test_every_command_is_refused_to_those_who_lack_one_right(
    both: tuple[RespClient, RespClient],
    rillway_server: RunningServer,
    redis_server: RunningServer,
) -> None:
    common = described(rillway_server).keys() & described(redis_server).keys()
    common -= {"debug"}  # Redis looks at enable-debug-command first
    commands = [one for one in all_commands() if one.fullname.decode() in common]
    assert len(commands) > 330
    with rillway_server.connect() as our_user, redis_server.connect() as their_user:
        users = our_user, their_user
        compare(both, "ACL", "SETUSER", "one", "on", ">x")
        compare(users, "AUTH", "one", "x")
        for command in commands:
            request = plain_request(command)
            for rules in LACKING:
                words = _rules(rules.replace("NAME", command.fullname.decode()))
                compare(both, "ACL", "SETUSER", "one", "reset", "on", ">x", *words)
                if compare(both, "ACL", "DRYRUN", "one", *request) != b"+OK\r\n":
                    answer = compare(users, *request)
                    assert b"NOPERM" in answer, request


def _rules(text: str) -> list[str]:
    plain, bracket, selector = text.partition("(")
    return plain.split() + ([bracket + selector] if bracket else [])


def test_requests_of_restricted_users_run_or_not_alike(
    both: tuple[RespClient, RespClient],
    rillway_server: RunningServer,
    redis_server: RunningServer,
) -> None:
    drawn = random.Random(compat_seed() + 2)
    for _ in range(ROUNDS):
        compare(both, "FLUSHALL")
        compare(both, "ACL", "SETUSER", "one", *some_grant(drawn))
        with rillway_server.connect() as our_user, redis_server.connect() as their_user:
            users = our_user, their_user
            compare(users, "AUTH", "one", "x")
            for _ in range(25):
                request = some_request(drawn)
                compare(users, *request)
                if drawn.random() < 0.1:
                    compare(both, "ACL", "SETUSER", "one", *some_grant(drawn))
        compare(both, "ACL", "LOG")
        compare(both, "ACL", "LOG", "RESET")
