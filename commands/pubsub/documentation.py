"""Documentation of the commands of channels (commands/core/documentation.py)."""

from __future__ import annotations

from commands.core.documentation import Row

GROUP = "pubsub"
SINCE = "2.0.0"

ROWS = {
    "PSUBSCRIBE": Row(
        "Listens to all channels that match patterns.",
        "pattern [pattern ...]",
        complexity="O(N) where N is the number of patterns.",
    ),
    "PUBLISH": Row(
        "Sends a message to a channel.",
        "channel message",
        complexity=(
            "O(N+M) where N is the number of the channel's subscribers and M that of patterns."
        ),
    ),
    "PUBSUB": Row("Groups the commands that report subscriptions.", since="2.8.0"),
    "PUBSUB CHANNELS": Row(
        "Lists the channels that have subscribers.",
        "[pattern]",
        complexity="O(N) where N is the number of channels.",
    ),
    "PUBSUB HELP": Row("Explains the sub-commands.", since="6.2.0"),
    "PUBSUB NUMPAT": Row("Counts the different patterns that have subscribers."),
    "PUBSUB NUMSUB": Row(
        "Counts the subscribers of channels, without those of patterns.",
        "[channel [channel ...]]",
        complexity="O(N) where N is the number of channels asked for.",
    ),
    "PUBSUB SHARDCHANNELS": Row(
        "Lists the shard channels that have subscribers.",
        "[pattern]",
        complexity="O(N) where N is the number of shard channels.",
        since="7.0.0",
    ),
    "PUBSUB SHARDNUMSUB": Row(
        "Counts the subscribers of shard channels.",
        "[shardchannel [shardchannel ...]]",
        complexity="O(N) where N is the number of shard channels asked for.",
        since="7.0.0",
    ),
    "PUNSUBSCRIBE": Row(
        "Stops listening to patterns, to all of them if none is named.",
        "[pattern [pattern ...]]",
        complexity="O(N) where N is the number of patterns.",
    ),
    "SPUBLISH": Row(
        "Sends a message to a shard channel.",
        "shardchannel message",
        complexity="O(N) where N is the number of the shard channel's subscribers.",
        since="7.0.0",
    ),
    "SSUBSCRIBE": Row(
        "Listens to shard channels.",
        "shardchannel [shardchannel ...]",
        complexity="O(N) where N is the number of shard channels.",
        since="7.0.0",
    ),
    "SUBSCRIBE": Row(
        "Listens to channels.",
        "channel [channel ...]",
        complexity="O(N) where N is the number of channels.",
    ),
    "SUNSUBSCRIBE": Row(
        "Stops listening to shard channels, to all of them if none is named.",
        "[shardchannel [shardchannel ...]]",
        complexity="O(N) where N is the number of shard channels.",
        since="7.0.0",
    ),
    "UNSUBSCRIBE": Row(
        "Stops listening to channels, to all of them if none is named.",
        "[channel [channel ...]]",
        complexity="O(N) where N is the number of channels.",
    ),
}
