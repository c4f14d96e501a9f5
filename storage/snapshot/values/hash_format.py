"""Hashes in snapshots and payloads.

    4, 22, 24    fields one by one; 22 and 24 with a time for each
    9, 13, 16    a zipmap, ziplist or listpack of fields and values in turn
    22           of Valkey: fields one by one, each with its value and then a time
    23, 25       a listpack of field, value and time in turn
    30, 32       the values of a template's fields, in a listpack or one by one

In versions of Redis 22 and 23 come from release candidates of 7.4. Written are 4, 16, 24 and 25,
and 22 for Valkey. A time is Unix time in ms, 0 for none (-1 in Valkey's 22); 24 has the earliest
one first, and the others relative to it, plus one.

Expired fields are read like the others, and removed later by expiry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from storage.redis_format.listpack import Element, decode_listpack, encode_listpack
from storage.redis_format.primitives import Cursor, encode_length, encode_string
from storage.redis_format.ziplist import decode_ziplist, decode_zipmap
from storage.snapshot import opcodes
from storage.snapshot.format import (
    VALKEY_VERSION,
    Codec,
    Decoder,
    EmptyCollection,
    Reading,
    SnapshotOptions,
)
from storage.types.hashes import HASHTABLE, LISTPACK_EX, HashValue
from storage.types.records import field_of, value_of

_MIN_VERSION = {
    opcodes.HASH_LISTPACK: 10,
    opcodes.HASH_WITH_TIMES: 12,
    opcodes.HASH_LISTPACK_EX: 12,
    opcodes.VALKEY_HASH_WITH_TIMES: VALKEY_VERSION,
}
_NO_TIME = -1  # of Valkey

# -- writing -----------------------------------------------------------------------------------


def _type_code(value: HashValue, options: SnapshotOptions) -> int:
    """Return Redis's type code for the encoding, or an older one, which has no times."""
    if options.for_valkey and value.expires is not None:
        return opcodes.VALKEY_HASH_WITH_TIMES
    if options.allows(_MIN_VERSION[opcodes.HASH_WITH_TIMES]):
        if value.encoding is LISTPACK_EX:
            return opcodes.HASH_LISTPACK_EX
        if value.expires is not None:
            return opcodes.HASH_WITH_TIMES
    is_compact = value.encoding is not HASHTABLE
    if is_compact and options.allows(_MIN_VERSION[opcodes.HASH_LISTPACK]):
        return opcodes.HASH_LISTPACK
    return opcodes.HASH


def _pieces(value: HashValue, options: SnapshotOptions, now_ms: int) -> Iterator[bytes]:
    code = _type_code(value, options)
    if code == opcodes.HASH_LISTPACK:
        yield _listpack(list(chain.from_iterable(value.pairs())), options)
    elif code == opcodes.HASH_LISTPACK_EX:
        words = []
        for name, text in value.pairs():
            words += [name, text, b"%d" % (value.time_of(name) or 0)]
        yield _time(value.first_deadline_ms() or 0) + _listpack(words, options)
    elif code == opcodes.VALKEY_HASH_WITH_TIMES:
        yield from _one_by_one_for_valkey(value, options)
    else:
        yield from _one_by_one(value, options, with_times=code == opcodes.HASH_WITH_TIMES)


def _listpack(words: list[bytes], options: SnapshotOptions) -> bytes:
    return encode_string(encode_listpack(words), compress=options.compress)


def _time(when_ms: int) -> bytes:
    return when_ms.to_bytes(8, "little", signed=True)


def _one_by_one_for_valkey(value: HashValue, options: SnapshotOptions) -> Iterator[bytes]:
    compress = options.compress
    yield encode_length(len(value))
    for records in value.batches():
        parts: list[bytes] = []
        for record in records:
            name = field_of(record)
            when_ms = value.time_of(name)
            parts.append(encode_string(name, compress=compress))
            parts.append(encode_string(value_of(record), compress=compress))
            parts.append(_time(_NO_TIME if when_ms is None else when_ms))
        yield b"".join(parts)


def _one_by_one(value: HashValue, options: SnapshotOptions, *, with_times: bool) -> Iterator[bytes]:
    first_ms, compress = value.first_deadline_ms() or 0, options.compress
    count = encode_length(len(value))
    yield _time(first_ms) + count if with_times else count
    for records in value.batches():
        parts: list[bytes] = []
        for record in records:
            name, text = field_of(record), value_of(record)
            if with_times:
                when_ms = value.time_of(name)
                parts.append(encode_length(0 if when_ms is None else when_ms - first_ms + 1))
            parts.append(encode_string(name, compress=compress))
            parts.append(encode_string(text, compress=compress))
        yield b"".join(parts)


# -- reading -----------------------------------------------------------------------------------


def _text(element: Element) -> bytes:
    return b"%d" % element if isinstance(element, int) else element


def _finished(
    cursor: Cursor, reading: Reading, count: int, value: HashValue, *, keeps_times: bool = False
) -> HashValue:
    """The finished hash, after `count` fields were read."""
    if len(value) != count:
        raise cursor.corrupt("a field of a hash comes twice")
    if not count:
        raise EmptyCollection
    value.adapt(reading.limits)
    if keeps_times:
        value.keep_times()
    return value


