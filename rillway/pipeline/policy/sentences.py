"""Sentences about policies: what they mean, and warnings about options that do not work well."""

from __future__ import annotations

from collections.abc import Mapping

from rillway.pipeline.policy.change import Policies
from rillway.pipeline.policy.settings import Value, whole
from rillway.plurals import count_of
from rillway.text import size


def stream_meaning(stream: str, policy: Mapping[str, Value]) -> str:
    """Return a sentence about what the stream keeps."""
    limits = [
        text
        for name, text in (
            ("retain-ms", "are older than {}"),
            ("retain-len", "exceed a length of {}"),
            ("retain-bytes", "exceed {}"),
        )
        if name in policy
        for text in [text.format(_shown(name, policy[name]))]
    ]
    waits = policy.get("retain-refs") == "ACKED" or policy.get("retain-acked")
    parts = []
    if limits:
        parts.append(f"entries are removed that {' or '.join(limits)}")
        if waits:
            parts[-1] += ", but none before each living group has acknowledged it"
    if policy.get("retain-acked"):
        parts.append("an entry is removed once each group has acknowledged it")
    if policy.get("retain-refs") == "DELREF":
        parts.append("references of groups go along with what is removed")
    if "group-max-idle" in policy and waits:
        idle = whole(_number(policy["group-max-idle"]))
        parts.append(f"a group that did nothing for {idle} is no longer waited for")
    if "retain-hard-bytes" in policy:
        most = size(_number(policy["retain-hard-bytes"]))
        parts.append(f"beyond {most} the oldest go in any case")
    return f"{stream}: {'; '.join(parts) or 'nothing is removed by itself'}"


def group_meaning(stream: str, group: str, policy: Mapping[str, Value]) -> str:
    """Return a sentence about the treatment of entries that are not acknowledged."""
    parts = []
    if "ack-wait" in policy:
        wait = whole(_number(policy["ack-wait"]))
        text = f"an entry that is not acknowledged within {wait} goes to another consumer"
        parts.append(text + _pauses(policy.get("backoff")))
    if "max-deliveries" in policy:
        times = count_of(_number(policy["max-deliveries"]), "delivery")
        parts.append(f"after {times} it moves to {policy.get('dead-letter', '?')}")
    if "max-pending" in policy:
        most = count_of(_number(policy["max-pending"]), "entry")
        verb = "is" if policy["max-pending"] == 1 else "are"
        parts.append(f"at most {most} {verb} worked on at a time")
    if "key-field" in policy:
        parts.append(
            f"entries with the same {policy['key-field']!r} are delivered in order, to one consumer"
            " at a time" + _look_ahead(policy)
        )
    if "consumer-expiry" in policy:
        idle = whole(_number(policy["consumer-expiry"]))
        parts.append(
            f"a consumer that was not seen for {idle} is deleted, its entries go to others"
        )
    if not parts:
        parts.append(
            "an entry that is not acknowledged stays with its consumer until another claims it"
        )
    return f"{stream}/{group}: {'; '.join(parts)}"


def _look_ahead(policy: Mapping[str, Value]) -> str:
    texts = [
        f"up to {count_of(_number(policy[name]), 'entry')} {where}"
        for name, where in (
            ("key-lookahead", "wait for consumers that have their keys"),
            ("key-lookahead-key", "of one key"),
        )
        if name in policy
    ]
    return f" ({', '.join(texts)})" if texts else ""


def _pauses(waits: Value | None) -> str:
    if not isinstance(waits, tuple) or not any(waits):
        return ""
    first, *others = map(whole, waits)
    if not others:
        return f" after {first}"
    *between, last = others
    return f" after {', then '.join([first, *between])}, and {last} from then on"


def warnings(policies: Policies, archive_groups: list[str]) -> list[str]:
    """Return a sentence for each combination of options that does not work well."""
    stream, group = policies.stream, policies.group
    found = []
    retain = _number(stream.get("retain-ms", 0))
    waits = stream.get("retain-refs") == "ACKED" or bool(stream.get("retain-acked"))
    backoff = group.get("backoff")
    longest = max(backoff) if isinstance(backoff, tuple) else 0
    wait = _number(group.get("ack-wait", 0))
    if retain and not waits and longest and longest >= retain:
        found.append(
            f"a pause of {whole(longest)} between deliveries is longer than entries are kept "
            f"({whole(retain)}): what fails is removed before it is delivered again"
        )
    if retain and not waits and wait and wait >= retain:
        found.append(
            f"the time to acknowledge ({whole(wait)}) is longer than entries are kept "
            f"({whole(retain)}): no entry is delivered again"
        )
    limits = {"retain-ms", "retain-len", "retain-bytes"}.intersection(stream)
    if limits and not waits and archive_groups:
        found.append(
            "entries are removed without --retain-refs acked: what the archive has not copied "
            "by then is lost to it"
        )
    if "group-max-idle" in stream and not waits:
        found.append("--group-max-idle does nothing without --retain-refs acked")
    expiry = _number(group.get("consumer-expiry", 0))
    if expiry and not wait:
        found.append("without --ack-wait only consumers without pending entries are deleted")
    return found


def _number(value: Value) -> int:
    return value if isinstance(value, int) else 0


def _shown(name: str, value: Value) -> str:
    number = _number(value)
    if name == "retain-ms":
        return whole(number)
    return size(number) if name == "retain-bytes" else f"{number:,}"
