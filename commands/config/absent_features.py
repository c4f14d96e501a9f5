"""Directives of Redis whose feature Rillway does not have yet.

An option that is accepted works. Clients and tools ask for some of these (`CONFIG GET maxmemory`),
and redis.conf as Redis ships it names nearly all of them, so each accepts the value that it has in
Redis when the feature is not used; any other value is refused with an error that names the missing
feature.

To add a feature: move its lines from here to commands/config/configuration.py.
"""

from __future__ import annotations

from commands.config.directive_kinds import MEMORY_UNITS

# What is missing -> its directives with the only value that is accepted.
ABSENT: dict[str, dict[str, str]] = {
    "a memory limit": {
        "maxmemory": "0",
        "maxmemory-policy": "noeviction",
        "maxmemory-samples": "5",
        "maxmemory-eviction-tenacity": "10",
        "maxmemory-clients": "0",
        "lfu-log-factor": "10",
        "lfu-decay-time": "1",
    },
    "cluster mode": {
        "cluster-enabled": "no",
        "cluster-allow-pubsubshard-when-down": "yes",
    },
    "TLS": {
        "tls-port": "0",
        "tls-replication": "no",
        "tls-cluster": "no",
    },
    "access control lists": {
        "aclfile": "",
        "acllog-max-len": "128",
        "acl-pubsub-default": "resetchannels",
    },
    "modules": {"enable-module-command": "no"},
    "threads for input and output": {
        "io-threads": "1",
        "io-threads-do-reads": "no",
    },
    "a choice of how memory is freed": {
        "lazyfree-lazy-eviction": "no",
        "lazyfree-lazy-expire": "no",
        "lazyfree-lazy-server-del": "no",
        "lazyfree-lazy-user-del": "no",
        "lazyfree-lazy-user-flush": "no",
        "activedefrag": "no",
        "jemalloc-bg-thread": "yes",
    },
    "a choice of how the keyspace is maintained": {
        "activerehashing": "yes",
        "active-expire-effort": "1",
        "dynamic-hz": "yes",
    },
    "control over its process": {
        "daemonize": "no",
        "supervised": "no",
        "syslog-enabled": "no",
        "always-show-logo": "no",
        "set-proc-title": "yes",
        "proc-title-template": "{title} {listen-addr} {server-mode}",
        "locale-collate": "",
        "oom-score-adj": "no",
        "oom-score-adj-values": "0 200 800",
        "disable-thp": "yes",
    },
}

# Directives without a value of their own; Redis's file and CONFIG GET do not show them either.
_WITHOUT_A_DEFAULT = {
    "user": "access control lists",
    "rename-command": "renaming of commands",
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
