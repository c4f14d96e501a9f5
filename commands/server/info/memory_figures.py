"""Memory statistics: the figures of INFO memory, MEMORY STATS and MEMORY DOCTOR.

Redis asks its allocator how much of the memory is in use. Python does not report that, so "used" is
the resident memory of the process, and ratios of the two (fragmentation) are 1.
"""

from __future__ import annotations

from commands.core.clients import Clients
from commands.core.instance import Instance
from protocol.records import frozen_record


@frozen_record
class MemoryFigures:
    """Bytes, all of them."""

    used: int
    peak: int
    startup: int
    clients: int  # in the buffers of clients
    keys: int  # how many keys, in all databases
    total_system: int

    @property
    def overhead(self) -> int:
        """The memory that is not data: the empty server, and buffers."""
        return min(self.used, self.startup + self.clients)

    @property
    def dataset(self) -> int:
        """The memory that is left for the data."""
        return self.used - self.overhead

    @property
    def dataset_percentage(self) -> float:
        """The data's share of what was added since the start."""
        return percentage(self.dataset, self.used - self.startup)

    @property
    def bytes_per_key(self) -> int:
        """The memory added since the start, for each key."""
        return max(0, self.used - self.startup) // self.keys if self.keys else 0

    @property
    def peak_percentage(self) -> float:
        """The memory in use, in percent of the peak."""
        return percentage(self.used, self.peak)


def memory_figures(instance: Instance) -> MemoryFigures:
    """The figures now."""
    facts = instance.host.facts()
    return MemoryFigures(
        used=facts.resident_bytes,
        peak=max(facts.peak_resident_bytes, facts.resident_bytes),
        startup=facts.startup_resident_bytes,
        clients=sum(
            client.query_buffer_bytes + sum(map(len, client.output))
            for client in instance.feature(Clients).by_id.values()
        ),
        keys=sum(map(len, instance.databases)),
        total_system=facts.total_system_bytes,
    )


def percentage(part: int, whole: int) -> float:
    """`part` in percent of `whole`; 0 of nothing."""
    return 100 * part / whole if whole > 0 else 0.0


def human(size: int) -> str:
    """`size` in bytes as INFO writes it for people: 512B, 1.50K, 12.00M, 3.25G."""
    if size < 1024:
        return f"{size}B"
    scaled, units = size / 1024, "KMGTP"
    while scaled >= 1024 and len(units) > 1:
        scaled, units = scaled / 1024, units[1:]
    return f"{scaled:.2f}{units[0]}"
