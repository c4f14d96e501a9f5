"""The text format of Prometheus, version 0.0.4.

`Page` takes samples in any order and keeps those of a family together, as the format wants. It
turns them into bytes a part at a time (`flush`), so that no step takes long.

Source: the exposition formats in Prometheus's documentation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from server.metrics.names import Family

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def label_value(name: bytes) -> str:
    """A name as it stands between the quotes: bytes that are no UTF-8 as `\\xff`."""
    text = name.decode("utf-8", "backslashreplace")
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def labels(**values: str | bytes) -> str:
    """Labels as they stand between the braces."""
    return ",".join(f'{name}="{label_value(_bytes(value))}"' for name, value in values.items())


def _bytes(value: str | bytes) -> bytes:
    """Directives hold bytes that are no UTF-8 as surrogates."""
    return value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")


class Page:
    """The samples of one scrape."""

    def __init__(self) -> None:
        self._lines: dict[Family, list[str]] = {}
        self._encoded: dict[Family, list[bytes]] = {}

    def lines(self, family: Family) -> list[str]:
        """The lines since the last `flush`, to append to."""
        lines = self._lines.get(family)
        if lines is None:
            lines = self._lines[family] = []
        return lines

    def add(self, family: Family, value: float | None, labels: str = "") -> None:
        """Add a sample; `labels` stand between the braces. None: there is no sample."""
        if value is not None:
            name = f"{family.name}{{{labels}}}" if labels else family.name
            self.lines(family).append(f"{name} {value}\n")

    def add_histogram(
        self,
        family: Family,
        bounds: Iterable[float],
        cumulative: Sequence[int],
        total: float,
        labels: str = "",
    ) -> None:
        """Add a histogram: the counts up to each bound, and at last that of all."""
        lines, name = self.lines(family), family.name
        before = f"{labels}," if labels else ""
        around = f"{{{labels}}}" if labels else ""
        lines += [
            f'{name}_bucket{{{before}le="{bound}"}} {count}\n'
            for bound, count in zip([*bounds, "+Inf"], cumulative, strict=True)
        ]
        lines.append(f"{name}_sum{around} {total}\n")
        lines.append(f"{name}_count{around} {cumulative[-1]}\n")

    def flush(self) -> None:
        """Encode the lines so far."""
        for family, lines in self._lines.items():
            if lines:
                encoded = self._encoded.get(family)
                if encoded is None:
                    encoded = self._encoded[family] = [_head(family)]
                encoded.append("".join(lines).encode())
                lines.clear()

    def pieces(self) -> Iterator[bytes]:
        """The whole page."""
        self.flush()
        for encoded in self._encoded.values():
            yield from encoded


def _head(family: Family) -> bytes:
    return f"# HELP {family.name} {family.help}\n# TYPE {family.name} {family.kind}\n".encode()
