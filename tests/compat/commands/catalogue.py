"""Every command that the comparison asks for, with all its options.

`stream_command`, `key_command` and `string_command` draw one command each; `misspelt` breaks one,
so that arity and syntax errors are compared for all of them.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.compat.commands import arguments as arg
from tests.compat.commands.strategies import (
    Draft,
    Drafts,
    command,
    mostly,
    one_of,
    some_of,
    sometimes,
    weighted,
)

# --- Streams ---

_limit = command(b"LIMIT", arg.count)
_exactly = sometimes(b"=")
_approximately = command(b"~")


def _trim_to(strategy: bytes, threshold: SearchStrategy[bytes]) -> Drafts:
    """MAXLEN or MINID with its options; rarely with a LIMIT where there can be none."""
    exact = command(strategy, _exactly, threshold)
    approximate = command(strategy, _approximately, threshold, sometimes(_limit))
    limited = command(strategy, _exactly, threshold, _limit)
    return mostly(st.one_of(exact, approximate), limited)


_trim = st.one_of(_trim_to(b"MAXLEN", arg.count), _trim_to(b"MINID", arg.stored_id))
_count = command(b"COUNT", arg.count)
_block = command(b"BLOCK", arg.block_ms)
_read_options = some_of(_count, _block)
_group_options = some_of(_count, _block, command(b"NOACK"))
_group_and_consumer = command(b"GROUP", arg.group, arg.consumer)
_read_ids = st.one_of(arg.stored_id, one_of(b"0", b"$", b"$"))
_group_read_ids = st.one_of(one_of(b">"), one_of(b">", b">", b"0"), arg.stored_id)
_claim_options = some_of(
    command(b"IDLE", arg.idle_ms),
    command(b"TIME", arg.past_ms),
    command(b"RETRYCOUNT", arg.count),
    command(b"FORCE"),
    command(b"JUSTID"),
    command(b"LASTID", arg.stored_id),
)
_pending_range = command(
    sometimes(b"IDLE", arg.min_idle_ms),
    arg.interval_start,
    arg.interval_end,
    arg.count,
    sometimes(arg.consumer),
)
_entries_read = command(b"ENTRIESREAD", arg.count)

stream_command: Drafts = weighted(
    (7, command(b"XADD", arg.stream_key, arg.next_id, arg.fields)),
    (
        5,
        command(
            b"XADD", arg.stream_key, some_of(command(b"NOMKSTREAM"), _trim), arg.new_id, arg.fields
        ),
    ),
    (1, command(b"XADD", arg.stream_key, b"*", arg.fields)),
    (4, command(b"XTRIM", arg.stream_key, _trim)),
    (1, command(b"XTRIM", arg.stream_key, some_of(_trim, _limit, _trim))),
    (1, command(b"XLEN", arg.stream_key)),
    (2, command(b"XRANGE", arg.stream_key, arg.interval_start, arg.interval_end, some_of(_count))),
    (
        2,
        command(
            b"XREVRANGE", arg.stream_key, arg.interval_end, arg.interval_start, some_of(_count)
        ),
    ),
    (4, command(b"XDEL", arg.stream_key, arg.stored_ids)),
    (
        2,
        command(
            b"XSETID",
            arg.stream_key,
            arg.next_or_invalid_id,
            some_of(command(b"ENTRIESADDED", arg.count), command(b"MAXDELETEDID", arg.stored_id)),
        ),
    ),
    (3, command(b"XREAD", _read_options, arg.streams_and_ids(_read_ids))),
    (
        7,
        command(
            b"XREADGROUP", _group_and_consumer, _group_options, arg.streams_and_ids(_group_read_ids)
        ),
    ),
    (
        1,
        command(
            b"XREADGROUP",
            some_of(_group_and_consumer, _count, command(b"NOACK")),
            arg.streams_and_ids(_group_read_ids),
        ),
    ),
    (4, command(b"XACK", arg.stream_key, arg.group, arg.stored_ids)),
    (1, command(b"XPENDING", arg.stream_key, arg.group)),
    (3, command(b"XPENDING", arg.stream_key, arg.group, _pending_range)),
    (
        5,
        command(
            b"XCLAIM",
            arg.stream_key,
            arg.group,
            arg.consumer,
            arg.min_idle_ms,
            arg.stored_ids,
            _claim_options,
        ),
    ),
    (
        4,
        command(
            b"XAUTOCLAIM",
            arg.stream_key,
            arg.group,
            arg.consumer,
            arg.min_idle_ms,
            arg.interval_start,
            some_of(_count, command(b"JUSTID")),
        ),
    ),
    (
        3,
        command(
            b"XGROUP",
            b"CREATE",
            arg.stream_key,
            arg.group,
            _read_ids,
            some_of(command(b"MKSTREAM"), _entries_read),
        ),
    ),
    (
        2,
        command(
            b"XGROUP", b"SETID", arg.stream_key, arg.group, _read_ids, sometimes(_entries_read)
        ),
    ),
    (1, command(b"XGROUP", b"DESTROY", arg.stream_key, arg.group)),
    (1, command(b"XGROUP", b"CREATECONSUMER", arg.stream_key, arg.group, arg.consumer)),
    (1, command(b"XGROUP", b"DELCONSUMER", arg.stream_key, arg.group, arg.consumer)),
    (2, command(b"XINFO", b"STREAM", arg.stream_key)),
    (2, command(b"XINFO", b"STREAM", arg.stream_key, b"FULL", sometimes(b"COUNT", arg.count))),
    (2, command(b"XINFO", b"GROUPS", arg.stream_key)),
    (2, command(b"XINFO", b"CONSUMERS", arg.stream_key, arg.group)),
)

# --- Keys ---

_keys: Drafts = st.lists(arg.any_key, min_size=1, max_size=3)
_expiry_condition = some_of(*(command(word) for word in (b"NX", b"XX", b"GT", b"LT")))
_pattern = one_of(b"*", b"s*", b"?", b"[st]", b"t??t", b"[^s]*", b"\\*", b"")
_database = one_of(b"0", b"1", b"1", b"15", b"16", b"-1", b"x")

_restore_options = some_of(
    command(b"REPLACE"),
    command(b"ABSTTL"),
    command(b"IDLETIME", arg.no_idle_seconds),
    command(b"FREQ", arg.count),
)

key_command: Drafts = weighted(
    (2, command(b"DEL", _keys)),
    (1, command(b"UNLINK", _keys)),
    (1, command(b"EXISTS", _keys)),
    (1, command(b"TOUCH", _keys)),
    (2, command(b"TYPE", arg.any_key)),
    (3, command(b"RENAME", arg.any_key, arg.any_key)),
    (2, command(b"RENAMENX", arg.any_key, arg.any_key)),
    (
        3,
        command(
            b"COPY",
            arg.any_key,
            arg.any_key,
            some_of(command(b"REPLACE"), command(b"DB", _database)),
        ),
    ),
    (1, command(b"MOVE", arg.any_key, _database)),
    (2, command(b"DUMP", arg.any_key)),
    (
        4,
        command(
            b"RESTORE",
            arg.any_key,
            arg.restored_ms_to_live,
            arg.payload,
            b"REPLACE",
            _restore_options,
        ),
    ),
    (
        1,
        command(b"RESTORE", arg.any_key, arg.restored_ms_to_live, arg.payload, _restore_options),
    ),
    (1, command(b"EXPIRE", arg.any_key, arg.seconds_to_live)),
    (1, command(b"PEXPIRE", arg.any_key, arg.ms_to_live)),
    (2, command(b"EXPIRE", arg.any_key, arg.new_seconds_to_live, _expiry_condition)),
    (2, command(b"PEXPIRE", arg.any_key, arg.new_ms_to_live, _expiry_condition)),
    (2, command(b"EXPIREAT", arg.any_key, arg.unix_seconds, _expiry_condition)),
    (2, command(b"PEXPIREAT", arg.any_key, arg.unix_ms, _expiry_condition)),
    (1, command(b"TTL", arg.any_key)),
    (1, command(b"PTTL", arg.any_key)),
    (1, command(b"EXPIRETIME", arg.any_key)),
    (1, command(b"PEXPIRETIME", arg.any_key)),
    (2, command(b"PERSIST", arg.any_key)),
    (
        3,
        command(b"OBJECT", one_of(b"ENCODING", b"ENCODING", b"IDLETIME", b"FREQ"), arg.any_key),
    ),
    (1, command(b"KEYS", _pattern)),
    (
        1,
        command(
            b"SCAN",
            one_of(b"0", b"0", b"x", b"1.5"),
            b"COUNT",
            one_of(b"1000", b"1000", b"0", b"x"),
            some_of(
                command(b"MATCH", _pattern), command(b"TYPE", one_of(b"stream", b"string", b"hash"))
            ),
        ),
    ),
    (1, command(b"RANDOMKEY")),
    (1, command(b"DBSIZE")),
    (1, command(b"SWAPDB", _database, _database)),
    (1, command(b"SELECT", _database)),
    (1, command(b"FLUSHDB", sometimes(one_of(b"SYNC", b"ASYNC", b"NOW")))),
)

# --- Strings ---

_set_options = some_of(
    command(b"NX"),
    command(b"XX"),
    command(b"GET"),
    command(b"KEEPTTL"),
    command(b"EX", arg.seconds_to_live),
    command(b"PX", arg.ms_to_live),
    command(b"EXAT", arg.unix_seconds),
    command(b"PXAT", arg.unix_ms),
)
_getex_options = some_of(
    command(b"PERSIST"),
    command(b"EX", arg.seconds_to_live),
    command(b"PX", arg.ms_to_live),
    command(b"EXAT", arg.unix_seconds),
    command(b"PXAT", arg.unix_ms),
)
_string_keys: Drafts = st.lists(arg.string_key, min_size=1, max_size=3)
_pairs: Drafts = st.lists(st.tuples(arg.string_key, arg.text), min_size=1, max_size=3).map(
    lambda pairs: [part for pair in pairs for part in pair]
)

string_command: Drafts = weighted(
    (3, command(b"SET", arg.string_key, arg.text)),
    (4, command(b"SET", arg.string_key, arg.text, _set_options)),
    (1, command(b"GET", arg.string_key)),
    (1, command(b"GETDEL", arg.string_key)),
    (2, command(b"GETEX", arg.string_key, _getex_options)),
    (1, command(b"GETSET", arg.string_key, arg.text)),
    (1, command(b"MGET", _string_keys)),
    (1, command(b"MSET", _pairs)),
    (1, command(b"MSETNX", _pairs)),
    (1, command(b"SETNX", arg.string_key, arg.text)),
    (1, command(b"SETEX", arg.string_key, arg.seconds_to_live, arg.text)),
    (1, command(b"PSETEX", arg.string_key, arg.ms_to_live, arg.text)),
    (2, command(one_of(b"INCR", b"DECR"), arg.string_key)),
    (2, command(one_of(b"INCRBY", b"DECRBY"), arg.string_key, arg.change)),
    (2, command(b"INCRBYFLOAT", arg.string_key, arg.float_change)),
    (1, command(b"APPEND", arg.string_key, arg.text)),
    (1, command(b"STRLEN", arg.string_key)),
    (2, command(b"GETRANGE", arg.string_key, arg.offset, arg.offset)),
    (2, command(b"SETRANGE", arg.string_key, arg.offset, arg.text)),
)

transaction_command: Drafts = weighted(
    (3, command(b"WATCH", _keys)),
    (1, command(b"UNWATCH")),
    (1, command(b"DISCARD")),
    (1, command(b"EXEC")),
)


@st.composite
def misspelt(draw: st.DrawFn, commands: Drafts) -> Draft:
    """A command that is unknown, in lower case, or has an argument dropped, doubled or foreign.

    The name is never dropped: the argument after it might be a command too (`FLUSHDB SYNC`).
    """
    draft = list(draw(commands))
    way = draw(st.sampled_from(["drop", "double", "lower", "foreign", "unknown"]))
    if way == "unknown":
        return [draw(one_of(b"XNOSUCH", b"xadd ", b"")), *draft[1:]]
    position = draw(st.integers(0 if way == "lower" else 1, len(draft) - 1)) if draft[1:] else 0
    chosen = draft[position]
    if way == "lower":
        draft[position] = chosen.lower() if isinstance(chosen, bytes) else chosen
    elif way == "drop" and position:
        del draft[position]
    elif way == "double":
        draft.insert(position, chosen)
    else:
        draft.insert(position + 1, draw(one_of(b"FOO", b"COUNT", b"1", b"")))
    return draft
