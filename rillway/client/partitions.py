"""A stream in partitions: the mapping of keys to partitions, and the names of the partitions.

Partition p of `orders` is the stream `orders:{p}`, and its dead letters are `orders:dead:{p}`. The
braces are hash tags of Redis Cluster: each partition is in the slot of its number, with everything
that belongs to it. An entry with key k goes to partition CRC16-XMODEM(k) modulo the number of
partitions, with all 16 bits of the checksum; braces in k have no meaning. So all entries of a key
are in one stream, in their order.

Every language can compute the same: docs/how-to/languages.md has programs and test vectors.
"""

from __future__ import annotations

from binascii import crc_hqx
from dataclasses import dataclass

MOST_PARTITIONS = 16_384


@dataclass(frozen=True)
class Partitions:
    """The partitions of a stream, by name and number; see PartitionedStream.

    Raises ValueError for a name with braces, which would be the hash tag, or for a number of
    partitions that is not from 1 to 16,384.
    """

    name: str
    partitions: int
    key_field: str | None = None

    def __post_init__(self) -> None:
        if not self.name or "{" in self.name or "}" in self.name:
            raise ValueError(f"the name of a partitioned stream has no braces: {self.name!r}")
        if not 1 <= self.partitions <= MOST_PARTITIONS:
            raise ValueError(f"a stream has 1 to {MOST_PARTITIONS} partitions")

    def partition(self, key: str | bytes) -> int:
        """The partition of a key, from 0. Text counts as UTF-8."""
        return crc_hqx(key.encode() if isinstance(key, str) else key, 0) % self.partitions

    def stream(self, partition: int) -> str:
        """The stream of a partition: `orders:{3}`."""
        return f"{self.name}:{{{partition}}}"

    def dead_letters(self, partition: int) -> str:
        """The stream of a partition's dead letters: `orders:dead:{3}`."""
        return f"{self.name}:dead:{{{partition}}}"

    def owner(self, partition: int, group: str) -> str:
        """The key with the name of the consumer that has the partition: a lease that expires."""
        return f"{self.name}:owner:{group}:{{{partition}}}"

    def consumers(self, group: str) -> str:
        """The sorted set of a group's live consumers, by the time of their last heartbeat."""
        return f"{self.name}:consumers:{group}"

    @property
    def streams(self) -> list[str]:
        """The streams of all partitions, in their order."""
        return [self.stream(partition) for partition in range(self.partitions)]
