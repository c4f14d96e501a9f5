"""Memory statistics: the figures of INFO memory, MEMORY STATS and MEMORY DOCTOR.

"Used" is a count (commands/eviction/memory_use.py); "resident" is what the system has given the
process.
"""

from __future__ import annotations

from commands.connection.client_memory import ClientMemory
from commands.core.instance import Instance
from commands.eviction.memory_use import MemoryUse
from protocol.records import frozen_record


@frozen_record
class MemoryFigures:
    """Bytes, all of them."""

    used: int
    resident: int
    peak: int
    peak_ms: int  # when it was reached, the one figure that is no size
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
    memory, clients = instance.feature(MemoryUse), instance.feature(ClientMemory)
    used = memory.update()
    return MemoryFigures(
        used=used,
        resident=facts.resident_bytes,
        peak=memory.peak_bytes,
        peak_ms=memory.peak_ms,
        startup=memory.startup_bytes,
        clients=clients.total_bytes - clients.replica_bytes,
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
