"""PFADD, PFCOUNT and PFMERGE: estimates of cardinality, within about one percent.

PFDEBUG and PFSELFTEST show the registers of a HyperLogLog and check the estimates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from commands.core import notifications
from commands.core.client import Client
from commands.core.registry import (
    ADMIN,
    DENYOOM,
    FAST,
    MAY_REPLICATE,
    READONLY,
    WRITE,
    KeySpec,
    command,
    keys_to_end,
    one_key,
)
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.types import hyperloglog
from storage.types.hyperloglog import REGISTERS
from storage.types.value import StringValue


@contextmanager
def refused() -> Iterator[None]:
    """Convert the errors of an invalid or damaged HyperLogLog to ReplyError."""
    try:
        yield
    except hyperloglog.InvalidHyperLogLog:
        raise ReplyError(errors.NOT_A_HYPERLOGLOG) from None
    except hyperloglog.CorruptHyperLogLog:
        raise ReplyError(errors.CORRUPT_HYPERLOGLOG) from None


@command("PFADD", arity=-2, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"INSERT"))
def pfadd(client: Client, argv: Request) -> bytes:
    """Integer: 1 if it was created or any register has changed. Source: Redis 7.2."""
    key = argv[1]
    found = client.lookup_string_for_write(key)
    with refused():
        value = _checked_or_new(client, found)
        limit = client.instance.config.hll_sparse_max_bytes
        changes = hyperloglog.add(value.in_place(), argv[2:], limit)
    if found is None:
        client.store(key, value)
        changes += 1
    if not changes:
        return replies.ZERO
    client.modified(key, changes)
    client.notify(notifications.STRING, b"pfadd", key)
    return replies.ONE


def _checked_or_new(client: Client, value: StringValue | None) -> StringValue:
    """The string, checked to be a HyperLogLog; for None a new one, which is not stored yet."""
    if value is not None:
        hyperloglog.check(value.data)
        return value
    new = StringValue(b"", client.instance.now_ms, b"raw")
    new.in_place().extend(hyperloglog.create())
    return new


@command("PFCOUNT", arity=-2, flags=READONLY | MAY_REPLICATE, keys=keys_to_end(b"RW", b"ACCESS"))
def pfcount(client: Client, argv: Request) -> bytes:
    """Integer.

    For one key it is cached in the string, which counts as a change. Source: Redis 7.2.
    """
    if len(argv) == 2:
        return replies.integer(_count_one(client, argv))
    return replies.integer(_count_several(client, argv[1:]))


def _count_one(client: Client, argv: Request) -> int:
    key = argv[1]
    value = client.lookup_string(key)
    if value is None:
        return 0
    with refused():
        hyperloglog.check(value.data)
        count = hyperloglog.cached(value.data)
        if count is not None:
            return count
        count = hyperloglog.estimate(hyperloglog.registers(value.data))
    hyperloglog.keep(value.in_place(), count)
    client.modified(key)
    client.propagate(*argv)
    return count


def _count_several(client: Client, keys: list[bytes]) -> int:
    found: list[bytes] = []
    with refused():
        for key in keys:
            value = client.lookup_string(key)
            if value is not None:
                hyperloglog.check(value.data)
                found.append(hyperloglog.registers(value.data))
        return hyperloglog.estimate(hyperloglog.greatest(found)) if found else 0


@command(
    "PFMERGE",
    arity=-2,
    flags=WRITE | DENYOOM,
    keys=(
        KeySpec(begin=1, flags=(b"RW", b"ACCESS", b"INSERT")),
        KeySpec(begin=2, last=-1, flags=(b"RO", b"ACCESS")),
    ),
)
def pfmerge(client: Client, argv: Request) -> bytes:
    """OK. Source: Redis 7.2."""
    target = argv[1]
    with refused():
        sources: list[bytes | bytearray] = []
        # In order: the first key that is wrong in any way determines the error.
        registers = hyperloglog.greatest(_unpacked(client, argv[1:], sources))
        dense = any(map(hyperloglog.is_dense, sources))
        old = client.lookup_string_for_write(target)
        merged = _checked_or_new(client, old)
        limit = client.instance.config.hll_sparse_max_bytes
        hyperloglog.merge(merged.in_place(), registers, dense=dense, sparse_max_bytes=limit)
    if old is None:
        client.store(target, merged)
    client.modified(target)
    client.notify(notifications.STRING, b"pfadd", target)
    return replies.OK


def _unpacked(
    client: Client, keys: list[bytes], sources: list[bytes | bytearray]
) -> Iterator[bytes]:
    """The registers of each existing key, whose data are appended to `sources`."""
    for key in keys:
        value = client.lookup_string(key)
        if value is not None:
            hyperloglog.check(value.data)
            sources.append(value.data)
            yield hyperloglog.registers(value.data)


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
