"""Reads the policies of a stream and a group, and changes both together or neither.

XINFO POLICY reads them, XCFGSET and XGROUP CONFIG change them. If both change, a script calls
both, and reverts the first if the second is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rillway.pipeline.policy.settings import (
    GROUP_SETTINGS,
    OFF,
    STREAM_SETTINGS,
    Setting,
    Value,
    from_reply,
)
from rillway.pipeline.wire.connection import Connection, ServerError, Word

# KEYS: the stream, and the dead letters if they are named. ARGV: the group, three numbers of
# words, then the words of XGROUP CONFIG, those that revert it, and those of XCFGSET.
BOTH = """
local function words(first, count)
    local found = {}
    for at = first, first + count - 1 do found[#found + 1] = ARGV[at] end
    return unpack(found)
end
local group, new, old, stream = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local done = redis.pcall('XGROUP', 'CONFIG', KEYS[1], group, words(5, new))
if done.err then return done end
done = redis.pcall('XCFGSET', KEYS[1], words(5 + new + old, stream))
if done.err then redis.call('XGROUP', 'CONFIG', KEYS[1], group, words(5 + new, old)) end
return done
"""


class NoPolicies(Exception):
    """The server knows no policies: it is no Rillway."""


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies of a stream and, if one is named, of a group: values by option name.

    `stream_counters` and `group_counters`: the other fields of XINFO POLICY.
    """

    stream: dict[str, Value]
    group: dict[str, Value]
    stream_counters: dict[str, object] = field(default_factory=dict)
    group_counters: dict[str, object] = field(default_factory=dict)

    def changed(self, stream: Mapping[str, Value], group: Mapping[str, Value]) -> Policies:
        """Return these policies with other values; OFF removes one."""
        return Policies(_merged(self.stream, stream), _merged(self.group, group))


def _merged(old: Mapping[str, Value], new: Mapping[str, Value]) -> dict[str, Value]:
    return {name: value for name, value in {**old, **new}.items() if value != OFF}


def read_policies(connection: Connection, stream: str, group: str | None) -> Policies:
    """Return the policies as they are. Raises ServerError, NoPolicies, ConnectionLost."""
    found = _info(connection, stream)
    values, counters = _split(STREAM_SETTINGS, found)
    if group is None:
        return Policies(values, {}, counters)
    of_group, group_counters = _split(GROUP_SETTINGS, _info(connection, stream, group))
    return Policies(values, of_group, counters, group_counters)


def _info(connection: Connection, *names: str) -> dict[str, object]:
    try:
        reply = connection.call("XINFO", "POLICY", *names)
    except ServerError as error:
        if "unknown subcommand" not in str(error).lower():
            raise
        raise NoPolicies(f"only Rillway has policies of streams and groups: {error}") from None
    return {name.decode(): value for name, value in zip(reply[::2], reply[1::2], strict=True)}


def _split(
    settings: tuple[Setting, ...], reply: dict[str, object]
) -> tuple[dict[str, Value], dict[str, object]]:
    names = {setting.name for setting in settings}
    counters = {name: value for name, value in reply.items() if name not in names}
    return from_reply(settings, reply), counters


def change_policies(
    connection: Connection,
    stream: str,
    group: str | None,
    before: Policies,
    new_stream: Mapping[str, Value],
    new_group: Mapping[str, Value],
) -> None:
    """Change all named options, or none. Raises ServerError, ConnectionLost.

    `before`: the policies as they are.
    """
    of_stream = _words(STREAM_SETTINGS, new_stream)
    of_group = _words(GROUP_SETTINGS, new_group)
    if group is None or not of_group:
        if of_stream:
            connection.call("XCFGSET", stream, *of_stream)
    elif not of_stream:
        connection.call("XGROUP", "CONFIG", stream, group, *of_group)
    else:
        undo = _words(GROUP_SETTINGS, {name: before.group.get(name, OFF) for name in new_group})
        both = (before.group, new_group)
        letters = {str(each["dead-letter"]) for each in both if each.get("dead-letter")}
        keys: list[Word] = [stream, *sorted(letters)]
        connection.call(
            "EVAL", BOTH, len(keys), *keys, group,
            len(of_group), len(undo), len(of_stream), *of_group, *undo, *of_stream,
        )  # fmt: skip


def _words(settings: tuple[Setting, ...], values: Mapping[str, Value]) -> list[str]:
    return [
        word
        for setting in settings
        if setting.name in values
        for word in setting.words(values[setting.name])
    ]