def _from_words(cursor: Cursor, reading: Reading, words: Sequence[bytes]) -> HashValue:
    """A hash of fields and values in turn."""
    if len(words) % 2:
        raise cursor.corrupt("a field of a hash has no value")
    value = HashValue(reading.access_ms)
    value.expect(len(words) // 2, reading.limits)
    for name, text in zip(words[::2], words[1::2], strict=True):
        value.load(name, text)
    return _finished(cursor, reading, len(words) // 2, value)


def _decode_pairs(cursor: Cursor, reading: Reading) -> HashValue:
    read = cursor.string
    words = [read() for _ in range(2 * cursor.count(smallest=2))]
    return _from_words(cursor, reading, words)


def _decode_zipmap(cursor: Cursor, reading: Reading) -> HashValue:
    start = cursor.position
    return _from_words(cursor, reading, decode_zipmap(cursor.string(), start))


def _decode_ziplist(cursor: Cursor, reading: Reading) -> HashValue:
    start = cursor.position
    elements = decode_ziplist(cursor.string(), start, cursor.allowance)
    return _from_words(cursor, reading, list(map(_text, elements)))


def _read_listpack(cursor: Cursor) -> list[Element]:
    start = cursor.position
    return decode_listpack(cursor.string(), start, cursor.allowance)


def _decode_listpack(cursor: Cursor, reading: Reading) -> HashValue:
    return _from_words(cursor, reading, list(map(_text, _read_listpack(cursor))))


def _decode_absolute_times(cursor: Cursor, reading: Reading) -> HashValue:
    """Type 22."""
    return _with_times(cursor, reading, first_ms=1)


def _decode_relative_times(cursor: Cursor, reading: Reading) -> HashValue:
    """Type 24."""
    return _with_times(cursor, reading, first_ms=cursor.milliseconds())


def _with_times(cursor: Cursor, reading: Reading, first_ms: int) -> HashValue:
    value = HashValue(reading.access_ms)
    count = cursor.count(smallest=3)
    value.expect(count, reading.limits)
    for _ in range(count):
        after_ms = cursor.length()
        name = cursor.string()
        value.load(name, cursor.string())
        if after_ms:
            value.load_time(name, _checked(cursor, first_ms + after_ms - 1))
    return _finished(cursor, reading, count, value, keeps_times=True)


def _checked(cursor: Cursor, when_ms: int) -> int:
    if not 0 <= when_ms < 1 << 63:
        raise cursor.corrupt(f"{when_ms} is no time for a field to expire")
    return when_ms


def _decode_triples(cursor: Cursor, reading: Reading) -> HashValue:
    """Type 23."""
    elements = _read_listpack(cursor)
    if len(elements) % 3:
        raise cursor.corrupt("a field of a hash has no value or no time")
    value = HashValue(reading.access_ms)
    value.expect(len(elements) // 3, reading.limits)
    for name, text, when_ms in zip(elements[::3], elements[1::3], elements[2::3], strict=True):
        value.load(_text(name), _text(text))
        if not isinstance(when_ms, int):
            raise cursor.corrupt("the time of a field is no number")
        if when_ms:
            value.load_time(_text(name), _checked(cursor, when_ms))
    return _finished(cursor, reading, len(elements) // 3, value, keeps_times=True)


def _decode_first_and_triples(cursor: Cursor, reading: Reading) -> HashValue:
    """Type 25; the time in front is that of the first field, and needs not be believed."""
    cursor.milliseconds()
    return _decode_triples(cursor, reading)


def _decode_template_listpack(cursor: Cursor, reading: Reading) -> HashValue:
    """Type 30."""
    elements = _read_listpack(cursor)
    if not elements or not isinstance(elements[0], int):
        raise cursor.corrupt("a hash does not name its template")
    return _from_template(cursor, reading, elements[0], map(_text, elements[1:]))


def _decode_template_values(cursor: Cursor, reading: Reading) -> HashValue:
    """Type 32."""
    template_id = cursor.length()
    names = reading.templates.get(template_id, ())
    return _from_template(cursor, reading, template_id, [cursor.string() for _ in names])


def _from_template(
    cursor: Cursor, reading: Reading, template_id: int, values: Iterable[bytes]
) -> HashValue:
    """A hash whose fields stand elsewhere in the file. Payloads have no templates."""
    names, texts = reading.templates.get(template_id), list(values)
    if names is None or len(names) != len(texts):
        raise cursor.corrupt(f"template {template_id} is not there, or has other fields")
    words = list(chain.from_iterable(zip(names, texts, strict=True)))
    return _from_words(cursor, reading, words)


def _decode_valkey_times(cursor: Cursor, reading: Reading) -> HashValue:
    """Type 22 of Valkey."""
    value = HashValue(reading.access_ms)
    count = cursor.count(smallest=10)
    value.expect(count, reading.limits)
    for _ in range(count):
        name = cursor.string()
        value.load(name, cursor.string())
        when_ms = cursor.milliseconds()
        if when_ms != _NO_TIME:
            value.load_time(name, _checked(cursor, when_ms))
    return _finished(cursor, reading, count, value, keeps_times=True)


CODEC = Codec(_type_code, _pieces, _MIN_VERSION)
DECODERS: dict[int, Decoder] = {
    opcodes.HASH: _decode_pairs,
    opcodes.HASH_ZIPMAP: _decode_zipmap,
    opcodes.HASH_ZIPLIST: _decode_ziplist,
    opcodes.HASH_LISTPACK: _decode_listpack,
    opcodes.OLD_HASH_WITH_TIMES: _decode_absolute_times,
    opcodes.OLD_HASH_LISTPACK_EX: _decode_triples,
    opcodes.HASH_WITH_TIMES: _decode_relative_times,
    opcodes.HASH_LISTPACK_EX: _decode_first_and_triples,
    opcodes.HASH_TEMPLATE_LISTPACK: _decode_template_listpack,
    opcodes.HASH_TEMPLATE_VALUES: _decode_template_values,
}
VALKEY_DECODERS: dict[int, Decoder] = {opcodes.VALKEY_HASH_WITH_TIMES: _decode_valkey_times}
