"""Parses the `syntax` of a command's row into the arguments of COMMAND DOCS.

The notation is that of the Redis documentation:

    key                  an argument; a word in upper case, or of signs only, is a token
    [...]                optional
    <a | b>, [a | b]     one of several
    key [key ...]        one or more; also for several words, and with their token in front

A token belongs to what follows it: `COUNT count` is one argument with a token, `GROUP group
consumer` a block with a token, `NOACK` a pure token. The type follows from the name (`count` is
always an integer); exceptions are listed below.

Leaves out: the reply (commands/server/command.py).

Source: COMMAND DOCS of Redis 7.
"""

from __future__ import annotations

import re
from dataclasses import field, replace

from protocol.records import record

_TOKENS = r"\[|\]|<|>|\||\.\.\.|[^\s\[\]<>|]+"
_SIGN_NAMES = {"=": "equal", "~": "approximately", "*": "auto-id", "$": "last-id"}

_KEY_NAMES = {
    "destination", "destkey", "dst", "key", "key1", "key2", "newkey", "source", "sourcekey", "src",
}  # fmt: skip
_DOUBLE_NAMES = {"height", "latitude", "longitude", "radius", "score", "width"}
_INTEGER_NAMES = {
    "client-id", "count", "cursor", "db", "decrement", "destination-db", "entries-added",
    "entries-read", "increment", "index", "index1", "index2", "limit", "maxage", "milliseconds",
    "min-idle-time", "min-match-len", "ms", "numkeys", "offset", "protover", "samples", "seconds",
    "timeout", "version",
}  # fmt: skip
# Commands whose arguments of these names are of another type than elsewhere.
_EXCEPTIONS = {
    "cluster|keyslot": {"key": "string"},
    "getrange": {"start": "integer", "end": "integer"},
    "substr": {"start": "integer", "end": "integer"},
    "incrbyfloat": {"increment": "double"},
    "xautoclaim": {"min-idle-time": "string"},
    "xclaim": {"min-idle-time": "string"},
    "bzmpop": {"timeout": "double"},
    "bzpopmax": {"timeout": "double"},
    "bzpopmin": {"timeout": "double"},
    "zcount": {"min": "double", "max": "double"},
    "zrangebyscore": {"min": "double", "max": "double"},
    "zremrangebyrank": {"start": "integer", "stop": "integer"},
    "zremrangebyscore": {"min": "double", "max": "double"},
    "zrevrange": {"start": "integer", "stop": "integer"},
    "zrevrangebyscore": {"min": "double", "max": "double"},
}


@record
class Argument:
    """One argument; `arguments` are the parts of a block or the choices of a oneof."""

    name: str
    type: str
    token: str = ""
    optional: bool = False
    multiple: bool = False
    multiple_token: bool = False
    key_spec_index: int | None = None
    arguments: list[Argument] = field(default_factory=list)


# Ends a list of choices that may be repeated: `[ID id] | [TYPE type] [[ID id] | ... ...]`.
_CHOICES_REPEAT = Argument("", "")


def parse_syntax(syntax: str, fullname: str = "", key_specs: int = 0) -> list[Argument]:
    """The arguments that `syntax` describes.

    `fullname` is the command's, in lower case; `key_specs` how many key specifications it has.
    Raises ValueError if the brackets do not match.
    """
    parser = _Parser(syntax, _EXCEPTIONS.get(fullname, {}))
    arguments = _attach_tokens(parser.sequence())
    if parser.peek():
        raise ValueError(f"unbalanced brackets in {syntax!r}")
    if key_specs:
        _number_keys(arguments, 0, key_specs)
    return arguments


