"""Draws docs/images/top-*.svg: `rillway top` with fixed figures and a fixed clock.

`make screenshots` calls it. The pictures are rich's export_svg without its fonts, which it would
fetch from another host: whoever looks at them sees their own monospaced font. The same figures are
the golden screens of tests/rillway/top.
"""

from __future__ import annotations

import io
import re
import time
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME, TerminalTheme

from rillway.sampler import (
    ClientFigures,
    ConsumerFigures,
    GroupFigures,
    LatencyFigures,
    Move,
    ReplicaFigures,
    ServerFigures,
    SlowRequest,
    StreamFigures,
)
from rillway.top.history import History
from rillway.top.screen import Screen
from rillway.top.state import Shown, State, arrange
from rillway.top.tables import View
from rillway.top.terminal import styled

IMAGES = Path(__file__).parent / "images"
NOW_MS = 1_795_608_005_000
FONTS = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
LIGHT_THEME = TerminalTheme(
    (255, 255, 255),
    (40, 40, 40),
    [(0, 0, 0), (170, 0, 0), (0, 110, 40), (140, 90, 0), (0, 60, 170), (130, 0, 130),
     (0, 95, 115), (90, 90, 90)],
)  # fmt: skip
PICTURES = {"dark": (100, 28, SVG_EXPORT_THEME), "light": (100, 28, LIGHT_THEME)}
WIDE = (140, 40)


def example_streams() -> list[StreamFigures]:
    """Three streams, one of which falls behind; ten that are still."""
    return [_orders(), _emails(), _audit(), *map(_still, range(1, 11))]


def _orders() -> StreamFigures:
    moves = (Move(NOW_MS - 4000, b"carla", b"anna", 12),)
    members = (
        ConsumerFigures(b"anna", 36, 100, 100, moved=12),
        ConsumerFigures(b"bob", 8, 40, 40),
        ConsumerFigures(b"carla", 4, 124_000, 124_000, is_dead=True, moved=-12),
    )
    mailers = GroupFigures(
        b"mailers", 0, 48, 1_200_000, f"{NOW_MS}-0", f"{NOW_MS - 200}-0", 131_200, 1204.0, 3, 1,
        members, moves,
    )  # fmt: skip
    billing = GroupFigures(
        b"billing", 3, 5, 1_199_997, f"{NOW_MS}-0", None, 80, 1204.0, 2, 0,
        (ConsumerFigures(b"b1", 3, 20), ConsumerFigures(b"b2", 2, 31)),
    )  # fmt: skip
    return StreamFigures(
        0, b"orders", NOW_MS - 1000, 1_200_000, 1_200_000, memory_bytes=14_785_000, in_per_s=1204.0,
        out_per_s=2408.0, lag=3, pending=48, oldest_ms=131_200, groups=(billing, mailers),
    )  # fmt: skip


def _emails() -> StreamFigures:
    group = GroupFigures(b"senders", 8100, 312, 79_900, "0-0", None, 41_000, 300.0, 4, 0)
    return StreamFigures(
        0, b"emails", NOW_MS - 900, 88_000, 88_000, memory_bytes=1_260_000, in_per_s=310.0,
        out_per_s=300.0, lag=8100, pending=312, oldest_ms=41_000, groups=(group,),
    )  # fmt: skip


def _audit() -> StreamFigures:
    return StreamFigures(
        0, b"audit\x1b[31m", NOW_MS - 800, 4_000_000, memory_bytes=62_914_560, in_per_s=12.0,
        in_is_estimate=True, groups=(),
    )  # fmt: skip


def _still(number: int) -> StreamFigures:
    group = GroupFigures(b"readers", None, 0, None, "0-0")
    return StreamFigures(
        0, f"shop:{number:02}:carts".encode(), NOW_MS - 700, 100 * number, 100 * number,
        memory_bytes=2000 * number, in_per_s=0.0, pending=0, groups=(group,),
    )  # fmt: skip


def example_server() -> ServerFigures:
    clients = tuple(
        ClientFigures(
            n, f"10.0.0.{n}:5{n:03}", f"worker-{n}", 0, 9000, n, "b", "xreadgroup", "shop"
        )
        for n in range(1, 5)
    )
    return ServerFigures(
        time_ms=NOW_MS, product="Rillway", version="0.1.0", role="primary", uptime_s=273_600,
        requests_per_s=12_400, used_memory_bytes=1_288_490_188, max_memory_bytes=4 << 30,
        clients=212, max_clients=10_000, blocked_clients=48,
        blocked={"XREADGROUP": 40, "XREAD": 8}, aof="ok", aof_bytes=1_288_490_188,
        last_save_ms=NOW_MS - 180_000, last_save_ok=True,
        replicas=(ReplicaFigures("10.0.0.8:6379", "online", 0),), databases={0: 13},
        latency={
            "XADD": LatencyFigures(1_000_000, 2, 9, 41, 900),
            "XREADGROUP": LatencyFigures(900_000, 4, 17, 66, 1100),
            "XACK": LatencyFigures(900_000, 1, 4, 17, 300),
        },
        slow=(
            SlowRequest(2, NOW_MS - 4000, 14_000, (b"XRANGE", b"audit", b"-", b"+", b"COUNT",
                        b"100000"), "10.0.0.7:51234"),
            SlowRequest(1, NOW_MS - 90_000, 11_000, (b"KEYS", b"*"), "10.0.0.9:40404"),
        ),
        client_list=clients,
    )  # fmt: skip


def example_history() -> History:
    """Five minutes of lag: emails falls behind, orders now and then."""
    history = History()
    for second in range(300, -1, -1):
        time_ms = NOW_MS - 1000 * second
        behind = 8100 * max(120 - second, 0) // 120
        orders = 3 if second % 100 < 30 else second // 20 % 2
        groups = (
            GroupFigures(b"billing", orders, 5, 0, "0-0"),
            GroupFigures(b"mailers", 0, 48, 0, "0-0"),
        )
        history.add({
            b"orders": StreamFigures(0, b"orders", time_ms, 1, lag=orders, groups=groups),
            b"emails": StreamFigures(0, b"emails", time_ms, 1, lag=behind),
        })  # fmt: skip
    return history


def utc_clock(ms: int) -> str:
    return time.strftime("%H:%M:%S", time.gmtime(ms / 1000))


def example_view(state: State) -> View:
    """The fixed figures, with a state of one's own."""
    return View(
        state, Shown(arrange(example_streams(), state)), example_server(), example_history(),
        "127.0.0.1:6379", 0, NOW_MS, 10_222,
        [(f"{NOW_MS - 100 * n}-0", [b"item", b"lamp", b"qty", b"%d" % n]) for n in range(5)],
        clock=utc_clock,
    )  # fmt: skip


def picture(columns: int, rows: int, theme: TerminalTheme) -> str:
    """A screen as SVG that refers to nothing outside of it."""
    console = Console(file=io.StringIO(), record=True, width=columns, force_terminal=True)
    for line in Screen(example_view(State(columns=columns, rows=rows))).lines:
        console.print(styled(line), soft_wrap=True)
    svg = console.export_svg(title="rillway top", theme=theme, unique_id="top")
    svg = re.sub(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    return svg.replace("font-family: Fira Code, monospace", f"font-family: {FONTS}")


def pictures() -> dict[str, str]:
    """The files, by name."""
    found = {f"top-{name}.svg": picture(*arguments) for name, arguments in PICTURES.items()}
    found["top-wide.svg"] = picture(*WIDE, SVG_EXPORT_THEME)
    return found


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    for name, text in pictures().items():
        (IMAGES / name).write_text(text, encoding="utf-8")
