"""The ends of lists: pushing and popping, as all list commands do it.

Events come as in Redis: `lpush` or `rpush` for what was pushed, `lpop` or `rpop` for what was
popped, then `del` if nothing is left.
"""

from __future__ import annotations

import cython

from commands.core import notifications
from commands.core.client import Client
from protocol import errors
from protocol.errors import ReplyError
from storage.types.lists import ListValue

LEFT = b"LEFT"
RIGHT = b"RIGHT"
SIDES = (LEFT, RIGHT)

_EVENTS: cython.long = notifications.LIST
_PUSH_EVENTS = {LEFT: b"lpush", RIGHT: b"rpush"}
_POP_EVENTS = {LEFT: b"lpop", RIGHT: b"rpop"}
POPS = {LEFT: b"LPOP", RIGHT: b"RPOP"}


def parse_side(word: bytes) -> bytes:
    """LEFT or RIGHT, in any case. Raises ReplyError."""
    if word == LEFT:
        return LEFT
    if word == RIGHT:
        return RIGHT
    side = word.upper()
    if side not in SIDES:
        raise ReplyError(errors.SYNTAX)
    return side


def push(
    client: Client, key: bytes, value: ListValue | None, side: bytes, items: list[bytes]
) -> ListValue:
    """Push elements, one after the other, to the list at `key`, which is created for None."""
    limits = client.instance.config
    target: ListValue = ListValue(client.instance.now_ms) if value is None else value
    if side == LEFT:
        target.push_left(items, limits)
    else:
        target.push_right(items, limits)
    if value is None:
        client.store(key, target)
    else:
        client.signal_key_as_ready(key)
    client.modified(key, len(items))
    client.notify(_EVENTS, _PUSH_EVENTS[side], key)
    return target


def take(value: ListValue, side: bytes, count: cython.Py_ssize_t) -> list[bytes]:
    """Remove and return up to `count` elements, in order; call `finish_pop` afterwards."""
    return value.pop_left(count) if side == LEFT else value.pop_right(count)


def finish_pop(
    client: Client, key: bytes, value: ListValue, side: bytes, changes: cython.Py_ssize_t
) -> None:
    """Elements were taken from the list at `key`: announce it, and remove an empty list.

    `changes` counts towards the `save` points.
    """
    client.notify(_EVENTS, _POP_EVENTS[side], key)
    after_removal(client, key, value, changes)


def after_removal(client: Client, key: bytes, value: ListValue, changes: cython.Py_ssize_t) -> None:
    """Elements were removed from the list at `key`, and their event was sent."""
    if value._length:
        value.shrink(client.instance.config)
    else:
        client.remove(key)
        client.notify(notifications.GENERIC, b"del", key)
    client.modified(key, changes)


def pop(
    client: Client, key: bytes, value: ListValue, side: bytes, count: cython.Py_ssize_t
) -> list[bytes]:
    """Take elements, announce it, and remove an empty list."""
    items = take(value, side, count)
    finish_pop(client, key, value, side, len(items))
    return items
