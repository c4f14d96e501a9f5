"""Reads RDB files: yields the keys and values of a snapshot one after the other.

A snapshot is a magic word with a version, records, and a checksum. A record is an opcode (which
database follows, when the next key expires, who wrote the file ...) or a type, a key and a value.

A whole file is checked against its checksum before anything is read. Streams of a file that passed
stay packed until their first access, unless the reader `validates`; those of a file without a
checksum are validated while they are read. A snapshot at the start of an append-only file ends
where its records end, so its checksum is compared last, and its values are validated, too.

Guarantees: every RDB file of Redis 5.0 to 8.10 (versions 9 to 15, and older ones) and of Valkey up
to 9.1 (version 80) is read, apart from what belongs to modules and clusters. Damaged input raises
CorruptSnapshot and nothing else; no length in it causes an allocation larger than the rest of the
input can fill.

Leaves out: keys that have expired (they are yielded like the others), duplicate keys, and databases
that do not exist: the loader decides.

Values of unsupported types, those of modules, are skipped, for which only their outermost layout is
needed. Types of unknown layout cannot be skipped, and have a name only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from storage.groups.ack_journal import AckJournal
from storage.policies.rows import UnknownPolicy, restore_text
from storage.redis_format.encoding_limits import EncodingLimits
from storage.redis_format.primitives import (
    CHECKSUM_BYTES,
    NO_CHECKSUM,
    Buffer,
    CorruptSnapshot,
    Cursor,
    TruncatedSnapshot,
    WrongChecksum,
    crc64,
    encode_checksum,
)
from storage.snapshot import opcodes
from storage.snapshot.format import VALKEY_VERSION, EmptyCollection, Reading, read_header
from storage.snapshot.values.table import decoders_of
from storage.stream import Stream
from storage.types.value import StringValue, Value

# How a module's values say what follows.
_MODULE_EOF = 0
_MODULE_SIGNED = 1
_MODULE_UNSIGNED = 2
_MODULE_FLOAT = 3
_MODULE_DOUBLE = 4
_MODULE_STRING = 5

# A module's name is nine characters of six bits each, above ten bits of a version.
_MODULE_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_MODULE_NAME_LENGTH = 9
_MODULE_VERSION_BITS = 10


class UnsupportedValue(Exception):
    """A value of a type that Rillway does not hold, at `offset` in the buffer."""

    def __init__(self, offset: int, key: bytes, type_name: str) -> None:
        of_key = f" of key {key!r}" if key else ""
        super().__init__(f"{type_name}{of_key} is not supported (at offset {offset})")
        self.offset = offset
        self.key = key
        self.type_name = type_name


def type_name(cursor: Cursor, type_code: int) -> str:
    """The name of a value's type; the cursor is after its key and stays there."""
    if type_code == MODULE:
        return module_name(Cursor(cursor.buffer, cursor.position, cursor.end).length())
    return _NAMES.get(type_code, f"type {type_code}")


def module_name(module_id: int) -> str:
    """Return a module type's own name, decoded from its ID, for messages."""
    bits = module_id >> _MODULE_VERSION_BITS
    indexes = [bits >> 6 * place & 63 for place in reversed(range(_MODULE_NAME_LENGTH))]
    name = "".join(_MODULE_CHARACTERS[index] for index in indexes)
    return f"module type {name}"


def can_skip(type_code: int) -> bool:
    """Return True if `skip_value` can find the end of a value of this type."""
    return type_code in _SKIPS


def skip_value(cursor: Cursor, type_code: int) -> None:
    """Pass over a value. Raises CorruptSnapshot if it reaches beyond the end."""
    _SKIPS[type_code](cursor)


def skip_module_parts(cursor: Cursor) -> None:
    """Pass over what a module wrote, up to and with its end mark."""
    while True:
        start = cursor.position
        part = cursor.length()
        if part == _MODULE_EOF:
            return
        if part in (_MODULE_SIGNED, _MODULE_UNSIGNED):
            cursor.length()
        elif part == _MODULE_FLOAT:
            cursor.skip(4)
        elif part == _MODULE_DOUBLE:
            cursor.skip(8)
        elif part == _MODULE_STRING:
            cursor.skip_string()
        else:
            cursor.position = start
            raise cursor.corrupt(f"{part} is no part of a module's value")


# -- one layout each ---------------------------------------------------------------------------


