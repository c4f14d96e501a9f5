"""HOTKEYS: the keys that take most processor time and network bytes, during a session.

A session observes requests (`Instance.observe_requests`); without one nothing is counted. Each
request's time and bytes are shared equally by its keys. Those of a script are shared by the keys of
EVAL or FCALL, those of a transaction belong to its requests one by one. Requests of a primary and
of files count for nothing. While a session runs, each request is measured by itself.

Source: Redis 8.6, by its documentation, its tests and redis#14680; no server with it has run here.
"""

from __future__ import annotations

from collections.abc import Sequence

from commands.cluster.mode import ClusterMode
from commands.core.arguments import Arguments, parse_int
from commands.core.client import Client
from commands.core.instance import Instance
from commands.core.registry import ADMIN, NOSCRIPT, Command, Reply, command
from commands.documentation import help_reply
from commands.scripting.calls import ScriptClient
from commands.server.top_keys import TopKeys
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import entity
from protocol.request import SLOT_COUNT, Request, key_slot

METRICS = (b"CPU", b"NET")
MAX_COUNT = 64
MAX_DURATION_S = 1_000_000
# A key with more than a 100 * COUNT-th of all time or bytes is certain to be found.
PLACES_PER_KEY = 100
# Of longer keys that many bytes are kept, so that the memory is bounded.
MAX_KEY_BYTES = 1024
_INT32_MAX = 2**31 - 1
_FLAGS = ADMIN | NOSCRIPT


@entity
class Options:
    """The options of HOTKEYS START."""

    metrics: frozenset[bytes]
    count: int = 10
    duration_s: int = 0  # 0: until HOTKEYS STOP
    ratio: int = 1  # one request of this many is sampled
    slots: frozenset[int] | None = None  # None: all


