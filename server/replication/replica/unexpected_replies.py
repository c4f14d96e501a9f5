"""Replies on a replication stream, whose reader expects none: what is logged, and what ends.

A replica does not answer its primary. An error that it would answer means that the data of the two
differs: it is logged, and unless `propagation-error-behavior` is `ignore`, the process ends. A
writable replica goes on, because it may differ anyway.

A replica would take a reply to a request of its own for a part of the stream, so its connection is
closed instead.

Source: redis-server 7.0.15 and 8.2.3, by experiment. They end with SIGABRT.
"""

from __future__ import annotations

from commands.connection.client_list import logged_client
from commands.core.client import Client


def note_error_for_primary(client: Client, reply: bytes) -> None:
    """A request of the primary has failed. May end the process."""
    instance, config = client.instance, client.instance.config
    if instance.replication.link.damage:
        return  # which a full synchronisation is going to mend (applier.py)
    instance.stats.unexpected_error_replies += 1
    _log_error(client, reply, "replica", "master")
    if config.replica_read_only and config.propagation_error_behavior != "ignore":
        instance.host.fatal(
            "This replica panicked sending an error to its master after processing the command"
            f" '{_command(client)}' (propagation-error-behavior is"
            f" {config.propagation_error_behavior})"
        )


def refuse_reply_to_replica(client: Client, reply: bytes) -> None:
    """A replica has sent a request that is answered: close its connection."""
    instance = client.instance
    who = logged_client(client)
    instance.host.log(
        "warning",
        f"Replica generated a reply to command '{_command(client)}', disconnecting it: {who}",
    )
    if reply.startswith(b"-"):
        instance.stats.unexpected_error_replies += 1
        _log_error(client, reply, "master", "replica")
    client.connection.abort()


def _log_error(client: Client, reply: bytes, sender: str, receiver: str) -> None:
    instance = client.instance
    error = instance.shown(reply.partition(b"\r\n")[0].removeprefix(b"-").removeprefix(b"ERR "))
    instance.host.log(
        "warning",
        f"== CRITICAL == This {sender} is sending an error to its {receiver}: '{error}' after"
        f" processing the command '{_command(client)}'",
    )


def _command(client: Client) -> str:
    return client.last_command.decode() or "<unknown>"
