"""LATENCY LATEST, HISTORY, RESET, GRAPH, DOCTOR, HISTOGRAM, HELP.

The first five read the latency monitor, which samples slow events while latency-monitor-threshold
is set. HISTOGRAM reads what is counted for every command
(commands/core/stats.py).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from commands.core.client import Client
from commands.core.instance import Instance
from commands.core.registry import (
    ADMIN,
    LOADING,
    NOSCRIPT,
    STALE,
    Command,
    CommandTable,
    command,
)
from commands.documentation import help_reply
from commands.server.command import find_command
from protocol import replies
from protocol.errors import ReplyError
from protocol.request import Request

if TYPE_CHECKING:
    pass

FLAGS = ADMIN | NOSCRIPT | LOADING | STALE

GRAPH_WIDTH = 80
GRAPH_ROWS = 4


@command("LATENCY LATEST", arity=2, flags=FLAGS)
def latency_latest(client: Client, argv: Request) -> bytes:
    """Array of name, Unix time, milliseconds, milliseconds of the worst sample of the event."""
    rows = [
        replies.array(
            [
                replies.bulk(name),
                replies.integer(event.samples[-1][0]),
                replies.integer(event.samples[-1][1]),
                replies.integer(event.max_ms),
            ]
        )
        for name, event in client.instance.feature(LatencyMonitor).events.items()
    ]
    return replies.array(rows)


@command("LATENCY HISTORY", arity=3, flags=FLAGS)
def latency_history(client: Client, argv: Request) -> bytes:
    """Pairs of Unix time and milliseconds, the oldest first; empty for an unknown event."""
    event = client.instance.feature(LatencyMonitor).events.get(argv[2])
    samples = event.samples if event is not None else ()
    return replies.array(
        [
            replies.array([replies.integer(time_s), replies.integer(duration_ms)])
            for time_s, duration_ms in samples
        ]
    )


@command("LATENCY RESET", arity=-2, flags=FLAGS)
def latency_reset(client: Client, argv: Request) -> bytes:
    """Integer: the number of events deleted."""
    return replies.integer(client.instance.feature(LatencyMonitor).reset(argv[2:]))


# -- pictures and words --------------------------------------------------------------------------


@command("LATENCY GRAPH", arity=3, flags=FLAGS)
def latency_graph(client: Client, argv: Request) -> bytes:
    """A column for each sample, the latest at the right; below it how long ago it was taken."""
    event = client.instance.feature(LatencyMonitor).events.get(argv[2])
    if event is None:
        raise ReplyError(b"ERR No samples available for event '%b'" % argv[2])
    text = graph(argv[2].decode("latin-1"), event, client.instance.now_ms // 1000)
    return replies.verbatim(text.encode("latin-1"), client.resp)


def graph(name: str, event: LatencyEvent, now_s: int) -> str:
    """The drawing: a heading, a rule, the columns, and the ages, read from top to bottom."""
    samples = list(event.samples)[-GRAPH_WIDTH:]
    durations = [duration_ms for _, duration_ms in samples]
    high, low = max(durations), min(durations)
    span = max(1, high - low)
    levels = [1 + (duration - low) * (GRAPH_ROWS - 1) // span for duration in durations]
    rows = [
        "".join("#" if level >= row else " " for level in levels)
        for row in range(GRAPH_ROWS, 0, -1)
    ]
    ages = [_age(max(0, now_s - time_s)) for time_s, _ in samples]
    depth = max(map(len, ages))
    labels = ["".join(age.ljust(depth)[row] for age in ages) for row in range(depth)]
    heading = f"{name} - high {high} ms, low {low} ms (all time high {event.max_ms} ms)"
    return "\n".join([heading, "-" * GRAPH_WIDTH, *rows, "", *labels]) + "\n"


def _age(seconds: int) -> str:
    """8s, 5m, 3h, 2d."""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


@command("LATENCY DOCTOR", arity=2, flags=FLAGS)
def latency_doctor(client: Client, argv: Request) -> bytes:
    """A text for people."""
    return replies.verbatim(report(client.instance).encode("latin-1"), client.resp)


def report(instance: Instance) -> str:
    """Return the text of LATENCY DOCTOR: the events with their samples, and advice."""
    threshold_ms = instance.config.latency_monitor_threshold
    events = instance.feature(LatencyMonitor).events
    if not events and not threshold_ms:
        return (
            "Nothing is being measured: latency-monitor-threshold is 0. Set it to the number of\n"
            "milliseconds that an event may take, for example\n"
            "CONFIG SET latency-monitor-threshold 100, and ask again later.\n"
        )
    if not events:
        return f"No event has taken {threshold_ms} ms or longer. All is well.\n"
    lines = ["These events took longer than they should have:", ""]
    lines += [_diagnosis(name.decode("latin-1"), event) for name, event in events.items()]
    return "\n".join([*lines, "", *_advice(instance)]) + "\n"


def _diagnosis(name: str, event: LatencyEvent) -> str:
    samples = list(event.samples)
    durations = [duration_ms for _, duration_ms in samples]
    mean = sum(durations) / len(durations)
    deviation = sum(abs(duration - mean) for duration in durations) / len(durations)
    spikes = "1 spike" if len(samples) == 1 else f"{len(samples)} spikes"
    text = (
        f"- {name}: {spikes}, {mean:.0f} ms on average"
        f" (mean deviation {deviation:.0f} ms), the worst of all {event.max_ms} ms"
    )
    if len(samples) > 1:
        period_s = (samples[-1][0] - samples[0][0]) / (len(samples) - 1)
        text += f"; one every {period_s:.1f} s"
    return text


def _advice(instance: Instance) -> list[str]:
    config, names = instance.config, instance.feature(LatencyMonitor).events.keys()
    slow_us, threshold_ms = config.slowlog_log_slower_than, config.latency_monitor_threshold
    lines = []
    if names & {b"command", b"fast-command"}:
        lines.append("SLOWLOG GET lists the requests that took longest, with their arguments.")
        if slow_us < 0:
            lines.append("The slow log is off: CONFIG SET slowlog-log-slower-than turns it on.")
        elif threshold_ms and slow_us > threshold_ms * 1000:
            lines.append(
                "The slow log skips some of them: CONFIG SET slowlog-log-slower-than"
                f" {threshold_ms * 1000} makes it keep all."
            )
        lines.append("A command over a great many entries or keys is one reason: ask for less at")
        lines.append("a time with COUNT, and walk keys with SCAN instead of KEYS.")
    if b"expire-cycle" in names:
        lines.append("Many keys expire at the same time: spread their times to live.")
    return lines


# -- every command -------------------------------------------------------------------------------


@command("LATENCY HISTOGRAM", arity=-2, flags=FLAGS)
def latency_histogram(client: Client, argv: Request) -> bytes:
    """Map from command to its calls, and how many of them took at most 1, 2, 4, ... microseconds.

    A container stands for its sub-commands. Commands that never ran are left out.
    """
    stats = client.instance.stats.commands
    wanted = _named_commands(client, argv[2:]) if len(argv) > 2 else list(stats)
    items: list[bytes] = []
    for declared in wanted:
        counted = stats.get(declared)
        if counted is None or not counted.histogram:
            continue
        rows = [replies.integer(n) for row in counted.histogram.cumulative_us() for n in row]
        items.append(replies.bulk(declared.fullname))
        items.append(
            replies.mapping(
                [
                    replies.bulk(b"calls"),
                    replies.integer(counted.histogram.calls),
                    replies.bulk(b"histogram_usec"),
                    replies.mapping(rows, client.resp),
                ],
                client.resp,
            )
        )
    return replies.mapping(items, client.resp)


def _named_commands(client: Client, names: list[bytes]) -> list[Command]:
    """The commands of these names, sub-commands in the place of containers, each once."""
    by_name = client.instance.feature(CommandTable).by_name
    found: dict[Command, None] = {}
    for name in names:
        declared = find_command(name, by_name)
        if declared is not None:
            found |= dict.fromkeys([declared, *declared.subcommands.values()])
    return list(found)


@command("LATENCY HELP", arity=2, flags=LOADING | STALE)
def latency_help(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2, for the shape."""
    return help_reply(
        b"LATENCY",
        b"DOCTOR",
        b"    What the samples show, in words.",
        b"GRAPH <event>",
        b"    The samples of an event as a drawing.",
        b"HISTORY <event>",
        b"    The samples of an event: time and milliseconds.",
        b"LATEST",
        b"    The latest sample of every event.",
        b"RESET [<event> ...]",
        b"    Forget the samples of some events, or of all.",
        b"HISTOGRAM [<command> ...]",
        b"    How the latencies of commands are distributed.",
    )


MAX_SAMPLES = 160


class LatencyEvent:
    """The samples of one event."""

    def __init__(self) -> None:
        self.samples: deque[tuple[int, int]] = deque(
            maxlen=MAX_SAMPLES
        )  # (Unix s, ms), oldest first
        self.max_ms = 0  # since the event was seen first

    def add(self, time_s: int, duration_ms: int) -> None:
        """One more sample."""
        self.max_ms = max(self.max_ms, duration_ms)
        if self.samples and self.samples[-1][0] == time_s:
            duration_ms = max(duration_ms, self.samples.pop()[1])
        self.samples.append((time_s, duration_ms))


class LatencyMonitor:
    """Samples of slow events."""

    def __init__(self, instance: Instance) -> None:
        self.events: dict[bytes, LatencyEvent] = {}

    def sample(self, event: bytes, duration_ms: int, now_ms: int) -> None:
        """`event` took `duration_ms`, at or above latency-monitor-threshold."""
        self.events.setdefault(event, LatencyEvent()).add(now_ms // 1000, duration_ms)

    def reset(self, names: list[bytes]) -> int:
        """Delete the named events, or all if none is named; return the number deleted."""
        return sum(self.events.pop(name, None) is not None for name in names or list(self.events))
