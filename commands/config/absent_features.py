"""Directives of Redis whose feature Rillway does not have yet.

An option that is accepted works. Clients and tools ask for some of these (`CONFIG GET
cluster-enabled`), so each accepts the value that it has in Redis when the feature is not used; any
other value is refused with an error that names the missing feature. Directives that change nothing
that a client or an operator relies on are accepted with any value instead: they are the inert ones
of commands/config/configuration.py.

To add a feature: move its lines from here to commands/config/configuration.py.
"""

from __future__ import annotations

from commands.config.directive_kinds import MEMORY_UNITS

# What is missing -> its directives with the only value that is accepted.
ABSENT: dict[str, dict[str, str]] = {
    "a choice of how text is ordered": {"locale-collate": ""},
    "a choice of where connections come from": {
        "bind-source-addr": "",
        "socket-mark-id": "0",
    },
    # A start without it would serve other data than the file says.
    "a start from another file than its own": {"preload-file": ""},
}

# Of the modules that Redis 8 brings: a file may keep their parameters, and the log lists them.
MODULE_PARAMETERS = ("bf-", "cf-", "search-", "ts-")

# Directives without a value of their own; Redis's file and CONFIG GET do not show them either.
_WITHOUT_A_DEFAULT = {
    "loadmodule": "modules",
}

VALUES = {name: value for values in ABSENT.values() for name, value in values.items()}
_FEATURES = {name: feature for feature, values in ABSENT.items() for name in values}
FEATURES = _FEATURES | _WITHOUT_A_DEFAULT  # directive -> what is missing


def check(name: str, words: list[str]) -> None:
    """Raise ValueError unless `words` is the value of `name` that leaves its feature unused."""
    expected = VALUES.get(name)
    if expected is not None and _plain(" ".join(words)) == expected.lower():
        return
    text = f"Rillway does not have {FEATURES[name]} yet"
    if expected is None:
        raise ValueError(text)
    raise ValueError(f"{text}, only '{expected}' is accepted")


def _plain(text: str) -> str:
    """`text` in lower case, and without a memory unit: 64mb and 67108864 are the same."""
    text = text.lower()
    digits = text.rstrip("bkmg")
    if digits.isascii() and digits.isdigit() and text[len(digits) :] in MEMORY_UNITS:
        return str(int(digits) * MEMORY_UNITS[text[len(digits) :]])
    return text
