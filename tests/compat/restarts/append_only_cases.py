"""Hand-made and cut append-only files and manifests, for both programs to start with.

Where the two differ on purpose (docs/compatibility.md, Files), there is no case.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from storage.append_only.requests import encode_request, encode_requests

DIRECTORY = "appendonlydir"
MANIFEST = f"{DIRECTORY}/appendonly.aof.manifest"
BASE, FIRST, SECOND = "a.1.base.rdb", "a.1.incr.aof", "a.2.incr.aof"
BASE_LINE = f"file {BASE} seq 1 type b\n"
FIRST_LINE = f"file {FIRST} seq 1 type i\n"
SECOND_LINE = f"file {SECOND} seq 2 type i\n"
LINES = BASE_LINE + FIRST_LINE


def requests(*lines: str) -> bytes:
    """The bytes of some requests."""
    return encode_requests([[word.encode() for word in line.split()] for line in lines])


# An RDB file with a string: version 10, no checksum.
SNAPSHOT = b"REDIS0010\xfa\x09redis-ver\x067.0.15\xfe\x00\x00\x06inbase\x01x\xff" + bytes(8)
WHOLE = requests("SELECT 0", "SET a 1", "MULTI", "SET b 1", "INCR b", "EXEC", "RPUSH l x y")
OPEN = requests("MULTI", "SET c 1")
TORN = encode_request([b"SET", b"torn", b"value"])[:-5]


@dataclass(frozen=True)
class Case:
    """What lies in the folder, and the directives of the start."""

    name: str
    manifest: str | None
    parts: dict[str, bytes]
    directives: tuple[str, ...] = ()
    single: bytes | None = None  # the one file of Redis 6


def _of(name: str, increment: bytes, *directives: str) -> Case:
    return Case(name, LINES, {BASE: SNAPSHOT, FIRST: increment}, directives)


def _listed(name: str, manifest: str) -> Case:
    return Case(name, manifest, {BASE: SNAPSHOT, FIRST: WHOLE, SECOND: WHOLE})


MAY_NOT_CUT = ("--aof-load-truncated", "no")
CASES = (
    _of("whole", WHOLE),
    _of("torn", WHOLE + TORN),
    _of("torn and not to be cut", WHOLE + TORN, *MAY_NOT_CUT),
    _of("a transaction without its end", WHOLE + OPEN),
    _of("a transaction without its end and not to be cut", WHOLE + OPEN, *MAY_NOT_CUT),
    _of("garbage", WHOLE + b"!!!"),
    _of("a negative number of words", WHOLE + b"*-1\r\n"),
    _of("an unknown command", WHOLE + requests("NOSUCH x")),
    _of("annotations", b"#TS:1628217470\r\n" + WHOLE + b"#TS:1628217471\r\n"),
    _of("an empty increment", b""),
    _of("no snapshot for the next base", WHOLE, "--aof-use-rdb-preamble", "no"),
    Case(
        "torn before another",
        LINES + SECOND_LINE,
        {BASE: SNAPSHOT, FIRST: WHOLE + TORN, SECOND: WHOLE},
        MAY_NOT_CUT,
    ),
    Case("a base that breaks off", LINES, {BASE: SNAPSHOT[:-12], FIRST: WHOLE}),
    Case("a wrong checksum", LINES, {BASE: SNAPSHOT[:-8] + b"12345678", FIRST: WHOLE}),
    Case("no base file", LINES, {FIRST: WHOLE}),
    Case("no increment file", LINES, {BASE: SNAPSHOT}),
    Case("only a base", BASE_LINE, {BASE: SNAPSHOT}),
    Case("only an increment", FIRST_LINE, {FIRST: WHOLE}),
    Case("nothing", None, {}),
    Case("an empty manifest", "", {BASE: SNAPSHOT, FIRST: WHOLE}),
    Case("a base of requests", f"file b seq 1 type b\n{FIRST_LINE}", {"b": WHOLE, FIRST: WHOLE}),
    Case(
        "a name with a space",
        f'file "a b" seq 1 type b\n{FIRST_LINE}',
        {"a b": SNAPSHOT, FIRST: b""},
    ),
    Case("one file twice", f"file {FIRST} seq 1 type b\n{FIRST_LINE}", {FIRST: requests("INCR n")}),
    Case(
        "one increment twice",
        FIRST_LINE + FIRST_LINE.replace("seq 1", "seq 2"),
        {FIRST: requests("INCR n")},
    ),
    Case("the single file of Redis 6", None, {}, single=WHOLE),
    Case("the single file, torn", None, {}, single=WHOLE + TORN),
    _listed("comments", f"# one\n{BASE_LINE}# two\n{FIRST_LINE}"),
    _listed("a blank line", f"\n{LINES}"),
    _listed("spaces", f" {BASE_LINE}{FIRST_LINE.replace(' ', '  ')}"),
    _listed("CR LF", LINES.replace("\n", "\r\n")),
    _listed("a last line without its end", LINES[:-1]),
    _listed("another order", FIRST_LINE + BASE_LINE),
    _listed("an unknown key", f"file {BASE} seq 1 type b key value\n{FIRST_LINE}"),
    _listed("an odd number of words", f"file {BASE} seq 1 type b key\n{FIRST_LINE}"),
    _listed("capitals", f"FILE {BASE} SEQ 1 TYPE b\n{FIRST_LINE}"),
    _listed("an unknown type", f"file {BASE} seq 1 type x\n{FIRST_LINE}"),
    _listed("a sequence number of 0", f"file {BASE} seq 0 type b\n{FIRST_LINE}"),
    _listed("two bases", BASE_LINE + LINES),
    _listed("an increment listed twice", LINES + FIRST_LINE),
    _listed("descending numbers", BASE_LINE + SECOND_LINE + FIRST_LINE),
    _listed("a gap in the numbers", LINES + SECOND_LINE.replace("seq 2", "seq 7")),
    _listed("a path", LINES.replace(BASE, f"x/{BASE}")),
    _listed("a line that is too long", f"file {BASE} seq 1 type b {'x' * 1100}\n{FIRST_LINE}"),
    _listed("history that is gone", f"{BASE_LINE}file old seq 1 type h\n{FIRST_LINE}"),
)


def cut_cases(seed: int, count: int) -> list[Case]:
    """The whole increment, cut at random places. Not within a transaction: see the differences."""
    chance = random.Random(seed)
    begins = WHOLE.index(b"*1\r\n$5\r\nMULTI")
    ends = WHOLE.index(b"EXEC\r\n") + len(b"EXEC\r\n")
    places = [place for place in range(1, len(WHOLE)) if not begins < place < ends]
    return [
        _of(f"cut at {place}", WHOLE[:place], *chance.choice(((), MAY_NOT_CUT)))
        for place in chance.sample(places, count)
    ]
