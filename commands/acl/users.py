"""A user: whether it may log in, with which passwords, and what it may do.

Plain data. A change is made to a copy, which takes the user's place if all rules are valid.

Passwords are kept as SHA-256 in hexadecimal and compared in constant time: a list of users shows no
password, and the time of an attempt does not show how much of it was right.

Source: Redis 8.2.
"""

from __future__ import annotations

from collections.abc import Iterable

from commands.acl import rules
from commands.acl.rules import RuleError
from commands.acl.selectors import Selector, parse_selector

HASH_DIGITS = 64
_DIGITS = frozenset(b"0123456789abcdef")


def hash_of(password: bytes) -> bytes:
    """SHA-256, as 64 hexadecimal digits."""
    import hashlib  # it loads OpenSSL: not at the start

    return hashlib.sha256(password).hexdigest().encode()


def is_hash(word: bytes) -> bool:
    """Return True if `word` is what `hash_of` returns for something."""
    return len(word) == HASH_DIGITS and _DIGITS.issuperset(word)


def is_one_of(password: bytes, hashes: Iterable[bytes]) -> bool:
    """Return True if the password has one of the hashes; all are compared."""
    import hmac

    given, found = hash_of(password), False
    for each in hashes:
        found |= hmac.compare_digest(given, each)
    return found


DEFAULT_USER = b"default"


class User:
    """One user."""

    __slots__ = (
        "all_channels",
        "hashes",
        "is_on",
        "name",
        "needs_password",
        "sanitizes",
        "selectors",
    )

    def __init__(self, name: bytes, *, all_channels: bool) -> None:
        """A user who may not log in, nor do anything.

        `all_channels`: selectors begin with all channels (acl-pubsub-default allchannels).
        """
        self.name = name
        self.all_channels = all_channels
        self.is_on = False
        self.needs_password = True
        self.hashes: list[bytes] = []  # of the passwords
        self.sanitizes = True  # sanitize-payload
        self.selectors = [Selector(all_channels=all_channels)]  # the root first

    def copy(self) -> User:
        """A copy whose changes do not show here."""
        copied = User(self.name, all_channels=self.all_channels)
        copied.is_on, copied.needs_password = self.is_on, self.needs_password
        copied.hashes, copied.sanitizes = list(self.hashes), self.sanitizes
        copied.selectors = [selector.copy() for selector in self.selectors]
        return copied

    # -- what it may do ------------------------------------------------------------------------

    @property
    def allows_everything(self) -> bool:
        """True if no request of this user need be checked."""
        return any(selector.allows_everything for selector in self.selectors)

    def admits(self, password: bytes) -> bool:
        """Return True if the user may log in with this password."""
        # Also compared where it cannot help: the time says nothing about the user.
        is_right = is_one_of(password, self.hashes)
        return self.is_on and (is_right or not self.needs_password)

    def may_use_channel(self, channel: bytes, *, is_pattern: bool) -> bool:
        """Return True if any selector allows the channel."""
        return any(one.channels.allow(channel, is_pattern=is_pattern) for one in self.selectors)

    # -- rules ---------------------------------------------------------------------------------

    def apply(self, rule: bytes) -> None:
        """Apply one rule. Raises RuleError."""
        word = rule.lower()
        if word in _FLAGS:
            _FLAGS[word](self)
        elif rule.startswith((b">", b"#")):
            self._add_password(rule)
        elif rule.startswith((b"<", b"!")):
            self._remove_password(rule)
        elif rule.startswith(b"(") and rule.endswith(b")"):
            self.selectors.append(parse_selector(rule, all_channels=self.all_channels))
        else:
            self.selectors[0].apply(rule)

    def _add_password(self, rule: bytes) -> None:
        digest = _hash_in(rule)
        if digest not in self.hashes:
            self.hashes.append(digest)
        self.needs_password = True

    def _remove_password(self, rule: bytes) -> None:
        digest = _hash_in(rule)
        if digest not in self.hashes:
            raise RuleError(rules.NO_SUCH_PASSWORD)
        self.hashes.remove(digest)

    def reset_passwords(self, *, needs_password: bool = True) -> None:
        """`resetpass`, or `nopass`."""
        self.needs_password = needs_password
        self.hashes.clear()

    def _set_on(self, is_on: bool) -> None:
        self.is_on = is_on

    def _set_sanitizes(self, sanitizes: bool) -> None:
        self.sanitizes = sanitizes

    def _clear_selectors(self) -> None:
        del self.selectors[1:]

    def _reset(self) -> None:
        """A user as it is when it is new."""
        self.reset_passwords()
        self.is_on, self.sanitizes = False, True
        self.selectors = [Selector(all_channels=self.all_channels)]

    # -- what it looks like --------------------------------------------------------------------

    def flags(self) -> list[bytes]:
        """The words for its flags."""
        shown = [b"on" if self.is_on else b"off"]
        if not self.needs_password:
            shown.append(b"nopass")
        shown.append(b"sanitize-payload" if self.sanitizes else b"skip-sanitize-payload")
        return shown

    def line(self) -> bytes:
        """The user as a line of a file, which makes the same user."""
        words = [b"user", self.name, *self.flags()]  # 1 us for all: there may be thousands
        for digest in self.hashes:
            words.append(b"#" + digest)
        self.selectors[0].add_words(words)
        for selector in self.selectors[1:]:
            words.append(b"(%b)" % selector.shown())
        return b" ".join(words)


_FLAGS = {
    b"on": lambda user: user._set_on(True),
    b"off": lambda user: user._set_on(False),
    b"nopass": lambda user: user.reset_passwords(needs_password=False),
    b"resetpass": User.reset_passwords,
    b"sanitize-payload": lambda user: user._set_sanitizes(True),
    b"skip-sanitize-payload": lambda user: user._set_sanitizes(False),
    b"clearselectors": User._clear_selectors,
    b"reset": User._reset,
}


def _hash_in(rule: bytes) -> bytes:
    """The hash of the password in `>password`, `<password`, `#hash` or `!hash`."""
    if rule[:1] in b"<>":
        return hash_of(rule[1:])
    if not is_hash(rule[1:]):
        raise RuleError(rules.BAD_HASH)
    return rule[1:]


def default_user() -> User:
    """The user of connections that have not logged in: may do everything, without a password."""
    user = User(DEFAULT_USER, all_channels=False)
    apply_all(user, (b"on", b"nopass", b"allkeys", b"allchannels", b"allcommands"))
    return user


def apply_all(user: User, words: Iterable[bytes]) -> None:
    """Apply rules one after the other. Raises RuleError."""
    for rule in words:
        user.apply(rule)