def _module(cursor: Cursor) -> None:
    cursor.length()
    skip_module_parts(cursor)


MODULE = 7

_NAMES = {
    6: "module value of a release candidate of Redis 4",
    28: "array",
    29: "hash with a template",
    31: "hash with a template",
}  # fmt: skip

_SKIPS: dict[int, Callable[[Cursor], None]] = {
    MODULE: _module,
}


# Files had no checksum before this version (Redis 2.6).
_FIRST_VERSION_WITH_CHECKSUM = 5

# The number of strings in a batch. Between two batches the caller may do other work.
_BATCH_KEYS = 512


class SnapshotItem(NamedTuple):
    """A key and its value."""

    db_index: int
    key: bytes
    value: Value
    expires_ms: int | None  # Unix ms
    idle_s: int | None  # its idle time in the file, if that has one
    offset: int  # of its record


class StringBatch(NamedTuple):
    """Strings that follow one another and never expire. The lists have the same length."""

    db_index: int
    keys: list[bytes]
    values: list[StringValue]
    offsets: list[int]


class SnapshotReader:
    """Reads one snapshot, once."""

    def __init__(
        self,
        buffer: Buffer,
        *,
        position: int = 0,
        skip_unsupported: bool = False,
        verify_checksum: bool = True,
        whole_file: bool = True,
        validates: bool = False,
        limits: EncodingLimits | None = None,
        strict: bool = False,
        now_ms: int,
    ) -> None:
        """Read the snapshot at `position`, which reaches to the end if it is a `whole_file`.

        Raises CorruptSnapshot if the header or (of a whole file) the checksum is wrong; a file of
        another program or of a newer version raises ForeignSnapshot, one that breaks off
        TruncatedSnapshot, which says how far it is whole.
        `validates`: check every node of a stream, even if the checksum is right.
        `limits`: for the encodings of what is read; None: those of Redis as it is shipped.
        `strict`: refuse streams that Redis 8.10 refuses (storage/snapshot/stream_refusals.py).
        """
        self.libraries: list[bytes] = []  # of functions: their sources, up to where it is read
        self.aux: dict[bytes, bytes] = {}
        self.skipped: Counter[str] = Counter()  # what was passed over, by its name
        self.empty_keys = 0  # collections without items, which are passed over
        self.end = position  # after the last record that was read; in the end, after the checksum
        self._start = position
        self._cursor = Cursor(buffer, position)
        self._skip_unsupported = skip_unsupported
        self._verify_checksum = verify_checksum
        self._is_verified = False  # the checksum was right, or need not be
        self._validates = validates
        self._strict = strict
        self._limits = EncodingLimits() if limits is None else limits
        self._templates: dict[int, list[bytes]] = {}  # fields of hashes that follow
        self._now_ms = now_ms
        self._db_index = 0
        self._expires_ms: int | None = None
        self._idle_s: int | None = None
        self._frequency = 0
        self._ack_journal: AckJournal | None = None  # of the stream that follows
        self._policy_texts: list[bytes] = []  # of the stream that follows
        self.version = read_header(self._cursor)
        self._decoders = decoders_of(self.version)
        self.end = self._cursor.position
        if whole_file and verify_checksum:
            self._verify_whole_file()

    # -- the parts of a file -------------------------------------------------------------------

    @property
    def _is_of_valkey(self) -> bool:
        return self.version >= VALKEY_VERSION

    @property
    def _has_checksum(self) -> bool:
        return self.version >= _FIRST_VERSION_WITH_CHECKSUM

    def _verify_whole_file(self) -> None:
        """Compare the checksum at the end of the buffer, and locate the damage if it differs.

        The file is then read with every check, which finds the damage if it is visible, or a file
        that ends before the end of the buffer.
        """
        buffer, end = self._cursor.buffer, self._cursor.end - CHECKSUM_BYTES
        if not self._has_checksum:
            return
        stored = buffer[max(end, 0) : end + CHECKSUM_BYTES]
        if stored == NO_CHECKSUM:
            return
        if end > self.end and stored == self._checksum_up_to(end):
            self._is_verified = True
            return
        examiner = SnapshotReader(
            buffer,
            position=self._start,
            skip_unsupported=True,
            whole_file=False,
            limits=self._limits,
            now_ms=self._now_ms,
        )
        try:
            for _ in examiner.batches():
                pass
        except UnsupportedValue:  # and cannot be skipped: the records after it remain unknown
            raise WrongChecksum(end, "the checksum does not match") from None
        self._cursor.end = examiner.end
        self._is_verified = True

    def _checksum_up_to(self, end: int) -> bytes:
        with memoryview(self._cursor.buffer) as view, view[self._start : end] as covered:
            return encode_checksum(crc64(covered))

    def _read_checksum(self) -> None:
        """Read the checksum after the end mark, and compare it unless it was compared before."""
        cursor = self._cursor
        end = cursor.position
        if not self._has_checksum:
            return
        stored = cursor.raw(CHECKSUM_BYTES)
        must_match = self._verify_checksum and not self._is_verified and stored != NO_CHECKSUM
        if must_match and stored != self._checksum_up_to(end):
            raise WrongChecksum(end, "the checksum does not match")

    # -- reading -------------------------------------------------------------------------------

    def items(self) -> Iterator[SnapshotItem]:
        """All keys and values in the order of the file.

        Raises CorruptSnapshot, and UnsupportedValue unless such are to be skipped. What was given
        out before that is sound.
        """
        for part in self.batches():
            if isinstance(part, SnapshotItem):
                yield part
                continue
            for key, value, offset in zip(part.keys, part.values, part.offsets, strict=True):
                yield SnapshotItem(part.db_index, key, value, None, None, offset)

    def batches(self) -> Iterator[SnapshotItem | StringBatch]:
        """Iterate over the items, with strings that never expire in batches, which is faster."""
        cursor = self._cursor
        try:
            while True:
                start = cursor.position
                code = cursor.byte()
                if code == opcodes.STRING and self._is_plain:
                    cursor.position = start
                    batch = StringBatch(self._db_index, [], [], [])
                    try:
                        self._read_strings(batch)
                    except CorruptSnapshot:
                        if batch.keys:
                            yield batch  # those before the damage are sound
                        raise
                    self.end = cursor.position
                    yield batch
                elif code < opcodes.LOWEST_OPCODE:
                    item = self._read_item(code, start)
                    self.end = cursor.position
                    if item is not None:
                        yield item
                elif code == opcodes.EOF:
                    self._read_checksum()
                    self.end = cursor.position
                    return
                else:
                    self._read_opcode(code, start)
        except TruncatedSnapshot as error:
            reason = f"the snapshot breaks off; it is whole up to offset {self.end}"
            raise TruncatedSnapshot(error.offset, reason) from None

    @property
    def _is_plain(self) -> bool:
        """True if the next key has no time to live, idle time or frequency."""
        return self._expires_ms is None and self._idle_s is None and not self._frequency

    def _read_strings(self, batch: StringBatch) -> None:
        """Read the next records as long as they are strings.

        Most keys and values are shorter than 64 bytes; those are cut out of the buffer right here,
        since a call for each would double the time that a snapshot of small strings takes.
        """
        cursor = self._cursor
        buffer, end, now_ms = cursor.buffer, cursor.end, self._now_ms
        _, keys, values, offsets = batch
        position = cursor.position
        while len(keys) < _BATCH_KEYS and position < end and buffer[position] == opcodes.STRING:
            start = position
            position += 1
            length = buffer[position] if position < end else 0xFF
            stop = position + 1 + length
            if length < 0x40 and stop < end:
                key = buffer[position + 1 : stop]
                position = stop
            else:
                cursor.position = position
                key = cursor.string()
                position = cursor.position
            length = buffer[position] if position < end else 0xFF
            stop = position + 1 + length
            if length < 0x40 and stop < end:
                data = buffer[position + 1 : stop]
                position = stop
            else:
                cursor.position = position
                data = cursor.string()
                position = cursor.position
            keys.append(key)
            values.append(StringValue(data, now_ms))
            offsets.append(start)
            self.end = position
        cursor.position = position

    def _read_item(self, code: int, start: int) -> SnapshotItem | None:
        """The key and value of a record; None if it is one that is skipped."""
        cursor = self._cursor
        key = cursor.string()
        expires_ms, idle_s = self._expires_ms, self._idle_s
        self._expires_ms = self._idle_s = None
        access_ms = max(self._now_ms - (idle_s or 0) * 1000, 0)
        decode = self._decoders.get(code)
        if decode is None:
            self._skip(code, start, key)
            self._frequency = 0
            return None
        reading = Reading(
            self._now_ms,
            access_ms,
            self._is_verified and not (self._validates or self._strict),
            self._limits,
            self._templates,
            strict=self._strict,
        )
        try:
            value = decode(cursor, reading)
        except EmptyCollection:
            self.empty_keys += 1
            self._frequency = 0
            return None
        value.frequency, self._frequency = self._frequency, 0
        if isinstance(value, Stream):
            value.ack_journal, self._ack_journal = self._ack_journal, None
            if self._policy_texts:
                self._restore_policies(value, start)
        return SnapshotItem(self._db_index, key, value, expires_ms, idle_s, start)

    def _skip(self, code: int, start: int, key: bytes) -> None:
        cursor = self._cursor
        if code > opcodes.LAST_TYPE or self._is_of_valkey:
            raise CorruptSnapshot(start, f"{code} is neither a type nor an opcode")
        name = type_name(cursor, code)
        if not self._skip_unsupported or not can_skip(code):
            raise UnsupportedValue(start, key, name)
        skip_value(cursor, code)
        self.skipped[name] += 1

    def _read_opcode(self, code: int, start: int) -> None:
        cursor = self._cursor
        if code == opcodes.SELECT_DB:
            self._db_index = cursor.length()
        elif code == opcodes.RESIZE_DB:
            cursor.length()
            cursor.length()
        elif code == opcodes.SLOT_INFO:
            for _ in range(3):  # the slot, how many keys it has, how many of them expire
                cursor.length()
        elif code == opcodes.AUX:
            self._read_aux(start)
        elif code == opcodes.EXPIRE_TIME_MS:
            self._expires_ms = cursor.milliseconds()
        elif code == opcodes.EXPIRE_TIME:
            self._expires_ms = int.from_bytes(cursor.raw(4), "little", signed=True) * 1000
        elif code == opcodes.IDLE:
            self._idle_s = cursor.length()
        elif code == opcodes.FREQUENCY:
            self._frequency = cursor.byte()
        elif code == opcodes.HASH_TEMPLATE and not self._is_of_valkey:
            template_id = cursor.length()
            names = [cursor.string() for _ in range(cursor.count(smallest=1))]
            # The values come in this order, whichever order the fields are written in.
            self._templates[template_id] = sorted(names, key=lambda name: (len(name), name))
        else:
            self._read_foreign_opcode(code, start)

    def _read_aux(self, start: int) -> None:
        name, text = self._cursor.string(), self._cursor.string()
        if name == opcodes.POLICY:
            self._policy_texts.append(text)
            return
        if name != opcodes.ACK_JOURNAL:
            self.aux[name] = text
            return
        try:
            self._ack_journal = AckJournal.from_text(text)
        except ValueError as error:
            raise CorruptSnapshot(start, str(error)) from None

    def _restore_policies(self, stream: Stream, start: int) -> None:
        texts, self._policy_texts = self._policy_texts, []
        try:
            for text in texts:
                restore_text(stream, text)
        except UnknownPolicy as error:
            raise CorruptSnapshot(start, str(error)) from None

    def _read_foreign_opcode(self, code: int, start: int) -> None:
        """Libraries of functions; what belongs to modules is skipped, or refused, like a value."""
        cursor = self._cursor
        if code == opcodes.FUNCTION:
            self.libraries.append(cursor.string())
            return
        if code == opcodes.OLD_FUNCTION:
            name = "function library"
        elif code == opcodes.MODULE_AUX:
            name = "data of " + module_name(cursor.length())
        elif code == opcodes.VALKEY_SLOT_IMPORT and self._is_of_valkey:
            name = "import of slots"
        elif code == opcodes.KEY_META:
            name = "a module's data about a key"
        else:
            raise CorruptSnapshot(start, f"{code} is neither a type nor an opcode")
        if not self._skip_unsupported or code == opcodes.OLD_FUNCTION:
            raise UnsupportedValue(start, b"", name)
        if code == opcodes.MODULE_AUX:
            cursor.length()  # when it is to be read: a kind, and
            cursor.length()  # a number
            skip_module_parts(cursor)
        elif self._is_of_valkey:
            cursor.skip_string()  # its name
            for _ in range(2 * cursor.count(smallest=2)):  # ranges of slots: first and last
                cursor.length()
        else:
            for _ in range(cursor.count(smallest=5)):
                cursor.skip(4)  # the name of the class
                skip_module_parts(cursor)
        self.skipped[name] += 1
