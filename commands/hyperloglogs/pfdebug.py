"""PFDEBUG and PFSELFTEST: the registers of a HyperLogLog, and whether the estimates are right."""

from __future__ import annotations

from collections.abc import Callable

from commands.core.client import Client
from commands.core.registry import ADMIN, DENYOOM, WRITE, command, one_key
from commands.hyperloglogs.pfcount import refused
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.types import hyperloglog
from storage.types.hyperloglog import REGISTERS
from storage.types.value import StringValue

# What PFSELFTEST counts, and the share by which an estimate may be wrong: six standard errors.
_TESTED_COUNTS = (1, 10, 100, 1000, 10_000)
_TOLERANCE = 6 * 1.04 / REGISTERS**0.5


@command("PFDEBUG", arity=3, flags=WRITE | DENYOOM | ADMIN, keys=one_key(b"RW", b"ACCESS", at=2))
def pfdebug(client: Client, argv: Request) -> bytes:
    """GETREG, DECODE, ENCODING or TODENSE. GETREG and TODENSE make it dense. Source: Redis 7.2."""
    key = argv[2]
    value = client.lookup_string_for_write(key)
    if value is None:
        raise ReplyError(errors.NO_SUCH_HYPERLOGLOG)
    with refused():
        hyperloglog.check(value.data)
        tool = _TOOLS.get(argv[1].upper())
        if tool is None:
            raise errors.unknown_pfdebug(argv[1])
        return tool(client, key, value)


def _encoding(client: Client, key: bytes, value: StringValue) -> bytes:
    return replies.simple(b"dense" if hyperloglog.is_dense(value.data) else b"sparse")


def _make_dense(client: Client, key: bytes, value: StringValue) -> bytes:
    """1 if it was sparse."""
    if hyperloglog.is_dense(value.data):
        return replies.ZERO
    hyperloglog.make_dense(value.in_place())
    client.modified(key)
    return replies.ONE


def _registers(client: Client, key: bytes, value: StringValue) -> bytes:
    """The value of each register; it is dense from then on."""
    _make_dense(client, key, value)
    return replies.array(
        [replies.integer(register) for register in hyperloglog.registers(value.data)]
    )


def _decode(client: Client, key: bytes, value: StringValue) -> bytes:
    """The runs of a sparse one, in the order of the registers."""
    if hyperloglog.is_dense(value.data):
        raise ReplyError(errors.HYPERLOGLOG_NOT_SPARSE)
    runs = [
        f"v:{register},{span}" if register else f"{'zZ'[size - 1]}:{span}"
        for size, span, register in hyperloglog.runs(value.data)
    ]
    return replies.bulk(" ".join(runs).encode())


_TOOLS: dict[bytes, Callable[[Client, bytes, StringValue], bytes]] = {
    b"DECODE": _decode,
    b"ENCODING": _encoding,
    b"GETREG": _registers,
    b"TODENSE": _make_dense,
}


@command("PFSELFTEST", arity=1, flags=ADMIN)
def pfselftest(client: Client, argv: Request) -> bytes:
    """OK, or -TESTFAILED with what is wrong. Source: Redis 7.2."""
    data, added = hyperloglog.create(), 0
    for count in _TESTED_COUNTS:
        elements = (b"%d" % number for number in range(added, count))
        hyperloglog.add(data, elements, client.instance.config.hll_sparse_max_bytes)
        added = count
        registers = hyperloglog.registers(data)
        dense = bytearray(data)
        if not hyperloglog.is_dense(data):
            hyperloglog.make_dense(dense)
        if hyperloglog.registers(dense) != registers:
            return replies.error(b"TESTFAILED The dense and the sparse registers differ")
        estimated = hyperloglog.estimate(registers)
        if abs(estimated - count) > count * _TOLERANCE + 1:
            return replies.error(b"TESTFAILED Too large an error: %d of %d" % (estimated, count))
    return replies.OK