class Session:
    """A session: an observer of requests, and what it has found."""

    def __init__(self, instance: Instance, options: Options) -> None:
        self._instance = instance
        self.options = options
        self.is_active = True
        places = options.count * PLACES_PER_KEY
        self.tops = {metric: TopKeys(places) for metric in METRICS if metric in options.metrics}
        # ns and bytes: of sampled requests in the slots, of all requests in the slots, of all
        self.sampled, self.selected, self.all = [0, 0], [0, 0], [0, 0]
        self.started_ms = instance.now_ms
        self._began_ms = instance.monotonic_ms
        self.duration_ms = 0
        self._before = self._process()
        self.used = (0, 0, 0)  # once it has ended

    def _process(self) -> tuple[int, int, int]:
        """The process's time in ms, user and system, and its network bytes."""
        facts, stats = self._instance.host.facts(), self._instance.stats
        net = stats.net_input_bytes + stats.net_output_bytes
        return int(facts.cpu_user_s * 1000), int(facts.cpu_system_s * 1000), net

    def end(self) -> None:
        """Count no further requests."""
        self.update()
        self.is_active = False
        self._instance.observe_requests(self, is_on=False)

    def update(self) -> None:
        """Bring the duration and the figures of the process up to date."""
        if not self.is_active:
            return
        passed_ms = self._instance.monotonic_ms - self._began_ms
        most_ms = self.options.duration_s * 1000
        self.duration_ms = min(passed_ms, most_ms) if most_ms else passed_ms
        now, before = self._process(), self._before
        user_ms, system_ms, net = (new - old for new, old in zip(now, before, strict=True))
        self.used = user_ms, system_ms, net

    def end_when_due(self) -> bool:
        """End the session if its time is over; whether it has ended."""
        most_ms = self.options.duration_s * 1000
        passed_ms = self._instance.monotonic_ms - self._began_ms
        if self.is_active and most_ms and passed_ms >= most_ms:
            self.end()
        return not self.is_active

    # -- RequestObserver -----------------------------------------------------------------------

    def ran(
        self,
        client: Client,
        command: Command,
        request: Request,
        reply: Reply,
        elapsed_ns: int,
        is_first: bool,
    ) -> None:
        """Count the time and the bytes of a request."""
        if not self._counts(client, command):
            return
        size = len(reply) if isinstance(reply, bytes) else 0
        if is_first:
            size += len(request.whole())
        self._count(command, request, elapsed_ns, size)

    def refused(
        self, client: Client, command: Command | None, words: Sequence[bytes], code: bytes
    ) -> None:
        """A refused request uses no key."""

    def sent(
        self, client: Client, command: Command, words: Sequence[bytes], size: int, elapsed_us: int
    ) -> None:
        """Count the pieces of a long reply."""
        if self._counts(client, command):
            self._count(command, words, elapsed_us * 1000, size)

    def _counts(self, client: Client, command: Command) -> bool:
        if client.replays or isinstance(client, ScriptClient) or command.fullname == b"exec":
            return False
        return not self.end_when_due()

    def _count(
        self, command: Command, request: Request | Sequence[bytes], ns: int, size: int
    ) -> None:
        _add(self.all, ns, size)
        slots, ratio = self.options.slots, self.options.ratio
        is_sampled = ratio == 1 or not self._instance.chance.below(ratio)
        if not command.keys or not (is_sampled or slots):
            return
        words = request.words() if isinstance(request, Request) else request
        keys = [words[at] for at in command.key_positions(words)]
        share = len(keys)
        if slots is not None:
            keys = [key for key in keys if key_slot(key) in slots]
        if not keys:
            return
        _add(self.selected, ns, size)
        if not is_sampled:
            return
        _add(self.sampled, ns, size)
        keys = [key[:MAX_KEY_BYTES] for key in keys]
        for metric, amount in ((b"CPU", ns), (b"NET", size)):
            top = self.tops.get(metric)
            if top is not None:
                for key in keys:
                    top.add(key, amount // share)


def _add(sums: list[int], ns: int, size: int) -> None:
    sums[0] += ns
    sums[1] += size


class HotKeys:
    """The session of one instance, the last one if none is active."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self.session: Session | None = None

    @property
    def active(self) -> Session | None:
        """The session that counts requests."""
        session = self.session
        return None if session is None or session.end_when_due() else session

    def start(self, options: Options) -> None:
        """Begin a session in place of an earlier one."""
        self.session = Session(self._instance, options)
        self._instance.observe_requests(self.session, is_on=True, times=True)


# -- commands ----------------------------------------------------------------------------------


@command("HOTKEYS START", arity=-2, flags=_FLAGS)
def hotkeys_start(client: Client, argv: Request) -> bytes:
    """OK; an error if a session is under way. Source: Redis 8.6."""
    found = client.instance.feature(HotKeys)
    if found.active is not None:
        raise ReplyError(b"ERR hotkey tracking session already in progress")
    found.start(_options(client, Arguments(argv, 2)))
    return replies.OK


@command("HOTKEYS STOP", arity=2, flags=_FLAGS)
def hotkeys_stop(client: Client, argv: Request) -> bytes:
    """OK; nil if no session is under way. Source: Redis 8.6."""
    session = client.instance.feature(HotKeys).active
    if session is None:
        return replies.NIL[client.resp]
    session.end()
    return replies.OK


@command("HOTKEYS RESET", arity=2, flags=_FLAGS)
def hotkeys_reset(client: Client, argv: Request) -> bytes:
    """OK; an error while a session is under way. Source: Redis 8.6."""
    found = client.instance.feature(HotKeys)
    if found.active is not None:
        raise ReplyError(b"ERR hotkey tracking session in progress, stop tracking first")
    found.session = None
    return replies.OK


@command("HOTKEYS GET", arity=2, flags=_FLAGS)
def hotkeys_get(client: Client, argv: Request) -> bytes:
    """An array of one map; nil without a session. Source: Redis 8.6."""
    found = client.instance.feature(HotKeys)
    session = found.session
    if session is None:
        return replies.NIL[client.resp]
    session.end_when_due()
    session.update()
    items = [
        part for name, value in _fields(client, session) for part in (replies.bulk(name), value)
    ]
    return replies.array([replies.mapping(items, client.resp)])


@command("HOTKEYS HELP", arity=2, flags=_FLAGS)
def hotkeys_help(client: Client, argv: Request) -> bytes:
    """Array of simple strings. Source: Redis 8.6, for the shape."""
    return help_reply(
        b"HOTKEYS",
        b"START METRICS <count> [CPU] [NET] [COUNT <k>] [DURATION <seconds>] [SAMPLE <ratio>]",
        b"    [SLOTS <count> <slot> ...]",
        b"    Begin to count time (CPU) and network bytes (NET) of keys.",
        b"STOP",
        b"    End that; the results stay.",
        b"GET",
        b"    The keys with the largest shares.",
        b"RESET",
        b"    Forget the results.",
    )


# -- options -----------------------------------------------------------------------------------


def _options(client: Client, arguments: Arguments) -> Options:
    if not arguments.take(b"METRICS"):
        raise ReplyError(b"ERR METRICS parameter is required")
    options = Options(_metrics(arguments))
    while arguments:
        word = arguments.next().upper()
        if not arguments:
            raise ReplyError(errors.SYNTAX)
        if word == b"COUNT":
            error = b"ERR COUNT must be between 1 and 64"
            options.count = parse_int(arguments.next(), error, 1, MAX_COUNT)
        elif word == b"DURATION":
            error = b"ERR DURATION must be between 1 and 1000000"
            options.duration_s = parse_int(arguments.next(), error, 1, MAX_DURATION_S)
        elif word == b"SAMPLE":
            error = b"ERR SAMPLE ratio must be positive"
            options.ratio = parse_int(arguments.next(), error, 1, _INT32_MAX)
        elif word == b"SLOTS":
            if not client.instance.is_cluster:
                raise ReplyError(b"ERR SLOTS parameter cannot be used in non-cluster mode")
            if options.slots is not None:
                raise ReplyError(b"ERR SLOTS parameter already specified")
            options.slots = _slots(client, arguments)
        else:
            raise ReplyError(errors.SYNTAX)
    return options


def _metrics(arguments: Arguments) -> frozenset[bytes]:
    """The metrics; names that are unknown count, and select nothing."""
    error = b"ERR METRICS count must be > 0 and <= %d" % len(METRICS)
    count = parse_int(arguments.next() if arguments else b"", error, 1, len(METRICS))
    if arguments.remaining < count:
        raise ReplyError(b"ERR METRICS count does not match number of metric types provided")
    found: set[bytes] = set()
    for _ in range(count):
        name = arguments.next().upper()
        if name in found:
            raise ReplyError(b"ERR METRICS %b defined more than once!" % name)
        if name in METRICS:
            found.add(name)
    if not found:
        raise ReplyError(b"ERR METRICS no valid metrics passed. Supported: CPU|NET")
    return frozenset(found)


def _slots(client: Client, arguments: Arguments) -> frozenset[int]:
    error = b"ERR SLOTS count must be between 1 and %d" % SLOT_COUNT
    count = parse_int(arguments.next(), error, 1, SLOT_COUNT)
    if arguments.remaining < count:
        raise ReplyError(b"ERR not enough slot numbers provided")
    served = client.instance.feature(ClusterMode).served
    slots: set[int] = set()
    for _ in range(count):
        slot = parse_int(arguments.next(), errors.SLOT_OUT_OF_RANGE, 0, SLOT_COUNT - 1)
        if not served[slot]:
            raise ReplyError(b"ERR slot %d not handled by this node" % slot)
        if slot in slots:
            raise ReplyError(b"ERR duplicate slot number")
        slots.add(slot)
    return frozenset(slots)


# -- the reply ---------------------------------------------------------------------------------


def _fields(client: Client, session: Session) -> list[tuple[bytes, bytes]]:
    options, number = session.options, replies.integer
    has_slots = options.slots is not None
    is_sampled = has_slots and options.ratio > 1
    user_ms, system_ms, net = session.used
    us = [sums[0] // 1000 for sums in (session.sampled, session.selected, session.all)]
    sizes = [sums[1] for sums in (session.sampled, session.selected, session.all)]
    fields = [
        (b"tracking-active", number(int(session.is_active))),
        (b"sample-ratio", number(options.ratio)),
        (b"selected-slots", _selected(client, options)),
        (b"sampled-commands-selected-slots-us", number(us[0]) if is_sampled else b""),
        (b"all-commands-selected-slots-us", number(us[1]) if has_slots else b""),
        (b"all-commands-all-slots-us", number(us[2])),
        (b"net-bytes-sampled-commands-selected-slots", number(sizes[0]) if is_sampled else b""),
        (b"net-bytes-all-commands-selected-slots", number(sizes[1]) if has_slots else b""),
        (b"net-bytes-all-commands-all-slots", number(sizes[2])),
        (b"collection-start-time-unix-ms", number(session.started_ms)),
        (b"collection-duration-ms", number(session.duration_ms)),
    ]
    if b"CPU" in options.metrics:
        fields += [
            (b"total-cpu-time-user-ms", number(user_ms)),
            (b"total-cpu-time-sys-ms", number(system_ms)),
        ]
    if b"NET" in options.metrics:
        fields.append((b"total-net-bytes", number(net)))
    if b"CPU" in options.metrics:
        fields.append((b"by-cpu-time-us", _top(session, b"CPU", 1000)))
    if b"NET" in options.metrics:
        fields.append((b"by-net-bytes", _top(session, b"NET", 1)))
    return [(name, value) for name, value in fields if value]


def _top(session: Session, metric: bytes, unit: int) -> bytes:
    found = session.tops[metric].top(session.options.count)
    return replies.array(
        [part for key, sum_ in found for part in (replies.bulk(key), replies.integer(sum_ // unit))]
    )


def _selected(client: Client, options: Options) -> bytes:
    """Ranges of slots, each an array of one or two numbers."""
    if options.slots is not None:
        slots = sorted(options.slots)
    elif client.instance.is_cluster:
        served = client.instance.feature(ClusterMode).served
        slots = [slot for slot in range(SLOT_COUNT) if served[slot]]
    else:
        slots = list(range(SLOT_COUNT))
    ranges: list[list[int]] = []
    for slot in slots:
        if ranges and ranges[-1][-1] == slot - 1:
            ranges[-1][1:] = [slot]
        else:
            ranges.append([slot])
    return replies.array([replies.array(list(map(replies.integer, each))) for each in ranges])