class _Parser:
    """Recursive descent over the words and brackets of one syntax."""

    def __init__(self, syntax: str, types: dict[str, str]) -> None:
        self.tokens = re.findall(_TOKENS, syntax)
        self.position = 0
        self.types = types

    def peek(self) -> str:
        """The next token, "" at the end."""
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def next(self) -> str:
        """The next token; steps over it."""
        token = self.peek()
        self.position += 1
        return token

    def sequence(self) -> list[Argument]:
        """Arguments up to a closing bracket or a bar; tokens are not attached yet."""
        items: list[Argument] = []
        while self.peek() not in ("", "]", ">", "|"):
            token = self.next()
            if token == "[":
                self._optional(items)
            elif token == "<":
                items.append(_group(self._alternatives(">")))
            elif token == "...":
                items[-1].multiple = True
            else:
                items.append(self._word(token))
        return items

    def _optional(self, items: list[Argument]) -> None:
        """The contents of square brackets: an optional group, or a repetition of the last items."""
        alternatives = self._alternatives("]")
        is_repetition = self.tokens[self.position - 2] == "..."
        if is_repetition and len(alternatives) > 1:
            items.append(_CHOICES_REPEAT)
        elif is_repetition and items:
            _repeat(items, len(alternatives[0]))
        else:
            items.append(replace(_group(alternatives), optional=True))

    def _alternatives(self, closing: str) -> list[list[Argument]]:
        alternatives = [self.sequence()]
        while self.peek() == "|":
            self.next()
            alternatives.append(self.sequence())
        if self.next() != closing:
            raise ValueError(f"missing {closing!r}")
        return alternatives

    def _word(self, word: str) -> Argument:
        if not re.search("[a-z]", word):
            return Argument(_SIGN_NAMES.get(word, word.lower()), "pure-token", token=word)
        return Argument(word, self.types.get(word) or _type_of(word))


def _type_of(name: str) -> str:
    if name in _KEY_NAMES:
        return "key"
    if name in _INTEGER_NAMES:
        return "integer"
    if name in _DOUBLE_NAMES:
        return "double"
    if name.startswith("unix-time"):
        return "unix-time"
    return "pattern" if name == "pattern" else "string"


def _repeat(items: list[Argument], length: int) -> None:
    """Mark the last `length` of `items` as one argument that may be repeated."""
    repeated = items[-length:]
    if length == 2 and _is_bare_token(repeated[0]):
        token = repeated[0].token
        items[-length:] = [replace(repeated[1], token=token, multiple=True, multiple_token=True)]
    elif length > 1:
        items[-length:] = [replace(_block(_attach_tokens(repeated)), multiple=True)]
    else:
        repeated[0].multiple = True


def _group(alternatives: list[list[Argument]]) -> Argument:
    """One argument for the contents of a pair of brackets."""
    last = alternatives[-1]
    is_multiple = bool(last) and last[-1] is _CHOICES_REPEAT
    if is_multiple:
        last.pop()
    choices = [_single(items) for items in alternatives]
    if len(choices) == 1:
        return choices[0]
    return Argument(_joined_name(choices), "oneof", multiple=is_multiple, arguments=choices)


def _single(items: list[Argument]) -> Argument:
    """One argument for a sequence: a token at its start belongs to all of it."""
    if len(items) > 1 and _is_bare_token(items[0]):
        rest = _attach_tokens(items[1:])
        if len(rest) == 1 and not rest[0].optional and not rest[0].token:
            return replace(rest[0], token=items[0].token)
        return replace(_block(rest), token=items[0].token)
    attached = _attach_tokens(items)
    return attached[0] if len(attached) == 1 else _block(attached)


def _block(arguments: list[Argument]) -> Argument:
    return Argument(_joined_name(arguments), "block", arguments=arguments)


def _joined_name(parts: list[Argument]) -> str:
    """The name of a block or oneof, made of the names of its first parts."""
    return "_".join(part.name for part in parts[:3])


def _is_bare_token(item: Argument) -> bool:
    return item.type == "pure-token" and not item.optional


def _attach_tokens(items: list[Argument]) -> list[Argument]:
    """Attach to each bare token the required arguments that follow it."""
    result: list[Argument] = []
    position = 0
    while position < len(items):
        item = items[position]
        position += 1
        owned: list[Argument] = []
        while _is_bare_token(item) and position < len(items) and _may_be_owned(items[position]):
            owned.append(items[position])
            position += 1
        if not owned:
            result.append(item)
        elif len(owned) == 1:
            result.append(replace(owned[0], token=item.token))
        else:
            result.append(replace(_block(owned), token=item.token))
    return result


def _may_be_owned(item: Argument) -> bool:
    return not item.optional and not item.token


def _number_keys(arguments: list[Argument], index: int, key_specs: int) -> int:
    """Give each key the index of its specification, in order; the next index."""
    for argument in arguments:
        if argument.type == "key":
            argument.key_spec_index = min(index, key_specs - 1)
            index += 1
        index = _number_keys(argument.arguments, index, key_specs)
    return index
